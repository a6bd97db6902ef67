//! Moving changes from memory to the spill, by the transaction's own task before its next change.
//!
//! A batch is everything that is in memory, in the order of the spill's tree: so each of its pages is visited once per
//! batch, however the keys of secondary indexes lie. Only when all entries are in the tree are the changes taken from
//! the undo stack and the row table, in bounded steps. At the end one log record says that the undo records so far
//! count no more, and the log with them can be given up.
//!
//! Invariant: a batch that is cut off anywhere leaves every change in memory, in the spill, or in both.

use super::{Spill, Standing, entry};
use crate::engine::Engine;
use crate::log::log_record::{LogRecord, Operation, RECORD_OVERHEAD_BYTES};
use crate::row_table::{Before, RowName};
use crate::transactions::transaction::Work;
use crate::transactions::transaction_state::{TransactionId, TransactionState};
use crate::writes::undo_stack::{NumberedItem, UndoItem, UndoStack};
use crate::{AccessMode, EngineError, Isolation};
use btree::{Decision, Edit, Extra, LeafContext};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::{AppendError, Priority, WalGroup};

/// A transaction below this share of the budget does not spill.
const SMALL_SHARE: u64 = 16;

/// So many entries are written before others get a turn,
pub(super) const ENTRIES_PER_TURN: usize = 64;
/// and so many changes are taken from memory.
pub(super) const STEP_CHANGES: usize = 256;

/// Who is large looks again at what all have in memory when it has grown by this share of the budget.
const LOOK_SHARE: u64 = 64;

impl Engine {
    /// It would spill if there were no memory left.
    pub(crate) fn is_large_in_memory(&self, state: &TransactionState) -> bool {
        self.is_large(state.memory_bytes())
    }

    fn is_large(&self, bytes: u64) -> bool {
        bytes > self.budgets.undo_bytes() / SMALL_SHARE
    }

    /// Logs that the undo records of everything spilled count no more. An error comes with the size of the group.
    fn log_spilled(&self, state: &Arc<TransactionState>) -> Result<(), (AppendError, usize)> {
        state.with_undo_mut(|undo| {
            let start = self.wal.end_lsn().0;
            let kept: Vec<u64> = undo.kept().iter().map(|change| change.sequence).collect();
            debug_assert!(
                kept.iter().all(|sequence| *sequence < undo.spilled_through()),
                "what was never spilled counts anyway"
            );
            let all_moved = undo.iter().next().is_none();
            let record = LogRecord::Spilled { through: undo.spilled_through(), kept };
            let mut group = WalGroup::new();
            group.push_with(record.kind(), state.id.0, |bytes| record.encode(bytes));
            self.wal.append_reserve(&group).map_err(|error| (error, group.encoded_len()))?;
            if all_moved {
                state.undo_moved_to(start);
            }
            Ok(())
        })
    }

    /// Creates an empty spill for the transaction.
    async fn create_spill(
        self: &Arc<Self>,
        owner: &Arc<TransactionState>,
    ) -> Result<Arc<Spill>, EngineError> {
        debug_assert!(owner.spill().is_none() && owner.is_active(), "a running transaction has one spill");
        // A transaction of its own: a crash before it has committed leaves nothing.
        let mut creator = self.begin(Isolation::ReadCommitted, AccessMode::ReadWrite);
        let id = creator.create_tree().await?;
        let tree = self.tree(id)?;
        // No other user of trees has to do with it.
        self.trees.remove(id);
        self.put_spill_row(&tree, owner.id, Standing::Active, false).await?;
        creator.work.commit_unseen().await?;
        let spill = Spill::new(tree, owner.clone(), owner.born_lsn());
        owner.set_spill(Some(spill.clone()));
        self.spills.add(spill.clone());
        Ok(spill)
    }

    /// The entry of a change that is in memory.
    fn spill_entry(&self, state: &Arc<TransactionState>, change: &NumberedItem) -> Option<SpillEntry> {
        let (key, value, has_chain) = match &change.item {
            UndoItem::Row { name, operation, old_chain } => {
                let before = self.rows.before(state, name, change.sequence);
                let image = match &before {
                    Before::Record(record) => &**record,
                    Before::Absent => &[],
                };
                debug_assert!(name.tree >= entry::FIRST_TREE && !name.is_prefix(), "an entry is of a row");
                let key = entry::entry_key(name.tree, &name.key, change.sequence);
                (key, entry::row_value(*operation, image), old_chain.is_some())
            }
            UndoItem::Chain(first) => (entry::chain_key(change.sequence), entry::chain_value(*first), false),
            UndoItem::Tree { .. } | UndoItem::DropTree(_) => return None,
        };
        let fits = btree::entry_fits(self.pool.store().page_size(), key.len(), value.len());
        fits.then_some(SpillEntry { key, value, has_chain })
    }
}

struct SpillEntry {
    key: Vec<u8>,
    value: Vec<u8>,
    has_chain: bool,
}

impl Work {
    /// Spills when too much is in memory. Called before a change or a locking read.
    pub async fn spill_if_large(&mut self) -> Result<(), EngineError> {
        if self.must_spill() {
            // Rare, so it takes no room in the future of every write.
            Box::pin(self.spill()).await?;
        }
        Ok(())
    }

    fn must_spill(&mut self) -> bool {
        let Some(state) = &self.state else { return false };
        let bytes = state.memory_bytes();
        if !self.engine.is_large(bytes) || bytes < self.spill_looks_at {
            return false;
        }
        let budget = self.engine.budgets.undo_bytes();
        let must = self.engine.writers.memory_bytes() > budget;
        self.spill_looks_at = if must { 0 } else { bytes + budget / LOOK_SHARE };
        must
    }

    /// Moves everything that is in memory to the spill.
    pub async fn spill(&mut self) -> Result<(), EngineError> {
        let engine = self.engine.clone();
        let state = self.state();
        let spill = match state.spill() {
            Some(spill) => spill,
            None => engine.create_spill(&state).await?,
        };
        let through = state.next_sequence();
        let unfit = self.write_entries(&spill).await?;
        loop {
            let step = state.take_spilled(through, STEP_CHANGES, &unfit);
            if step.is_empty() {
                break;
            }
            engine.rows.begin_move();
            for change in &step {
                if let UndoItem::Row { name, .. } = &change.item {
                    engine.rows.forget_spilled(&state, name, change.sequence);
                }
            }
            engine.stats.spilled_changes.fetch_add(step.len() as u64, Ordering::Relaxed);
            env::yield_now().await;
        }
        debug_assert!(!state.with_undo(UndoStack::has_cut_off_batch), "what has an entry has left memory");
        self.spill_locks(&spill).await?;
        state.retain_locks(|name| engine.rows.held_mode(&state, name).is_some());
        loop {
            match engine.log_spilled(&state) {
                Ok(()) => return Ok(()),
                Err((AppendError::Full, bytes)) => engine.wait_for_log_space(bytes).await?,
                Err((error, _)) => return Err(engine.log_error(error)),
            }
        }
    }

    /// Writes the entries of everything that is in memory; answers the numbers of those that do not fit.
    async fn write_entries(&mut self, spill: &Arc<Spill>) -> Result<HashSet<u64>, EngineError> {
        let engine = self.engine.clone();
        let state = self.state();
        let batch = Batch::of(&state);
        // What comes after a change of the same row that does not fit has to stay in memory with it.
        let mut unfit_rows: HashSet<RowName> = state.with_undo(UndoStack::kept_rows);
        let mut unfit = HashSet::new();
        for (turn, change) in batch.0.iter().enumerate() {
            let stays =
                !unfit_rows.is_empty() && change.item.row().is_some_and(|row| unfit_rows.contains(row));
            let Some(entry) = engine.spill_entry(&state, change).filter(|_| !stays) else {
                unfit.insert(change.sequence);
                unfit_rows.extend(change.item.row().cloned());
                continue;
            };
            if let UndoItem::Row { name, operation, .. } = &change.item {
                spill.expect(name.tree, &name.key);
                if *operation == Operation::Delete {
                    spill.with_ghosts.store(true, Ordering::Release);
                }
            }
            if entry.has_chain && !spill.with_chains.load(Ordering::Acquire) {
                engine.put_spill_row(&spill.tree, state.id, Standing::Active, true).await?;
                spill.with_chains.store(true, Ordering::Release);
            }
            engine.keep_log_room().await?;
            let mut edit = EntryEdit { value: Some(entry.value), only_existing: false, log: None };
            let written = engine.modify(&spill.tree, &entry.key, &mut edit, Priority::Normal).await;
            engine.start_due_checkpoint();
            written?;
            if turn.is_multiple_of(ENTRIES_PER_TURN) {
                env::yield_now().await;
            }
        }
        Ok(unfit)
    }
}

/// The changes of a batch in the order of their entries. Like the undo stack it is within the engine's budget, so no memory of it is
/// counted for the statement that meets it.
struct Batch(Vec<NumberedItem>);

impl Batch {
    fn of(state: &TransactionState) -> Batch {
        env::coroutine::uncounted(|| {
            let mut changes: Vec<NumberedItem> = state.with_undo_mut(|undo| {
                undo.expect_entries();
                undo.items().filter(|change| change.item.may_spill()).cloned().collect()
            });
            changes.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
            Batch(changes)
        })
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        env::coroutine::uncounted(|| drop(std::mem::take(&mut self.0)));
    }
}

/// The order of entries in the tree.
fn order(change: &NumberedItem) -> (u64, usize, &[u8], u64) {
    match &change.item {
        UndoItem::Row { name, .. } => (name.tree.0, name.key.len(), &name.key, change.sequence),
        UndoItem::Tree { .. } | UndoItem::Chain(_) | UndoItem::DropTree(_) => (0, 0, &[], change.sequence),
    }
}

/// Writes or removes an entry of a spill.
pub(super) struct EntryEdit<'a> {
    /// `None`: the entry goes.
    pub value: Option<Vec<u8>>,
    /// Nothing is to be done if there is no such entry.
    pub only_existing: bool,
    /// What else the group says, and of which transaction.
    pub log: Option<(LogRecord<'a>, TransactionId, Option<&'a TransactionState>)>,
}

impl Edit for EntryEdit<'_> {
    /// Whether there was such an entry.
    type Output = bool;

    fn inspect(&mut self, current: Option<&[u8]>, _leaf: LeafContext) -> Decision {
        match (current, &self.value) {
            (None, None) => Decision::Keep,
            (None, Some(_)) if self.only_existing => Decision::Keep,
            (None, Some(_)) => Decision::Insert,
            (Some(_), Some(_)) => Decision::Update,
            (Some(_), None) => Decision::Delete,
        }
    }

    fn value(&self) -> &[u8] {
        self.value.as_deref().unwrap_or_default()
    }

    fn extra_bytes(&self) -> usize {
        self.log.as_ref().map_or(0, |(record, _, _)| record.payload().len() + RECORD_OVERHEAD_BYTES)
    }

    fn apply(&mut self, current: Option<&[u8]>, _leaf: LeafContext, extra: &mut Extra<'_>) -> bool {
        if let Some((record, transaction, state)) = &self.log
            && current.is_some()
        {
            state.iter().for_each(|state| state.begin_step());
            extra.log(record.kind(), transaction.0, &record.payload());
        }
        current.is_some()
    }
}
