//! What the log tells about itself: one moment's figures, for the engine's statistics.

use crate::Wal;
use env::WaitStats;
use std::sync::atomic::Ordering;

/// What the log has done, and how large it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WalStats {
    pub groups: u64,
    /// Commits that waited until they could be acknowledged.
    pub commit_wait: WaitStats,
    /// Waits because the log or its buffer was full.
    pub space_wait: WaitStats,
    /// How far apart flushes should begin now, because pages or the log are slow; less than a flush takes holds nothing back.
    pub flush_spacing_us: u64,
    /// The end of what the operating system has.
    pub written_lsn: u64,
    /// Bytes from the oldest segment that is kept to the end.
    pub used_bytes: u64,
    /// Bytes of the segments' files: those in use, prepared ones, and those waiting to be used again.
    pub file_bytes: u64,
    /// Numbers of the oldest segment that is kept and of the last that is prepared.
    pub segment_first: u64,
    pub segment_last: u64,
}

impl Wal {
    pub fn stats(&self) -> WalStats {
        let shared = &*self.shared;
        let state = shared.state.lock();
        let segments = state.ready_through + 1 - state.kept_from + state.recyclable.len() as u64;
        WalStats {
            groups: shared.appending.groups.load(Ordering::Relaxed),
            commit_wait: shared.commit_waits.stats(),
            space_wait: shared.space_waits.stats(),
            flush_spacing_us: shared.spacing.us.load(Ordering::Relaxed),
            written_lsn: shared.written.load(Ordering::Acquire),
            used_bytes: shared.used_bytes(&state),
            file_bytes: segments * shared.options.segment_bytes,
            segment_first: state.kept_from,
            segment_last: state.ready_through,
        }
    }
}
