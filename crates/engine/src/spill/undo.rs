//! Undoing what is in a spill, for a rollback, to a savepoint or of all, and for recovery.
//!
//! The spill is read from its end to its start, a leaf at a time, so a row's newest change comes first. To restore a row
//! twice changes nothing, and nobody else can have changed it meanwhile, because its entry is a lock. So a rollback
//! leaves the entries where they are, and one that was cut off is simply done again; a rollback to a savepoint takes
//! the before-images out, since the transaction may yet commit. An overflow chain must not be freed twice: its entry
//! goes back to the undo stack and the log first.

use super::Spill;
use super::entry::{self, Undo};
use super::fill::EntryEdit;
use super::lookup::RowPlace;
use super::lost::LostEntries;
use crate::engine::Engine;
use crate::log::log_record::{LogRecord, Operation};
use crate::row_table::RowName;
use crate::storage::record::GHOST_RECORD;
use crate::transactions::transaction::Work;
use crate::transactions::transaction_state::TransactionState;
use crate::{EngineError, TreeId};
use btree::{Decision, Direction, Edit, Extra, LeafContext, Position};
use pagestore::PageId;
use std::ops::ControlFlow;
use std::sync::Arc;
use wal::Priority;

/// An entry's key in the tree, and its value.
type RawEntry = (Vec<u8>, Vec<u8>);

impl Work {
    /// Undoes what was spilled from sequence `first` on; what is newer and in memory is undone already. With
    /// `keep_locks` the transaction goes on afterwards.
    pub async fn undo_spilled(&mut self, first: u64, keep_locks: bool) -> Result<(), EngineError> {
        let state = self.state();
        let Some(spill) = state.spill().filter(|_| state.with_undo(|undo| undo.spilled_through() > first))
        else {
            return Ok(());
        };
        let (mut position, mut next) = (Position::start(), Position::start());
        while !position.is_end() {
            let read = self.engine.leaf_of_spill(&spill, &position, Direction::Backward, &mut next).await;
            let entries = match read {
                Err(error) if error.is_corruption() => {
                    let entries = LostEntries { lower: next.key(), upper: position.key() };
                    self.engine.lose_rows(&spill, entries).await?;
                    Vec::new()
                }
                read => read?,
            };
            for (index, (key, value)) in entries.iter().enumerate() {
                let older = entries.get(index + 1);
                self.undo_entry(&spill, (key, value), older, first, keep_locks).await?;
            }
            std::mem::swap(&mut position, &mut next);
            env::yield_now().await;
        }
        state.with_undo_mut(|undo| undo.spill_undone(first));
        Ok(())
    }

    /// Undoes one entry; `older` is the one before it in the tree, if that is in the same leaf.
    async fn undo_entry(
        &mut self,
        spill: &Arc<Spill>,
        (key, value): (&[u8], &[u8]),
        older: Option<&RawEntry>,
        first: u64,
        keep_locks: bool,
    ) -> Result<(), EngineError> {
        let engine = self.engine.clone();
        let this = engine.decode_entry(spill, key, value)?;
        if this.sequence < first || this.undo.is_lock() {
            return Ok(());
        }
        engine.keep_log_room().await?;
        let (operation, before) = match this.undo {
            Undo::LockOnly | Undo::Locked(_) => return Ok(()),
            Undo::Chain(page) => return self.undo_spilled_chain(spill, this.sequence, page).await,
            Undo::Row { operation, before } => (operation, before),
        };
        let same_row = match older {
            Some((key, value)) => {
                let older = engine.decode_entry(spill, key, value)?;
                Some(older).filter(|older| older.tree == this.tree && older.key == this.key)
            }
            None => None,
        };
        let is_covered = same_row.is_some_and(|older| older.sequence >= first && !older.undo.is_lock());
        if !is_covered {
            // Not known means that there may be an older one.
            let may_have_older = older.is_none() || same_row.is_some();
            let before = Some(before).filter(|_| operation != Operation::Insert);
            engine.restore_spilled(spill, this.tree, this.key, before, may_have_older).await?;
        }
        if keep_locks {
            engine.leave_lock(spill, key).await?;
        }
        engine.start_due_checkpoint();
        Ok(())
    }

    /// Gives an overflow chain that the transaction has written back to the undo stack, and undoes it from there.
    async fn undo_spilled_chain(
        &mut self,
        spill: &Arc<Spill>,
        sequence: u64,
        first: PageId,
    ) -> Result<(), EngineError> {
        let state = self.state();
        let page = first.0.to_le_bytes();
        let operation = Operation::CreateChain;
        let undo = LogRecord::Undo { operation, sequence, tree: TreeId(0), key: &[], before: &page };
        let log = Some((undo, state.id, Some(&*state)));
        let mut edit = EntryEdit { value: None, only_existing: true, log };
        let key = entry::chain_key(sequence);
        let taken = self.engine.modify(&spill.tree, &key, &mut edit, Priority::Reserve).await?;
        if taken {
            state.set_chain(sequence, first);
            debug_assert_eq!(
                state.newest_undo().map(|(newest, _)| newest),
                Some(sequence),
                "what is newer is undone"
            );
            self.undo_newest(false).await?;
        }
        Ok(())
    }

    /// A change that is undone from memory may have an entry, if a batch was cut off: nothing is left to undo there.
    pub async fn disarm_entry(&mut self, sequence: u64, row: Option<&RowName>) -> Result<(), EngineError> {
        let state = self.state();
        let Some(spill) = state.spill().filter(|_| state.with_undo(|undo| sequence < undo.entries_through()))
        else {
            return Ok(());
        };
        match row {
            Some(row) => {
                self.engine.leave_lock(&spill, &entry::entry_key(row.tree, &row.key, sequence)).await
            }
            None => self.engine.forget_spilled_chain(&spill.tree, sequence).await,
        }
    }
}

impl TransactionState {
    /// Whether the transaction's spill says that it has the row locked, hence until the end. What cannot be read may say
    /// so.
    pub(crate) async fn is_spilled(&self, engine: &Engine, name: &RowName) -> bool {
        let Some(spill) = self.spill() else { return false };
        let row = RowPlace { tree: name.tree, key: &name.key, page_lsn: u64::MAX };
        let lock = engine.pool.run(|| spill.lock_on(&engine.pool, row)).await;
        lock.map_or(true, |mode| mode.is_some())
    }
}

impl Engine {
    /// The entries of one leaf in the scan's order.
    pub(super) async fn leaf_of_spill(
        &self,
        spill: &Spill,
        position: &Position,
        direction: Direction,
        next: &mut Position,
    ) -> Result<Vec<RawEntry>, EngineError> {
        let entries = self.pool.run(|| {
            spill.tree.scan(&self.pool, position, direction, next, |leaf| {
                let mut entries = Vec::with_capacity(leaf.len());
                let _ = leaf.for_each(|key, value| {
                    entries.push((key.to_vec(), value.to_vec()));
                    ControlFlow::<()>::Continue(())
                });
                entries
            })
        });
        entries.await.map_err(|error| self.tree_error(&spill.tree, error))
    }

    pub(super) fn decode_entry<'a>(
        &self,
        spill: &Spill,
        key: &'a [u8],
        value: &'a [u8],
    ) -> Result<entry::Entry<'a>, EngineError> {
        entry::decode(key, value).ok_or_else(|| spill.damaged_entry())
    }

    /// Puts a row back to what it was.
    async fn restore_spilled(
        &self,
        spill: &Arc<Spill>,
        tree: TreeId,
        key: &[u8],
        before: Option<&[u8]>,
        may_have_older: bool,
    ) -> Result<(), EngineError> {
        // The creation of the tree was undone, and all that was in it is gone.
        let Ok(handle) = self.tree(tree) else { return Ok(()) };
        debug_assert!(spill.owner.is_active(), "an end is not undone");
        let needs_ghost = before.is_none()
            && (may_have_older
                || self.rows.has_versions(tree, key)
                || self.may_have_older_elsewhere(Some(spill), tree, key));
        let ghost = Some(GHOST_RECORD).filter(|_| needs_ghost);
        let mut edit = RestoreSpilled { record: before.or(ghost) };
        match self.modify(&handle, key, &mut edit, Priority::Reserve).await {
            Ok(()) => {}
            Err(error) => return self.give_up_undo(tree, key, error).await,
        }
        if needs_ghost {
            self.versions.ghosts.offer(&RowName { tree, key: key.into() });
        }
        Ok(())
    }

    /// Nothing is left to undo for an entry, if it exists, but its row stays locked.
    async fn leave_lock(&self, spill: &Spill, key: &[u8]) -> Result<(), EngineError> {
        let mut edit = EntryEdit { value: Some(entry::lock_only_value()), only_existing: true, log: None };
        self.modify(&spill.tree, key, &mut edit, Priority::Reserve).await.map(|_| ())
    }

    /// Before a chain is undone from the undo stack or the log: its entry, if there is one, goes.
    pub(crate) async fn forget_spilled_chain(
        &self,
        spill: &btree::Tree,
        sequence: u64,
    ) -> Result<(), EngineError> {
        let mut edit = EntryEdit { value: None, only_existing: true, log: None };
        let key = entry::chain_key(sequence);
        self.modify(spill, &key, &mut edit, Priority::Reserve).await.map(|_| ())
    }
}

/// Restores a record without a word in the log but the change of the page.
struct RestoreSpilled<'a> {
    /// `None`: the key goes away.
    record: Option<&'a [u8]>,
}

impl Edit for RestoreSpilled<'_> {
    type Output = ();

    fn inspect(&mut self, current: Option<&[u8]>, _leaf: LeafContext) -> Decision {
        match (current, self.record) {
            _ if current == self.record => Decision::Keep,
            (Some(_), Some(_)) => Decision::Update,
            // Only where there is a version for readers to find.
            (None, Some(GHOST_RECORD)) => Decision::Keep,
            (None, Some(_)) => Decision::Insert,
            (Some(_), None) => Decision::Delete,
            (None, None) => Decision::Keep,
        }
    }

    fn value(&self) -> &[u8] {
        self.record.unwrap_or_default()
    }

    fn extra_bytes(&self) -> usize {
        0
    }

    fn apply(&mut self, _current: Option<&[u8]>, _leaf: LeafContext, _extra: &mut Extra<'_>) {}
}
