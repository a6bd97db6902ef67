//! Counters of the engine, under names close to InnoDB's, and what observers see of running transactions.

use crate::Isolation;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Live counters; relaxed, since nothing depends on their order.
#[derive(Default)]
pub(crate) struct Counters {
    pub rows_read: AtomicU64,
    pub rows_inserted: AtomicU64,
    pub rows_updated: AtomicU64,
    pub rows_deleted: AtomicU64,
    pub commits: AtomicU64,
    pub rollbacks: AtomicU64,
    pub lock_waits: AtomicU64,
    pub lock_waits_current: AtomicU64,
    pub lock_wait_us: AtomicU64,
    pub lock_timeouts: AtomicU64,
    pub deadlocks: AtomicU64,
    pub checkpoints: AtomicU64,
    pub undo_forwards: AtomicU64,
    /// Changes that were moved from memory to a spill.
    pub spilled_changes: AtomicU64,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EngineStats {
    pub rows_read: u64,
    pub rows_inserted: u64,
    pub rows_updated: u64,
    pub rows_deleted: u64,
    pub commits: u64,
    pub rollbacks: u64,
    /// Waits for row locks and gaps: ended and current ones together.
    pub lock_waits: u64,
    pub lock_waits_current: u64,
    pub lock_wait_us: u64,
    pub lock_timeouts: u64,
    pub deadlocks: u64,
    /// Committed changes whose old versions are still kept.
    pub history_length: u64,
    /// Rows with versions or locks in memory.
    pub row_table_entries: u64,
    pub active_writers: u64,
    pub active_snapshots: u64,
    pub checkpoints: u64,
    /// How often the undo records of an old transaction were logged again.
    pub undo_forwards: u64,
    pub checkpoint_lsn: u64,
    pub log_end_lsn: u64,
    pub log_durable_lsn: u64,
    pub log_used_bytes: u64,
    pub log_capacity_bytes: u64,
    pub pool_pages_total: u64,
    pub pool_pages_used: u64,
    pub pool_pages_dirty: u64,
    pub pool_read_requests: u64,
    pub pool_reads: u64,
    pub pool_pages_written: u64,
    pub page_size_bytes: u64,
}

impl Counters {
    pub fn fill(&self, stats: &mut EngineStats) {
        stats.rows_read = self.rows_read.load(Relaxed);
        stats.rows_inserted = self.rows_inserted.load(Relaxed);
        stats.rows_updated = self.rows_updated.load(Relaxed);
        stats.rows_deleted = self.rows_deleted.load(Relaxed);
        stats.commits = self.commits.load(Relaxed);
        stats.rollbacks = self.rollbacks.load(Relaxed);
        stats.lock_waits = self.lock_waits.load(Relaxed);
        stats.lock_waits_current = self.lock_waits_current.load(Relaxed);
        stats.lock_wait_us = self.lock_wait_us.load(Relaxed);
        stats.lock_timeouts = self.lock_timeouts.load(Relaxed);
        stats.deadlocks = self.deadlocks.load(Relaxed);
        stats.checkpoints = self.checkpoints.load(Relaxed);
        stats.undo_forwards = self.undo_forwards.load(Relaxed);
    }
}

/// One transaction that has locked or changed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionInfo {
    pub id: u64,
    /// What `Transaction::set_label` said.
    pub label: u64,
    pub isolation: Isolation,
    pub age_us: u64,
    pub undo_records: u64,
    pub undo_bytes: u64,
    pub locks: u64,
    /// Present while it waits for a lock.
    pub waiting: Option<LockWaitInfo>,
}

/// A lock wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockWaitInfo {
    pub tree: crate::TreeId,
    pub key: Vec<u8>,
    pub for_us: u64,
    /// The transactions it waits for.
    pub blockers: Vec<u64>,
}
