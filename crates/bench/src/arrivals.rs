//! When transactions are to begin in an open loop: a rate that may change in steps, evenly or by chance.
//!
//! Invariant: an arrival's time is fixed by the schedule and not by when somebody is free for it. Used by `worker`.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use workload::Random;

use crate::stop::Stop;

/// Transactions per second, in steps of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// Rate and length of each step; the last one lasts.
    steps: Vec<(f64, Duration)>,
    /// Whether the times between arrivals are equal; else they are exponential, as of many independent users.
    is_even: bool,
}

impl Rates {
    /// Reads `1000` or `1000x30,5000x10,1000`: a rate, and for how many seconds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        for step in text.split(',') {
            let (rate, seconds) = step.split_once('x').unwrap_or((step, "86400000"));
            match (rate.parse::<f64>(), seconds.parse::<f64>()) {
                (Ok(rate), Ok(seconds)) if rate > 0.0 && rate < 1e7 && seconds > 0.0 && seconds < 1e9 => {
                    steps.push((rate, Duration::from_secs_f64(seconds)));
                }
                _ => return Err(format!("{step} is no rate; write 1000 or 1000x30,5000x10")),
            }
        }
        Ok(Self { steps, is_even: false })
    }

    /// The same rates with equal times between arrivals, or not.
    #[must_use]
    pub fn evenly(self, is_even: bool) -> Self {
        Self { is_even, ..self }
    }

    /// The rate at a time since the start.
    #[must_use]
    pub fn at(&self, elapsed: Duration) -> f64 {
        let mut left = elapsed;
        for (rate, length) in &self.steps {
            match left.checked_sub(*length) {
                Some(rest) => left = rest,
                None => return *rate,
            }
        }
        self.steps.last().map_or(1.0, |(rate, _)| *rate)
    }
}

/// The arrivals of one thread that nobody has taken up yet.
#[derive(Debug, Default)]
pub struct Arrivals {
    due: Mutex<VecDeque<Instant>>,
    waiting: AtomicU64,
    came: Notify,
}

impl Arrivals {
    /// The oldest arrival; waits for one. `None` when all is to end.
    pub async fn next(&self, stop: &Stop) -> Option<Instant> {
        loop {
            if stop.is_wanted() {
                return None;
            }
            let due = self.due.lock().expect("nobody panics while taking an arrival").pop_front();
            if let Some(due) = due {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                return Some(due);
            }
            self.came.notified().await;
        }
    }

    /// How many wait.
    pub fn backlog(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Wakes all who wait, so that they see that all is to end.
    pub fn wake_all(&self) {
        self.came.notify_waiters();
    }

    /// Puts in the share `1/threads` of all arrivals until the end.
    pub async fn come(
        &self,
        rates: &Rates,
        threads: usize,
        start: Instant,
        random: &mut Random,
        stop: &Stop,
    ) {
        let Ok(timer) = Timer::new() else {
            return stop.because("the kernel gave no timer".into());
        };
        let mut next = start;
        while !stop.is_wanted() {
            let rate = rates.at(next.saturating_duration_since(start)) / threads as f64;
            let gap = if rates.is_even { 1.0 } else { random.exponential() } / rate;
            next += Duration::from_secs_f64(gap);
            let now = Instant::now();
            if next > now {
                // At most a little: the end of the run is looked for in between.
                while next.saturating_duration_since(Instant::now()) > Duration::from_millis(100)
                    && !stop.is_wanted()
                {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                timer.sleep(next.saturating_duration_since(Instant::now())).await;
            }
            self.due.lock().expect("nobody panics while adding an arrival").push_back(next);
            self.waiting.fetch_add(1, Ordering::Relaxed);
            self.came.notify_one();
        }
    }
}

/// A timer of the kernel: a runtime's own is exact to a millisecond only.
struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    // What took its place is unsafe, for the sake of types that lend a descriptor they do not own; this one owns it.
    #[allow(deprecated)]
    fn new() -> std::io::Result<Self> {
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)?;
        Ok(Self(AsyncFd::new(timer)?))
    }

    async fn sleep(&self, time: Duration) {
        if time.is_zero() {
            return tokio::task::yield_now().await;
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        let setting = Itimerspec { it_interval: zero, it_value: value };
        if rustix::time::timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &setting).is_err() {
            return tokio::time::sleep(time).await;
        }
        if let Ok(mut ready) = self.0.readable().await {
            let mut count = [0; 8];
            // It says how often the timer went off, which is once.
            let _ = rustix::io::read(self.0.get_ref(), &mut count);
            ready.clear_ready();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_change_in_steps() {
        let rates = Rates::parse("100x10,500x5,100").unwrap();
        let at = |seconds| rates.at(Duration::from_secs(seconds));
        assert_eq!(
            [at(0), at(9), at(10), at(14), at(15), at(1000)],
            [100.0, 100.0, 500.0, 500.0, 100.0, 100.0]
        );
        assert!(Rates::parse("fast").is_err());
        assert!(Rates::parse("0").is_err());
    }

    #[tokio::test]
    async fn arrivals_come_at_their_rate_whether_or_not_they_are_taken() {
        let arrivals = std::sync::Arc::new(Arrivals::default());
        let stop = Stop::default();
        let (coming, wish) = (arrivals.clone(), stop.clone());
        let rates = Rates::parse("2000").unwrap().evenly(true);
        let start = Instant::now();
        let task = tokio::spawn(async move {
            coming.come(&rates, 1, start, &mut Random::new(1, 1), &wish).await;
        });
        // Those that a busy machine kept back come later all the same.
        let patience = start + Duration::from_secs(60);
        while arrivals.backlog() < 1000 && Instant::now() < patience {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        stop.now();
        task.await.unwrap();
        let expected = start.elapsed().as_secs_f64() * 2000.0;
        assert!((arrivals.backlog() as f64) <= expected + 1.0);
        assert!(arrivals.backlog() >= 1000, "{}", arrivals.backlog());
    }
}
