//! Filling a new tree: for CREATE INDEX and for copies of tables.
//!
//! Invariant: the tree was created by this same transaction. Nobody else reads it before the commit, snapshots that
//! are older never do (`Engine::tree_in_view`), and to undo its creation is to undo all that is in it. So a loaded
//! record needs no version, no lock and no undo record: memory and log stay small however many records there are.

use crate::record;
use crate::transaction::{Transaction, Work};
use crate::{EngineError, LockMode, TreeId, Uniqueness, WaitPolicy};
use btree::{Decision, Edit, Extra, LeafContext, Tree};
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
        self.check_writable()?;
        let state = self.work.state();
        let live = self.work.engine.trees.find(tree).ok_or(EngineError::NoSuchTree(tree))?;
        let is_own = live.creator.as_ref().is_some_and(|creator| Arc::ptr_eq(creator, &state));
        assert!(is_own, "only trees of this transaction are loaded");
        if let Uniqueness::Prefix(length) = unique {
            let prefix = key.get(..length).expect("a unique prefix is a part of the key");
            self.work.check_prefix(tree, key, prefix, LockMode::Shared, WaitPolicy::NoWait).await?;
        }
        self.work.load(&live.tree, key, value).await?;
        self.work.engine.stats.rows_inserted.fetch_add(1, Relaxed);
        Ok(())
    }
}

impl Work {
    async fn load(&mut self, tree: &Tree, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        let engine = self.engine.clone();
        engine.check_key(key)?;
        let record = if engine.is_inline(key, value) {
            record::encode_value(value)
        } else {
            // The chain has its own undo record.
            record::encode_stub(self.write_chain(TreeId(tree.id.0), value).await?)
        };
        engine.keep_log_room().await?;
        let mut edit = LoadEdit { record: &record, is_duplicate: false };
        let loaded = engine.modify(tree, key, &mut edit, wal::Priority::Normal).await;
        engine.start_due_checkpoint();
        loaded?;
        match edit.is_duplicate {
            true => Err(EngineError::DuplicateKey { existing_key: key.into() }),
            false => Ok(()),
        }
    }
}

struct LoadEdit<'a> {
    record: &'a [u8],
    is_duplicate: bool,
}

impl Edit for LoadEdit<'_> {
    type Output = ();

    fn inspect(&mut self, current: Option<&[u8]>, _leaf: LeafContext) -> Decision {
        self.is_duplicate = record::is_live(current);
        match current {
            Some(_) if self.is_duplicate => Decision::Keep,
            Some(_) => Decision::Update,
            None => Decision::Insert,
        }
    }

    fn value(&self) -> &[u8] {
        self.record
    }

    fn extra_bytes(&self) -> usize {
        0
    }

    fn apply(&mut self, _current: Option<&[u8]>, _leaf: LeafContext, _extra: &mut Extra<'_>) {}
}
