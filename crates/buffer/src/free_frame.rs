//! `FreeFrame`: a frame on its way to a page, which only its holder knows, and the loan of its bytes to a read.
//!
//! Invariants: a frame that does not get its page goes back to the free ones. One that is lent goes nowhere before the read
//! has given the bytes back; if nobody waits for that any more it is lost to the pool, as the disk may still write to it.
//! Used by whoever loads pages (`load`, `prefetch`).

use crate::frame::FrameIndex;
use crate::pool::BufferPool;
use env::IoBuf;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Goes back when the load fails or is dropped.
pub(crate) struct FreeFrame<'p> {
    pool: &'p BufferPool,
    index: Option<FrameIndex>,
}

impl<'p> FreeFrame<'p> {
    /// The caller has taken the frame from the free ones, or in the place of another page.
    pub(crate) fn new(pool: &'p BufferPool, index: FrameIndex) -> Self {
        debug_assert!(pool.frame(index).page().is_none(), "a free frame holds no page");
        debug_assert!(
            pool.frame(index).is_taken.load(Ordering::Relaxed),
            "whoever fills a frame has taken it"
        );
        Self { pool, index: Some(index) }
    }

    pub(crate) fn into_index(mut self) -> FrameIndex {
        self.index.take().expect("taken once")
    }

    /// What is in it: an image, or what an earlier page left.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let memory = self.pool.memory();
        let start = memory.frame(self.index.expect("taken only by who consumes the frame"));
        debug_assert!(
            self.index.is_none_or(|index| self.pool.frame(index).page().is_none()),
            "a free frame holds no page"
        );
        // SAFETY: the memory is mapped as long as the pool lives, and the frame holds no page: who knows its number from
        // earlier finds that out before he looks at its bytes. So they are this holder's alone.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), memory.frame_bytes()) }
    }

    /// Lends the bytes to a read, which keeps the pool alive.
    pub(crate) fn lend(self, owner: Arc<BufferPool>) -> (LentFrame<'p>, IoBuf) {
        let pool = self.pool;
        assert!(std::ptr::eq(pool, &*owner), "a frame's memory is its pool's");
        let index = self.into_index();
        let (start, owner): (_, Arc<dyn Any + Send + Sync>) = (pool.memory().frame(index), owner);
        // SAFETY: the owner keeps the memory mapped. The frame holds no page and only the result knows its number, which
        // gives it away in exchange for this buffer, at whose end the loan ends.
        let bytes = unsafe { IoBuf::lend_exclusive(start, pool.memory().frame_bytes(), owner) };
        (LentFrame { pool, index }, bytes)
    }
}

impl Drop for FreeFrame<'_> {
    fn drop(&mut self) {
        if let Some(index) = self.index.take() {
            self.pool.give_frame(index);
        }
    }
}

/// A frame that is being read into. Dropped, it is lost: see the module.
pub(crate) struct LentFrame<'p> {
    pool: &'p BufferPool,
    index: FrameIndex,
}

impl<'p> LentFrame<'p> {
    /// The end of the loan.
    pub(crate) fn take_back(self, bytes: IoBuf) -> FreeFrame<'p> {
        let start = self.pool.memory().frame(self.index).as_ptr().cast_const();
        assert!(std::ptr::eq(bytes.as_slice().as_ptr(), start), "a read gives back the buffer that it got");
        drop(bytes);
        FreeFrame::new(self.pool, self.index)
    }
}
