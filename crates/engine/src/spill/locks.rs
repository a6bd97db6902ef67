//! Moving the explicit locks of rows that were locked and not changed to the spill: a locking read of a whole table, say.
//!
//! Invariant: a lock is in the spill before it leaves the row table, and it leaves only while nobody waits for it. Who asks
//! for the row later finds the entry and shows the lock in the row table again (`lookup`), and waits for it there. An entry
//! is never weakened.

use super::fill::{ENTRIES_PER_TURN, STEP_CHANGES};
use super::{Spill, entry};
use crate::row_table::RowName;
use crate::transactions::transaction::Work;
use crate::{EngineError, LockMode};
use btree::{Decision, Edit, Extra, LeafContext};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::Priority;

impl Work {
    /// Called by `spill`, by the transaction's own task.
    pub(super) async fn spill_locks(&mut self, spill: &Arc<Spill>) -> Result<(), EngineError> {
        let moved = self.write_locks(spill).await?;
        let (engine, state) = (self.engine.clone(), self.state());
        for step in moved.chunks(STEP_CHANGES) {
            engine.rows.begin_move();
            for name in step {
                engine.rows.forget_spilled_lock(&state, name);
            }
            env::yield_now().await;
        }
        Ok(())
    }

    /// Writes an entry for each lock that may leave memory, in the order of the spill's tree; answers which they are.
    async fn write_locks(&mut self, spill: &Arc<Spill>) -> Result<Vec<RowName>, EngineError> {
        let (engine, state) = (self.engine.clone(), self.state());
        let page_size = engine.pool.store().page_size();
        // The lock of a unique prefix lasts for one insert.
        let mut names: Vec<RowName> =
            state.held_names().into_iter().filter(|name| !name.is_prefix()).collect();
        names.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
        let mut moved = Vec::new();
        for (turn, name) in names.into_iter().enumerate() {
            let Some(mode) = engine.rows.unwaited_lock(&state, &name) else { continue };
            let key = entry::lock_key(name.tree, &name.key);
            let mut edit = LockEdit { mode, value: entry::locked_value(mode) };
            if !btree::entry_fits(page_size, key.len(), edit.value.len()) {
                continue;
            }
            debug_assert!(name.tree >= entry::FIRST_TREE, "an entry is of a row");
            spill.with_locks.store(true, Ordering::Release);
            spill.expect(name.tree, &name.key);
            engine.keep_log_room().await?;
            let written = engine.modify(&spill.tree, &key, &mut edit, Priority::Normal).await;
            engine.start_due_checkpoint();
            written?;
            moved.push(name);
            if turn.is_multiple_of(ENTRIES_PER_TURN) {
                env::yield_now().await;
            }
        }
        Ok(moved)
    }
}

fn order(name: &RowName) -> (u64, usize, &[u8]) {
    (name.tree.0, name.key.len(), &name.key)
}

/// Writes the entry of a lock, unless there is one as strong.
struct LockEdit {
    mode: LockMode,
    value: Vec<u8>,
}

impl Edit for LockEdit {
    type Output = ();

    fn inspect(&mut self, current: Option<&[u8]>, _leaf: LeafContext) -> Decision {
        match current {
            None => Decision::Insert,
            Some(_) if self.mode == LockMode::Shared => Decision::Keep,
            Some(current) if current == self.value => Decision::Keep,
            Some(_) => Decision::Update,
        }
    }

    fn value(&self) -> &[u8] {
        &self.value
    }

    fn extra_bytes(&self) -> usize {
        0
    }

    fn apply(&mut self, _current: Option<&[u8]>, _leaf: LeafContext, _extra: &mut Extra<'_>) {}
}
