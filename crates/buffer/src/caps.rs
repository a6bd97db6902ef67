//! Limits that the user may set while the pool works: page writes per second, the share of dirty pages, the log budget.
//!
//! Without them the pool needs no limits: see `flusher`. A limit on writes is a bucket that fills at the given rate and
//! holds a quarter of a second of it, so in any ten seconds at most 2.5 % more is written.

use crate::BufferError;
use crate::pool::BufferPool;
use std::sync::atomic::{AtomicU64, Ordering};

/// Above this share of dirty frames loads would soon find no clean one.
const DIRTY_SHARE_MAX: f64 = 0.75;

/// What the bucket holds, as a part of a second's writes.
const BURST_PART: f64 = 0.25;

/// Writers are held back when dirty pages exceed the limit by this part of the pool: the flusher needs a moment.
const DIRTY_SLACK_PART: usize = 128;

pub(crate) struct Caps {
    /// 0: no limit.
    writes_per_s: AtomicU64,
    /// In millionths; above `DIRTY_SHARE_MAX` it means nothing.
    dirty_share_max: AtomicU64,
    log_budget_bytes: AtomicU64,
}

impl Caps {
    pub(crate) fn new(log_budget_bytes: u64) -> Self {
        Self {
            writes_per_s: AtomicU64::new(0),
            dirty_share_max: AtomicU64::new(1_000_000),
            log_budget_bytes: AtomicU64::new(log_budget_bytes),
        }
    }

    pub(crate) fn log_budget_bytes(&self) -> u64 {
        self.log_budget_bytes.load(Ordering::Relaxed).max(1)
    }

    /// Whether the user wants fewer dirty pages than the pool would have.
    pub(crate) fn limits_dirty_pages(&self) -> bool {
        self.dirty_share() < DIRTY_SHARE_MAX
    }

    fn dirty_share(&self) -> f64 {
        self.dirty_share_max.load(Ordering::Relaxed) as f64 / 1e6
    }
}

impl BufferPool {
    /// The flusher writes at most so many pages a second; `None`: as many as it thinks right.
    pub fn set_write_cap(&self, pages_per_s: Option<u64>) {
        self.caps.writes_per_s.store(pages_per_s.map_or(0, |pages| pages.max(1)), Ordering::Relaxed);
        self.flusher.wake.notify();
    }

    /// At most this share of the pool (from 0 to 1) is dirty.
    pub fn set_dirty_share_max(&self, share: f64) {
        self.caps.dirty_share_max.store((share.clamp(0.0, 1.0) * 1e6) as u64, Ordering::Relaxed);
        self.flusher.wake.notify();
    }

    /// Changes `PoolOptions::log_budget_bytes`.
    pub fn set_log_budget(&self, bytes: u64) {
        self.caps.log_budget_bytes.store(bytes, Ordering::Relaxed);
        self.flusher.wake.notify();
    }

    /// Above so many dirty pages the flusher writes the excess.
    pub(crate) fn dirty_pages_max(&self) -> f64 {
        self.frame_count() as f64 * self.caps.dirty_share().min(DIRTY_SHARE_MAX)
    }

    fn has_dirty_room(&self) -> bool {
        let slack = (self.frame_count() / DIRTY_SLACK_PART).max(8);
        self.caps.dirty_share() >= DIRTY_SHARE_MAX
            || self.dirty.count() <= self.dirty_pages_max() as u64 + slack as u64
    }

    /// Holds a writer back while more pages are dirty than the user allows. Hold no latch.
    pub async fn wait_for_dirty_room(&self) -> Result<(), BufferError> {
        while !self.has_dirty_room() {
            let waiter = self.flusher.progress.register();
            if let Some(error) = self.failure() {
                return Err(error);
            }
            if self.is_stopped() {
                return Ok(());
            }
            if !self.has_dirty_room() {
                self.flusher.wake.notify();
                waiter.await;
            }
        }
        Ok(())
    }
}

/// The bucket of the flusher.
#[derive(Default)]
pub(crate) struct Bucket {
    tokens: f64,
    filled_us: u64,
    is_capped: bool,
}

impl Bucket {
    /// How many of the pages may be written now; `Err`: none, for so many microseconds.
    pub(crate) fn grant(&mut self, caps: &Caps, now_us: u64, pages: usize) -> Result<usize, u64> {
        let rate = caps.writes_per_s.load(Ordering::Relaxed) as f64;
        if rate == 0.0 {
            // A cap that comes later begins anew.
            *self = Bucket { tokens: 0.0, filled_us: now_us, is_capped: false };
            return Ok(pages);
        }
        let burst = (rate * BURST_PART).max(1.0);
        let seconds = now_us.saturating_sub(self.filled_us) as f64 / 1e6;
        self.tokens = (self.tokens + seconds * rate).min(burst);
        (self.filled_us, self.is_capped) = (now_us, true);
        // Small batches would waste the syncs that come with each.
        let wanted = (pages as f64).min(burst);
        if self.tokens >= wanted {
            return Ok(wanted as usize);
        }
        Err(((wanted - self.tokens) / rate * 1e6).ceil() as u64)
    }

    pub(crate) fn spend(&mut self, pages: usize) {
        if self.is_capped {
            self.tokens -= pages as f64;
        }
    }
}
