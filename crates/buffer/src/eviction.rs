//! Finding a frame for a page: free ones first, then those of the pages that `queues` gives up.
//!
//! Dirty frames are passed over: writing them is the flusher's work, which is woken when many are wanted or nothing
//! else is left. Nobody but the flusher writes a page. Where that pays, a page that leaves stays in memory packed (`packed`).

use crate::BufferError;
use crate::frame::{FrameIndex, Place};
use crate::page_table::{EvictionTime, Word};
use crate::pool::BufferPool;
use crate::queues::{Pick, Progress, Queues};
use crate::stats::bump;
use env::sync::{Mutex, WaitQueue};
use env::yield_now;
use pagestore::PageId;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// A sweep of page code, which holds latches, stops after this many frames and reports `Stop::NoFrame`.
const QUICK_STEPS_MAX: usize = 2048;
/// A sweep of a waiting task goes further before it yields.
const LONG_STEPS_MAX: usize = 1 << 16;

/// Uses within one epoch count once; an epoch is this part of the pool being replaced.
const EPOCHS_PER_POOL: u32 = 64;

/// When so many dirty pages wait for their eviction, writing them is worth a batch.
pub(crate) const WANTED_MANY: usize = 128;

pub(crate) struct Eviction {
    pub(crate) queues: Mutex<Queues>,
    /// How many frames the pool has; a copy of what the queues obey.
    limit: AtomicU32,
    /// A clock that counts pages brought into memory; read by every hit, but rarely changed.
    epoch: Epoch,
    arrivals: AtomicU32,
    evictions: AtomicU32,
    pub(crate) waiters: WaitQueue,
}

/// On a cache line of its own.
#[repr(align(64))]
#[derive(Default)]
struct Epoch(AtomicU8);

/// What became of a page that was to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evicted {
    Yes,
    /// It is in use, or on its way to disk.
    No,
    WriteFirst,
}

enum Sweep {
    Found(FrameIndex),
    /// Another round may find one.
    Unfinished,
    Stuck,
}

/// Whether a sweep may wait for a latch. Only tasks that hold none may.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    Try,
    Wait,
}

impl Eviction {
    pub(crate) fn new(frames: u32) -> Self {
        Self {
            queues: Mutex::new(Queues::new(frames)),
            limit: AtomicU32::new(frames),
            epoch: Epoch::default(),
            arrivals: AtomicU32::new(0),
            evictions: AtomicU32::new(0),
            waiters: WaitQueue::new(),
        }
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn set_limit(&self, limit: u32) {
        let mut queues = self.queues.lock();
        queues.set_limit(limit);
        self.limit.store(limit, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn epoch(&self) -> u8 {
        self.epoch.0.load(Ordering::Relaxed)
    }

    /// Where a page begins that was evicted then: it should have stayed if it comes back soon.
    pub(crate) fn first_place(&self, evicted: Option<EvictionTime>) -> Place {
        let now = self.evictions.load(Ordering::Relaxed);
        match evicted {
            Some(time) if now.wrapping_sub(time.0) <= self.limit() => Place::Main,
            _ => Place::Cold,
        }
    }

    /// A page came into memory. Answers how many have.
    fn count_arrival(&self) -> u32 {
        let arrivals = self.arrivals.fetch_add(1, Ordering::Relaxed);
        if arrivals.is_multiple_of((self.limit() / EPOCHS_PER_POOL).max(1)) {
            self.epoch.0.fetch_add(1, Ordering::Relaxed);
        }
        arrivals.wrapping_add(1)
    }
}

impl BufferPool {
    /// For page code: does not wait.
    pub(crate) fn take_frame_for_creator(&self) -> Option<FrameIndex> {
        let kept = self.eviction.queues.lock().take_for_creator(self.memory());
        kept.or_else(|| self.try_take_frame())
    }

    /// A frame that needs no waiting, if there is one.
    pub(crate) fn try_take_frame(&self) -> Option<FrameIndex> {
        if let Some(index) = self.take_free_frame() {
            return Some(index);
        }
        match self.sweep((2 * self.frame_count()).min(QUICK_STEPS_MAX), Patience::Try) {
            Sweep::Found(index) => Some(index),
            Sweep::Unfinished | Sweep::Stuck => None,
        }
    }

    /// A frame for which nothing has to be evicted.
    pub(crate) fn take_free_frame(&self) -> Option<FrameIndex> {
        self.eviction.queues.lock().take_free(self.memory())
    }

    /// For tasks that hold no latch: waits until a frame is free.
    pub(crate) async fn take_frame(&self) -> Result<FrameIndex, BufferError> {
        loop {
            if let Some(index) = self.try_take_frame() {
                return Ok(index);
            }
            let waiter = self.eviction.waiters.register();
            match self.sweep(self.frame_count().min(LONG_STEPS_MAX), Patience::Wait) {
                Sweep::Found(index) => return Ok(index),
                Sweep::Unfinished => {
                    drop(waiter);
                    yield_now().await;
                }
                Sweep::Stuck => {
                    if let Some(index) = self.eviction.queues.lock().take_from_creators(self.memory()) {
                        return Ok(index);
                    }
                    if let Some(error) = self.failure() {
                        return Err(error);
                    }
                    bump(&self.counters.frame_waits);
                    self.flusher.wake.notify();
                    let since_us = self.env.clock.now_us();
                    env::begin_wait(env::WaitCause::FreeFrame, || None);
                    waiter.await;
                    let time_us = self.counters.free_frame_waits.end(&*self.env.clock, since_us);
                    env::note_wait(env::WaitCause::FreeFrame, time_us);
                }
            }
        }
    }

    /// Puts an empty frame back.
    pub(crate) fn give_frame(&self, index: FrameIndex) {
        self.eviction.queues.lock().give(self.memory(), index);
        self.eviction.waiters.wake_one();
    }

    /// Puts an empty frame where only `create` finds it.
    pub(crate) fn give_to_creators(&self, index: FrameIndex) {
        let kept = self.eviction.queues.lock().give_to_creators(self.memory(), index);
        if !kept {
            self.eviction.waiters.wake_one();
        }
    }

    /// A page came into a frame; the caller holds the exclusive latch.
    pub(crate) fn admit(&self, index: FrameIndex, place: Place) {
        let frame = self.frame(index);
        debug_assert!(
            frame.latch.is_exclusive() && frame.page().is_some(),
            "a page comes into a latched frame"
        );
        frame.begin_usage(self.eviction.epoch());
        let arrivals = self.eviction.count_arrival();
        self.eviction.queues.lock().enter(frame, index, place);
        self.note_arrival();
        self.scrub_in_return(arrivals);
        self.pace_packing(arrivals);
    }

    pub(crate) fn free_frame_count(&self) -> usize {
        self.eviction.queues.lock().free_count()
    }

    /// Says that a page will not be needed again: its frame is among the next to be taken, once it is clean.
    pub fn cool(&self, page: PageId) {
        if let Word::Frame(index) = self.table.load(page) {
            self.frame(index).reset_usage();
        }
    }

    fn sweep(&self, steps: usize, patience: Patience) -> Sweep {
        let mut progress = Progress { steps_left: steps, has_advanced: false };
        while progress.steps_left > 0 {
            let mut queues = self.eviction.queues.lock();
            let picked = queues.pick(self.memory(), &mut progress);
            let many_wanted = queues.wanted_count() >= self.wanted_many();
            drop(queues);
            if many_wanted {
                self.flusher.wake.notify();
            }
            match picked {
                Pick::Empty => break,
                Pick::LookOn => {}
                Pick::Victim(index, place) => match self.try_evict(index, patience) {
                    // Behind the limit frames are not used again.
                    Evicted::Yes if index.0 >= self.eviction.limit() => self.give_frame(index),
                    Evicted::Yes => return Sweep::Found(index),
                    Evicted::No => self.eviction.queues.lock().put_back(self.frame(index), index, place),
                    Evicted::WriteFirst => {
                        progress.has_advanced = true;
                        self.eviction.queues.lock().put_back(self.frame(index), index, Place::Wanted);
                    }
                },
            }
        }
        if progress.has_advanced { Sweep::Unfinished } else { Sweep::Stuck }
    }

    /// So many dirty pages whose turn has come are a reason to write.
    pub(crate) fn wanted_many(&self) -> usize {
        (self.frame_count() / 8).clamp(1, WANTED_MANY)
    }

    /// A frame that is empty now is still taken, by the caller.
    pub(crate) fn try_evict(&self, index: FrameIndex, patience: Patience) -> Evicted {
        let frame = self.frame(index);
        match patience {
            Patience::Try if !frame.latch.try_lock_exclusive() => return Evicted::No,
            Patience::Try => {}
            Patience::Wait => frame.latch.lock_exclusive(),
        }
        let unused = frame.pins.load(Ordering::Acquire) == 0 && !frame.writing.load(Ordering::Relaxed);
        let page = frame.page().filter(|_| unused);
        let leaves = page.is_some_and(|page| !frame.is_dirty() || self.leave_dirty(index, page));
        if let Some(page) = page.filter(|_| leaves) {
            if self.pacer.is_on() {
                // SAFETY: the memory is mapped as long as the pool lives, and the exclusive latch, taken above, keeps
                // writers away.
                let image = unsafe {
                    std::slice::from_raw_parts(self.memory().frame(index).as_ptr(), self.page_bytes())
                };
                self.packed.put(page, image);
            }
            let time = self.eviction.evictions.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            let replaced = self.table.evict(page, index, EvictionTime(time));
            assert!(replaced, "a page in memory is moved only under its exclusive latch");
            frame.set_page(None);
            debug_assert!(!frame.is_dirty(), "an evicted page is clean, or its log is kept");
            debug_assert!(!frame.may_leave.load(Ordering::Relaxed), "the mark leaves with its page");
            bump(&self.counters.pages_evicted);
        }
        // SAFETY: taken above, and no guard was made from it.
        unsafe { frame.latch.unlock_exclusive() }
        match (page, leaves) {
            (_, true) => Evicted::Yes,
            (Some(_), false) => Evicted::WriteFirst,
            (None, false) => Evicted::No,
        }
    }

    pub(crate) fn unpin(&self, index: FrameIndex) {
        let before = self.frame(index).pins.fetch_sub(1, Ordering::AcqRel);
        assert!(before > 0, "a pin is dropped once");
        if before == 1 {
            self.eviction.waiters.wake_one();
        }
    }
}
