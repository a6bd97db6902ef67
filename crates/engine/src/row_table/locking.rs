//! Locking rows by name: the row table's doors to `lock`.
//!
//! Invariant: whoever asks for a lock leaves an entry with something in it, or none. Called by reads, writes and `locks`.

use super::{Attempt, Enqueued, Row, RowEntry, RowName, RowTable};
use crate::locks::wait::WaitCell;
use crate::transactions::transaction_state::TransactionState;
use crate::{LockMode, TreeId};
use std::sync::Arc;

impl RowTable {
    /// Takes the lock if nobody is in the way. Call it under the leaf latch, and trust the page's record
    /// only after `Granted`.
    pub fn try_lock(&self, me: &Arc<TransactionState>, tree: TreeId, key: &[u8], mode: LockMode) -> Attempt {
        loop {
            if let Some(attempt) = self.try_lock_unmoved(me, tree, key, mode, self.moves()) {
                return attempt;
            }
        }
    }

    /// The same for rows that may be in a spill: see `moves`. `None`: ask the spills again.
    pub fn try_lock_unmoved(
        &self,
        me: &Arc<TransactionState>,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
        moves: u64,
    ) -> Option<Attempt> {
        self.in_entry(tree, key, moves, |name, entry| entry.try_lock(me, name, mode))
    }

    /// Takes the lock or joins its queue.
    #[cfg(test)]
    pub fn enqueue(
        &self,
        me: &Arc<TransactionState>,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
    ) -> (RowName, Enqueued) {
        loop {
            if let Some(enqueued) = self.enqueue_unmoved(me, tree, key, mode, self.moves()) {
                return enqueued;
            }
        }
    }

    /// The same for rows that may be in a spill: see `moves`. `None`: try from the start.
    pub fn enqueue_unmoved(
        &self,
        me: &Arc<TransactionState>,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
        moves: u64,
    ) -> Option<(RowName, Enqueued)> {
        let locks_held = me.locks_held();
        self.in_entry(tree, key, moves, |name, entry| {
            let enqueued = entry.enqueue(me, name, mode, locks_held);
            (name.clone(), enqueued)
        })
    }

    /// Asks the row's entry, which is added if there is none; `None` if rows have moved into spills meanwhile.
    fn in_entry<T>(
        &self,
        tree: TreeId,
        key: &[u8],
        moves: u64,
        ask: impl FnOnce(&RowName, &mut RowEntry) -> T,
    ) -> Option<T> {
        let place = self.place(tree, key);
        let mut rows = place.shard.rows.lock();
        let Row { name, entry } = place.find_or_add(&mut rows, self);
        if self.moves() != moves {
            self.drop_if_empty(&place, &mut rows);
            return None;
        }
        let answer = ask(name, entry);
        debug_assert!(!entry.is_disposable(), "what is granted, in the way, or waits, is in the entry");
        Some(answer)
    }

    /// Gives up a wait that nobody has granted; false when the lock was granted meanwhile.
    pub fn cancel(&self, name: &RowName, cell: &Arc<WaitCell>) {
        self.change(name, |entry| entry.cancel(cell, name));
    }

    /// Releases the explicit lock of a transaction and hands it to whoever waits.
    pub fn release(&self, me: &Arc<TransactionState>, name: &RowName) {
        self.change(name, |entry| entry.release(me, name));
    }

    /// The transactions that keep `me` from the lock it waits for.
    pub fn blockers(&self, me: &Arc<TransactionState>, name: &RowName) -> Vec<Arc<TransactionState>> {
        let place = self.place_of(name);
        let rows = place.shard.rows.lock();
        place.find(&rows).map_or_else(Vec::new, |entry| entry.blockers(me))
    }

    /// How `holder` has locked a row explicitly.
    pub fn held_mode(&self, holder: &Arc<TransactionState>, name: &RowName) -> Option<LockMode> {
        let place = self.place_of(name);
        let rows = place.shard.rows.lock();
        place.find(&rows).and_then(|entry| entry.held_mode(holder))
    }
}
