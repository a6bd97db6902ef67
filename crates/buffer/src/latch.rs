//! The latch of one frame: many readers or one writer, held for microseconds.
//!
//! Latches are taken top-down and left to right in a tree and never across an await, hence without deadlock, but
//! for one case: whoever waits for a frame's latch may find that the frame was given to another page meanwhile,
//! which belongs higher up in the order. Therefore page code waits for a bounded time and then starts again.

use parking_lot::RawRwLock;
use parking_lot::lock_api::{RawRwLock as _, RawRwLockTimed as _};
use std::time::Duration;

/// Latches are held for microseconds; even a descheduled holder is back long before.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// A reader/writer lock without data: the guards of this crate connect it with the frame's bytes.
pub(crate) struct Latch(RawRwLock);

impl Latch {
    pub(crate) const fn new() -> Self {
        Self(RawRwLock::INIT)
    }

    /// False after `WAIT_MAX`: the caller gives up its other latches and starts again.
    #[inline]
    pub(crate) fn lock_shared_in_time(&self) -> bool {
        self.0.try_lock_shared() || self.0.try_lock_shared_for(WAIT_MAX)
    }

    /// False after `WAIT_MAX`: the caller gives up its other latches and starts again.
    #[inline]
    pub(crate) fn lock_exclusive_in_time(&self) -> bool {
        self.0.try_lock_exclusive() || self.0.try_lock_exclusive_for(WAIT_MAX)
    }

    /// Only for callers that hold no other latch.
    #[inline]
    pub(crate) fn lock_shared(&self) {
        self.0.lock_shared();
    }

    /// Only for callers that hold no other latch, and for free frames, whose latch nobody keeps.
    #[inline]
    pub(crate) fn lock_exclusive(&self) {
        self.0.lock_exclusive();
    }

    #[inline]
    pub(crate) fn try_lock_exclusive(&self) -> bool {
        self.0.try_lock_exclusive()
    }

    /// Whether somebody holds it in any way; the holder asks, to check itself.
    pub(crate) fn is_held(&self) -> bool {
        self.0.is_locked()
    }

    /// Whether somebody holds it exclusively; the holder asks, to check itself.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.0.is_locked_exclusive()
    }

    /// # Safety
    /// The caller holds the latch shared and gives up this hold.
    #[inline]
    pub(crate) unsafe fn unlock_shared(&self) {
        debug_assert!(self.0.is_locked(), "only a held latch is given up");
        // SAFETY: promised by the caller.
        unsafe { self.0.unlock_shared() }
    }

    /// # Safety
    /// The caller holds the latch exclusively and gives it up.
    #[inline]
    pub(crate) unsafe fn unlock_exclusive(&self) {
        debug_assert!(self.is_exclusive(), "only a held latch is given up");
        // SAFETY: promised by the caller.
        unsafe { self.0.unlock_exclusive() }
    }
}
