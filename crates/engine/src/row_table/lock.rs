//! Explicit locks of one row: holders, and waiters in the order that `queue` keeps.
//!
//! Invariants: locks are handed over directly by whoever releases, to the first in the queue, so no newcomer
//! slips in between. An implicit lock becomes an explicit one as soon as somebody has to wait for it, so its
//! end wakes the waiters.

use super::queue::{LockQueue, Request};
use super::{RowEntry, RowName};
use crate::LockMode;
use crate::locks::wait::{Outcome, WaitCell};
use crate::transactions::transaction_state::TransactionState;
use smallvec::SmallVec;
use std::sync::Arc;

#[derive(Default)]
pub(super) struct LockState {
    holders: SmallVec<[Holder; 1]>,
    queue: LockQueue,
}

struct Holder {
    transaction: Arc<TransactionState>,
    mode: LockMode,
    /// It holds the lock only because it has written the row and somebody waits for that.
    implied: bool,
}

/// What becomes of a row's lock when a change of the row is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockAfterUndo {
    /// The row stays exclusively locked: a statement or a savepoint was rolled back, not the transaction.
    Kept,
    /// An insert was undone and there is no row any more: who waits for it goes on, unless the transaction had
    /// locked the key besides.
    Freed,
    /// Explicit locks last until the transaction's end, which comes next.
    UntilEnd,
}

/// The answer to an attempt that does not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The commit LSN of the newest version, 0 if it is older than anything remembered: whoever returns the
    /// row to a client makes sure first that this LSN is durable.
    Granted {
        newest_lsn: u64,
    },
    Conflict,
}

pub(crate) enum Enqueued {
    Granted,
    Waiting(Arc<WaitCell>),
}

impl LockState {
    fn holder_mut(&mut self, transaction: &Arc<TransactionState>) -> Option<&mut Holder> {
        self.holders.iter_mut().find(|holder| Arc::ptr_eq(&holder.transaction, transaction))
    }

    fn mode_held(&self, transaction: &Arc<TransactionState>) -> Option<LockMode> {
        let holder = self.holders.iter().find(|holder| Arc::ptr_eq(&holder.transaction, transaction));
        holder.map(|holder| holder.mode)
    }

    fn is_compatible(&self, transaction: &Arc<TransactionState>, mode: LockMode) -> bool {
        self.holders
            .iter()
            .filter(|holder| !Arc::ptr_eq(&holder.transaction, transaction))
            .all(|holder| holder.mode == LockMode::Shared && mode == LockMode::Shared)
    }

    /// Whether an exclusive lock is held alone.
    fn is_sound(&self) -> bool {
        self.holders.len() <= 1 || self.holders.iter().all(|holder| holder.mode == LockMode::Shared)
    }
    /// Adds or strengthens a hold. False when the transaction has ended meanwhile.
    pub fn hold(&mut self, transaction: &Arc<TransactionState>, mode: LockMode, name: &RowName) -> bool {
        self.hold_as(transaction, mode, false, name)
    }

    fn hold_as(
        &mut self,
        transaction: &Arc<TransactionState>,
        mode: LockMode,
        implied: bool,
        name: &RowName,
    ) -> bool {
        if let Some(holder) = self.holder_mut(transaction) {
            if mode == LockMode::Exclusive {
                holder.mode = mode;
            }
            holder.implied &= implied;
            debug_assert!(self.is_sound(), "an exclusive lock has one holder");
            return true;
        }
        let remembered = transaction.remember_lock(name);
        if remembered {
            self.holders.push(Holder { transaction: transaction.clone(), mode, implied });
        }
        debug_assert!(self.is_sound(), "an exclusive lock has one holder");
        remembered
    }

    /// Grants from the front of the queue as far as possible.
    fn hand_over(&mut self, name: &RowName) {
        while let Some(request) = self.queue.first() {
            if request.cell.is_resolved() {
                self.queue.pop_first();
                continue;
            }
            if !self.is_compatible(&request.transaction, request.mode) {
                return;
            }
            let request = self.queue.pop_first().expect("the first was just seen");
            if request.cell.resolve(Outcome::Granted) {
                self.hold(&request.transaction, request.mode, name);
            }
        }
    }

    fn is_disposable(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }
}

impl RowEntry {
    pub(super) fn lock_mut(&mut self) -> &mut LockState {
        self.lock.get_or_insert_default()
    }

    pub(super) fn is_disposable(&self) -> bool {
        self.versions.len() == 0 && self.lock.as_ref().is_none_or(|lock| lock.is_disposable())
    }

    /// `me` has changed the row: what it held before is exclusive now, or others could come to share it.
    pub(super) fn strengthen(&mut self, me: &Arc<TransactionState>) {
        if let Some(holder) = self.lock.as_mut().and_then(|lock| lock.holder_mut(me)) {
            holder.mode = LockMode::Exclusive;
        }
        debug_assert!(
            self.lock.as_ref().is_none_or(|lock| lock.is_sound()),
            "an exclusive lock has one holder"
        );
    }

    /// True when a write by `me` has to wait.
    pub(super) fn conflicts_with_write(&self, me: &Arc<TransactionState>) -> bool {
        let written = self.versions.active_writer().is_some_and(|writer| !Arc::ptr_eq(writer, me));
        written || self.lock.as_ref().is_some_and(|lock| !lock.is_compatible(me, LockMode::Exclusive))
    }

    pub(super) fn try_lock(&mut self, me: &Arc<TransactionState>, name: &RowName, mode: LockMode) -> Attempt {
        debug_assert!(me.is_active(), "who has ended locks nothing");
        match self.versions.active_writer() {
            Some(writer) if Arc::ptr_eq(writer, me) => return Attempt::Granted { newest_lsn: 0 },
            Some(_) => return Attempt::Conflict,
            None => {}
        }
        let newest_lsn = self.versions.newest_if_committed().unwrap_or(0);
        let lock = self.lock_mut();
        let held = lock.mode_held(me);
        if held == Some(LockMode::Exclusive) || held == Some(mode) {
            return Attempt::Granted { newest_lsn };
        }
        let waiters_come_first = held.is_none() && !lock.queue.is_empty();
        if waiters_come_first || !lock.is_compatible(me, mode) {
            return Attempt::Conflict;
        }
        let remembered = lock.hold(me, mode, name);
        assert!(remembered, "a running transaction has not ended");
        Attempt::Granted { newest_lsn }
    }

    /// `locks_held`: how many `me` holds. To be asked before the row table is locked, for whoever logs undo records again has
    /// them locked while he looks for their versions there.
    pub(super) fn enqueue(
        &mut self,
        me: &Arc<TransactionState>,
        name: &RowName,
        mode: LockMode,
        locks_held: u64,
    ) -> Enqueued {
        if self.try_lock(me, name, mode) != Attempt::Conflict {
            return Enqueued::Granted;
        }
        if let Some(writer) = self.versions.active_writer().cloned() {
            let still_runs = self.lock_mut().hold_as(&writer, LockMode::Exclusive, true, name);
            if !still_runs && self.try_lock(me, name, mode) != Attempt::Conflict {
                return Enqueued::Granted;
            }
        }
        let lock = self.lock_mut();
        let cell = WaitCell::new();
        let request = Request { transaction: me.clone(), mode, cell: cell.clone() };
        if lock.mode_held(me).is_some() {
            lock.queue.push_upgrade(request);
        } else if lock.is_compatible(me, mode) {
            // Only the queue is in its way: in front of it, it would wait for nobody and nobody would wake it.
            lock.queue.push_last(request);
        } else {
            lock.queue.push(request, locks_held);
        }
        Enqueued::Waiting(cell)
    }

    pub(super) fn cancel(&mut self, cell: &Arc<WaitCell>, name: &RowName) {
        let lock = self.lock_mut();
        lock.queue.remove(cell);
        lock.hand_over(name);
    }

    pub(super) fn release(&mut self, me: &Arc<TransactionState>, name: &RowName) {
        let lock = self.lock_mut();
        lock.holders.retain(|holder| !Arc::ptr_eq(&holder.transaction, me));
        debug_assert!(lock.mode_held(me).is_none(), "a transaction is one of the holders at most");
        lock.hand_over(name);
    }

    pub(super) fn held_mode(&self, holder: &Arc<TransactionState>) -> Option<LockMode> {
        self.lock.as_ref().and_then(|lock| lock.mode_held(holder))
    }

    /// `me` has undone its insert of the row: gives up what it held for no other reason.
    pub(super) fn free_written(&mut self, me: &Arc<TransactionState>, name: &RowName) {
        let still_written = self.versions.active_writer().is_some_and(|writer| Arc::ptr_eq(writer, me));
        let Some(lock) = self.lock.as_mut().filter(|_| !still_written) else { return };
        if lock.holder_mut(me).is_some_and(|holder| holder.implied) {
            me.forget_lock_since(0, name.tree, &name.key);
            self.release(me, name);
        }
    }

    /// A version that `me` wrote is in its spill now, and the lock on record there: forgets it if `me` alone has to do
    /// with it; else it no longer goes with a version.
    pub(super) fn give_up_unwaited(&mut self, me: &Arc<TransactionState>) {
        let Some(lock) = &mut self.lock else { return };
        let is_alone = lock.holders.iter().all(|holder| Arc::ptr_eq(&holder.transaction, me));
        if is_alone && lock.queue.is_empty() {
            self.lock = None;
        } else if let Some(holder) = lock.holder_mut(me) {
            holder.implied = false;
        }
    }

    /// See `RowTable::unwaited_lock`.
    pub(super) fn unwaited_lock(&self, me: &Arc<TransactionState>) -> Option<LockMode> {
        let is_changed = self.versions.active_writer().is_some_and(|writer| Arc::ptr_eq(writer, me));
        let lock = self.lock.as_ref().filter(|lock| !is_changed && lock.queue.is_empty())?;
        lock.mode_held(me)
    }

    pub(super) fn forget_unwaited_lock(&mut self, me: &Arc<TransactionState>) {
        if self.unwaited_lock(me).is_some() {
            let lock = self.lock_mut();
            lock.holders.retain(|holder| !Arc::ptr_eq(&holder.transaction, me));
        }
    }

    /// Who has to end before `me` gets its turn: the holders, or the first request ahead of it if that alone stands in
    /// its way. Other requests ahead wait for the same holders, so they need not be listed: any cycle through them
    /// runs through the holders too. A request that is decided (its transaction is a victim, say) is in nobody's way,
    /// and would hide those behind it.
    pub(super) fn blockers(&self, me: &Arc<TransactionState>) -> Vec<Arc<TransactionState>> {
        let Some(lock) = &self.lock else { return Vec::new() };
        if let [holder] = lock.holders.as_slice()
            && holder.mode == LockMode::Exclusive
        {
            // The usual case costs the same however many wait.
            return if Arc::ptr_eq(&holder.transaction, me) {
                Vec::new()
            } else {
                vec![holder.transaction.clone()]
            };
        }
        let is_own = |request: &&Request| Arc::ptr_eq(&request.transaction, me);
        let Some(own) = lock.queue.iter().find(is_own) else { return Vec::new() };
        if own.mode == LockMode::Shared && lock.is_compatible(me, own.mode) {
            let mut ahead = lock.queue.iter().take_while(|request| !is_own(request));
            let first =
                ahead.find(|request| request.mode == LockMode::Exclusive && !request.cell.is_resolved());
            return first.map(|request| request.transaction.clone()).into_iter().collect();
        }
        lock.holders
            .iter()
            .filter(|holder| !Arc::ptr_eq(&holder.transaction, me))
            .map(|holder| holder.transaction.clone())
            .collect()
    }
}
