//! Guards: a latched frame's bytes, and pins that keep a page in memory without latching it.
//!
//! Invariant: a shared or exclusive guard exists only while its frame's latch is held that way and the frame
//! holds the guard's page. Latched guards are not `Send`, so an async function cannot hold one across an await.

use crate::frame::{Frame, FrameIndex};
use crate::pool::BufferPool;
use crate::redo::PageLog;
use pagestore::{PageId, header};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use wal::Lsn;

type NotSend = PhantomData<*const ()>;

/// Read access to a page.
pub struct SharedGuard<'p> {
    pool: &'p BufferPool,
    index: FrameIndex,
    _not_send: NotSend,
}

/// Write access to a page.
pub struct ExclusiveGuard<'p> {
    pool: &'p BufferPool,
    index: FrameIndex,
    /// The page was created by this guard and no logged change was confirmed: dropping the guard forgets it.
    unborn: bool,
    _not_send: NotSend,
}

/// Keeps a page in memory (or, after a `Stop` that names no page, nothing) until the retry.
pub struct PagePin<'p> {
    pinned: Option<(&'p BufferPool, FrameIndex)>,
}

impl<'p> SharedGuard<'p> {
    /// # Safety
    /// The caller holds the frame's latch shared and hands that hold over; the frame holds a page.
    #[inline]
    pub(crate) unsafe fn new(pool: &'p BufferPool, index: FrameIndex) -> Self {
        debug_assert!(pool.frame(index).latch.is_held(), "a guard is made from a held latch");
        Self { pool, index, _not_send: PhantomData }
    }

    fn frame(&self) -> &'p Frame {
        self.pool.frame(self.index)
    }

    pub fn page_id(&self) -> PageId {
        self.frame().page().expect("a guarded frame holds a page")
    }

    pub fn page_lsn(&self) -> Lsn {
        Lsn(header::lsn(self))
    }
}

impl Deref for SharedGuard<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let start = self.pool.memory().frame(self.index);
        // SAFETY: the frame's memory is mapped as long as the pool lives, and the shared latch that this guard
        // holds keeps writers away.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), self.pool.memory().frame_bytes()) }
    }
}

impl Drop for SharedGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this guard holds the latch shared and ends here.
        unsafe { self.frame().latch.unlock_shared() }
    }
}

impl<'p> ExclusiveGuard<'p> {
    /// # Safety
    /// The caller holds the frame's latch exclusively and hands that hold over; the frame holds a page.
    #[inline]
    pub(crate) unsafe fn new(pool: &'p BufferPool, index: FrameIndex, unborn: bool) -> Self {
        debug_assert!(pool.frame(index).latch.is_exclusive(), "a guard is made from a held latch");
        debug_assert!(pool.frame(index).page().is_some(), "a guarded frame holds a page");
        Self { pool, index, unborn, _not_send: PhantomData }
    }

    fn frame(&self) -> &'p Frame {
        self.pool.frame(self.index)
    }

    pub fn page_id(&self) -> PageId {
        self.frame().page().expect("a guarded frame holds a page")
    }

    pub fn page_lsn(&self) -> Lsn {
        Lsn(header::lsn(self))
    }

    /// The page's bytes for changing. Call `mark_dirty` before the change is appended to the log.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let start = self.pool.memory().frame(self.index);
        // SAFETY: the memory is mapped as long as the pool lives, and this guard's exclusive latch keeps
        // everybody else away for as long as `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), self.pool.memory().frame_bytes()) }
    }

    /// Says that the page is about to change by a log group that lies at or after `rec_lsn`.
    pub fn mark_dirty(&mut self, rec_lsn: Lsn) {
        self.pool.mark_dirty(self.index, rec_lsn, None);
    }

    /// The same by who says each change to `note_change` afterwards.
    pub fn begin_changes(&mut self, rec_lsn: Lsn) {
        // Of a new page the disk has nothing.
        let image_lsn = (!self.unborn).then(|| self.page_lsn());
        self.pool.mark_dirty(self.index, rec_lsn, image_lsn);
    }

    /// Keeps a change that was made: `add` adds it to the page's log in the encoding of `PoolOptions::apply_page_log`.
    pub fn note_change(&mut self, add: impl FnOnce(&mut PageLog)) {
        self.pool.note_change(self.index, add);
    }

    /// Whether the page has late changes.
    pub fn is_late(&self) -> bool {
        self.frame().is_late()
    }

    /// Says whether the page has late changes; the caller has just changed them.
    pub fn set_late(&mut self, late: bool) {
        debug_assert!(
            self.frame().latch.is_exclusive(),
            "the mark changes with the changes, under the latch"
        );
        self.frame().set_late(late);
    }

    /// Says that the log has the change and the bytes have it too: a created page is real from now on.
    pub fn confirm(&mut self) {
        debug_assert!(!self.unborn || self.frame().is_dirty(), "a page is marked as dirty before it is real");
        self.unborn = false;
    }
}

impl Deref for ExclusiveGuard<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let start = self.pool.memory().frame(self.index);
        // SAFETY: as in `bytes_mut`, for reading.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), self.pool.memory().frame_bytes()) }
    }
}

impl Drop for ExclusiveGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let unborn_page = self.unborn.then(|| self.page_id());
        if let Some(page) = unborn_page {
            self.pool.forget(page, self.index);
        }
        // SAFETY: this guard holds the latch exclusively and ends here.
        unsafe { self.frame().latch.unlock_exclusive() }
        if unborn_page.is_some() {
            self.pool.give_to_creators(self.index);
        }
    }
}

impl<'p> PagePin<'p> {
    pub(crate) const fn nothing() -> Self {
        Self { pinned: None }
    }

    /// Takes over a pin that was counted already.
    pub(crate) fn adopt(pool: &'p BufferPool, index: FrameIndex) -> Self {
        assert!(pool.frame(index).pins.load(Ordering::Relaxed) > 0);
        Self { pinned: Some((pool, index)) }
    }

    /// Whether the pin keeps a page.
    pub fn holds_page(&self) -> bool {
        self.pinned.is_some()
    }
}

impl Drop for PagePin<'_> {
    fn drop(&mut self) {
        if let Some((pool, index)) = self.pinned.take() {
            pool.unpin(index);
        }
    }
}
