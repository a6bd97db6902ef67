//! The memory of all frames and of what is known about each: address space that is reserved once and filled on demand.
//!
//! Invariant: no address is unmapped while the pool lives, so whoever knows a frame's number may always look at it.
//! Memory comes with use and goes back to the system by `FrameMemory::release`; frame headers stay, once made.

use crate::frame::{Frame, FrameIndex};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A range of addresses without access until a part of it is `opened`.
struct Reservation {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the struct only knows addresses; who may touch the bytes behind them is the latches' business.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// # Panics
    /// If the system refuses the address space: the pool is made once at start.
    fn new(bytes: usize) -> Self {
        // SAFETY: an anonymous private mapping at an address of the kernel's choice conflicts with nothing.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert!(
            start != libc::MAP_FAILED,
            "the system refused {bytes} bytes of addresses for the buffer pool"
        );
        let start = NonNull::new(start.cast::<u8>()).expect("a mapping is never at address zero");
        Self { start, bytes }
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset <= self.bytes);
        // SAFETY: the assertion keeps the address inside the mapping, or one behind its end.
        unsafe { self.start.add(offset) }
    }

    /// Makes the bytes of the range accessible; they are zeros unless they were used before. False when the system
    /// refuses the memory.
    fn open(&self, range: Range<usize>) -> bool {
        debug_assert!(range.start < range.end && range.end <= self.bytes, "what is opened was reserved");
        let range = self.outward(range);
        let start = self.at(range.start).as_ptr().cast();
        // SAFETY: the range lies in this mapping, whole system pages; more access takes nothing from anybody.
        let opened = unsafe { libc::mprotect(start, range.len(), libc::PROT_READ | libc::PROT_WRITE) } == 0;
        if opened {
            // Pages of 2 MB spare most of the address translations of a descent. It is a request: where the system
            // does not grant it, nothing else changes.
            // SAFETY: the advice concerns a part of this mapping and does not alter its content.
            unsafe { libc::madvise(start, range.len(), libc::MADV_HUGEPAGE) };
        }
        opened
    }

    /// Gives the memory of the range back; its content is lost and reads as zeros.
    fn release(&self, range: Range<usize>) {
        let range = self.inward(range);
        if range.is_empty() {
            return;
        }
        let start = self.at(range.start).as_ptr().cast();
        // SAFETY: the range lies in this mapping, whole system pages, and the caller has nothing in it.
        unsafe { libc::madvise(start, range.len(), libc::MADV_DONTNEED) };
    }

    fn outward(&self, range: Range<usize>) -> Range<usize> {
        let page = system_page_bytes();
        let end = range.end.next_multiple_of(page).min(self.bytes.next_multiple_of(page));
        range.start / page * page..end.min(self.bytes)
    }

    fn inward(&self, range: Range<usize>) -> Range<usize> {
        let page = system_page_bytes();
        let start = range.start.next_multiple_of(page);
        start..(range.end / page * page).max(start)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; guards borrow the pool, so none outlives it.
        let result = unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert_eq!(result, 0);
    }
}

fn system_page_bytes() -> usize {
    // SAFETY: asks for a constant of the system.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).expect("every system has a page size")
}

/// Up to `count_max` frames of `frame_bytes` each, and their headers.
pub(crate) struct FrameMemory {
    bytes: Reservation,
    headers: Reservation,
    frame_bytes: usize,
    count_max: usize,
    /// Frames below have a header.
    made: AtomicU32,
}

impl FrameMemory {
    /// # Panics
    /// If the system refuses the address space: the pool is made once at start.
    pub(crate) fn reserve(frame_bytes: usize, count_max: usize) -> Self {
        assert!(frame_bytes > 0 && count_max > 0 && u32::try_from(count_max).is_ok());
        let bytes = frame_bytes.checked_mul(count_max).expect("the buffer pool fits into the address space");
        Self {
            bytes: Reservation::new(bytes),
            headers: Reservation::new(count_max * size_of::<Frame>()),
            frame_bytes,
            count_max,
            made: AtomicU32::new(0),
        }
    }

    pub(crate) fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    pub(crate) fn count_max(&self) -> usize {
        self.count_max
    }

    /// Makes the frames below `count` usable. One caller at a time. False when the system refuses the memory.
    pub(crate) fn make(&self, count: u32) -> bool {
        assert!(count as usize <= self.count_max);
        let made = self.made.load(Ordering::Relaxed);
        if count <= made {
            return true;
        }
        let of = |bytes: usize| made as usize * bytes..count as usize * bytes;
        if !self.bytes.open(of(self.frame_bytes)) || !self.headers.open(of(size_of::<Frame>())) {
            return false;
        }
        for index in made..count {
            let place = self.headers.at(index as usize * size_of::<Frame>()).cast::<Frame>();
            // SAFETY: inside the opened part, aligned because the mapping is and a header is one cache line; nobody
            // looks at it before `made` says that it is there.
            unsafe { place.write(Frame::new()) };
        }
        self.made.store(count, Ordering::Release);
        true
    }

    /// Gives the memory of empty frames back to the system.
    pub(crate) fn release(&self, frames: Range<u32>) {
        debug_assert!(frames.end <= self.made.load(Ordering::Relaxed), "only what was made is given back");
        debug_assert!(
            frames.clone().all(|index| self.header(FrameIndex(index)).page().is_none()),
            "only empty frames are given back"
        );
        self.bytes.release(frames.start as usize * self.frame_bytes..frames.end as usize * self.frame_bytes);
    }

    /// The headers of all frames that were ever used.
    pub(crate) fn headers(&self) -> &[Frame] {
        let made = self.made.load(Ordering::Acquire) as usize;
        // SAFETY: `make` wrote that many headers before it said so; they are never moved or taken away.
        unsafe { std::slice::from_raw_parts(self.headers.start.cast::<Frame>().as_ptr(), made) }
    }

    #[inline]
    pub(crate) fn header(&self, index: FrameIndex) -> &Frame {
        // Whoever knows the number learned it after the frame was made, so it cannot read an older count here.
        assert!(index.0 < self.made.load(Ordering::Relaxed));
        // SAFETY: `make` wrote the header, and it is never moved or taken away.
        unsafe { self.headers.start.cast::<Frame>().add(index.0 as usize).as_ref() }
    }

    /// The first byte of a frame.
    #[inline]
    pub(crate) fn frame(&self, index: FrameIndex) -> NonNull<u8> {
        assert!((index.0 as usize) < self.count_max);
        // SAFETY: the assertion keeps the address inside the mapping.
        unsafe { self.bytes.start.add(index.0 as usize * self.frame_bytes) }
    }
}
