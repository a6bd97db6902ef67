//! Log that is kept for others than recovery: whoever copies it pins the part that it has not got yet.
//!
//! Invariant: no segment at or behind the oldest pin is given free, wherever the checkpoint is. A pin moves forward as its
//! owner goes on, so that the log stays about as long as its capacity; what it holds counts as used. Taken by `engine`'s backup.

use crate::format::segment_before;
use crate::log::{Shared, State};
use crate::{Lsn, Wal};
use std::sync::Arc;

/// Keeps the log from an LSN on until it is moved or dropped.
pub struct LogPin {
    shared: Arc<Shared>,
    segment: u64,
}

impl Wal {
    /// Keeps the log from `from` on; `None` if a part of it may be gone already.
    pub fn pin(&self, from: Lsn) -> Option<LogPin> {
        let segment = segment_before(from, self.shared.options.segment_bytes);
        let mut state = self.shared.state.lock();
        if segment < state.kept_from {
            return None;
        }
        *state.pins.entry(segment).or_default() += 1;
        Some(LogPin { shared: self.shared.clone(), segment })
    }

    /// How many pins there are.
    pub fn pin_count(&self) -> usize {
        self.shared.state.lock().pins.values().sum()
    }
}

impl LogPin {
    /// The log before `lsn` is not needed any more.
    pub fn move_to(&mut self, lsn: Lsn) {
        let segment = segment_before(lsn, self.shared.options.segment_bytes);
        assert!(segment >= self.segment, "a pin holds only what was there all the time");
        if segment > self.segment {
            let mut state = self.shared.state.lock();
            *state.pins.entry(segment).or_default() += 1;
            state.unpin(self.segment);
            drop(state);
            self.segment = segment;
            self.shared.offer_free_segments();
        }
    }
}

impl Drop for LogPin {
    fn drop(&mut self) {
        self.shared.state.lock().unpin(self.segment);
        self.shared.offer_free_segments();
    }
}

impl State {
    fn unpin(&mut self, segment: u64) {
        let count = self.pins.get_mut(&segment).expect("it was pinned");
        debug_assert!(*count > 0, "a pin that is counted is there");
        *count -= 1;
        if *count == 0 {
            self.pins.remove(&segment);
        }
        self.free_segments();
    }

    /// Gives free what neither recovery nor a pin needs.
    pub(crate) fn free_segments(&mut self) {
        let pinned = self.pins.keys().next().copied().unwrap_or(u64::MAX);
        let kept_from = self.needed_from.min(pinned);
        debug_assert!(pinned >= self.kept_from, "what is pinned has been kept");
        debug_assert!(kept_from <= self.staging.segment(), "the segment that is being filled is kept");
        while self.kept_from < kept_from {
            debug_assert!(
                self.recyclable.back().is_none_or(|last| *last < self.kept_from),
                "segments become free in order"
            );
            self.recyclable.push_back(self.kept_from);
            self.kept_from += 1;
        }
    }
}

impl Shared {
    /// Free segments are prepared again, and whoever waits for space looks.
    pub(crate) fn offer_free_segments(&self) {
        self.prepare_requested.notify();
        self.space_waiters.wake_all();
    }
}
