//! Locks of keys and ranges: waiting for them, and finding deadlocks. Rows' own locks lie with their versions in `row_table`,
//! but for those of long scans.

pub(crate) mod deadlock;
pub(crate) mod intervals;
pub(crate) mod lock_wait;
pub(crate) mod row_runs;
pub(crate) mod wait;

use deadlock::DeadlockDetector;
use intervals::IntervalLocks;
use row_runs::RowRuns;

/// The locks that are not of single rows, and who looks for cycles of waits.
#[derive(Default)]
pub(crate) struct Locks {
    pub intervals: IntervalLocks,
    pub row_runs: RowRuns,
    pub deadlocks: DeadlockDetector,
}
