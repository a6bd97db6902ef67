//! Locks of keys and ranges: waiting for them, and finding deadlocks. Rows' own locks lie with their versions in `row_table`.

pub(crate) mod deadlock;
pub(crate) mod intervals;
pub(crate) mod lock_wait;
pub(crate) mod wait;

use deadlock::DeadlockDetector;
use intervals::IntervalLocks;

/// The locks that are not of rows, and who looks for cycles of waits.
#[derive(Default)]
pub(crate) struct Locks {
    pub intervals: IntervalLocks,
    pub deadlocks: DeadlockDetector,
}
