//! `ThreadDemand`: how long a thread has had something to do.
//!
//! Invariant: time in which a thread was ready but had to wait for a processor counts, since it is just what a busy
//! processor takes from it; time in which it slept does not. Called by the server's workers.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// The system's account of one thread, kept open.
pub struct ThreadDemand(File);

impl ThreadDemand {
    /// Of the calling thread; `None` where the system keeps no such account.
    pub fn of_this_thread() -> Option<Self> {
        let demand = Self(File::open("/proc/thread-self/schedstat").ok()?);
        demand.read().map(|_| demand)
    }

    /// How long it has run or waited for a processor since it began; `None` when it has ended.
    pub fn read(&self) -> Option<Duration> {
        let mut bytes = [0; 64];
        let count = self.0.read_at(&mut bytes, 0).ok()?;
        demand(std::str::from_utf8(&bytes[..count]).ok()?)
    }
}

/// The sum of the first two figures: nanoseconds on a processor, and ready without one (Linux, `Documentation/scheduler/sched-stats.rst`).
fn demand(text: &str) -> Option<Duration> {
    let mut figures = text.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
    let (ran, waited) = (figures.next()??, figures.next()??);
    Some(Duration::from_nanos(ran.saturating_add(waited)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn both_figures_count() {
        assert_eq!(demand("300 45 7\n"), Some(Duration::from_nanos(345)));
        assert_eq!(demand("300\n"), None);
        assert_eq!(demand("x 1 2\n"), None);
    }

    #[test]
    fn work_is_demand_and_sleep_is_not() {
        let Some(thread) = ThreadDemand::of_this_thread() else { return };
        let passed = |work: &dyn Fn()| {
            let before = thread.read().expect("it lives");
            work();
            thread.read().expect("it lives") - before
        };
        // On a busy machine a thread that wakes may wait some time for a processor, which counts.
        const TIME: Duration = Duration::from_millis(200);
        let busy = passed(&|| {
            let start = Instant::now();
            while start.elapsed() < TIME {
                std::hint::spin_loop();
            }
        });
        let asleep = passed(&|| std::thread::sleep(TIME));
        assert!(busy >= TIME / 2 && asleep < TIME / 2, "{busy:?} busy, {asleep:?} asleep");
    }
}
