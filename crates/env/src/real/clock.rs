//! The system's clocks, and one timer thread that sleeps until the next deadline (or for ever when idle).

use crate::{BoxFuture, Clock};
use parking_lot::{Condvar, Mutex};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The monotonic clock counts from the creation of this value.
pub struct SystemClock {
    start: Instant,
    timer: Arc<Timer>,
}

#[derive(Default)]
struct Timer {
    state: Mutex<TimerState>,
    changed: Condvar,
}

#[derive(Default)]
struct TimerState {
    /// By deadline; the number makes entries comparable.
    deadlines: BinaryHeap<Reverse<(Instant, u64)>>,
    sleepers: std::collections::BTreeMap<u64, Arc<Sleeper>>,
    next_number: u64,
    /// The thread starts with the first sleep, so a process that never sleeps has none.
    running: bool,
    stopped: bool,
}

#[derive(Default)]
struct Sleeper {
    state: Mutex<SleeperState>,
}

#[derive(Default)]
struct SleeperState {
    over: bool,
    waker: Option<Waker>,
}

impl SystemClock {
    pub fn new() -> Self {
        Self { start: Instant::now(), timer: Arc::default() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_us(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    fn unix_us(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
    }

    fn sleep(&self, us: u64) -> BoxFuture<'static, ()> {
        let sleeper = Arc::new(Sleeper::default());
        self.timer.add(Instant::now() + Duration::from_micros(us), sleeper.clone());
        Box::pin(poll_fn(move |context| {
            let mut state = sleeper.state.lock();
            if state.over {
                return Poll::Ready(());
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        }))
    }
}

impl Timer {
    fn add(self: &Arc<Self>, deadline: Instant, sleeper: Arc<Sleeper>) {
        let mut state = self.state.lock();
        let number = state.next_number;
        state.next_number += 1;
        state.deadlines.push(Reverse((deadline, number)));
        state.sleepers.insert(number, sleeper);
        if !std::mem::replace(&mut state.running, true) {
            let timer = self.clone();
            let builder = std::thread::Builder::new().name("timer".into());
            builder.spawn(move || timer.work()).expect("the system can start a thread");
        }
        self.changed.notify_one();
    }

    fn work(&self) {
        let mut state = self.state.lock();
        while !state.stopped {
            let now = Instant::now();
            match state.deadlines.peek() {
                None => self.changed.wait(&mut state),
                Some(Reverse((deadline, _))) if *deadline > now => {
                    let deadline = *deadline;
                    self.changed.wait_until(&mut state, deadline);
                }
                Some(Reverse((_, number))) => {
                    let number = *number;
                    state.deadlines.pop();
                    let sleeper = state.sleepers.remove(&number);
                    parking_lot::MutexGuard::unlocked(&mut state, || {
                        if let Some(sleeper) = sleeper {
                            sleeper.end();
                        }
                    });
                }
            }
        }
    }
}

impl Sleeper {
    fn end(&self) {
        let mut state = self.state.lock();
        state.over = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for SystemClock {
    fn drop(&mut self) {
        self.timer.state.lock().stopped = true;
        self.timer.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::block_on;

    #[test]
    fn sleeps_end_in_order_and_not_early() {
        let clock = SystemClock::new();
        let start = clock.now_us();
        let (long, short) = (clock.sleep(20_000), clock.sleep(5_000));
        block_on(short);
        assert!(clock.now_us() - start >= 5_000);
        block_on(long);
        assert!(clock.now_us() - start >= 20_000);
    }
}
