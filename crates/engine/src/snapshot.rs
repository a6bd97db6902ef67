//! Snapshots in use: what may not be pruned yet.
//!
//! Invariant: under the mutex, a registered snapshot is never older than the horizon that was given out
//! before, and a horizon never newer than a registered snapshot. (A mutex held for nanoseconds instead of
//! slots of atomics: the race between registering and pruning disappears, and the set is one small node
//! because transactions of the same moment share their LSN.)

use parking_lot::Mutex;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct SnapshotRegistry {
    in_use: Mutex<BTreeMap<u64, usize>>,
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
        let mut in_use = self.in_use.lock();
        let snapshot = take();
        *in_use.entry(snapshot.lsn).or_default() += 1;
        snapshot
    }

    pub fn unregister(&self, snapshot: Snapshot) {
        let mut in_use = self.in_use.lock();
        let count = in_use.get_mut(&snapshot.lsn).expect("it was registered");
        *count -= 1;
        if *count == 0 {
            in_use.remove(&snapshot.lsn);
        }
    }

    /// The LSN that every present and future snapshot sees; `current` tells what a new one would see.
    pub fn horizon(&self, current: impl FnOnce() -> u64) -> u64 {
        let in_use = self.in_use.lock();
        let newest = current();
        in_use.first_key_value().map_or(newest, |(oldest, _)| newest.min(*oldest))
    }

    /// The snapshots in use, ascending, and what every later one sees at least.
    pub fn list(&self, current: impl FnOnce() -> u64) -> (Vec<u64>, u64) {
        let in_use = self.in_use.lock();
        let newest = current();
        (in_use.keys().copied().collect(), newest)
    }

    pub fn len(&self) -> usize {
        self.in_use.lock().values().sum()
    }
}
