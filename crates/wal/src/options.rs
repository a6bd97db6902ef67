//! What can be chosen about a log, with defaults and the relations that must hold.

use crate::Lsn;
use crate::format::{BLOCK_BYTES, CHUNK_HEADER_BYTES};

/// The smallest segment that holds anything worth a file.
const SEGMENT_BYTES_MIN: u64 = 8 * BLOCK_BYTES as u64;

/// When a commit is acknowledged (`innodb_flush_log_at_trx_commit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushMode {
    /// 1: after its bytes are durable.
    Durable,
    /// 2: after its bytes were written; they are synced within the interval (a second).
    Written,
    /// 0: at once; its bytes are written and synced within the interval.
    Lazy,
}

/// Who asks for log space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Normal,
    /// Rollback and checkpoints: may use the reserve that normal work leaves alone.
    Reserve,
}

#[derive(Debug, Clone)]
pub struct WalOptions {
    /// Directory of the segment files, directly inside the disk's root.
    pub directory: String,
    /// Size of one segment file; fixed when the log is created.
    pub segment_bytes: u64,
    /// How far the log may grow before `truncate_before` must catch up.
    pub capacity_bytes: u64,
    /// The share of the space that only `Priority::Reserve` may use.
    pub reserve_bytes: u64,
    /// Memory for bytes that are not yet written.
    pub buffer_bytes: usize,
    /// The largest group that `append` takes.
    pub group_bytes_max: usize,
    pub flush_mode: FlushMode,
    /// When a log is continued: keep it from here on for others than recovery, until their pin has moved on.
    pub keep_from: Option<Lsn>,
}

impl Default for WalOptions {
    fn default() -> Self {
        Self {
            directory: "wal".into(),
            segment_bytes: 64 << 20,
            capacity_bytes: 1 << 30,
            reserve_bytes: 16 << 20,
            buffer_bytes: 16 << 20,
            group_bytes_max: 4 << 20,
            flush_mode: FlushMode::Durable,
            keep_from: None,
        }
    }
}

impl WalOptions {
    /// Sizes that fit together for a log of about `capacity_bytes` (at least 2 MiB): 16 segments, of which the
    /// reserve and the largest group are parts.
    pub fn with_capacity(capacity_bytes: u64) -> Self {
        let capacity_bytes = capacity_bytes.max(2 << 20);
        let segment_bytes = (capacity_bytes / 16).next_multiple_of(BLOCK_BYTES as u64).min(64 << 20);
        Self {
            segment_bytes,
            capacity_bytes,
            reserve_bytes: segment_bytes / 4,
            buffer_bytes: (segment_bytes as usize / 2).clamp(128 << 10, 16 << 20),
            group_bytes_max: Self::group_bytes_max_for(segment_bytes).min(4 << 20),
            ..Self::default()
        }
    }

    /// A log small enough that a test crosses segments and fills it within a few hundred groups.
    pub fn tiny() -> Self {
        Self {
            segment_bytes: 128 << 10,
            capacity_bytes: 1 << 20,
            reserve_bytes: 32 << 10,
            buffer_bytes: 128 << 10,
            group_bytes_max: 40 << 10,
            ..Self::default()
        }
    }

    /// Takes over the size of the segments that are there, and makes the other sizes fit to it. False for a size that no
    /// log has.
    pub(crate) fn fit_to(&mut self, segment_bytes: u64) -> bool {
        if segment_bytes < SEGMENT_BYTES_MIN || segment_bytes > u64::from(u32::MAX) {
            return false;
        }
        self.segment_bytes = segment_bytes;
        self.group_bytes_max = self.group_bytes_max.min(Self::group_bytes_max_for(segment_bytes));
        self.reserve_bytes = self.reserve_bytes.min(segment_bytes / 4);
        self.buffer_bytes = self.buffer_bytes.max(self.group_bytes_max);
        self.capacity_bytes = self.capacity_bytes.max(self.capacity_bytes_min());
        true
    }

    /// The largest group of which two fit into a segment.
    fn group_bytes_max_for(segment_bytes: u64) -> usize {
        segment_bytes as usize / 2 - 2 * BLOCK_BYTES
    }

    /// The least capacity that leaves room to work in: two segments, the reserve and the largest group.
    pub(crate) fn capacity_bytes_min(&self) -> u64 {
        2 * self.segment_bytes + self.reserve_bytes + crate::space::cost(self.group_bytes_max)
    }

    /// # Panics
    /// If the sizes contradict each other.
    pub(crate) fn check(&self) {
        let group_cost = crate::space::cost(self.group_bytes_max);
        assert!(self.segment_bytes.is_multiple_of(BLOCK_BYTES as u64), "segments consist of blocks");
        assert!(self.segment_bytes <= u32::MAX as u64, "offsets in a segment are u32");
        assert!(self.group_bytes_max > CHUNK_HEADER_BYTES, "a group needs room");
        assert!(2 * group_cost <= self.segment_bytes, "a group must fit into half a segment");
        assert!(self.reserve_bytes < self.segment_bytes, "the reserve must fit into a segment");
        assert!(self.group_bytes_max <= self.buffer_bytes, "the buffer must hold a group");
        let least = self.capacity_bytes_min();
        assert!(self.capacity_bytes >= least, "the capacity must be at least two segments and the reserve");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_fit_to_the_segments_that_are_there() {
        for segment_bytes in [SEGMENT_BYTES_MIN, 128 << 10, 1 << 20, 64 << 20] {
            for mut options in [WalOptions::tiny(), WalOptions::default(), WalOptions::with_capacity(8 << 20)]
            {
                assert!(options.fit_to(segment_bytes));
                options.check();
            }
        }
        assert!(!WalOptions::default().fit_to(4096), "a file that was cut off");
    }

    #[test]
    fn every_capacity_gives_sizes_that_fit_together() {
        WalOptions::default().check();
        WalOptions::tiny().check();
        for capacity_bytes in [0, 2 << 20, 3_333_333, 8 << 20, 100 << 20, 1 << 30, 1 << 40] {
            WalOptions::with_capacity(capacity_bytes).check();
        }
    }
}
