//! Another size for the pool while it works: frames are added, or emptied and given back, a step at a time.
//!
//! Shrinking lowers the limit by one step, empties the frames behind it and returns their memory, then goes on. Clean
//! pages that nobody uses are evicted, the others move to frames before the limit, where the coldest pages make room.
//! Dirty pages are written first; those that are dirty again each time move as they are. Nobody waits for any of it:
//! a page is latched for the time of one copy.
//!
//! Packed pages live in memory that frames have given back; when their share changes, frames come and go in the same way,
//! and the sum stays what was asked for, beside what they borrow.
//!
//! Invariant: behind the limit no frame is given to anybody, so a frame found empty there stays empty.

use crate::eviction::{Evicted, Patience};
use crate::frame::{FrameIndex, Place};
use crate::page_table::Word;
use crate::pool::{BufferPool, FRAMES_MIN, descents_max, frame_cost, frames_in};
use env::sync::Mutex;
use env::yield_now;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory that is given or taken at once.
const STEP_BYTES: usize = 16 << 20;
/// After so many looks at a step, dirty pages move instead of being written first.
const PATIENT_LOOKS: usize = 3;
/// How long until the next look when pages are pinned or on their way to disk.
const RETRY_US: u64 = 1_000;
/// Pages emptied before other tasks get a turn.
const YIELD_PAGES: usize = 64;

/// Where a change of size stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResizeStatus {
    /// The size before the change and the one that was asked for; both 0 when none ever was.
    pub from_bytes: u64,
    pub to_bytes: u64,
    /// When it was done, in microseconds since 1970; `None` while it is under way.
    pub completed_unix_us: Option<u64>,
    /// The system did not give the memory.
    pub is_refused: bool,
}

pub(crate) struct Resize {
    /// What was asked for, for frames and packed pages together.
    memory_bytes: AtomicUsize,
    /// Frames that may have memory, those that are being emptied among them.
    frames: AtomicUsize,
    /// A leaf lock.
    state: Mutex<State>,
}

impl Resize {
    pub(crate) fn new(memory_bytes: usize, frames: usize) -> Resize {
        Resize {
            memory_bytes: AtomicUsize::new(memory_bytes),
            frames: AtomicUsize::new(frames),
            state: Mutex::default(),
        }
    }
}

#[derive(Default)]
struct State {
    status: ResizeStatus,
    is_running: bool,
}

impl State {
    /// A change that was asked for and is not done.
    fn is_under_way(&self) -> bool {
        self.status.to_bytes > 0 && self.status.completed_unix_us.is_none()
    }
}

/// What kept a frame from being emptied.
enum Left {
    Nothing,
    Dirty,
    /// Pinned, latched for long, on its way to or from disk, or there is no other frame.
    Busy,
}

impl BufferPool {
    /// Begins to change the memory of the pool, up to what `PoolOptions::memory_bytes_max` allows. A change that is
    /// under way goes on to the new size.
    pub fn resize(&self, memory_bytes: usize) {
        let before = self.resize.memory_bytes.swap(memory_bytes, Ordering::Relaxed);
        let mut state = self.resize.state.lock();
        let from_bytes = if state.is_under_way() { state.status.from_bytes } else { before as u64 };
        state.status = ResizeStatus {
            from_bytes,
            to_bytes: memory_bytes as u64,
            completed_unix_us: None,
            is_refused: false,
        };
        drop(state);
        self.share_memory();
    }

    /// Frames and packed pages begin to change to what they are to have of the memory now.
    pub(crate) fn share_memory(&self) {
        let Some(pool) = self.weak.upgrade() else { return };
        self.set_packed_budget();
        if !std::mem::replace(&mut self.resize.state.lock().is_running, true) {
            self.env.spawner.spawn("pool-resize", Box::pin(work(pool)));
        }
    }

    /// What packed pages are to have of the memory.
    pub(crate) fn packed_share(&self) -> usize {
        self.pacer.share_of(self.memory_bytes())
    }

    /// What was asked for, for frames and packed pages together.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.resize.memory_bytes.load(Ordering::Relaxed)
    }

    /// Packed pages get what frames leave them, and borrow what the logs of dirty pages may take beside the pool and do not.
    pub(crate) fn set_packed_budget(&self) {
        let memory_bytes = self.memory_bytes();
        let frames = self.resize.frames.load(Ordering::Relaxed);
        let left = memory_bytes.saturating_sub(frames * frame_cost(self.page_bytes()));
        let share = self.packed_share();
        if share == 0 {
            // What does not make a frame is no room for anything.
            return self.packed.set_budget(0, 0);
        }
        // Frames that have to go are no reason to take more from packed pages than they lose for good.
        let kept = share.min(self.packed.stats().own_bytes() as usize);
        let borrowed = if self.pacer.adapts() { self.page_logs.unused_bytes() } else { 0 };
        self.packed.set_budget(left.max(kept) as u64, borrowed);
    }

    /// Whether the pool has as many frames as fit into this memory.
    pub fn has_size(&self, memory_bytes: usize) -> bool {
        self.frames_for(memory_bytes) as usize == self.frame_count()
    }

    /// The most memory that `resize` can give the pool.
    pub fn memory_bytes_max(&self) -> usize {
        self.options.memory_bytes_max
    }

    pub fn resize_status(&self) -> ResizeStatus {
        self.resize.state.lock().status
    }

    /// How many frames the pool has with this memory, beside the packed pages.
    fn frames_for(&self, memory_bytes: usize) -> u32 {
        let bytes = memory_bytes - self.pacer.share_of(memory_bytes);
        frames_in(bytes, self.page_bytes()).clamp(FRAMES_MIN, self.memory().count_max()) as u32
    }

    /// How many frames the pool would have if no page were packed.
    pub(crate) fn frames_without_packed(&self) -> usize {
        frames_in(self.memory_bytes(), self.page_bytes())
    }

    fn frames_asked(&self) -> u32 {
        self.frames_for(self.memory_bytes())
    }

    /// False when the system refuses the memory.
    fn grow(&self, count: u32) -> bool {
        debug_assert!(count > self.eviction.limit(), "a pool grows to more frames");
        let before = self.resize.frames.swap(count as usize, Ordering::Relaxed);
        self.set_packed_budget();
        if !self.memory().make(count) {
            self.resize.frames.store(before, Ordering::Relaxed);
            return false;
        }
        self.eviction.set_limit(count);
        self.set_shares();
        self.eviction.waiters.wake_all();
        true
    }

    /// What others may use at once follows from the number of frames.
    fn set_shares(&self) {
        let frames = self.frame_count();
        self.loads.set_frames(frames);
        self.descents.set_count(descents_max(frames));
    }

    async fn shrink(&self, count: u32) {
        debug_assert!(count < self.eviction.limit(), "a pool shrinks to fewer frames");
        debug_assert!(count as usize >= FRAMES_MIN, "the last frames stay");
        let behind = count..self.eviction.limit();
        self.eviction.set_limit(count);
        self.set_shares();
        let mut looks = 0;
        while !self.is_stopped() && !self.empty(behind.clone(), looks).await {
            looks += 1;
        }
        if self.is_stopped() {
            return;
        }
        self.eviction.queues.lock().forget_behind_limit();
        self.memory().release(behind);
        self.resize.frames.store(count as usize, Ordering::Relaxed);
        self.set_packed_budget();
    }

    /// One look at each frame; true when all are empty.
    async fn empty(&self, frames: Range<u32>, looks: usize) -> bool {
        let (mut dirty, mut busy) = (0, 0);
        for (number, index) in frames.clone().map(FrameIndex).enumerate() {
            match self.empty_frame(index, looks >= PATIENT_LOOKS) {
                Left::Nothing => {}
                Left::Dirty => dirty += 1,
                Left::Busy => busy += 1,
            }
            if number % YIELD_PAGES == YIELD_PAGES - 1 {
                yield_now().await;
            }
        }
        if dirty > 0 {
            let progress = self.flusher.progress.register();
            self.flusher.wake_for_wanted();
            if self.eviction.queues.lock().wanted_count() > 0 && !self.is_stopped() {
                progress.await;
            }
        }
        if busy > 0 {
            self.env.clock.sleep(RETRY_US).await;
        }
        self.eviction.queues.lock().are_idle(self.memory(), frames)
    }

    fn empty_frame(&self, index: FrameIndex, moves_dirty: bool) -> Left {
        let frame = self.frame(index);
        if frame.page().is_none() {
            // A frame on its way to a page is taken: `are_idle` sees that.
            return if frame.is_taken.load(Ordering::Relaxed) { Left::Busy } else { Left::Nothing };
        }
        if frame.pins.load(Ordering::Relaxed) > 0 || frame.writing.load(Ordering::Relaxed) {
            return Left::Busy;
        }
        // What may leave as it is may move as well: it has no place in the queue of dirty pages.
        let is_queued = frame.is_dirty() && !frame.may_leave.load(Ordering::Relaxed);
        if is_queued && !moves_dirty {
            self.eviction.queues.lock().want(frame, index);
            return Left::Dirty;
        }
        let is_unused = frame.is_cold() && frame.place() == Place::Cold;
        if is_unused && self.try_evict(index, Patience::Wait) == Evicted::Yes {
            self.give_frame(index);
            return Left::Nothing;
        }
        let Some(other) = self.try_take_frame() else { return Left::Busy };
        if self.move_page(index, other) {
            self.give_frame(index);
            return Left::Nothing;
        }
        self.give_frame(other);
        Left::Busy
    }

    /// Moves a page to an empty frame, if nobody keeps it where it is.
    fn move_page(&self, from: FrameIndex, to: FrameIndex) -> bool {
        let (old, new) = (self.frame(from), self.frame(to));
        old.latch.lock_exclusive();
        let is_free_to_go = old.pins.load(Ordering::Acquire) == 0 && !old.writing.load(Ordering::Relaxed);
        let page = old.page().filter(|_| is_free_to_go);
        if let Some(page) = page {
            new.latch.lock_exclusive();
            assert!(new.page().is_none() && !new.is_dirty(), "a free frame is empty and clean");
            let bytes = self.page_bytes();
            // SAFETY: both frames lie in the pool's memory, `page_bytes` each, and are not the same; both exclusive
            // latches are held, so nobody else reads or writes either.
            unsafe {
                let source = self.memory().frame(from);
                self.memory().frame(to).copy_from_nonoverlapping(source, bytes);
            }
            new.set_page(Some(page));
            new.copy_usage(old);
            new.set_late(old.is_late());
            debug_assert!(
                !new.writing.load(Ordering::Relaxed),
                "nothing of an empty frame is on its way to disk"
            );
            self.move_dirty(from, to);
            let replaced = self.table.replace(page, Word::Frame(from), Word::Frame(to));
            assert!(replaced, "a page in memory is moved only under its exclusive latch");
            old.set_page(None);
            let place = if old.place() == Place::Cold { Place::Cold } else { Place::Main };
            self.eviction.queues.lock().enter(new, to, place);
            // SAFETY: taken above, and no guard was made from it.
            unsafe { new.latch.unlock_exclusive() }
        }
        // SAFETY: taken above, and no guard was made from it.
        unsafe { old.latch.unlock_exclusive() }
        page.is_some()
    }

    /// The work is done if the size is what is asked for; else it goes on.
    fn finish_resize(&self, is_refused: bool) -> bool {
        let mut state = self.resize.state.lock();
        let asked = self.frames_asked();
        if asked != self.eviction.limit() && !is_refused && !self.is_stopped() {
            return false;
        }
        if !is_refused && !self.is_stopped() {
            self.eviction.queues.lock().drop_entries_behind_limit(self.memory());
        }
        if state.is_under_way() {
            state.status.completed_unix_us = Some(self.env.clock.unix_us());
            state.status.is_refused = is_refused;
        }
        state.is_running = false;
        true
    }
}

/// The task of one change of size.
async fn work(pool: Arc<BufferPool>) {
    let step = u32::try_from(STEP_BYTES / pool.page_bytes()).expect("a step is small");
    loop {
        let (asked, present) = (pool.frames_asked(), pool.eviction.limit());
        let mut is_refused = false;
        if asked > present {
            is_refused = !pool.grow(asked.min(present.saturating_add(step)));
            yield_now().await;
        } else if asked < present {
            pool.shrink(asked.max(present.saturating_sub(step))).await;
        }
        if pool.finish_resize(is_refused) {
            return;
        }
    }
}
