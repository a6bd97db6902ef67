//! The memory of a coroutine's stack: reserved at once, backed by the system page by page, with a page below that faults.
//!
//! Invariant: the memory is this value's alone until it is dropped. Made by `super`.

use std::ptr::NonNull;

/// Room for the deepest statement that the parser lets through, also in builds without optimisation.
const STACK_BYTES: usize = 16 << 20;
const GUARD_BYTES: usize = 64 << 10;

pub(super) struct Stack {
    start: NonNull<u8>,
}

impl Stack {
    /// `None` when the system has no address space for it.
    pub(super) fn new() -> Option<Stack> {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
        );
        // SAFETY: a new mapping at an address that the system chooses touches no other memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), STACK_BYTES, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let stack = Stack { start: NonNull::new(start.cast())? };
        // SAFETY: both calls stay inside the mapping, which nobody uses yet. Large pages would back megabytes for a few frames.
        let guarded = unsafe {
            libc::madvise(start, STACK_BYTES, libc::MADV_NOHUGEPAGE);
            libc::mprotect(start, GUARD_BYTES, libc::PROT_NONE)
        };
        (guarded == 0).then_some(stack)
    }

    /// One past its last byte: stacks grow down.
    pub(super) fn top(&self) -> *mut u8 {
        // SAFETY: one past the end of the mapping.
        unsafe { self.start.as_ptr().add(STACK_BYTES) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and whoever ran on it has ended.
        unsafe { libc::munmap(self.start.as_ptr().cast(), STACK_BYTES) };
    }
}
