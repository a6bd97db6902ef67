//! The registry of transactions that write or lock, for snapshots, checkpoints and observers.
//!
//! Invariant: ids and first LSNs are given out under one mutex, so both grow together and the first entry
//! of a map is its oldest. A transaction is `active` until it has ended, `unseen` until every new snapshot
//! sees its commit.

use crate::Isolation;
use crate::transactions::transaction_state::{TransactionId, TransactionState};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct Writers {
    maps: Mutex<Maps>,
    /// No writer that some new snapshot does not see has changed a page before this LSN. Lags behind, which
    /// only costs look-ups.
    low_lsn: AtomicU64,
}

struct Maps {
    next_id: u64,
    active: BTreeMap<TransactionId, Arc<TransactionState>>,
    /// First LSNs.
    unseen: BTreeMap<TransactionId, u64>,
}

impl Writers {
    /// `next_id` is above every transaction in the log.
    pub fn new(next_id: u64, log_end: u64) -> Writers {
        let maps = Maps { next_id: next_id.max(1), active: BTreeMap::new(), unseen: BTreeMap::new() };
        Writers { maps: Mutex::new(maps), low_lsn: AtomicU64::new(log_end) }
    }

    /// Registers a transaction before its first lock or log record; `log_end` is read under the mutex.
    pub fn start(
        &self,
        isolation: Isolation,
        label: u64,
        now_us: u64,
        log_end: impl FnOnce() -> u64,
    ) -> Arc<TransactionState> {
        let mut maps = self.maps.lock();
        let id = TransactionId(maps.next_id);
        maps.next_id += 1;
        let state = TransactionState::labelled(id, label, isolation, now_us, log_end());
        debug_assert!(self.low_lsn() <= state.first_lsn(), "snapshots look at pages that it may change");
        let last = maps.unseen.last_key_value();
        debug_assert!(
            last.is_none_or(|(_, last)| *last <= state.first_lsn()),
            "first LSNs grow with the ids"
        );
        let before = maps.active.insert(id, state.clone());
        debug_assert!(before.is_none(), "an id is given out once");
        maps.unseen.insert(id, state.first_lsn());
        state
    }

    /// Registers a transaction of an earlier life: what belongs to it is in the log from `first_lsn` on, and pages may
    /// have had its changes for long. No snapshot exists yet.
    pub fn adopt(&self, id: TransactionId, now_us: u64, first_lsn: u64) -> Arc<TransactionState> {
        let mut maps = self.maps.lock();
        let state = TransactionState::labelled(id, 0, Isolation::ReadCommitted, now_us, 0);
        state.undo_moved_to(first_lsn);
        debug_assert!(id.0 < maps.next_id, "new ids are above those of an earlier life");
        let before = maps.active.insert(id, state.clone());
        debug_assert!(before.is_none(), "a transaction is adopted once");
        maps.unseen.insert(id, 0);
        self.low_lsn.store(0, Ordering::Release);
        state
    }

    /// Its commit record is in the log, or everything is undone.
    pub fn no_longer_active(&self, state: &TransactionState) {
        let was_active = self.maps.lock().active.remove(&state.id).is_some();
        debug_assert!(was_active, "a transaction ends once");
    }

    /// Every new snapshot sees it, or it left nothing to see.
    pub fn seen(&self, state: &TransactionState) {
        self.maps.lock().unseen.remove(&state.id);
    }

    pub fn low_lsn(&self) -> u64 {
        self.low_lsn.load(Ordering::Acquire)
    }

    /// The same for several; moves `low_lsn` up to what it may be now.
    pub fn all_seen(&self, states: &[Arc<TransactionState>], log_end: impl FnOnce() -> u64) {
        let mut maps = self.maps.lock();
        for state in states {
            maps.unseen.remove(&state.id);
        }
        let low = maps.unseen.first_key_value().map_or_else(log_end, |(_, first_lsn)| *first_lsn);
        self.low_lsn.fetch_max(low, Ordering::AcqRel);
    }

    /// The log is needed from here on to undo the active transactions.
    pub fn oldest_active_lsn(&self) -> Option<u64> {
        self.maps.lock().active.values().map(|state| state.first_lsn()).min()
    }

    /// What the undo records, versions and explicit locks of all active transactions take in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.maps.lock().active.values().map(|state| state.memory_bytes()).sum()
    }

    pub fn active(&self) -> Vec<Arc<TransactionState>> {
        self.maps.lock().active.values().cloned().collect()
    }

    pub fn active_count(&self) -> usize {
        self.maps.lock().active.len()
    }

    pub fn next_id(&self) -> u64 {
        self.maps.lock().next_id
    }
}
