//! The flusher: the one task that writes dirty pages.
//!
//! How much it writes follows from what users do, never from a timer:
//! - for each byte of log it writes so many pages, oldest first, that none stays dirty for more than `log_budget_bytes` of it;
//! - when dirty pages exceed their share (`caps`) it writes the excess;
//! - when many dirty pages wait to be evicted, or somebody waits for a frame, it writes those pages;
//! - `flush_through` asks for everything up to a log position.
//!
//! Pages that are written for their frames take their dirty neighbours, in order of page ids, along: they share a write.
//!
//! A page is copied under its shared latch, and only if the log is durable up to its LSN.

use crate::BufferError;
use crate::caps::Bucket;
use crate::dirty::DirtyEntry;
use crate::flush_candidates::{Candidate, Why, add_neighbours, oldest_candidates, wanted_candidates};
use crate::frame::FrameIndex;
use crate::pool::BufferPool;
use crate::stats::bump;
use env::sync::{Mutex, Notify, WaitQueue};
use pagestore::{BATCH_PAGES_MAX, PageBatch, PageFault, header};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wal::Lsn;

const BATCH_PAGES: usize = 128;
const _: () = assert!(BATCH_PAGES <= BATCH_PAGES_MAX, "a flush fits into a batch of the store");

/// Fewer pages wait until there are as many, so that a batch is worth its two syncs; but the oldest not beyond this age, as a
/// share of the log budget.
const DUE_MIN: usize = BATCH_PAGES / 4;
const AGE_MAX: f64 = 1.125;
/// The flusher looks at the state at least this often, measured in log.
const WAKE_LOG_BYTES_MAX: u64 = 4 << 20;
const WAKE_LOG_BYTES_MIN: u64 = 64 << 10;

pub(crate) struct FlusherState {
    pub(crate) wake: Notify,
    /// Log appended since the flusher last looked.
    log_bytes: AtomicU64,
    wake_log_bytes: AtomicU64,
    /// Everything dirtied before this position is wanted on disk.
    flush_through: AtomicU64,
    /// Woken after each batch and at the end.
    pub(crate) progress: WaitQueue,
    /// The wanted frames are to be written even if they are few.
    wants_all: AtomicBool,
    stopped: AtomicBool,
    failure: Mutex<Option<BufferError>>,
}

impl Default for FlusherState {
    fn default() -> Self {
        Self {
            wake: Notify::new(),
            log_bytes: AtomicU64::new(0),
            wake_log_bytes: AtomicU64::new(WAKE_LOG_BYTES_MIN),
            flush_through: AtomicU64::new(0),
            progress: WaitQueue::new(),
            wants_all: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }
}

impl FlusherState {
    /// Has all wanted frames written, however few.
    pub(crate) fn wake_for_wanted(&self) {
        self.wants_all.store(true, Ordering::Release);
        self.wake.notify();
    }
}

impl BufferPool {
    /// The page could not be written yet; its frame is wanted all the same.
    fn want_again(&self, index: FrameIndex) {
        self.eviction.queues.lock().want(self.frame(index), index);
    }

    /// Tells the flusher how much log a commit has added. Wakes it when enough has come together.
    #[inline]
    pub fn note_log_bytes(&self, bytes: u64) {
        // SeqCst pairs with `demand`: of two that come together one sees the other.
        let before = self.flusher.log_bytes.fetch_add(bytes, Ordering::SeqCst);
        let wake_at = self.flusher.wake_log_bytes.load(Ordering::SeqCst);
        if before < wake_at && before + bytes >= wake_at {
            self.flusher.wake.notify();
        }
    }

    /// Waits until every page in memory that was dirtied before `lsn` is durable.
    pub async fn flush_through(&self, lsn: Lsn) -> Result<(), BufferError> {
        self.flusher.flush_through.fetch_max(lsn.0, Ordering::SeqCst);
        loop {
            let waiter = self.flusher.progress.register();
            self.write_logged_before(|_| lsn);
            if self.min_rec_lsn_in_memory() >= lsn.min(self.wal.end_lsn()) {
                return Ok(());
            }
            if self.is_stopped() {
                return Err(self.failure().unwrap_or(BufferError::Stopped));
            }
            self.flusher.wake.notify();
            waiter.await;
        }
    }

    /// Waits until every page in memory that is dirty now is durable.
    pub async fn flush_all(&self) -> Result<(), BufferError> {
        self.flush_through(self.wal.end_lsn()).await
    }

    /// The first failed write-back. Pages stay dirty then; the server must stop and recover from the log.
    pub fn failure(&self) -> Option<BufferError> {
        self.flusher.failure.lock().clone()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.flusher.stopped.load(Ordering::Acquire)
    }

    /// Ends the flusher after its current batch.
    pub fn stop(&self) {
        self.flusher.stopped.store(true, Ordering::Release);
        self.flusher.wake.notify();
        self.behind.end();
    }
}

/// The task itself.
pub(crate) async fn work(pool: Arc<BufferPool>) {
    let (mut pace, mut bucket) = (Pace::default(), Bucket::default());
    loop {
        pool.flusher.wake.notified().await;
        while !pool.is_stopped() {
            pool.give_up_page_logs_if_limited();
            let mut demand = pace.demand(&pool);
            if demand.pages == 0 {
                // Who waits for wanted frames may find them clean already.
                pool.flusher.progress.wake_all();
                break;
            }
            match bucket.grant(&pool.caps, pool.env.clock.now_us(), demand.pages) {
                Ok(pages) => demand.pages = pages,
                Err(wait_us) => {
                    pool.env.clock.sleep(wait_us).await;
                    continue;
                }
            }
            let result = flush_batch(&pool, demand).await;
            if let Ok(written) = result {
                bucket.spend(written);
                if !demand.for_frames {
                    pace.paid(written);
                }
            }
            pool.flusher.progress.wake_all();
            match result {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    pool.flusher.failure.lock().get_or_insert(error);
                    pool.flusher.stopped.store(true, Ordering::Release);
                }
            }
        }
        if pool.is_stopped() {
            pool.flusher.progress.wake_all();
            pool.eviction.waiters.wake_all();
            return;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Demand {
    pages: usize,
    /// Somebody waits for a frame: prefer pages that will be evicted next.
    for_frames: bool,
}

/// What user work has earned and write-back has not yet paid, in pages.
#[derive(Default)]
struct Pace {
    owed: f64,
}

impl Pace {
    fn demand(&mut self, pool: &BufferPool) -> Demand {
        // The others may leave as they are.
        let dirty = pool.dirty.count().saturating_sub(pool.page_logs.present()) as f64;
        let budget = pool.caps.log_budget_bytes();
        let end = pool.wal.end_lsn();
        let ages = pool.dirty_ages(end, budget, BATCH_PAGES);
        let log_bytes = pool.flusher.log_bytes.swap(0, Ordering::Relaxed) as f64;
        self.owed = (self.owed + log_bytes * dirty * ages.share_due_per_byte).min(dirty);
        // Wake again when half a batch will be owed.
        let wake = (BATCH_PAGES as f64 / 2.0) / (dirty * ages.share_due_per_byte);
        let wake = (wake as u64).clamp(WAKE_LOG_BYTES_MIN, WAKE_LOG_BYTES_MAX);
        pool.flusher.wake_log_bytes.store(wake, Ordering::SeqCst);
        if pool.flusher.log_bytes.load(Ordering::SeqCst) >= wake {
            // It was exceeded before it stood there, so nobody saw that.
            pool.flusher.wake.notify();
        }

        debug_assert!(self.owed >= 0.0, "nothing is owed, or something");
        let by_age = |pages: usize| Demand { pages: pages.min(BATCH_PAGES), for_frames: false };
        let flush_through = pool.flusher.flush_through.load(Ordering::SeqCst);
        if ages.oldest.is_some_and(|lsn| lsn.0 < flush_through) {
            return by_age(BATCH_PAGES);
        }
        let age_max = budget as f64 * AGE_MAX;
        let is_late = ages.oldest.is_some_and(|lsn| end.0.saturating_sub(lsn.0) as f64 > age_max);
        let overdue = if is_late || ages.overdue >= DUE_MIN { ages.overdue } else { 0 };
        // Pages that are never cold must be written too, however many frames are wanted.
        if overdue > 0 || self.owed >= BATCH_PAGES as f64 {
            return by_age(overdue.max(self.owed as usize));
        }
        if pool.dirty.count() > 0 && wants_frames(pool) {
            return Demand { pages: BATCH_PAGES, for_frames: true };
        }
        let due = if self.owed >= DUE_MIN as f64 { self.owed } else { 0.0 };
        let excess = dirty - pool.dirty_pages_max();
        by_age(due.max(excess) as usize)
    }

    fn paid(&mut self, pages: usize) {
        self.owed = (self.owed - pages as f64).max(0.0);
    }
}

/// Whether dirty pages stand in the way of evictions.
fn wants_frames(pool: &BufferPool) -> bool {
    if !pool.eviction.waiters.is_empty() {
        return true;
    }
    let wanted = pool.eviction.queues.lock().wanted_count();
    // Asked for once, all are written; the flag goes when none are left.
    let all = pool.flusher.wants_all.load(Ordering::Acquire) && wanted > 0;
    pool.flusher.wants_all.store(all, Ordering::Release);
    all || wanted >= pool.wanted_many()
}

/// Writes one batch; returns the number of pages, 0 when nothing could be written.
async fn flush_batch(pool: &BufferPool, demand: Demand) -> Result<usize, BufferError> {
    let mut candidates = Vec::new();
    if demand.for_frames {
        candidates = wanted_candidates(pool, demand.pages);
        add_neighbours(pool, &mut candidates);
    }
    // Wanted frames stay in the queue of dirty pages as well; their entries there are stale once written.
    if candidates.is_empty() {
        candidates = oldest_candidates(pool, demand.pages);
    }
    if candidates.is_empty() {
        return Ok(0);
    }
    // A page can be in the queue twice: once as skipped, once as dirtied again with the same position. One that has moved
    // meanwhile may come with both its frames, of which one is not its own any more.
    candidates.sort_unstable_by_key(|candidate| (candidate.page, candidate.entry.index, candidate.why));
    candidates.dedup_by_key(|candidate| (candidate.page, candidate.entry.index));
    let mut batch = PageBatch::new(pool.store.page_size(), candidates.len());
    let mut copied = Copied { pool, frames: Vec::with_capacity(candidates.len()), written: false };
    let mut not_durable = Lsn::ZERO;
    let mut skipped = Vec::new();
    for candidate in candidates {
        match copy_page(pool, &candidate, &mut batch) {
            Copy::Done => copied.frames.push(candidate.entry.index),
            Copy::LogFirst(lsn) => match candidate.why {
                Why::Oldest => {
                    not_durable = not_durable.max(lsn);
                    skipped.push(candidate.entry);
                }
                Why::Wanted => {
                    not_durable = not_durable.max(lsn);
                    pool.want_again(candidate.entry.index);
                }
                Why::Neighbour => {}
            },
            Copy::Gone => {}
        }
    }
    skipped.sort_unstable_by_key(|entry: &DirtyEntry| entry.rec_lsn);
    pool.dirty.put_back(skipped.into_iter());
    if copied.frames.is_empty() {
        if not_durable > Lsn::ZERO {
            pool.wal.wait_durable(not_durable).await?;
        }
        // Something was stale or has become writable: it is worth another look.
        return Ok(1);
    }
    if not_durable > Lsn::ZERO {
        pool.wal.request_flush(not_durable);
    }
    debug_assert_eq!(copied.frames.len(), batch.len(), "each copy is of a frame");
    let count = copied.frames.len();
    pool.store.write_batch(batch).await?;
    pool.counters.pages_written.fetch_add(count as u64, Ordering::Relaxed);
    bump(&pool.counters.write_batches);
    copied.written = true;
    drop(copied);
    Ok(count)
}

enum Copy {
    Done,
    /// The log is not durable up to this LSN.
    LogFirst(Lsn),
    /// The frame is clean by now or holds another page.
    Gone,
}

fn copy_page(pool: &BufferPool, candidate: &Candidate, batch: &mut PageBatch) -> Copy {
    let Some(guard) = pool.read_frame(candidate.entry.index, candidate.page) else { return Copy::Gone };
    let frame = pool.frame(candidate.entry.index);
    let current = Lsn(frame.rec_lsn.load(Ordering::Relaxed)) == candidate.entry.rec_lsn;
    if !current || frame.writing.load(Ordering::Relaxed) {
        return Copy::Gone;
    }
    let lsn = Lsn(header::lsn(&guard));
    if lsn > pool.wal.durable_lsn() {
        return Copy::LogFirst(lsn);
    }
    debug_assert!(
        matches!((pool.options.check)(&guard), Ok(()) | Err(PageFault::Lost)),
        "a page is written only as it may be read"
    );
    batch.push(candidate.page, &guard);
    pool.page_logs.copied(candidate.page, lsn);
    frame.writing.store(true, Ordering::Relaxed);
    Copy::Done
}

/// The frames whose copies are in the batch. Dropped before the batch is durable, they stay dirty.
struct Copied<'p> {
    pool: &'p BufferPool,
    frames: Vec<FrameIndex>,
    written: bool,
}

impl Drop for Copied<'_> {
    fn drop(&mut self) {
        for index in &self.frames {
            if !self.written {
                self.pool.mark_unwritten(*index);
                continue;
            }
            self.pool.mark_written(*index);
            self.pool.eviction.waiters.wake_one();
        }
    }
}
