//! Which frame is given next, and whose page is evicted next: free frames, and three queues of frames with pages.
//!
//! A page enters the cold queue, a tenth of the pool. If it is used again before it reaches the front it moves to the
//! main queue, else it leaves: so a scan, whose pages are used once, replaces only what it brought itself. A page that
//! comes back soon after it left the cold queue was evicted too early and enters the main queue at once. In the main
//! queue each turn takes one use from a page and lets it go round again. Dirty pages that nobody uses leave the queues
//! for the list of wanted ones, which the flusher writes first; so clean pages are evicted first and nobody passes
//! over the same dirty page again and again. docs/decisions/0008 has the figures.
//!
//! Invariants: a frame in use is in at most one queue, where its `Place` says; a frame that is free, or was never
//! given, or is behind the limit, has `is_taken` unset.

use crate::frame::{Frame, FrameIndex, Place};
use crate::memory::FrameMemory;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// The cold queue is this part of the pool.
const COLD_PART: usize = 10;
/// Entries looked at under one lock.
const STEPS_PER_LOCK: usize = 64;

/// All of it is protected by one lock, a leaf lock that only misses take, never hits.
pub(crate) struct Queues {
    free: Vec<FrameIndex>,
    /// Frames for `create` alone: page code that creates several pages at once collects them here over its
    /// retries, and loads cannot snatch them away.
    creators: Vec<FrameIndex>,
    /// Frames from here on were never used; they are touched in order so that memory grows with use.
    unused: u32,
    /// Frames from here on are not given any more.
    limit: u32,
    cold: VecDeque<FrameIndex>,
    main: VecDeque<FrameIndex>,
    wanted: VecDeque<FrameIndex>,
}

/// What a look at the queues has found.
pub(crate) enum Pick {
    /// Taken out of its queue: it looked unused, unpinned, and clean or free to leave as it is. Frames before it may have lost a use.
    Victim(FrameIndex, Place),
    /// Nothing yet.
    LookOn,
    /// The queues are empty.
    Empty,
}

/// How far a search has come.
pub(crate) struct Progress {
    pub(crate) steps_left: usize,
    /// Frames lost a use or left their queue: another round may find one.
    pub(crate) has_advanced: bool,
}

impl Queues {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            free: Vec::new(),
            creators: Vec::new(),
            unused: 0,
            limit,
            cold: VecDeque::new(),
            main: VecDeque::new(),
            wanted: VecDeque::new(),
        }
    }

    pub(crate) fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
        self.free.retain(|index| index.0 < limit);
        self.creators.retain(|index| index.0 < limit);
    }

    /// The frames behind the limit are empty: they count as never used when the pool grows again.
    pub(crate) fn forget_behind_limit(&mut self) {
        self.unused = self.unused.min(self.limit);
    }

    /// Forgets the entries of frames behind the limit, all of which are empty.
    pub(crate) fn drop_entries_behind_limit(&mut self, memory: &FrameMemory) {
        for queue in [&mut self.cold, &mut self.main] {
            queue.retain(|index| {
                let stays = index.0 < self.limit;
                if !stays {
                    debug_assert!(
                        memory.header(*index).page().is_none(),
                        "frames behind the limit are empty"
                    );
                    memory.header(*index).set_place(Place::Nowhere);
                }
                stays
            });
            queue.shrink_to_fit();
        }
    }

    pub(crate) fn free_count(&self) -> usize {
        self.limit.saturating_sub(self.unused) as usize + self.free.len() + self.creators.len()
    }

    pub(crate) fn take_free(&mut self, memory: &FrameMemory) -> Option<FrameIndex> {
        let index = self.free.pop().or_else(|| self.next_unused())?;
        debug_assert!(index.0 < self.limit, "frames behind the limit are not used");
        debug_assert!(!memory.header(index).is_taken.load(Ordering::Relaxed), "a free frame is nobody's");
        debug_assert!(memory.header(index).page().is_none(), "a free frame is empty");
        memory.header(index).is_taken.store(true, Ordering::Relaxed);
        Some(index)
    }

    fn next_unused(&mut self) -> Option<FrameIndex> {
        let index = (self.unused < self.limit).then_some(FrameIndex(self.unused))?;
        self.unused += 1;
        Some(index)
    }

    /// Takes an empty frame back.
    pub(crate) fn give(&mut self, memory: &FrameMemory, index: FrameIndex) {
        retire(memory.header(index));
        if index.0 < self.limit {
            self.free.push(index);
        }
    }

    pub(crate) fn take_for_creator(&mut self, memory: &FrameMemory) -> Option<FrameIndex> {
        let index = self.creators.pop()?;
        debug_assert!(!memory.header(index).is_taken.load(Ordering::Relaxed), "a free frame is nobody's");
        debug_assert!(memory.header(index).page().is_none(), "a free frame is empty");
        memory.header(index).is_taken.store(true, Ordering::Relaxed);
        Some(index)
    }

    /// When nothing else is left, loads take back what creators were given in excess.
    pub(crate) fn take_from_creators(&mut self, memory: &FrameMemory) -> Option<FrameIndex> {
        let is_excess = self.creators.len() > self.limit as usize / 4;
        if is_excess { self.take_for_creator(memory) } else { None }
    }

    /// Each `Stop::NoFrame` that is resolved adds one, so the retry has one more than before. False when it became
    /// free for everybody.
    pub(crate) fn give_to_creators(&mut self, memory: &FrameMemory, index: FrameIndex) -> bool {
        if index.0 >= self.limit || self.creators.len() >= self.limit as usize / 2 {
            self.give(memory, index);
            return false;
        }
        retire(memory.header(index));
        self.creators.push(index);
        true
    }

    /// A page came into the frame.
    pub(crate) fn enter(&mut self, frame: &Frame, index: FrameIndex, place: Place) {
        // The frame may still have its entry from a page that was forgotten; that place is as good.
        if frame.place() == Place::Nowhere {
            self.push(frame, index, place);
        }
    }

    /// An eviction did not come to pass.
    pub(crate) fn put_back(&mut self, frame: &Frame, index: FrameIndex, place: Place) {
        if frame.page().is_some() && frame.place() == Place::Nowhere {
            self.push(frame, index, place);
        }
    }

    fn push(&mut self, frame: &Frame, index: FrameIndex, place: Place) {
        frame.set_place(place);
        match place {
            Place::Cold => self.cold.push_back(index),
            Place::Main => self.main.push_back(index),
            Place::Wanted => self.want(frame, index),
            Place::Nowhere => unreachable!("a page is queued somewhere"),
        }
    }

    /// Looks for the next page to evict.
    pub(crate) fn pick(&mut self, memory: &FrameMemory, progress: &mut Progress) -> Pick {
        for _ in 0..STEPS_PER_LOCK.min(progress.steps_left) {
            progress.steps_left -= 1;
            let is_cold = self.cold.len() > self.limit as usize / COLD_PART || self.main.is_empty();
            let popped = if is_cold { self.cold.pop_front() } else { self.main.pop_front() };
            let Some(index) = popped else { return Pick::Empty };
            let frame = memory.header(index);
            frame.set_place(Place::Nowhere);
            if frame.page().is_none() {
                progress.has_advanced = true;
                continue;
            }
            let was_used = frame.age();
            if was_used || frame.pins.load(Ordering::Relaxed) > 0 {
                progress.has_advanced |= was_used;
                self.push(frame, index, Place::Main);
            } else if frame.is_dirty() && !frame.may_leave.load(Ordering::Relaxed) {
                progress.has_advanced = true;
                self.push(frame, index, Place::Wanted);
            } else {
                return Pick::Victim(index, if is_cold { Place::Cold } else { Place::Main });
            }
        }
        Pick::LookOn
    }

    /// Lists a dirty frame for the flusher, whatever its place.
    pub(crate) fn want(&mut self, frame: &Frame, index: FrameIndex) {
        if !frame.is_listed.swap(true, Ordering::Relaxed) {
            self.wanted.push_back(index);
        }
    }

    pub(crate) fn wanted_count(&self) -> usize {
        self.wanted.len()
    }

    /// Hands out up to `count` wanted frames; some may be clean by now.
    pub(crate) fn take_wanted(&mut self, memory: &FrameMemory, count: usize) -> Vec<FrameIndex> {
        let taken: Vec<FrameIndex> = self.wanted.drain(..count.min(self.wanted.len())).collect();
        for index in &taken {
            debug_assert!(
                memory.header(*index).is_listed.load(Ordering::Relaxed),
                "a wanted frame is listed once"
            );
            memory.header(*index).is_listed.store(false, Ordering::Relaxed);
        }
        taken
    }

    /// A frame that may have been wanted was written, or nearly: its page is evicted next unless it was used
    /// meanwhile or is dirty again.
    pub(crate) fn settle(&mut self, frame: &Frame, index: FrameIndex) {
        if frame.place() != Place::Wanted {
            return;
        }
        if frame.is_dirty() || !frame.is_cold() {
            self.push(frame, index, Place::Main);
        } else {
            frame.set_place(Place::Cold);
            self.cold.push_front(index);
        }
    }

    /// Whether every frame of the range is empty and will stay so.
    pub(crate) fn are_idle(&self, memory: &FrameMemory, frames: Range<u32>) -> bool {
        assert!(frames.start >= self.limit);
        frames.map(FrameIndex).all(|index| !memory.header(index).is_taken.load(Ordering::Relaxed))
    }
}

/// An empty frame is not in use any more.
fn retire(frame: &Frame) {
    assert!(frame.page().is_none(), "only an empty frame is free");
    assert!(frame.is_taken.swap(false, Ordering::Relaxed), "a frame is given back once");
    // An entry in the cold or the main queue serves the frame's next page, but nobody waits for it to be written.
    if frame.place() == Place::Wanted {
        frame.set_place(Place::Nowhere);
    }
}
