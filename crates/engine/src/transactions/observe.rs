//! What observers see of running transactions: who they are, what they hold, what they wait for, and the latest
//! deadlock.
//!
//! Nothing here changes anything. Each answer is put together from many small locks, so a list as a whole is not one
//! moment; the description of a deadlock is, since nobody in a cycle can go on while it is described.
//! Callers: `session`, for SHOW and the virtual tables; `deadlock`.

use crate::engine::Engine;
use crate::locks::intervals::contains;
use crate::locks::wait::WaitTarget;
use crate::transactions::transaction_state::TransactionState;
use crate::{Isolation, LockMode, TreeId};
use std::ops::Bound;
use std::sync::Arc;

/// One transaction that has locked or changed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionInfo {
    /// Its number.
    pub id: u64,
    /// What `Transaction::set_label` said.
    pub label: u64,
    /// Its isolation level.
    pub isolation: Isolation,
    /// How long ago it locked or changed something for the first time.
    pub age_us: u64,
    /// Changes that a rollback would undo.
    pub undo_records: u64,
    /// Their size in the log.
    pub undo_bytes: u64,
    /// Explicit row locks; the rows it has changed are locked besides.
    pub locks: u64,
    /// Present while it waits for a lock.
    pub waiting: Option<LockWaitInfo>,
}

/// A lock wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockWaitInfo {
    /// The tree of the key.
    pub tree: TreeId,
    /// The key of the record that is locked, or of the one that is to be inserted.
    pub key: Vec<u8>,
    /// How long it has waited.
    pub for_us: u64,
    /// The transactions it waits for.
    pub blockers: Vec<u64>,
}

/// A lock that a transaction holds or waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockInfo {
    /// The transaction's number.
    pub transaction: u64,
    /// What `Transaction::set_label` said.
    pub label: u64,
    /// Where the locked thing is.
    pub tree: TreeId,
    /// What is locked.
    pub what: LockedItem,
    /// Shared or exclusive.
    pub mode: LockMode,
    /// False while the transaction waits for it.
    pub granted: bool,
}

/// What a lock is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockedItem {
    /// The record of this key.
    Row(Vec<u8>),
    /// Keys between two bounds: others may not insert there.
    Range(Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// All records between two bounds, which a long scan has locked.
    Rows(Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// The place of a key that is to be inserted.
    Gap(Vec<u8>),
}

/// A cycle of transactions that waited for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockReport {
    /// When it was found, in microseconds since 1970.
    pub at_unix_us: u64,
    /// Each waits for the next one, the last for the first. The first is the one whose wait closed the cycle.
    pub members: Vec<DeadlockMember>,
    /// The place in `members` of the one that was rolled back.
    pub victim: usize,
}

/// A transaction of a deadlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockMember {
    /// The transaction as it was then.
    pub transaction: TransactionInfo,
    /// The observer's words about whoever ran it: see [`DeadlockObserver::describe`].
    pub description: String,
    /// What it held and the member before it waited for.
    pub holds: LockInfo,
    /// What it waited for.
    pub waits_for: LockInfo,
}

/// Adds to a deadlock what the engine does not know, and hears of each.
pub trait DeadlockObserver: Send + Sync {
    /// What there is to say about whoever runs the transactions of this label, for example the running statement.
    /// Called under locks of the engine: it may neither wait nor call the engine.
    fn describe(&self, label: u64) -> String;

    /// A deadlock was broken. May not wait.
    fn detected(&self, report: &DeadlockReport);
}

impl Engine {
    /// The transactions that have locked or changed something, oldest first.
    pub fn active_transactions(&self) -> Vec<TransactionInfo> {
        let now_us = self.env.clock.now_us();
        self.writers.active().iter().map(|state| self.describe(state, now_us)).collect()
    }

    /// The locks that are held or waited for, by transaction. A row that a transaction has changed and nobody else
    /// wants is not among them.
    pub fn locks(&self) -> Vec<LockInfo> {
        let mut locks = Vec::new();
        for state in self.writers.active() {
            for name in state.held_names() {
                let Some(mode) = self.rows.held_mode(&state, &name) else { continue };
                let what = LockedItem::Row(name.key.to_vec());
                locks.push(lock_info(&state, name.tree, what, mode, true));
            }
            for (tree, range) in self.locks.intervals.of(&state) {
                let what = LockedItem::Range(range.0, range.1);
                locks.push(lock_info(&state, tree, what, LockMode::Shared, true));
            }
            for (tree, range, mode) in self.locks.row_runs.of(&state) {
                let what = LockedItem::Rows(range.0, range.1);
                locks.push(lock_info(&state, tree, what, mode, true));
            }
            locks.extend(state.waiting().map(|waiting| wanted(&state, &waiting.target)));
        }
        locks
    }

    /// The latest deadlock since the engine was opened.
    pub fn latest_deadlock(&self) -> Option<Arc<DeadlockReport>> {
        self.locks.deadlocks.latest()
    }

    /// Names who is asked and told about deadlocks; once, the later calls do nothing.
    pub fn observe_deadlocks(&self, observer: Arc<dyn DeadlockObserver>) {
        let _ = self.locks.deadlocks.observer.set(observer);
    }

    fn describe(&self, state: &Arc<TransactionState>, now_us: u64) -> TransactionInfo {
        let waiting = state.waiting().map(|waiting| {
            let blockers = self.blockers(state, &waiting.target).iter().map(|state| state.id.0).collect();
            let (tree, key) = match &waiting.target {
                WaitTarget::Row(name, _) => (name.tree, name.key.to_vec()),
                WaitTarget::Gap(tree, key) => (*tree, key.to_vec()),
            };
            LockWaitInfo { tree, key, for_us: now_us.saturating_sub(waiting.since_us), blockers }
        });
        TransactionInfo {
            id: state.id.0,
            label: state.label(),
            isolation: state.isolation,
            age_us: now_us.saturating_sub(state.started_us),
            undo_records: state.undo_len(),
            undo_bytes: state.undo_bytes(),
            locks: state.rows_locked(),
            waiting,
        }
    }

    /// Who keeps a waiting transaction from going on.
    pub(crate) fn blockers(
        &self,
        state: &Arc<TransactionState>,
        target: &WaitTarget,
    ) -> Vec<Arc<TransactionState>> {
        match target {
            WaitTarget::Row(name, _) => self.rows.blockers(state, name),
            WaitTarget::Gap(tree, key) => self.locks.intervals.blockers(state, *tree, key),
        }
    }

    /// A cycle in which each waits for the next; `None` when one of them waits no more.
    pub(crate) fn describe_deadlock(
        &self,
        cycle: &[Arc<TransactionState>],
        victim: usize,
    ) -> Option<DeadlockReport> {
        debug_assert!(victim < cycle.len(), "the victim is a member");
        let now_us = self.env.clock.now_us();
        let targets: Vec<WaitTarget> =
            cycle.iter().map(|state| Some(state.waiting()?.target)).collect::<Option<_>>()?;
        let members = cycle.iter().enumerate().map(|(place, state)| {
            let before = (place + cycle.len() - 1) % cycle.len();
            let description =
                self.locks.deadlocks.observer.get().map(|observer| observer.describe(state.label()));
            DeadlockMember {
                transaction: self.describe(state, now_us),
                description: description.unwrap_or_default(),
                holds: self.held(state, &targets[before]),
                waits_for: wanted(state, &targets[place]),
            }
        });
        Some(DeadlockReport { at_unix_us: self.env.clock.unix_us(), members: members.collect(), victim })
    }

    /// The lock of `state` that whoever waits for `target` finds in its way.
    fn held(&self, state: &Arc<TransactionState>, target: &WaitTarget) -> LockInfo {
        match target {
            WaitTarget::Row(name, _) => {
                let mode = self.rows.held_mode(state, name).unwrap_or(LockMode::Exclusive);
                lock_info(state, name.tree, LockedItem::Row(name.key.to_vec()), mode, true)
            }
            WaitTarget::Gap(tree, key) => {
                let mut ranges = self.locks.intervals.of(state).into_iter();
                let covering = ranges.find(|(of, range)| of == tree && contains(range, key));
                let range = covering.map_or((Bound::Unbounded, Bound::Unbounded), |(_, range)| range);
                lock_info(state, *tree, LockedItem::Range(range.0, range.1), LockMode::Shared, true)
            }
        }
    }
}

fn wanted(state: &TransactionState, target: &WaitTarget) -> LockInfo {
    match target {
        WaitTarget::Row(name, mode) => {
            lock_info(state, name.tree, LockedItem::Row(name.key.to_vec()), *mode, false)
        }
        WaitTarget::Gap(tree, key) => {
            lock_info(state, *tree, LockedItem::Gap(key.to_vec()), LockMode::Exclusive, false)
        }
    }
}

fn lock_info(
    state: &TransactionState,
    tree: TreeId,
    what: LockedItem,
    mode: LockMode,
    granted: bool,
) -> LockInfo {
    LockInfo { transaction: state.id.0, label: state.label(), tree, what, mode, granted }
}
