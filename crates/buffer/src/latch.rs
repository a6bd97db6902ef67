//! The latch of one frame: many readers or one writer, held for microseconds.
//!
//! Latches are taken top-down and left to right in a tree and never across an await, hence without deadlock.

use parking_lot::RawRwLock;
use parking_lot::lock_api::RawRwLock as _;

/// A reader/writer lock without data: the guards of this crate connect it with the frame's bytes.
pub(crate) struct Latch(RawRwLock);

impl Latch {
    pub(crate) const fn new() -> Self {
        Self(RawRwLock::INIT)
    }

    #[inline]
    pub(crate) fn lock_shared(&self) {
        self.0.lock_shared();
    }

    #[inline]
    pub(crate) fn lock_exclusive(&self) {
        self.0.lock_exclusive();
    }

    #[inline]
    pub(crate) fn try_lock_exclusive(&self) -> bool {
        self.0.try_lock_exclusive()
    }

    /// # Safety
    /// The caller holds the latch shared and gives up this hold.
    #[inline]
    pub(crate) unsafe fn unlock_shared(&self) {
        // SAFETY: promised by the caller.
        unsafe { self.0.unlock_shared() }
    }

    /// # Safety
    /// The caller holds the latch exclusively and gives it up.
    #[inline]
    pub(crate) unsafe fn unlock_exclusive(&self) {
        // SAFETY: promised by the caller.
        unsafe { self.0.unlock_exclusive() }
    }
}
