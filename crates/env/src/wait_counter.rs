//! `WaitCounter`: how often and how long something was waited for. The log, the buffer pool and the engine keep
//! one for each cause of waiting.

use crate::Clock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Live; relaxed, since nothing depends on the order.
#[derive(Default)]
pub struct WaitCounter {
    waits: AtomicU64,
    time_us: AtomicU64,
    time_us_max: AtomicU64,
}

/// The counter at one moment. A wait is in it once it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WaitStats {
    pub waits: u64,
    pub time_us: u64,
    pub time_us_max: u64,
}

impl WaitCounter {
    /// Counts a wait that began at `since_us` and ends now; answers how long it was.
    pub fn end(&self, clock: &dyn Clock, since_us: u64) -> u64 {
        let time_us = clock.now_us().saturating_sub(since_us);
        self.waits.fetch_add(1, Relaxed);
        self.time_us.fetch_add(time_us, Relaxed);
        self.time_us_max.fetch_max(time_us, Relaxed);
        time_us
    }

    pub fn stats(&self) -> WaitStats {
        WaitStats {
            waits: self.waits.load(Relaxed),
            time_us: self.time_us.load(Relaxed),
            time_us_max: self.time_us_max.load(Relaxed),
        }
    }
}
