//! Marks: for each tree a number that only grows and that no rollback takes back.
//!
//! Invariant: a mark in memory is in the log, and in the tree's row of the tree of trees unless the tree is pending here;
//! then the checkpoint does not pass the LSN since which it is. A write that raises a mark has its record in its own
//! group and raises the mark here before it counts as done; until then its transaction keeps the checkpoint
//! from passing the record (`TransactionState::begin_step`), so the checkpoint looks here after it has looked there.
//! Raised by `write`, stored by checkpoints and the orderly close, restored by recovery.

use crate::engine::Engine;
use crate::storage::meta_row::{MarkEdit, meta_key};
use crate::transactions::transaction::Transaction;
use crate::{EngineError, TreeId};
use foldhash::HashMap;
use parking_lot::Mutex;
use wal::{Lsn, Priority};

const SHARDS: usize = 16;

#[derive(Default)]
pub(crate) struct Marks {
    /// By tree. Leaf locks, held for a few instructions or for the copying of a list.
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    /// Of the trees that have one above 0.
    marks: HashMap<TreeId, u128>,
    /// The trees whose rows do not have their marks yet.
    pending: HashMap<TreeId, Pending>,
}

struct Pending {
    /// The row has all that was raised before this LSN.
    since: u64,
    /// So will it have when the writing of the row that is under way has ended; `u64::MAX`: nothing is newer than that.
    after_write: u64,
}

impl Shard {
    /// What holds of a tree between two calls.
    fn check(&self, tree: TreeId) {
        let Some(pending) = self.pending.get(&tree) else { return };
        debug_assert!(pending.since <= pending.after_write, "writing the row moves the LSN forward");
        debug_assert!(self.marks.contains_key(&tree), "what is pending is a mark");
    }
}
impl Marks {
    fn shard(&self, tree: TreeId) -> &Mutex<Shard> {
        &self.shards[tree.0 as usize % SHARDS]
    }

    /// 0 for a tree without one.
    pub fn get(&self, tree: TreeId) -> u128 {
        self.shard(tree).lock().marks.get(&tree).copied().unwrap_or_default()
    }

    /// After the record of this, which lies behind `lsn`, has come into the log.
    pub fn raise(&self, tree: TreeId, mark: u128, lsn: u64) {
        let mut shard = self.shard(tree).lock();
        let present = shard.marks.entry(tree).or_default();
        if mark <= *present {
            return;
        }
        *present = mark;
        let pending = shard.pending.entry(tree).or_insert(Pending { since: lsn, after_write: lsn });
        pending.since = pending.since.min(lsn);
        pending.after_write = pending.after_write.min(lsn);
        shard.check(tree);
    }

    /// The mark that the tree's row has.
    pub fn restore(&self, tree: TreeId, mark: u128) {
        if mark > 0 {
            let before = self.shard(tree).lock().marks.insert(tree, mark);
            debug_assert!(before.is_none_or(|before| before <= mark), "a mark only grows");
        }
    }

    /// The tree is no more.
    pub fn forget(&self, tree: TreeId) {
        let mut shard = self.shard(tree).lock();
        shard.marks.remove(&tree);
        shard.pending.remove(&tree);
    }

    /// Since when some mark is in the log alone.
    pub fn oldest_lsn(&self) -> Option<u64> {
        let oldest = |shard: &Mutex<Shard>| shard.lock().pending.values().map(|pending| pending.since).min();
        self.shards.iter().filter_map(oldest).min()
    }

    /// The trees whose marks are in the log alone since before `limit`.
    fn pending_before(&self, limit: Lsn) -> Vec<TreeId> {
        let mut trees = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            let old = shard.pending.iter().filter(|(_, pending)| pending.since < limit.0);
            trees.extend(old.map(|(tree, _)| *tree));
        }
        // Neighbours in the tree of trees one after the other.
        trees.sort_unstable();
        trees
    }

    /// What to write into the tree's row.
    fn begin_write(&self, tree: TreeId) -> u128 {
        let mut shard = self.shard(tree).lock();
        if let Some(pending) = shard.pending.get_mut(&tree) {
            pending.after_write = u64::MAX;
        }
        shard.marks.get(&tree).copied().unwrap_or_default()
    }

    /// The row has what `begin_write` answered.
    fn end_write(&self, tree: TreeId) {
        let mut shard = self.shard(tree).lock();
        let Some(pending) = shard.pending.get_mut(&tree) else { return };
        match pending.after_write {
            u64::MAX => {
                shard.pending.remove(&tree);
            }
            since => pending.since = since,
        }
        shard.check(tree);
    }
}

impl Transaction {
    /// The next write of this transaction, if it is one of a record of `tree`, raises the tree's mark to this, unless it is as
    /// high already. That is as durable as the write, and stays when the write is undone.
    pub fn raise_mark(&mut self, tree: TreeId, mark: u128) {
        self.work.mark = Some((tree, mark));
    }
}

impl Engine {
    /// The highest mark that a write has raised the tree's to; 0 at first. See [`Transaction::raise_mark`].
    pub fn mark(&self, tree: TreeId) -> u128 {
        self.trees.marks.get(tree)
    }

    /// Writes the marks that are in the log alone since before `limit` into the rows of their trees. One caller at a time:
    /// the one whose turn the checkpoint is.
    pub(crate) async fn store_marks(&self, limit: Lsn) -> Result<(), EngineError> {
        for tree in self.trees.marks.pending_before(limit) {
            let mut edit = MarkEdit::new(self.trees.marks.begin_write(tree));
            self.modify(&self.trees.meta(), &meta_key(tree), &mut edit, Priority::Reserve).await?;
            self.trees.marks.end_write(tree);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::checkpoints::marks::*;

    const TREE: TreeId = TreeId(1007);

    #[test]
    fn it_only_grows() {
        let marks = Marks::default();
        assert_eq!(marks.get(TREE), 0);
        marks.raise(TREE, 7, 100);
        marks.raise(TREE, 5, 50);
        assert_eq!((marks.get(TREE), marks.oldest_lsn()), (7, Some(100)));
        marks.forget(TREE);
        assert_eq!((marks.get(TREE), marks.oldest_lsn()), (0, None));
    }

    #[test]
    fn what_is_raised_during_a_write_of_the_row_stays_pending() {
        let marks = Marks::default();
        marks.raise(TREE, 7, 100);
        assert_eq!(marks.pending_before(Lsn(100)), []);
        assert_eq!(marks.pending_before(Lsn(101)), [TREE]);
        assert_eq!(marks.begin_write(TREE), 7);
        assert_eq!(marks.oldest_lsn(), Some(100));
        marks.raise(TREE, 9, 120);
        // A record that was in the log earlier, of a transaction that had not come here yet.
        marks.raise(TREE, 11, 110);
        assert_eq!(marks.oldest_lsn(), Some(100));
        marks.end_write(TREE);
        assert_eq!(marks.oldest_lsn(), Some(110));
        assert_eq!(marks.begin_write(TREE), 11);
        marks.end_write(TREE);
        assert_eq!((marks.get(TREE), marks.oldest_lsn()), (11, None));
    }

    #[test]
    fn a_write_of_the_row_that_was_cut_off_leaves_it_pending() {
        let marks = Marks::default();
        marks.raise(TREE, 7, 100);
        marks.begin_write(TREE);
        assert_eq!(marks.pending_before(Lsn(101)), [TREE]);
        marks.raise(TREE, 8, 130);
        marks.begin_write(TREE);
        marks.end_write(TREE);
        assert_eq!(marks.oldest_lsn(), None);
    }
}
