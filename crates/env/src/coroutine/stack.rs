//! The memory of a coroutine's stack: reserved at once, backed by the system page by page, with pages below that fault.
//!
//! Invariant: the memory is this value's alone until it is dropped. Made by `super`.

use std::ptr::NonNull;

use corosensei::stack::StackPointer;

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

    /// Above the pages that fault.
    pub(super) fn usable_from(&self) -> usize {
        self.start.addr().get() + GUARD_BYTES
    }
}

/// A stack that is run on for a while by one that does not own it.
pub(super) struct BorrowedStack<'s>(pub &'s Stack);

// SAFETY: that of the stack it borrows.
unsafe impl corosensei::stack::Stack for BorrowedStack<'_> {
    fn base(&self) -> StackPointer {
        self.0.base()
    }

    fn limit(&self) -> StackPointer {
        self.0.limit()
    }
}

// SAFETY: megabytes of memory above pages that fault.
unsafe impl corosensei::stack::Stack for Stack {
    /// One past its last byte: stacks grow down.
    fn base(&self) -> StackPointer {
        self.start.addr().saturating_add(STACK_BYTES)
    }

    fn limit(&self) -> StackPointer {
        self.start.addr()
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and whoever ran on it has ended.
        unsafe { libc::munmap(self.start.as_ptr().cast(), STACK_BYTES) };
    }
}
