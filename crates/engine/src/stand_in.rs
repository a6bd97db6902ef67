//! A stand-in engine in memory with the public interface of the real one: no isolation, no durability.
//! It lets the layers above be built and is deleted when the real engine takes its place.

use crate::*;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

type Trees = BTreeMap<TreeId, BTreeMap<Vec<u8>, Vec<u8>>>;

pub struct Engine {
    trees: Mutex<Trees>,
    next_tree: AtomicU64,
}

impl Engine {
    /// An engine without disk, for the tests of the layers above.
    pub fn in_memory() -> Arc<Engine> {
        let trees = BTreeMap::from([(TreeId::CATALOG, BTreeMap::new())]);
        Arc::new(Engine { trees: Mutex::new(trees), next_tree: AtomicU64::new(1000) })
    }

    /// Starts a transaction; nothing is written or locked until it does something.
    pub fn begin(self: &Arc<Self>, isolation: Isolation, access: AccessMode) -> Transaction {
        Transaction { engine: self.clone(), isolation, access, undo: Vec::new(), dropped: Vec::new() }
    }

    /// A rough number of records in the range, cheap enough to ask for every plan.
    pub async fn estimate_range(&self, tree: TreeId, range: &KeyRange) -> Result<u64, EngineError> {
        let trees = self.trees.lock();
        let tree = trees.get(&tree).ok_or(EngineError::NoSuchTree(tree))?;
        Ok(tree.range::<[u8], _>(bounds(range)).count() as u64)
    }

    /// Stops background work and makes the next open fast. No transaction may be open.
    pub async fn close(&self) -> Result<(), EngineError> {
        Ok(())
    }
}

enum Undo {
    Restore(TreeId, Vec<u8>, Option<Vec<u8>>),
    DropTree(TreeId),
}

/// One transaction, used by one task at a time. Dropping it without `commit` rolls it back (in the
/// background); call [`Transaction::rollback`] to wait for that.
pub struct Transaction {
    engine: Arc<Engine>,
    isolation: Isolation,
    access: AccessMode,
    undo: Vec<Undo>,
    dropped: Vec<TreeId>,
}

impl Transaction {
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// True once the transaction has changed anything.
    pub fn has_changes(&self) -> bool {
        !self.undo.is_empty() || !self.dropped.is_empty()
    }

    /// Marks the start of a statement: at ReadCommitted the next snapshot read sees all that is committed now.
    pub fn begin_statement(&mut self) {}

    /// Takes the snapshot now (START TRANSACTION WITH CONSISTENT SNAPSHOT).
    pub fn take_snapshot(&mut self) {}

    /// Creates an empty tree; undone if the transaction does not commit.
    pub async fn create_tree(&mut self) -> Result<TreeId, EngineError> {
        self.check_writable()?;
        let id = TreeId(self.engine.next_tree.fetch_add(1, Relaxed));
        self.engine.trees.lock().insert(id, BTreeMap::new());
        self.undo.push(Undo::DropTree(id));
        Ok(id)
    }

    /// Drops a tree at commit. The caller makes sure (metadata lock) that nobody uses it any more.
    pub async fn drop_tree(&mut self, tree: TreeId) -> Result<(), EngineError> {
        self.check_writable()?;
        self.dropped.push(tree);
        Ok(())
    }

    /// The record's value, or `None`.
    pub async fn get(
        &mut self,
        tree: TreeId,
        key: &[u8],
        _mode: ReadMode,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let trees = self.engine.trees.lock();
        Ok(trees.get(&tree).ok_or(EngineError::NoSuchTree(tree))?.get(key).cloned())
    }

    /// Adds a record, exclusively locked by this transaction.
    pub async fn insert(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
        unique: Uniqueness,
        _wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        self.check_writable()?;
        let mut trees = self.engine.trees.lock();
        let records = trees.get_mut(&tree).ok_or(EngineError::NoSuchTree(tree))?;
        let range = match unique {
            Uniqueness::Key => records.get_key_value(key),
            Uniqueness::Prefix(length) => {
                records.range::<[u8], _>(bounds(&KeyRange::prefix(&key[..length]))).next()
            }
        };
        if let Some((existing, _)) = range {
            return Err(EngineError::DuplicateKey { existing_key: existing.clone() });
        }
        records.insert(key.to_vec(), value.to_vec());
        drop(trees);
        self.undo.push(Undo::Restore(tree, key.to_vec(), None));
        Ok(())
    }

    /// Replaces the value of an existing record, locking it exclusively.
    pub async fn update(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
        _wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        self.check_writable()?;
        let mut trees = self.engine.trees.lock();
        let records = trees.get_mut(&tree).ok_or(EngineError::NoSuchTree(tree))?;
        let slot = records.get_mut(key).ok_or(EngineError::NotFound)?;
        let before = std::mem::replace(slot, value.to_vec());
        drop(trees);
        self.undo.push(Undo::Restore(tree, key.to_vec(), Some(before)));
        Ok(())
    }

    /// Removes a record, locking its key exclusively; `NotFound` if it does not exist.
    pub async fn delete(&mut self, tree: TreeId, key: &[u8], _wait: WaitPolicy) -> Result<(), EngineError> {
        self.check_writable()?;
        let mut trees = self.engine.trees.lock();
        let records = trees.get_mut(&tree).ok_or(EngineError::NoSuchTree(tree))?;
        let before = records.remove(key).ok_or(EngineError::NotFound)?;
        drop(trees);
        self.undo.push(Undo::Restore(tree, key.to_vec(), Some(before)));
        Ok(())
    }

    /// A cursor over the range. It borrows nothing: pass the transaction to each `next_batch`.
    pub fn scan(&mut self, tree: TreeId, range: KeyRange, direction: Direction, mode: ReadMode) -> Cursor {
        Cursor { tree, range, direction, _mode: mode, done: false }
    }

    /// At ReadCommitted: gives up the lock on a record that a locking read returned but the statement's
    /// condition rejected. Does nothing at stricter levels.
    pub fn unlock_unmatched(&mut self, _tree: TreeId, _key: &[u8]) {}

    pub fn savepoint(&self) -> Savepoint {
        Savepoint(self.undo.len() as u64)
    }

    /// Undoes everything after the savepoint; locks are kept.
    pub async fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), EngineError> {
        let mut trees = self.engine.trees.lock();
        while self.undo.len() as u64 > savepoint.0 {
            match self.undo.pop().expect("longer than the savepoint") {
                Undo::Restore(tree, key, before) => {
                    let records = trees.get_mut(&tree).ok_or(EngineError::NoSuchTree(tree))?;
                    match before {
                        Some(value) => records.insert(key, value),
                        None => records.remove(&key),
                    };
                }
                Undo::DropTree(tree) => {
                    trees.remove(&tree);
                }
            }
        }
        Ok(())
    }

    /// Commits; returns once the commit is durable as `flush_at_commit` asks.
    pub async fn commit(mut self) -> Result<(), EngineError> {
        let mut trees = self.engine.trees.lock();
        for tree in self.dropped.drain(..) {
            trees.remove(&tree);
        }
        Ok(())
    }

    pub async fn rollback(mut self) -> Result<(), EngineError> {
        self.rollback_to(Savepoint(0)).await
    }

    fn check_writable(&self) -> Result<(), EngineError> {
        if self.access == AccessMode::ReadOnly { Err(EngineError::ReadOnly) } else { Ok(()) }
    }
}

/// A position in a range scan.
pub struct Cursor {
    tree: TreeId,
    range: KeyRange,
    direction: Direction,
    _mode: ReadMode,
    done: bool,
}

impl Cursor {
    /// Appends up to `limit` further records to `out`; false when the range is exhausted. A locking
    /// cursor locks no more than the records it returns, so ask for as few as are needed.
    pub async fn next_batch(
        &mut self,
        transaction: &mut Transaction,
        limit: usize,
        out: &mut EntryBatch,
    ) -> Result<bool, EngineError> {
        if self.done {
            return Ok(false);
        }
        let trees = transaction.engine.trees.lock();
        let records = trees.get(&self.tree).ok_or(EngineError::NoSuchTree(self.tree))?;
        let before = out.len();
        let mut last = None;
        let mut push = |(key, value): (&Vec<u8>, &Vec<u8>)| {
            out.push(key, value);
            last = Some(key.clone());
        };
        let range = records.range::<[u8], _>(bounds(&self.range));
        match self.direction {
            Direction::Forward => range.take(limit).for_each(&mut push),
            Direction::Backward => range.rev().take(limit).for_each(&mut push),
        }
        self.done = out.len() - before < limit;
        match self.direction {
            Direction::Forward if last.is_some() => {
                (self.range.lower, self.range.lower_excluded) = (last, true)
            }
            Direction::Backward if last.is_some() => {
                (self.range.upper, self.range.upper_excluded) = (last, true)
            }
            _ => {}
        }
        Ok(!self.done)
    }
}

fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    if let (Some(lower), Some(upper)) = (&range.lower, &range.upper)
        && (lower > upper || (lower == upper && (range.lower_excluded || range.upper_excluded)))
    {
        return (Bound::Included(lower), Bound::Excluded(lower));
    }
    let lower = match (&range.lower, range.lower_excluded) {
        (None, _) => Bound::Unbounded,
        (Some(key), true) => Bound::Excluded(key.as_slice()),
        (Some(key), false) => Bound::Included(key.as_slice()),
    };
    let upper = match (&range.upper, range.upper_excluded) {
        (None, _) => Bound::Unbounded,
        (Some(key), true) => Bound::Excluded(key.as_slice()),
        (Some(key), false) => Bound::Included(key.as_slice()),
    };
    (lower, upper)
}
