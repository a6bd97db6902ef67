//! An allocator that counts what each thread takes and gives back, so that a task's memory is known without asking every structure for it.
//!
//! Invariant: it allocates as the one inside does. The program makes it its global allocator; `super` reads the count at each step of a task.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

thread_local! {
    static TAKEN: Cell<Allocations> = const { Cell::new(Allocations { count: 0, bytes: 0 }) };
    static GIVEN_BACK: Cell<u64> = const { Cell::new(0) };
}

/// How often and how much memory was taken; what was given back is not subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocations {
    pub count: u64,
    pub bytes: u64,
}

/// By this thread since it began, where the program's allocator is a `CountedAllocator`.
pub fn thread_allocations() -> Allocations {
    TAKEN.get()
}

/// Taken less given back, by this thread since it began.
pub(super) fn thread_bytes() -> isize {
    TAKEN.get().bytes.wrapping_sub(GIVEN_BACK.get()) as isize
}

fn count_taken(bytes: usize) {
    let Allocations { count, bytes: before } = TAKEN.get();
    TAKEN.set(Allocations { count: count.wrapping_add(1), bytes: before.wrapping_add(bytes as u64) });
}

fn count_given_back(bytes: usize) {
    GIVEN_BACK.set(GIVEN_BACK.get().wrapping_add(bytes as u64));
}

/// Counts what passes through to the allocator inside.
pub struct CountedAllocator<A>(pub A);

// SAFETY: every call is the same call of the allocator inside, which keeps the contract; counting allocates nothing and cannot fail, as
// the thread's count needs no initialisation and no destructor.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountedAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_taken(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count_given_back(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_taken(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count_taken(new_size);
        count_given_back(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.realloc(pointer, layout, new_size) }
    }
}
