//! How often and how long a statement or a session waited, by cause.
use env::{TaskWaits, WAIT_CAUSES, WaitCause};

use crate::figures::Timings;

/// Sums by cause.
#[derive(Clone, Debug, Default)]
pub struct WaitTotals {
    by_cause: [Timings; WAIT_CAUSES.len()],
}

impl WaitTotals {
    /// Adds the waits of one statement. Of several of one cause only the sum is known, so the shortest and the longest are
    /// taken for their mean.
    pub fn add(&mut self, waits: &TaskWaits) {
        for (cause, totals) in WAIT_CAUSES.iter().zip(&mut self.by_cause) {
            let (count, time_ns) = (waits.count(*cause), waits.time_us(*cause) * 1000);
            if let Some(mean) = time_ns.checked_div(count) {
                totals.merge(&Timings { count, sum_ns: time_ns, min_ns: mean, max_ns: mean });
            }
        }
    }

    pub fn merge(&mut self, other: &WaitTotals) {
        self.by_cause.iter_mut().zip(&other.by_cause).for_each(|(all, one)| all.merge(one));
    }

    pub fn of(&self, cause: WaitCause) -> &Timings {
        &self.by_cause[cause as usize]
    }

    pub fn clear(&mut self) {
        *self = WaitTotals::default();
    }
}
