//! An allocator that counts what each thread takes and gives back, so that a task's memory is known without asking every structure for it.
//!
//! Invariant: it allocates as the one inside does. The program makes it its global allocator; `super` reads the count at each step of a task.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

thread_local! {
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

/// Taken less given back, by this thread since it began.
pub(super) fn thread_bytes() -> isize {
    BYTES.get()
}

fn count(bytes: isize) {
    BYTES.set(BYTES.get().wrapping_add(bytes));
}

/// Counts what passes through to the allocator inside.
pub struct CountedAllocator<A>(pub A);

// SAFETY: every call is the same call of the allocator inside, which keeps the contract; counting allocates nothing and cannot fail, as
// the thread's count needs no initialisation and no destructor.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountedAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - layout.size() as isize);
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.realloc(pointer, layout, new_size) }
    }
}
