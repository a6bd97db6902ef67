//! Which pages are dirty since when.
//!
//! A frame's `rec_lsn` is the log position from which recovery must replay to rebuild the page; the checkpoint
//! stays behind the smallest. The queue holds dirty frames oldest first; an entry whose `rec_lsn` is not the
//! frame's any more is stale and skipped.

use crate::frame::{FrameIndex, Place};
use crate::pool::BufferPool;
use env::sync::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use wal::Lsn;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DirtyEntry {
    pub(crate) index: FrameIndex,
    pub(crate) rec_lsn: Lsn,
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
    /// Since when the oldest dirty page is dirty. Throws stale entries away on the way, so the queue stays short
    /// even when most pages are written for their frames and not for their age.
    pub(crate) fn oldest_dirty(&self) -> Option<Lsn> {
        let mut queue = self.dirty.queue.lock();
        while let Some(entry) = queue.front() {
            if self.frame(entry.index).rec_lsn.load(Ordering::Acquire) == entry.rec_lsn.0 {
                return Some(entry.rec_lsn);
            }
            queue.pop_front();
        }
        None
    }

    /// The caller holds the frame's exclusive latch and appends to the log only afterwards.
    pub(crate) fn mark_dirty(&self, index: FrameIndex, rec_lsn: Lsn) {
        assert!(rec_lsn > Lsn::ZERO, "0 means clean");
        self.counters.write_requests.add_one();
        let frame = self.frame(index);
        if frame.rec_lsn.load(Ordering::Relaxed) == 0 {
            // SeqCst pairs with the scan in `min_rec_lsn`.
            frame.rec_lsn.store(rec_lsn.0, Ordering::SeqCst);
            self.dirty.count.fetch_add(1, Ordering::Relaxed);
            self.dirty.push(DirtyEntry { index, rec_lsn });
        } else if frame.writing.load(Ordering::Relaxed) && frame.rec_lsn_next.load(Ordering::Relaxed) == 0 {
            frame.rec_lsn_next.store(rec_lsn.0, Ordering::Relaxed);
        }
    }

    /// The page of this frame is forgotten. The caller holds the exclusive latch; its queue entry becomes stale.
    pub(crate) fn mark_clean(&self, index: FrameIndex) {
        let frame = self.frame(index);
        assert!(!frame.writing.load(Ordering::Relaxed), "a page on its way to disk is not forgotten");
        if frame.rec_lsn.swap(0, Ordering::SeqCst) != 0 {
            self.dirty.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The copy that was taken of the page is durable.
    pub(crate) fn mark_written(&self, index: FrameIndex) {
        let frame = self.frame(index);
        frame.latch.lock_shared();
        assert!(frame.writing.load(Ordering::Relaxed) && frame.is_dirty());
        let next = Lsn(frame.rec_lsn_next.swap(0, Ordering::Relaxed));
        frame.writing.store(false, Ordering::Relaxed);
        frame.rec_lsn.store(next.0, Ordering::SeqCst);
        if next == Lsn::ZERO {
            self.dirty.count.fetch_sub(1, Ordering::Relaxed);
        } else {
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
        frame.rec_lsn_next.store(0, Ordering::Relaxed);
        frame.writing.store(false, Ordering::Relaxed);
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
        assert!(!old.writing.load(Ordering::Relaxed) && !new.is_dirty());
        let _moves = self.dirty.moves.lock();
        let rec_lsn = Lsn(old.rec_lsn.load(Ordering::Relaxed));
        if rec_lsn == Lsn::ZERO {
            return;
        }
        new.rec_lsn.store(rec_lsn.0, Ordering::SeqCst);
        self.dirty.push(DirtyEntry { index: to, rec_lsn });
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
    pub fn min_rec_lsn(&self) -> Lsn {
        let _moves = self.dirty.moves.lock();
        let end = self.wal.end_lsn();
        let frames = self.memory().headers().iter();
        let dirty = frames.map(|frame| frame.rec_lsn.load(Ordering::SeqCst)).filter(|lsn| *lsn != 0);
        dirty.map(Lsn).min().map_or(end, |oldest| oldest.min(end))
    }
}
