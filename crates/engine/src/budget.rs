//! How memory and log are shared out: what follows from the sizes of pool and log that a user gives.
//!
//! Invariant: a budget follows both sizes as they are asked for now; nothing is computed once and kept. Who keeps
//! within a budget, and how, is said where it is used.

use crate::EngineOptions;
use crate::checkpoints::page_logs::AGE_EIGHTHS;
use crate::engine::flush_mode;
use crate::storage::files::LOG_DIRECTORY;
use std::sync::atomic::{AtomicU64, Ordering};
use wal::{Lsn, WalOptions};

/// A smaller log would be nothing but its reserves.
const LOG_BYTES_MIN: u64 = 4 << 20;

/// Checkpoints keep the log within the configured size. Rollback, forwarding and above all recovery, during
/// which no checkpoint can help, may need more: the log refuses only beyond this multiple.
const LOG_SLACK: u64 = 2;

/// Undo records and versions of running transactions may take this share of the pool's size, beside it, within these
/// bounds (the versions of committed ones as much again),
const UNDO_POOL_SHARE: u64 = 2;
const UNDO_MEMORY_MIN: u64 = 4 << 20;
const UNDO_MEMORY_MAX: u64 = 64 << 20;
/// and this share of the log.
const UNDO_LOG_SHARE: u64 = 4;

/// Changes of leaves that are not in memory may take this share of the pool's size, beside it, up to this maximum,
const LATE_POOL_SHARE: u64 = 16;
const LATE_MEMORY_MAX: u64 = 64 << 20;
/// and this share of the log.
const LATE_LOG_SHARE: u64 = 16;

/// The logs of dirty pages may take this share of the pool's size, beside it, up to this maximum,
const PAGE_LOG_POOL_SHARE: u64 = 2;
const PAGE_LOG_MEMORY_MAX: u64 = 1 << 30;
/// and this share of the log: when they are logged again, the log must still be short enough.
const PAGE_LOG_LOG_SHARE: u64 = 8;

/// After a crash, what the log says of pages may take this share of the pool's size, beside it: its frames are empty at
/// first. Less than this would mean to read the log once for a few pages.
const REDO_POOL_SHARE: u64 = 2;
const REDO_MEMORY_MIN: u64 = 64 << 10;

const _: () = assert!(UNDO_MEMORY_MIN <= UNDO_MEMORY_MAX, "the bounds of a share are in order");
// What running transactions, leaves and pages may have to be logged again must leave the half of the log that
// `Engine::is_roomy` wants free.
const _: () = assert!(
    16 / UNDO_LOG_SHARE + 16 / LATE_LOG_SHARE + 16 / PAGE_LOG_LOG_SHARE <= 8,
    "what is logged again fits into half of the log"
);
const _: () = assert!(AGE_EIGHTHS < 8, "dirty pages do not hold back all of the log");
/// The sizes asked for, and what follows from them.
pub(crate) struct Budgets {
    pool_bytes: AtomicU64,
    redo_bytes: AtomicU64,
    /// Fixed by the options, whatever the pool's size is.
    undo_fixed: Option<u64>,
    version_fixed: Option<u64>,
    late_fixed: Option<u64>,
    page_log_fixed: Option<u64>,
}

impl Budgets {
    pub fn new(options: &EngineOptions) -> Budgets {
        Budgets {
            pool_bytes: AtomicU64::new(options.buffer_pool_bytes),
            redo_bytes: AtomicU64::new(at_least_a_log(options.redo_capacity_bytes)),
            undo_fixed: (options.undo_memory_bytes > 0).then_some(options.undo_memory_bytes),
            version_fixed: (options.version_memory_bytes > 0).then_some(options.version_memory_bytes),
            late_fixed: options.late_change_bytes,
            page_log_fixed: options.page_log_bytes,
        }
    }

    pub fn set_pool_bytes(&self, bytes: u64) {
        self.pool_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Answers what the log's capacity is now, and what was asked for before.
    pub fn set_redo_bytes(&self, bytes: u64) -> (u64, u64) {
        let bytes = at_least_a_log(bytes);
        (bytes, self.redo_bytes.swap(bytes, Ordering::AcqRel))
    }

    /// The log capacity that was asked for last; a lower one takes effect when the log is short enough.
    pub fn redo_bytes(&self) -> u64 {
        self.redo_bytes.load(Ordering::Acquire)
    }

    /// How far the log may grow behind a dirty page: as far as behind those that are not in memory.
    pub fn dirty_log_bytes(&self) -> u64 {
        self.redo_bytes() / 8 * AGE_EIGHTHS
    }

    /// What undo records and versions of running transactions may keep in memory before the large ones spill: no more
    /// than what the log can take again when it is forwarded.
    pub fn undo_bytes(&self) -> u64 {
        let share = || self.version_share_bytes();
        self.undo_fixed.unwrap_or_else(share).min(self.redo_bytes() / UNDO_LOG_SHARE)
    }

    /// What versions of committed transactions may keep in memory before the oldest go to runs.
    pub fn version_bytes(&self) -> u64 {
        self.version_fixed.unwrap_or_else(|| self.version_share_bytes())
    }

    fn version_share_bytes(&self) -> u64 {
        let pool_bytes = self.pool_bytes.load(Ordering::Relaxed);
        (pool_bytes / UNDO_POOL_SHARE).clamp(UNDO_MEMORY_MIN, UNDO_MEMORY_MAX)
    }

    /// What late changes may take: no more than what the log can take again when they are renewed.
    pub fn late_bytes(&self) -> u64 {
        let pool_bytes = self.pool_bytes.load(Ordering::Relaxed);
        let share = || (pool_bytes / LATE_POOL_SHARE).min(LATE_MEMORY_MAX);
        self.late_fixed.unwrap_or_else(share).min(self.redo_bytes() / LATE_LOG_SHARE)
    }

    /// What the logs of dirty pages may take.
    pub fn page_log_bytes(&self) -> u64 {
        let pool_bytes = self.pool_bytes.load(Ordering::Relaxed);
        let share = || (pool_bytes / PAGE_LOG_POOL_SHARE).min(PAGE_LOG_MEMORY_MAX);
        self.page_log_fixed.unwrap_or_else(share).min(self.redo_bytes() / PAGE_LOG_LOG_SHARE)
    }
}

/// What is kept in memory of the log while pages are behind it after a crash.
pub(crate) fn redo_memory_bytes(options: &EngineOptions) -> usize {
    let share = (options.buffer_pool_bytes / REDO_POOL_SHARE).max(REDO_MEMORY_MIN);
    let bytes = if options.redo_memory_bytes > 0 { options.redo_memory_bytes } else { share };
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn at_least_a_log(bytes: u64) -> u64 {
    bytes.max(LOG_BYTES_MIN)
}

/// The size at which the log refuses what does not come from recovery or rollback.
pub(crate) fn log_bytes_max(redo_bytes: u64) -> u64 {
    debug_assert!(redo_bytes >= LOG_BYTES_MIN, "it is the capacity of a log");
    redo_bytes * LOG_SLACK
}

/// A log of this capacity.
pub(crate) fn wal_options(options: &EngineOptions) -> WalOptions {
    const BLOCK: u64 = 4096;
    let redo_bytes = at_least_a_log(options.redo_capacity_bytes);
    let segment_bytes = (redo_bytes / 8).clamp(256 << 10, 64 << 20) / BLOCK * BLOCK;
    let group_bytes_max = (segment_bytes / 4).min(4 << 20) as usize;
    assert!(segment_bytes > 0 && segment_bytes.is_multiple_of(BLOCK), "a segment is made of blocks");
    assert!(group_bytes_max as u64 <= segment_bytes / 4, "a group fits into a segment");
    let reserve_bytes = segment_bytes / 4;
    assert!(reserve_bytes < redo_bytes, "the reserve is a part of the log");
    WalOptions {
        directory: LOG_DIRECTORY.into(),
        segment_bytes,
        capacity_bytes: log_bytes_max(redo_bytes),
        reserve_bytes,
        buffer_bytes: (redo_bytes / 16).clamp(1 << 20, 16 << 20) as usize,
        group_bytes_max,
        flush_mode: flush_mode(options.flush_at_commit),
        keep_from: options.keep_log_from.map(Lsn),
    }
}
