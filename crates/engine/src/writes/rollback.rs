//! Rollback of a transaction, as a whole or to a savepoint: the inverse of each change, newest first.
//!
//! Invariant: the page is restored together with a compensation record in one log group, then the version is
//! taken from the row table, then the item from the undo stack, without an await in between. So a rollback
//! that is cut off, by a dropped future or by a crash, goes on where it stopped.

use crate::engine::Engine;
use crate::log::log_record::{COMPENSATED_BYTES, LogRecord, Operation, RECORD_OVERHEAD_BYTES};
use crate::row_table::{Before, LockAfterUndo, RowName};
use crate::storage::record::GHOST_RECORD;
use crate::transactions::transaction::{Transaction, Work};
use crate::transactions::transaction_state::TransactionState;
use crate::writes::undo_stack::UndoItem;
use crate::{EngineError, Savepoint};
use btree::{Decision, Edit, Extra, LeafContext, Tree};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use wal::{Priority, WalGroup};

/// How long a rollback in the background waits for disk space before it tries again.
const DISK_FULL_RETRY_US: u64 = 200_000;

/// So many changes are undone before others get a turn.
const UNDONE_PER_TURN: u64 = 64;

impl Transaction {
    /// Undoes everything after the savepoint; locks are kept. `Deadlock` if the transaction was to be rolled back and
    /// the future that did so was dropped: then that is finished here.
    pub async fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), EngineError> {
        self.work.finish_victim().await?;
        self.work.roll_back_to(savepoint.0, true).await
    }

    /// Undoes everything and releases all locks.
    pub async fn rollback(mut self) -> Result<(), EngineError> {
        self.drop_snapshot();
        self.work.roll_back_all().await
    }
}

impl Work {
    /// Undoes the changes from sequence `first` on.
    pub async fn roll_back_to(&mut self, first: u64, keep_locks: bool) -> Result<(), EngineError> {
        self.withdraw();
        if let Some(events) = &mut self.events {
            events.undone_to(first);
        }
        let mut undone = 0u64;
        while self.newest_sequence().is_some_and(|newest| newest >= first) {
            self.undo_newest(keep_locks).await?;
            undone += 1;
            if undone.is_multiple_of(UNDONE_PER_TURN) {
                env::yield_now().await;
            }
        }
        match &self.state {
            Some(_) => self.undo_spilled(first, keep_locks).await,
            None => Ok(()),
        }
    }

    /// The number of the newest change that is in memory.
    fn newest_sequence(&self) -> Option<u64> {
        self.state.as_ref()?.newest_undo().map(|(sequence, _)| sequence)
    }

    /// Undoes the newest change that is in memory.
    pub async fn undo_newest(&mut self, keep_locks: bool) -> Result<(), EngineError> {
        let engine = self.engine.clone();
        engine.keep_log_room().await?;
        let state = self.state();
        let (sequence, item) = state.newest_undo().expect("the caller checked that there is one");
        if item.may_spill() {
            self.disarm_entry(sequence, item.row()).await?;
        }
        match item {
            UndoItem::Row { name, operation, .. } => {
                let is_spilled = keep_locks && state.is_spilled(&engine, &name).await;
                let left_ghost = match engine.restore(&state, &name, sequence).await {
                    Ok(left_ghost) => left_ghost,
                    // An adopted change that is in the spill too: the tree's creation was undone before the crash.
                    Err(EngineError::NoSuchTree(_)) if state.spill().is_some() => false,
                    Err(error) => {
                        engine.give_up_undo(name.tree, &name.key, error).await?;
                        false
                    }
                };
                debug_assert!(state.is_active(), "an end is not undone");
                let lock = match (keep_locks, operation) {
                    (true, Operation::Insert) if !is_spilled => LockAfterUndo::Freed,
                    (true, _) => LockAfterUndo::Kept,
                    (false, _) => LockAfterUndo::UntilEnd,
                };
                engine.rows.pop_version(&state, &name, sequence, lock);
                if left_ghost {
                    engine.versions.ghosts.offer(&name);
                }
            }
            UndoItem::Tree { tree, root } => {
                let tree = Tree { id: pagestore::TreeId(tree.0), root };
                engine.undo_create_tree(&state, sequence, tree).await?;
            }
            UndoItem::Chain(page) => {
                engine.undo_create_chain(&state, sequence, page).await?;
            }
            UndoItem::DropTree(_) => {}
        }
        state.pop_undo();
        Ok(())
    }

    /// Undoes everything, ends the transaction and releases its locks.
    pub async fn roll_back_all(&mut self) -> Result<(), EngineError> {
        let had_changes = self.has_undo();
        self.unprepare().await?;
        self.roll_back_to(0, false).await?;
        if let Some(state) = &self.state
            && let Some(spill) = state.spill()
        {
            self.engine.spill_rolled_back(state, &spill).await?;
        }
        self.end_rolled_back(had_changes);
        Ok(())
    }

    /// Goes on with the rollback of a victim that was cut off: what is left of its changes is no transaction any more.
    pub async fn finish_victim(&mut self) -> Result<(), EngineError> {
        if !self.is_victim {
            return Ok(());
        }
        self.roll_back_all().await?;
        Err(EngineError::Deadlock)
    }

    fn end_rolled_back(&mut self, had_changes: bool) {
        self.is_victim = false;
        let Some(state) = self.state.clone() else { return };
        if had_changes {
            // Not needed for recovery, which finds the undo stack empty; it keeps that stack short.
            let mut group = WalGroup::new();
            group.push(LogRecord::RolledBack.kind(), state.id.0, &[]);
            let _ = self.engine.wal.append_reserve(&group);
            self.engine.stats.rollbacks.fetch_add(1, Relaxed);
        }
        debug_assert!(!state.has_undo(), "everything is undone before it ends");
        debug_assert!(state.prepared().is_none(), "what is prepared waits for its decision");
        state.stamp_aborted();
        self.engine.writers.no_longer_active(&state);
        self.engine.writers.seen(&state);
        self.release_locks();
        self.state = None;
    }

    /// The owner is gone: rolls back in the background if there is anything to undo.
    pub fn abandon(mut self) {
        self.withdraw();
        if !self.has_undo() {
            self.end_rolled_back(false);
            return;
        }
        let engine = self.engine.clone();
        engine.spawn("rollback", |_| async move { self.roll_back_patiently().await });
    }

    /// `roll_back_all`, which waits while the disk is full.
    pub async fn roll_back_patiently(&mut self) -> Result<(), EngineError> {
        let engine = self.engine.clone();
        loop {
            match self.roll_back_all().await {
                // Its locks cannot be released before the rows are restored: wait for space.
                Err(EngineError::DiskFull) if !engine.life.closed.load(Acquire) => {
                    engine.env.clock.sleep(DISK_FULL_RETRY_US).await;
                }
                ended => return ended,
            }
        }
    }
}

impl Engine {
    /// Puts the row back to what it was before the version `sequence`; true when a ghost was left.
    async fn restore(
        &self,
        state: &Arc<TransactionState>,
        name: &RowName,
        sequence: u64,
    ) -> Result<bool, EngineError> {
        let tree = self.tree(name.tree)?;
        let (before, older_in_memory) = self.rows.newest_before(state, name, sequence);
        let older_remain = older_in_memory || self.may_have_older_elsewhere(None, name.tree, &name.key);
        let record = match &before {
            Before::Record(record) => Some(&**record),
            // Readers find older versions only through a record in the leaf.
            Before::Absent if older_remain => Some(GHOST_RECORD),
            Before::Absent => None,
        };
        let mut edit = RestoreEdit { state, record, sequence };
        self.modify(&tree, &name.key, &mut edit, Priority::Reserve).await?;
        Ok(before == Before::Absent && older_remain)
    }
}

/// Restores a record and logs the compensation.
struct RestoreEdit<'a> {
    state: &'a TransactionState,
    /// `None`: the key goes away.
    record: Option<&'a [u8]>,
    sequence: u64,
}

impl Edit for RestoreEdit<'_> {
    type Output = ();

    fn inspect(&mut self, current: Option<&[u8]>, _leaf: LeafContext) -> Decision {
        match (current, self.record) {
            (Some(_), Some(_)) => Decision::Update,
            (None, Some(_)) => Decision::Insert,
            (Some(_), None) => Decision::Delete,
            (None, None) => Decision::Keep,
        }
    }

    fn value(&self) -> &[u8] {
        self.record.unwrap_or_default()
    }

    fn extra_bytes(&self) -> usize {
        COMPENSATED_BYTES + RECORD_OVERHEAD_BYTES
    }

    fn apply(&mut self, _current: Option<&[u8]>, _leaf: LeafContext, extra: &mut Extra<'_>) {
        self.state.begin_step();
        let compensated = LogRecord::Compensated { sequence: self.sequence };
        extra.log(compensated.kind(), self.state.id.0, &compensated.payload());
    }
}
