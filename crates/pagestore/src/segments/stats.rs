//! What the store has done and how full it is.

use super::core::Core;
use super::table::Use;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub(super) struct Counters {
    pub(super) fresh_bytes: AtomicU64,
    pub(super) relocated_bytes: AtomicU64,
    pub(super) map_bytes: AtomicU64,
    pub(super) epochs: AtomicU64,
    pub(super) cycles: AtomicU64,
    pub(super) segments_cleaned: AtomicU64,
    pub(super) reads: AtomicU64,
    pub(super) reads_retried: AtomicU64,
    pub(super) writes_delayed: AtomicU64,
}

/// A moment's figures. Bytes count whole chunks, summaries included.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SegmentStats {
    pub segments: u64,
    pub segments_free: u64,
    /// Empty, waiting for a checkpoint.
    pub segments_retired: u64,
    /// With living images.
    pub segments_live: u64,
    pub live_bytes: u64,
    pub mapped_pages: u64,
    pub fresh_bytes: u64,
    pub relocated_bytes: u64,
    pub map_bytes: u64,
    /// Bytes the cleaner owes.
    pub clean_debt: i64,
    /// Device flushes of pages.
    pub epochs: u64,
    /// Map checkpoints.
    pub cycles: u64,
    pub segments_cleaned: u64,
    pub reads: u64,
    /// Reads that met a relocation and were done again.
    pub reads_retried: u64,
    /// Batches that waited for space.
    pub writes_delayed: u64,
}

impl SegmentStats {
    /// Bytes written per byte that the user wrote.
    pub fn write_amplification(&self) -> f64 {
        let all = self.fresh_bytes + self.relocated_bytes + self.map_bytes;
        all as f64 / self.fresh_bytes.max(1) as f64
    }
}

impl Core {
    pub(super) fn stats(&self) -> SegmentStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        let state = self.state.lock();
        let live = state.table.iter().filter(|(_, segment)| segment.live > 0 || segment.usage == Use::Open);
        SegmentStats {
            segments: u64::from(state.table.len()),
            segments_free: u64::from(state.table.free_count()),
            segments_retired: u64::from(state.table.retired_count() + state.table.retired_map_count()),
            segments_live: live.count() as u64,
            live_bytes: state.table.live_bytes(),
            mapped_pages: state.mapped_pages,
            clean_debt: state.pace.clean_debt,
            fresh_bytes: load(&counters.fresh_bytes),
            relocated_bytes: load(&counters.relocated_bytes),
            map_bytes: load(&counters.map_bytes),
            epochs: load(&counters.epochs),
            cycles: load(&counters.cycles),
            segments_cleaned: load(&counters.segments_cleaned),
            reads: load(&counters.reads),
            reads_retried: load(&counters.reads_retried),
            writes_delayed: load(&counters.writes_delayed),
        }
    }
}
