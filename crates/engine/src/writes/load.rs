//! Filling a new tree: for CREATE INDEX and for copies of tables. Record by record, or many in key order, which fills one
//! leaf after the other.
//!
//! Invariant: the tree was created by this same transaction. Nobody else reads it before the commit, snapshots that
//! are older never do (`Engine::tree_in_view`), and to undo its creation is to undo all that is in it. So a loaded
//! record needs no version, no lock and no undo record: memory and log stay small however many records there are.

use crate::storage::record;
use crate::transactions::transaction::{Transaction, Work};
use crate::{EngineError, EntryBatch, LockMode, TreeId, Uniqueness, WaitPolicy};
use btree::{Decision, Edit, Extra, LeafContext, Mtr, Tree};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Transaction {
    /// Adds a record to a tree that this transaction has created. Only the rollback of the whole transaction, or to a
    /// savepoint before the tree's creation, undoes it. After `DuplicateKey` such a rollback is due.
    pub async fn load(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
        unique: Uniqueness,
    ) -> Result<(), EngineError> {
        let own = self.own_tree(tree)?;
        if let Uniqueness::Prefix(length) = unique {
            let prefix = key.get(..length).expect("a unique prefix is a part of the key");
            self.work.check_prefix(tree, key, prefix, LockMode::Shared, WaitPolicy::NoWait).await?;
        }
        self.work.load(&own, key, value).await?;
        self.work.engine.stats.rows_inserted.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Adds records behind all that the tree has, which this transaction has created: their keys ascend. Undone as what
    /// `load` adds.
    pub async fn load_in_order(&mut self, tree: TreeId, records: &EntryBatch) -> Result<(), EngineError> {
        let own = self.own_tree(tree)?;
        self.work.load_in_order(&own, records).await?;
        self.work.engine.stats.rows_inserted.fetch_add(records.len() as u64, Relaxed);
        Ok(())
    }

    /// Takes a record out of a tree that this transaction has created; false when there is none. `TooLarge` when so many long
    /// values were taken out that one commit could not list them.
    pub async fn unload(&mut self, tree: TreeId, key: &[u8]) -> Result<bool, EngineError> {
        let own = self.own_tree(tree)?;
        let engine = self.work.engine.clone();
        engine.keep_log_room().await?;
        self.work.check_unloaded()?;
        let mut edit = LoadEdit::new(Change::TakeOut);
        let unloaded = engine.modify(&own, key, &mut edit, wal::Priority::Normal).await;
        engine.start_due_checkpoint();
        unloaded?;
        // A rollback frees it by its own undo record.
        self.work.unloaded_chains.extend(edit.chain);
        Ok(edit.was_there)
    }

    /// Writes a record into a tree that this transaction has created, whether or not its key is there: `unload` and `load` in one.
    pub async fn reload(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        let own = self.own_tree(tree)?;
        let engine = self.work.engine.clone();
        self.work.check_unloaded()?;
        let record = self.work.encode_loaded(&own, key, value).await?;
        engine.keep_log_room().await?;
        let mut edit = LoadEdit::new(Change::Replace(&record));
        let reloaded = engine.modify(&own, key, &mut edit, wal::Priority::Normal).await;
        engine.start_due_checkpoint();
        reloaded?;
        self.work.unloaded_chains.extend(edit.chain);
        engine.stats.rows_inserted.fetch_add(1, Relaxed);
        Ok(())
    }

    fn own_tree(&mut self, tree: TreeId) -> Result<Tree, EngineError> {
        self.check_writable()?;
        let state = self.work.state();
        let live = self.work.engine.trees.find(tree).ok_or(EngineError::NoSuchTree(tree))?;
        let is_own = live.creator.as_ref().is_some_and(|creator| Arc::ptr_eq(creator, &state));
        assert!(is_own, "only trees of this transaction are loaded");
        Ok(live.tree)
    }
}

impl Work {
    async fn load_in_order(&mut self, tree: &Tree, records: &EntryBatch) -> Result<(), EngineError> {
        let engine = self.engine.clone();
        debug_assert!(records.iter().is_sorted_by(|one, next| one.0 < next.0), "keys ascend, each once");
        let mut encoded = EntryBatch::default();
        for (key, value) in records.iter() {
            let record = self.encode_loaded(tree, key, value).await?;
            encoded.push(key, &record);
        }
        let mut start = 0;
        while start < encoded.len() {
            engine.keep_log_room().await?;
            let append = || {
                let mut mtr = Mtr::begin_with(&engine.pool, wal::Priority::Normal);
                let entries = (start..encoded.len()).map(|index| encoded.get(index));
                let appended = tree.append(&engine.space, &mut mtr, entries)?;
                mtr.reserve(0)?;
                Ok((appended, mtr.commit()))
            };
            let appended = engine.pool.run(|| env::coroutine::uncounted(append));
            let (appended, committed) = appended.await.map_err(|error| engine.tree_error(tree, error))?;
            committed.map_err(|error| engine.log_failed(&error))?;
            engine.checkpointer.note_log_end(engine.wal.end_lsn().0);
            engine.start_due_checkpoint();
            debug_assert!(0 < appended && appended <= encoded.len() - start, "each step writes something");
            start += appended;
        }
        Ok(())
    }

    async fn load(&mut self, tree: &Tree, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        let engine = self.engine.clone();
        let record = self.encode_loaded(tree, key, value).await?;
        engine.keep_log_room().await?;
        let mut edit = LoadEdit::new(Change::Add(&record));
        let loaded = engine.modify(tree, key, &mut edit, wal::Priority::Normal).await;
        engine.start_due_checkpoint();
        loaded?;
        match edit.was_there {
            true => Err(EngineError::DuplicateKey { existing_key: key.into() }),
            false => Ok(()),
        }
    }

    async fn encode_loaded(&mut self, tree: &Tree, key: &[u8], value: &[u8]) -> Result<Vec<u8>, EngineError> {
        self.engine.check_key(key)?;
        Ok(match self.engine.is_inline(key, value) {
            true => record::encode_value(value),
            // The chain has its own undo record.
            false => record::encode_stub(self.write_chain(TreeId(tree.id.0), value).await?),
        })
    }

    /// `TooLarge` when one commit could not list more long values that were taken out.
    fn check_unloaded(&self) -> Result<(), EngineError> {
        let (bytes, limit) = (self.unloaded_chains.len(), self.engine.wal.group_bytes_max() / 32);
        if bytes >= limit {
            return Err(EngineError::TooLarge { bytes, limit });
        }
        Ok(())
    }
}

/// What is done with the record of a key.
enum Change<'a> {
    /// A key that is there stays as it is, and is told.
    Add(&'a [u8]),
    Replace(&'a [u8]),
    TakeOut,
}

/// A change of one record, without a log record beside the page's own.
struct LoadEdit<'a> {
    change: Change<'a>,
    was_there: bool,
    /// Of the long value that was replaced or taken out.
    chain: Option<u64>,
}

impl<'a> LoadEdit<'a> {
    fn new(change: Change<'a>) -> Self {
        Self { change, was_there: false, chain: None }
    }
}

impl Edit for LoadEdit<'_> {
    type Output = ();

    fn inspect(&mut self, current: Option<&[u8]>, _leaf: LeafContext) -> Decision {
        if let Change::Add(_) = self.change {
            self.was_there = record::is_live(current);
            return match current {
                Some(_) if self.was_there => Decision::Keep,
                Some(_) => Decision::Update,
                None => Decision::Insert,
            };
        }
        self.was_there = current.is_some();
        self.chain = current.and_then(record::stub_of).map(|stub| stub.first.0);
        match (&self.change, current) {
            (Change::TakeOut, None) => Decision::Keep,
            (Change::TakeOut, Some(_)) => Decision::Delete,
            (_, Some(current)) if current == self.value() => Decision::Keep,
            (_, Some(_)) => Decision::Update,
            (_, None) => Decision::Insert,
        }
    }

    fn value(&self) -> &[u8] {
        match self.change {
            Change::Add(record) | Change::Replace(record) => record,
            Change::TakeOut => &[],
        }
    }

    fn extra_bytes(&self) -> usize {
        0
    }

    fn apply(&mut self, _current: Option<&[u8]>, _leaf: LeafContext, _extra: &mut Extra<'_>) {}
}
