//! What the ring is made of: std's atomics and cell; under `--cfg loom` loom's, which answer every value that the
//! orders of memory allow and notice an access of a cell that no order keeps apart from another.
//!
//! Invariant: outside of tests all of this is free: the cell's methods are calls of the closure, `point` is nothing.
//! Caller: the ring alone.

#[cfg(loom)]
pub use loom::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, AtomicU64},
    thread::yield_now,
};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicU64};

/// Two slots under loom, so that few steps use one again; there waiting is one look a turn.
pub const PIECES_BITS: u32 = if cfg!(loom) { 1 } else { 3 };
/// Looks before a thread that waits lets others run.
pub const SPINS: u32 = if cfg!(loom) { 0 } else { 100 };

/// Where shuttle may let another thread go on.
#[cfg(any(not(test), loom))]
#[inline(always)]
pub fn point() {}

#[cfg(all(test, not(loom)))]
pub(super) use super::tests::{point, yield_now};
#[cfg(not(any(test, loom)))]
pub use std::thread::yield_now;

/// std's cell with the methods of loom's. The pointer is used within the call only.
#[cfg(not(loom))]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// For reading.
    #[inline(always)]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// For writing.
    #[inline(always)]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
