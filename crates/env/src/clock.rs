//! Time as the engine sees it. No correctness may depend on the wall clock, which can jump both ways.

use crate::BoxFuture;

/// The two clocks of the machine and its timer.
pub trait Clock: Send + Sync {
    /// Microseconds since an arbitrary start; never goes back.
    fn now_us(&self) -> u64;
    /// Microseconds since 1970-01-01 UTC.
    fn unix_us(&self) -> u64;
    /// Resolves when at least `us` microseconds have passed.
    fn sleep(&self, us: u64) -> BoxFuture<'static, ()>;
}
