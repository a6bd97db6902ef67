//! Gives the scheduler of events a place among the tasks, and each event that it starts another one.
//!
//! Invariant: nothing here runs on a timer of its own; the scheduler sleeps until the next event. A clock that somebody sets
//! is noticed by the look that the main thread takes anyway. Called by `start`.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use instance::Instance;

use crate::worker::{WorkerPool, spawn};

/// What the clock may be off between two looks without having been set.
const DRIFT_MAX: Duration = Duration::from_millis(500);

pub(crate) fn start(server: &Arc<Instance>, pool: &WorkerPool) {
    let setting = server.global_variable("event_scheduler");
    if setting == "DISABLED" {
        return;
    }
    server.events.switch(setting == "ON");
    let (server, workers) = (server.clone(), pool.clone());
    let start = move |event: statements::EventRun| {
        let worker = workers.least_loaded().clone();
        let burden = worker.burden();
        worker.run(move || {
            spawn(async move {
                event.run().await;
                drop(burden);
            });
        });
    };
    pool.first().run(move || {
        spawn(statements::schedule_events(server, crate::FAMILIES, start));
    });
}

/// Notices that the clock of the day is set while the server runs.
pub(crate) struct ClockWatch {
    day: SystemTime,
    steady: Instant,
}

impl ClockWatch {
    pub(crate) fn new() -> Self {
        Self { day: SystemTime::now(), steady: Instant::now() }
    }

    /// Since the last look.
    pub(crate) fn has_been_set(&mut self) -> bool {
        let now = Self::new();
        let expected = self.day + now.steady.duration_since(self.steady);
        let difference = now.day.duration_since(expected).unwrap_or_else(|backwards| backwards.duration());
        *self = now;
        difference > DRIFT_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_is_noticed_once() {
        let mut watch = ClockWatch::new();
        assert!(!watch.has_been_set());
        for set in [Duration::from_secs(3600), Duration::from_secs(2)] {
            watch.day += set;
            assert!(watch.has_been_set());
            watch.day -= set;
            assert!(watch.has_been_set());
            assert!(!watch.has_been_set());
        }
    }
}
