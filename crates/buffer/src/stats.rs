//! Counters of the pool, cheap enough for the hot path.

use env::{WaitCounter, WaitStats};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const STRIPES: usize = 16;

/// A counter whose stripes keep threads from sharing a cache line.
#[derive(Default)]
pub(crate) struct StripedCounter {
    stripes: [Stripe; STRIPES],
}

#[repr(align(64))]
#[derive(Default)]
struct Stripe(AtomicU64);

thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn own_stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    STRIPE.with(|stripe| {
        if stripe.get() == usize::MAX {
            stripe.set(NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES);
        }
        stripe.get()
    })
}

impl StripedCounter {
    #[inline]
    pub(crate) fn add_one(&self) {
        self.stripes[own_stripe()].0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn sum(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.0.load(Ordering::Relaxed)).sum()
    }
}

/// The counters themselves.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) requests: StripedCounter,
    pub(crate) misses: AtomicU64,
    pub(crate) pages_read: AtomicU64,
    pub(crate) pages_written: AtomicU64,
    pub(crate) pages_created: AtomicU64,
    pub(crate) pages_evicted: AtomicU64,
    pub(crate) pages_prefetched: AtomicU64,
    pub(crate) frame_waits: AtomicU64,
    pub(crate) write_batches: AtomicU64,
    pub(crate) write_requests: StripedCounter,
    /// Waits of page code for a page to be read.
    pub(crate) read_waits: WaitCounter,
    /// Waits of page code, and of reads, for a frame.
    pub(crate) free_frame_waits: WaitCounter,
}

pub(crate) fn bump(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A snapshot of the counters; the values belong to slightly different moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolStats {
    pub frames: u64,
    pub frames_free: u64,
    pub pages_dirty: u64,
    /// Where the log begins that the oldest dirty page needs; the log's end when all are clean.
    pub oldest_dirty_lsn: u64,
    /// Page accesses by page code, hits and misses together.
    pub requests: u64,
    pub misses: u64,
    pub pages_read: u64,
    pub pages_written: u64,
    pub pages_created: u64,
    pub pages_evicted: u64,
    pub pages_prefetched: u64,
    /// Pages on disk that the scrub has looked at, how often it was at the end of them, and what it found damaged.
    pub scrub_pages: u64,
    pub scrub_passes: u64,
    pub scrub_faults: u64,
    /// How often somebody had to wait until a frame became free.
    pub frame_waits: u64,
    pub write_batches: u64,
    /// Changes of pages: each page of a log group counts once.
    pub write_requests: u64,
    /// Waits for pages to be read.
    pub read_wait: WaitStats,
    /// Waits for a frame to become free.
    pub frame_wait: WaitStats,
    pub page_bytes: u64,
}
