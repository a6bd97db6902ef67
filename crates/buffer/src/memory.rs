//! The memory of all frames: one mapping, made once, never unmapped while the pool lives.
//!
//! Invariant: the kernel gives a frame memory when it is first written, so an idle pool costs next to nothing
//! and a full one exactly its frames.

use crate::frame::FrameIndex;
use std::ptr::NonNull;

/// `count` frames of `frame_bytes` each.
pub(crate) struct FrameMemory {
    start: NonNull<u8>,
    frame_bytes: usize,
    count: usize,
}

// SAFETY: the struct only knows addresses; who may touch the bytes behind them is the latches' business.
unsafe impl Send for FrameMemory {}
// SAFETY: as above.
unsafe impl Sync for FrameMemory {}

impl FrameMemory {
    /// # Panics
    /// If the system refuses the address space: the pool is made once at start.
    pub(crate) fn map(frame_bytes: usize, count: usize) -> Self {
        assert!(frame_bytes > 0 && count > 0);
        let bytes = frame_bytes.checked_mul(count).expect("the buffer pool fits into the address space");
        // SAFETY: an anonymous private mapping at an address of the kernel's choice conflicts with nothing.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert!(start != libc::MAP_FAILED, "the system refused {bytes} bytes for the buffer pool");
        // Pages of 2 MB spare most of the address translations of a descent. It is a request: where the system
        // does not grant it, nothing else changes.
        // SAFETY: the advice concerns exactly the mapping just made and does not alter its content.
        unsafe { libc::madvise(start, bytes, libc::MADV_HUGEPAGE) };
        let start = NonNull::new(start.cast::<u8>()).expect("a mapping is never at address zero");
        Self { start, frame_bytes, count }
    }

    pub(crate) fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// The first byte of a frame.
    #[inline]
    pub(crate) fn frame(&self, index: FrameIndex) -> NonNull<u8> {
        assert!((index.0 as usize) < self.count);
        // SAFETY: the assertion keeps the address inside the mapping.
        unsafe { self.start.add(index.0 as usize * self.frame_bytes) }
    }
}

impl Drop for FrameMemory {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`; guards borrow the pool, so none outlives it.
        let result = unsafe { libc::munmap(self.start.as_ptr().cast(), self.frame_bytes * self.count) };
        debug_assert_eq!(result, 0);
    }
}
