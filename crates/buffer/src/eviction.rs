//! Finding a frame for a page: free ones first, then the clock.
//!
//! The hand goes round the frames; each pass takes one use from a frame, and a clean frame without uses, pins and
//! latch is taken. Pages enter with no use, so those of a scan, which does not count as a use, leave first.
//! Dirty frames are passed over: writing them is the flusher's work, which is woken when nothing else is left.

use crate::BufferError;
use crate::frame::FrameIndex;
use crate::page_table::Word;
use crate::pool::BufferPool;
use crate::stats::bump;
use env::sync::{Mutex, WaitQueue};
use env::yield_now;
use pagestore::PageId;
use std::sync::atomic::{AtomicU32, Ordering};

/// A sweep of page code, which holds latches, stops after this many frames and reports `Stop::NoFrame`.
const QUICK_STEPS_MAX: usize = 2048;
/// A sweep of a waiting task goes further before it yields.
const LONG_STEPS_MAX: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct Eviction {
    free: Mutex<Vec<FrameIndex>>,
    /// Frames for `create` alone: page code that creates several pages at once collects them here over its
    /// retries, and loads cannot snatch them away.
    creators: Mutex<Vec<FrameIndex>>,
    /// Frames from here on were never used; they are touched in order so that memory grows with use.
    unused: AtomicU32,
    hand: AtomicU32,
    pub(crate) waiters: WaitQueue,
}

enum Sweep {
    Found(FrameIndex),
    /// Frames lost a use: another round may find one.
    Aged,
    Stuck,
}

/// Whether a sweep may wait for a latch. Only tasks that hold none may.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Try,
    Wait,
}

impl BufferPool {
    /// For page code: does not wait.
    pub(crate) fn take_frame_for_creator(&self) -> Option<FrameIndex> {
        if let Some(index) = self.eviction.creators.lock().pop() {
            return Some(index);
        }
        self.try_take_frame()
    }

    /// A frame that needs no waiting, if there is one.
    pub(crate) fn try_take_frame(&self) -> Option<FrameIndex> {
        if let Some(index) = self.eviction.free.lock().pop() {
            return Some(index);
        }
        if let Some(index) = self.take_unused() {
            return Some(index);
        }
        match self.sweep((2 * self.frames.len()).min(QUICK_STEPS_MAX), Patience::Try) {
            Sweep::Found(index) => Some(index),
            Sweep::Aged | Sweep::Stuck => None,
        }
    }

    /// For tasks that hold no latch: waits until a frame is free.
    pub(crate) async fn take_frame(&self) -> Result<FrameIndex, BufferError> {
        loop {
            if let Some(index) = self.try_take_frame() {
                return Ok(index);
            }
            let waiter = self.eviction.waiters.register();
            match self.sweep(self.frames.len().min(LONG_STEPS_MAX), Patience::Wait) {
                Sweep::Found(index) => return Ok(index),
                Sweep::Aged => {
                    drop(waiter);
                    yield_now().await;
                }
                Sweep::Stuck => {
                    if let Some(index) = self.take_from_creators() {
                        return Ok(index);
                    }
                    if let Some(error) = self.failure() {
                        return Err(error);
                    }
                    bump(&self.counters.frame_waits);
                    self.flusher.wake.notify();
                    let since_us = self.env.clock.now_us();
                    waiter.await;
                    self.counters.free_frame_waits.end(&*self.env.clock, since_us);
                }
            }
        }
    }

    fn take_unused(&self) -> Option<FrameIndex> {
        let count = self.frames.len() as u32;
        if self.eviction.unused.load(Ordering::Relaxed) >= count {
            return None;
        }
        let index = self.eviction.unused.fetch_add(1, Ordering::Relaxed);
        if index < count {
            return Some(FrameIndex(index));
        }
        self.eviction.unused.store(count, Ordering::Relaxed);
        None
    }

    /// Puts an empty frame back.
    pub(crate) fn give_frame(&self, index: FrameIndex) {
        assert!(self.frame(index).page().is_none(), "only an empty frame is free");
        self.eviction.free.lock().push(index);
        self.eviction.waiters.wake_one();
    }

    /// Puts an empty frame where only `create` finds it. Each `Stop::NoFrame` that is resolved adds one, so the
    /// retry has one more than before.
    pub(crate) fn give_to_creators(&self, index: FrameIndex) {
        let mut creators = self.eviction.creators.lock();
        if creators.len() < self.frames.len() / 2 {
            creators.push(index);
            return;
        }
        drop(creators);
        self.give_frame(index);
    }

    /// When nothing else is left, loads take back what creators were given in excess.
    fn take_from_creators(&self) -> Option<FrameIndex> {
        let mut creators = self.eviction.creators.lock();
        if creators.len() > self.frames.len() / 4 { creators.pop() } else { None }
    }

    pub(crate) fn free_frame_count(&self) -> usize {
        let unused = self.frames.len()
            - (self.eviction.unused.load(Ordering::Relaxed) as usize).min(self.frames.len());
        unused + self.eviction.free.lock().len() + self.eviction.creators.lock().len()
    }

    /// Says that a page will not be needed again: its frame is among the next to be taken, once it is clean.
    pub fn cool(&self, page: PageId) {
        if let Word::Frame(index) = self.table.load(page) {
            self.frame(index).reset_usage();
        }
    }

    /// The next frames that the hand will reach.
    pub(crate) fn frames_ahead(&self, count: usize) -> impl Iterator<Item = FrameIndex> {
        let total = self.frames.len();
        let hand = self.eviction.hand.load(Ordering::Relaxed) as usize;
        (0..count.min(total)).map(move |step| FrameIndex(((hand + step) % total) as u32))
    }

    fn sweep(&self, steps: usize, patience: Patience) -> Sweep {
        let mut aged = false;
        let total = self.frames.len() as u32;
        for _ in 0..steps {
            let hand = self.eviction.hand.fetch_add(1, Ordering::Relaxed);
            let index = FrameIndex(hand % total);
            let frame = self.frame(index);
            if frame.pins.load(Ordering::Relaxed) > 0 {
                continue;
            }
            let used = frame.age();
            if frame.is_dirty() || frame.page().is_none() {
                continue;
            }
            if used {
                aged = true;
                continue;
            }
            if self.try_evict(index, patience) {
                return Sweep::Found(index);
            }
        }
        if aged { Sweep::Aged } else { Sweep::Stuck }
    }

    fn try_evict(&self, index: FrameIndex, patience: Patience) -> bool {
        let frame = self.frame(index);
        match patience {
            Patience::Try if !frame.latch.try_lock_exclusive() => return false,
            Patience::Try => {}
            Patience::Wait => frame.latch.lock_exclusive(),
        }
        let evictable = frame.pins.load(Ordering::Acquire) == 0 && !frame.is_dirty();
        let page = frame.page().filter(|_| evictable);
        if let Some(page) = page {
            assert!(!frame.writing.load(Ordering::Relaxed), "a page on its way to disk is still dirty");
            let replaced = self.table.replace(page, Word::Frame(index), Word::Disk);
            assert!(replaced, "a page in memory is moved only under its exclusive latch");
            frame.set_page(None);
            bump(&self.counters.pages_evicted);
        }
        // SAFETY: taken above, and no guard was made from it.
        unsafe { frame.latch.unlock_exclusive() }
        page.is_some()
    }

    pub(crate) fn unpin(&self, index: FrameIndex) {
        let before = self.frame(index).pins.fetch_sub(1, Ordering::AcqRel);
        assert!(before > 0, "a pin is dropped once");
        if before == 1 {
            self.eviction.waiters.wake_one();
        }
    }
}
