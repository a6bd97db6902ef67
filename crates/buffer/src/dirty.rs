//! Which pages are dirty since when.
//!
//! A frame's `rec_lsn` is the log position from which recovery must replay to rebuild the page; the checkpoint
//! stays behind the smallest. The queue holds dirty frames oldest first; an entry whose `rec_lsn` is not the
//! frame's any more is stale and skipped.

use crate::BufferError;
use crate::frame::{FrameIndex, Place};
use crate::page_table::Word;
use crate::pool::BufferPool;
use crate::redo::PageLog;
use env::sync::Mutex;
use pagestore::PageId;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use wal::Lsn;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DirtyEntry {
    pub(crate) index: FrameIndex,
    pub(crate) rec_lsn: Lsn,
}

/// The queue is looked at in so many places.
const AGE_PARTS: usize = 16;
/// What is nearly overdue counts as if it had this part of the budget left.
const AGE_LEFT_PART: u64 = 64;

/// See `BufferPool::dirty_ages`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirtyAges {
    /// Since when the oldest is dirty.
    pub(crate) oldest: Option<Lsn>,
    /// Pages that are too old already, up to the most that were asked for.
    pub(crate) overdue: usize,
    /// This share of the dirty pages has to be written for each byte of log, oldest first, so that none becomes too old.
    pub(crate) share_due_per_byte: f64,
}

#[derive(Default)]
pub(crate) struct DirtyPages {
    /// A leaf lock.
    queue: Mutex<VecDeque<DirtyEntry>>,
    count: AtomicU64,
    /// Held while a dirty page moves from frame to frame, and while all frames are looked at: else a page could move
    /// from where the look has not come yet to where it has been.
    moves: Mutex<()>,
}

impl DirtyPages {
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn count_clean(&self) {
        let before = self.count.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "each dirty page is counted");
    }

    pub(crate) fn pop_oldest(&self) -> Option<DirtyEntry> {
        self.queue.lock().pop_front()
    }

    /// Puts entries back that were taken with `pop_oldest`, in their order.
    pub(crate) fn put_back(&self, entries: impl DoubleEndedIterator<Item = DirtyEntry>) {
        let mut queue = self.queue.lock();
        for entry in entries.rev() {
            queue.push_front(entry);
        }
    }

    /// Keeps the order. The place is at the end or near it: only a page that changed while it was written is late.
    fn push(&self, entry: DirtyEntry) {
        debug_assert!(entry.rec_lsn > Lsn::ZERO, "0 means clean");
        let mut queue = self.queue.lock();
        if queue.back().is_none_or(|last| last.rec_lsn <= entry.rec_lsn) {
            queue.push_back(entry);
            return;
        }
        let place = queue.partition_point(|other| other.rec_lsn <= entry.rec_lsn);
        queue.insert(place, entry);
    }
}

impl BufferPool {
    /// Since when the oldest dirty page is dirty.
    pub(crate) fn oldest_dirty(&self) -> Option<Lsn> {
        self.oldest_of(&mut self.dirty.queue.lock())
    }

    /// Throws stale entries away on the way, so the queue stays short even when most pages are written for their frames and
    /// not for their age.
    fn oldest_of(&self, queue: &mut VecDeque<DirtyEntry>) -> Option<Lsn> {
        while queue.pop_front_if(|entry| !self.is_current(entry)).is_some() {}
        queue.front().map(|entry| entry.rec_lsn)
    }

    fn is_current(&self, entry: &DirtyEntry) -> bool {
        self.frame(entry.index).rec_lsn.load(Ordering::Acquire) == entry.rec_lsn.0
    }

    /// How old the queued pages are, when the log ends here and none is to be dirty for more than `budget` bytes of it.
    pub(crate) fn dirty_ages(&self, end: Lsn, budget: u64, most: usize) -> DirtyAges {
        let mut queue = self.dirty.queue.lock();
        let oldest = self.oldest_of(&mut queue);
        let limit = Lsn(end.0.saturating_sub(budget));
        let mut overdue = Vec::new();
        while overdue.len() < most
            && let Some(entry) = queue.pop_front_if(|entry| entry.rec_lsn < limit)
        {
            if self.is_current(&entry) {
                overdue.push(entry);
            }
        }
        let overdue_count = overdue.len();
        overdue.into_iter().rev().for_each(|entry| queue.push_front(entry));
        // Those up to here have to be written before the last of them is too old.
        let share_due_per_byte = |part: usize| {
            let entry = queue.get((queue.len() * part / AGE_PARTS).checked_sub(1)?)?;
            let left = entry.rec_lsn.0.saturating_sub(limit.0).max(budget / AGE_LEFT_PART + 1);
            Some(part as f64 / AGE_PARTS as f64 / left as f64)
        };
        let shares = (1..=AGE_PARTS).filter_map(share_due_per_byte);
        let share_due_per_byte = shares.fold(1.0 / budget as f64, f64::max);
        DirtyAges { oldest, overdue: overdue_count, share_due_per_byte }
    }

    /// The caller holds the frame's exclusive latch and appends to the log only afterwards. `image_lsn`: it says each change
    /// to `note_change` as well, and this is the page's LSN before the first of them.
    pub(crate) fn mark_dirty(&self, index: FrameIndex, rec_lsn: Lsn, image_lsn: Option<Lsn>) {
        assert!(rec_lsn > Lsn::ZERO, "0 means clean");
        self.counters.write_requests.add_one();
        let frame = self.frame(index);
        debug_assert!(frame.latch.is_exclusive(), "whoever changes a page has latched it");
        debug_assert!(frame.page().is_some(), "an empty frame has nothing to write");
        let begin_log = |after_copy| match (image_lsn, frame.page()) {
            (Some(image_lsn), Some(page)) if self.keeps_page_logs() => {
                self.page_logs.begin(page, rec_lsn, image_lsn, after_copy)
            }
            _ => false,
        };
        if frame.rec_lsn.load(Ordering::Relaxed) == 0 {
            // SeqCst pairs with the scan in `min_rec_lsn`.
            frame.rec_lsn.store(rec_lsn.0, Ordering::SeqCst);
            self.dirty.count.fetch_add(1, Ordering::Relaxed);
            let is_kept = begin_log(false);
            frame.may_leave.store(is_kept, Ordering::Relaxed);
            if !is_kept {
                self.dirty.push(DirtyEntry { index, rec_lsn });
            }
        } else if frame.writing.load(Ordering::Relaxed) && frame.rec_lsn_next.load(Ordering::Relaxed) == 0 {
            frame.rec_lsn_next.store(rec_lsn.0, Ordering::Relaxed);
            begin_log(true);
        }
    }

    /// A change was made to the page, which the caller has latched exclusively.
    pub(crate) fn note_change(&self, index: FrameIndex, add: impl FnOnce(&mut PageLog)) {
        let frame = self.frame(index);
        debug_assert!(frame.latch.is_exclusive(), "whoever changes a page has latched it");
        let Some(page) = frame.page() else { return };
        if !self.page_logs.add(page, add) {
            self.must_be_written(index);
        }
    }

    /// The page has no entry any more. The caller has latched it exclusively.
    fn must_be_written(&self, index: FrameIndex) {
        let frame = self.frame(index);
        debug_assert!(frame.latch.is_exclusive(), "its flag and its place in the queue change together");
        // Without the flag it is in the queue already, or comes there when its copy is written.
        if frame.may_leave.swap(false, Ordering::Relaxed) && !frame.writing.load(Ordering::Relaxed) {
            let rec_lsn = Lsn(frame.rec_lsn.load(Ordering::Relaxed));
            self.dirty.push(DirtyEntry { index, rec_lsn });
        }
    }

    /// Whether a dirty page may leave memory as it is; the caller, who has latched it exclusively, evicts it then.
    pub(crate) fn leave_dirty(&self, index: FrameIndex, page: PageId) -> bool {
        let frame = self.frame(index);
        debug_assert!(frame.latch.is_exclusive() && frame.holds(page), "it is evicted next");
        debug_assert!(!frame.writing.load(Ordering::Relaxed), "a page on its way to disk stays");
        if !frame.may_leave.load(Ordering::Relaxed) {
            return false;
        }
        if !self.page_logs.leave(page) {
            self.must_be_written(index);
            return false;
        }
        frame.may_leave.store(false, Ordering::Relaxed);
        frame.rec_lsn.store(0, Ordering::SeqCst);
        self.dirty.count_clean();
        true
    }

    /// A page that left memory dirty has a frame again, and is about to be brought up to date. The caller has latched it
    /// exclusively and lets nobody take its entry away before this.
    pub(crate) fn mark_returned(&self, index: FrameIndex, rec_lsn: Lsn) {
        let frame = self.frame(index);
        assert!(rec_lsn > Lsn::ZERO, "a page that left dirty is dirty since some record");
        debug_assert!(frame.latch.is_exclusive() && !frame.is_dirty(), "it has just been read");
        frame.rec_lsn.store(rec_lsn.0, Ordering::SeqCst);
        frame.may_leave.store(true, Ordering::Relaxed);
        self.dirty.count.fetch_add(1, Ordering::Relaxed);
    }

    /// The page has just become known, and is latched exclusively: if it has lost its entry before, `hand_over` did not find
    /// it.
    pub(crate) fn check_entry(&self, index: FrameIndex, page: PageId) {
        if self.frame(index).may_leave.load(Ordering::Relaxed) && !self.page_logs.has(page) {
            self.must_be_written(index);
        }
    }

    /// A page whose entry is gone is written in its turn, if it is in memory and dirty. The caller holds no latch.
    pub(crate) fn hand_over(&self, page: PageId) {
        // Who makes it known just now sees to it (`check_entry`).
        while let Word::Frame(index) = self.table.load(page) {
            let frame = self.frame(index);
            frame.latch.lock_exclusive();
            // Else it has moved to another frame, or left.
            let is_there = frame.holds(page);
            if is_there && frame.is_dirty() {
                self.must_be_written(index);
            }
            // SAFETY: taken above, and no guard was made from it.
            unsafe { frame.latch.unlock_exclusive() }
            if is_there {
                return;
            }
        }
    }

    /// Pages in memory with a log from before the `limit` of its part are written in their turn from now on: they are the
    /// oldest, so soon. To be called often, with limits that rise evenly: then they are few each time.
    pub fn write_logged_before(&self, limit: impl Fn(usize) -> Lsn) {
        let pages = self.page_logs.forget_present_before(limit);
        if !pages.is_empty() {
            pages.into_iter().for_each(|page| self.hand_over(page));
            self.flusher.wake.notify();
        }
    }

    /// Reads a page that left memory dirty, and has it written in its turn.
    pub async fn write_absent(&self, page: PageId) -> Result<(), BufferError> {
        if self.page_logs.is_absent(page) {
            let _pin = self.load(page).await?;
            if self.page_logs.forget(page) {
                self.hand_over(page);
                self.flusher.wake.notify();
            }
        }
        Ok(())
    }

    /// A low limit for dirty pages is kept by writing them.
    fn keeps_page_logs(&self) -> bool {
        !self.caps.limits_dirty_pages()
    }

    /// Where there is such a limit, pages in memory that got their logs before it was set are written like others.
    pub(crate) fn give_up_page_logs_if_limited(&self) {
        if !self.keeps_page_logs() && self.page_logs.present() > 0 {
            self.write_logged_before(|_| Lsn::MAX);
        }
    }

    /// The page of this frame is forgotten. The caller holds the exclusive latch; its queue entry becomes stale.
    pub(crate) fn mark_clean(&self, index: FrameIndex) {
        let frame = self.frame(index);
        debug_assert!(frame.latch.is_exclusive(), "nobody may be reading what is forgotten");
        assert!(!frame.writing.load(Ordering::Relaxed), "a page on its way to disk is not forgotten");
        if frame.rec_lsn.swap(0, Ordering::SeqCst) != 0 {
            self.dirty.count_clean();
        }
    }

    /// The copy that was taken of the page is durable.
    pub(crate) fn mark_written(&self, index: FrameIndex) {
        let frame = self.frame(index);
        frame.latch.lock_shared();
        assert!(
            frame.writing.load(Ordering::Relaxed) && frame.is_dirty(),
            "a copy was taken of a dirty page"
        );
        let next = Lsn(frame.rec_lsn_next.swap(0, Ordering::Relaxed));
        let page = frame.page().expect("a page on its way to disk is not evicted");
        debug_assert!(
            next == Lsn::ZERO || next.0 >= frame.rec_lsn.load(Ordering::Relaxed),
            "what came after the copy is newer"
        );
        frame.rec_lsn.store(next.0, Ordering::SeqCst);
        let is_kept = self.page_logs.written(page, (next > Lsn::ZERO).then_some(next));
        frame.may_leave.store(is_kept, Ordering::Relaxed);
        frame.writing.store(false, Ordering::Relaxed);
        if next == Lsn::ZERO {
            self.dirty.count_clean();
        } else if !is_kept {
            self.dirty.push(DirtyEntry { index, rec_lsn: next });
        }
        self.settle(index);
        // SAFETY: taken above, and no guard was made from it.
        unsafe { frame.latch.unlock_shared() }
    }

    /// The copy did not become durable: the page is as dirty as before.
    pub(crate) fn mark_unwritten(&self, index: FrameIndex) {
        let frame = self.frame(index);
        frame.latch.lock_shared();
        assert!(
            frame.writing.load(Ordering::Relaxed) && frame.is_dirty(),
            "a copy was taken of a dirty page"
        );
        frame.rec_lsn_next.store(0, Ordering::Relaxed);
        frame.writing.store(false, Ordering::Relaxed);
        frame.may_leave.store(false, Ordering::Relaxed);
        self.page_logs.forget(frame.page().expect("a page on its way to disk is not evicted"));
        let rec_lsn = Lsn(frame.rec_lsn.load(Ordering::Relaxed));
        self.dirty.push(DirtyEntry { index, rec_lsn });
        self.settle(index);
        // SAFETY: taken above, and no guard was made from it.
        unsafe { frame.latch.unlock_shared() }
    }

    /// A wanted page is clean, or was: its frame goes back into a queue.
    pub(crate) fn settle(&self, index: FrameIndex) {
        let frame = self.frame(index);
        if frame.place() == Place::Wanted {
            self.eviction.queues.lock().settle(frame, index);
        }
    }

    /// A page moves to another frame and stays as dirty as it is. The caller holds both exclusive latches; the page
    /// is not on its way to disk.
    pub(crate) fn move_dirty(&self, from: FrameIndex, to: FrameIndex) {
        let (old, new) = (self.frame(from), self.frame(to));
        assert_ne!(from, to, "a page moves to another frame");
        assert!(!old.writing.load(Ordering::Relaxed) && !new.is_dirty());
        debug_assert!(old.latch.is_exclusive() && new.latch.is_exclusive(), "both are the mover's");
        let _moves = self.dirty.moves.lock();
        let rec_lsn = Lsn(old.rec_lsn.load(Ordering::Relaxed));
        if rec_lsn == Lsn::ZERO {
            return;
        }
        debug_assert!(
            old.rec_lsn_next.load(Ordering::Relaxed) == 0,
            "only a page on its way to disk has a second position"
        );
        new.rec_lsn.store(rec_lsn.0, Ordering::SeqCst);
        let may_leave = old.may_leave.swap(false, Ordering::Relaxed);
        new.may_leave.store(may_leave, Ordering::Relaxed);
        if !may_leave {
            self.dirty.push(DirtyEntry { index: to, rec_lsn });
        }
        old.rec_lsn.store(0, Ordering::SeqCst);
    }

    #[cfg(test)]
    pub(crate) fn dirty_entries(&self) -> usize {
        self.dirty.queue.lock().len()
    }

    /// Replay that starts here rebuilds every page; never beyond the end of the log.
    ///
    /// Why none is missed: a page gets its `rec_lsn` before its group is appended. If the scan does not see it, the
    /// group was appended after `end` was read, so it lies at or behind `end`.
    /// A page that leaves or returns in between has been seen with its log.
    pub fn min_rec_lsn(&self) -> Lsn {
        let end = self.wal.end_lsn();
        let kept = self.page_logs.oldest().unwrap_or(end);
        self.min_rec_lsn_in_memory().min(kept).min(end)
    }

    /// The same for pages in memory.
    pub(crate) fn min_rec_lsn_in_memory(&self) -> Lsn {
        let _moves = self.dirty.moves.lock();
        let end = self.wal.end_lsn();
        let frames = self.memory().headers().iter();
        let dirty = frames.map(|frame| frame.rec_lsn.load(Ordering::SeqCst)).filter(|lsn| *lsn != 0);
        dirty.map(Lsn).min().map_or(end, |oldest| oldest.min(end))
    }
}
