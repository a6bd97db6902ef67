//! Snapshots in use: what may not be pruned yet.
//!
//! Invariant: under the mutex, a registered snapshot is never older than the horizon that was given out
//! before, and a horizon never newer than a registered snapshot. (A mutex held for nanoseconds instead of
//! slots of atomics: the race between registering and pruning disappears, and the set is short because
//! transactions of the same moment share their LSN.)

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

#[derive(Default)]
pub(crate) struct SnapshotRegistry {
    /// As in the state, for readers.
    expired_lsn: AtomicU64,
    /// How many snapshots are of transactions with snapshot isolation.
    strict: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Snapshots before this LSN have been given up: what they need may be gone.
    expired_lsn: u64,
    /// Ascending: what a new snapshot sees never shrinks, so it goes to the end.
    in_use: VecDeque<InUse>,
    /// The newest that was ever given out, as a snapshot or as a bound; a change of the flush mode must not take it back.
    newest_lsn: u64,
}

struct InUse {
    lsn: u64,
    count: u32,
}

/// What a reader sees: everything committed at or before `lsn`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub lsn: u64,
    /// A page whose LSN is below holds nothing that this snapshot does not see.
    pub low_lsn: u64,
}

impl SnapshotRegistry {
    /// Registers a snapshot made by `take`, which runs under the mutex.
    pub fn register(&self, take: impl FnOnce() -> Snapshot) -> Snapshot {
        let mut state = self.state.lock();
        let mut snapshot = take();
        snapshot.lsn = snapshot.lsn.max(state.newest_lsn);
        state.newest_lsn = snapshot.lsn;
        debug_assert!(state.in_use.back().is_none_or(|newest| newest.lsn <= snapshot.lsn), "they ascend");
        match state.in_use.back_mut() {
            Some(newest) if newest.lsn == snapshot.lsn => newest.count += 1,
            _ => state.in_use.push_back(InUse { lsn: snapshot.lsn, count: 1 }),
        }
        snapshot
    }

    /// A transaction's snapshot begins, or ceases, to be one with snapshot isolation.
    pub fn count_strict(&self, was: bool, is: bool) {
        match (was, is) {
            (false, true) => drop(self.strict.fetch_add(1, Ordering::SeqCst)),
            (true, false) => {
                let strict = self.strict.fetch_sub(1, Ordering::SeqCst);
                debug_assert!(strict > 0, "a strict snapshot counts until it ends");
            }
            _ => {}
        }
    }

    /// Somebody must be told of every change since his snapshot, also of rows that came and went.
    pub fn has_strict(&self) -> bool {
        self.strict.load(Ordering::SeqCst) > 0
    }

    pub fn unregister(&self, snapshot: Snapshot) {
        let in_use = &mut self.state.lock().in_use;
        let index = in_use.binary_search_by_key(&snapshot.lsn, |entry| entry.lsn);
        let index = index.expect("it was registered");
        debug_assert!(in_use[index].count > 0, "a snapshot counts until it ends");
        in_use[index].count -= 1;
        if in_use[index].count == 0 {
            in_use.remove(index);
        }
    }

    /// Gives the oldest snapshot up that is not given up yet, with all that see no more: their readers get
    /// `SnapshotTooOld`. What only they need may be pruned from then on.
    pub fn expire_oldest(&self) {
        let mut state = self.state.lock();
        let oldest = state.in_use.iter().find(|entry| entry.lsn >= state.expired_lsn).map(|entry| entry.lsn);
        if let Some(oldest) = oldest {
            state.expired_lsn = oldest + 1;
            self.expired_lsn.store(oldest + 1, Ordering::SeqCst);
        }
    }

    /// Whether the snapshot was given up. Ask after reading: what was read before that is right.
    pub fn is_expired(&self, snapshot_lsn: u64) -> bool {
        snapshot_lsn < self.expired_lsn.load(Ordering::SeqCst)
    }

    /// The LSN that every present and future snapshot sees; `current` tells what a new one would see.
    pub fn horizon(&self, current: impl FnOnce() -> u64) -> u64 {
        let mut state = self.state.lock();
        let newest = current();
        state.newest_lsn = state.newest_lsn.max(newest);
        let oldest = state.in_use.iter().find(|entry| entry.lsn >= state.expired_lsn);
        debug_assert!(oldest.is_none_or(|oldest| oldest.lsn <= state.newest_lsn), "snapshots were given out");
        oldest.map_or(newest, |oldest| newest.min(oldest.lsn))
    }

    /// The snapshots in use, ascending, and what every later one sees at least.
    pub fn list(&self, current: impl FnOnce() -> u64) -> (Vec<u64>, u64) {
        let mut state = self.state.lock();
        let newest = current();
        state.newest_lsn = state.newest_lsn.max(newest);
        debug_assert!(
            state.in_use.back().is_none_or(|last| last.lsn <= state.newest_lsn),
            "snapshots were given out"
        );
        let in_use = state.in_use.iter().map(|entry| entry.lsn);
        (in_use.filter(|lsn| *lsn >= state.expired_lsn).collect(), newest)
    }

    pub fn len(&self) -> usize {
        self.state.lock().in_use.iter().map(|entry| entry.count as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::versions::snapshot::*;

    #[test]
    fn the_oldest_holds_the_horizon() {
        let registry = SnapshotRegistry::default();
        let take = |lsn| registry.register(|| Snapshot { lsn, low_lsn: 0 });
        let (one, same, two) = (take(5), take(5), take(9));
        assert_eq!(registry.list(|| 12), (vec![5, 9], 12));
        registry.unregister(one);
        assert_eq!((registry.horizon(|| 12), registry.len()), (5, 2));
        registry.unregister(same);
        assert_eq!(registry.horizon(|| 12), 9);
        let three = take(12);
        registry.expire_oldest();
        assert!(registry.is_expired(two.lsn) && !registry.is_expired(three.lsn));
        assert_eq!((registry.horizon(|| 15), registry.list(|| 15)), (12, (vec![12], 15)));
        registry.unregister(three);
        registry.expire_oldest();
        assert_eq!((registry.horizon(|| 15), registry.list(|| 15)), (15, (vec![], 15)));
        registry.unregister(two);
        assert_eq!(registry.horizon(|| 12), 12);
    }

    #[test]
    fn no_snapshot_is_older_than_what_was_given_out() {
        let registry = SnapshotRegistry::default();
        assert_eq!(registry.horizon(|| 200), 200);
        assert_eq!(registry.register(|| Snapshot { lsn: 100, low_lsn: 0 }).lsn, 200);
        assert_eq!(registry.list(|| 300), (vec![200], 300));
        assert_eq!(registry.register(|| Snapshot { lsn: 250, low_lsn: 0 }).lsn, 300);
    }
}
