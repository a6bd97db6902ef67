//! The system's clocks, and one timer thread that sleeps until the next deadline (or for ever when idle).
//!
//! Invariant: a sleep is in the timer's table only until it is over or its future is dropped. So waits that
//! end before their time limit leave nothing behind, and the thread is woken only for a deadline that is earlier
//! than the one it waits for. A thread that belongs to one task sleeps by itself where that is short.

use super::pool;
use crate::{BoxFuture, Clock};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A dedicated thread need not hear of anything else for so long.
const SHORT_SLEEP_US: u64 = 1_000;

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
    /// By deadline; the number makes equal deadlines distinct.
    sleepers: BTreeMap<(Instant, u64), Arc<Sleeper>>,
    next_number: u64,
    /// When the thread looks at the table again by itself; `None`: when it is notified.
    wakes_at: Option<Instant>,
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
        if us < SHORT_SLEEP_US && pool::is_dedicated() {
            std::thread::sleep(Duration::from_micros(us));
            return Box::pin(std::future::ready(()));
        }
        Box::pin(Sleep::start(&self.timer, Instant::now() + Duration::from_micros(us)))
    }
}

/// One sleep; dropping it early takes it out of the timer's table.
struct Sleep {
    timer: Arc<Timer>,
    key: (Instant, u64),
    sleeper: Arc<Sleeper>,
}

impl Sleep {
    fn start(timer: &Arc<Timer>, deadline: Instant) -> Self {
        let sleeper = Arc::new(Sleeper::default());
        let key = timer.add(deadline, sleeper.clone());
        Self { timer: timer.clone(), key, sleeper }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.sleeper.state.lock();
        if state.over {
            return Poll::Ready(());
        }
        match &state.waker {
            Some(known) if known.will_wake(context.waker()) => {}
            _ => state.waker = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if !self.sleeper.state.lock().over {
            // The thread is not told: at worst it wakes once for nothing.
            self.timer.state.lock().sleepers.remove(&self.key);
        }
    }
}

impl Timer {
    fn add(self: &Arc<Self>, deadline: Instant, sleeper: Arc<Sleeper>) -> (Instant, u64) {
        let mut state = self.state.lock();
        let key = (deadline, state.next_number);
        state.next_number += 1;
        debug_assert!(!state.sleepers.contains_key(&key), "sleepers are told apart");
        state.sleepers.insert(key, sleeper);
        if !std::mem::replace(&mut state.running, true) {
            let timer = self.clone();
            let builder = std::thread::Builder::new().name("timer".into());
            builder.spawn(move || timer.work()).expect("the system can start a thread");
        }
        if state.wakes_at.is_none_or(|wakes_at| deadline < wakes_at) {
            self.changed.notify_one();
        }
        key
    }

    fn work(&self) {
        super::processors::roam();
        let mut state = self.state.lock();
        while !state.stopped {
            state.wakes_at = state.sleepers.first_key_value().map(|((deadline, _), _)| *deadline);
            match state.wakes_at {
                None => self.changed.wait(&mut state),
                Some(deadline) if deadline > Instant::now() => {
                    self.changed.wait_until(&mut state, deadline);
                }
                Some(_) => {
                    let sleeper = state.sleepers.pop_first().map(|(_, sleeper)| sleeper);
                    MutexGuard::unlocked(&mut state, || {
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
        debug_assert!(!state.over, "a sleep ends once");
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

    #[test]
    fn a_dedicated_thread_sleeps_by_itself_where_that_is_short() {
        let thread = std::thread::spawn(|| {
            pool::dedicate_thread();
            let clock = SystemClock::new();
            let (short, long) = (clock.sleep(SHORT_SLEEP_US - 1), clock.sleep(SHORT_SLEEP_US));
            let slept_us = clock.now_us();
            assert_eq!(clock.timer.state.lock().sleepers.len(), 1, "the long one needs the timer");
            block_on(short);
            block_on(long);
            (slept_us, clock.now_us())
        });
        let (short_us, both_us) = thread.join().expect("it does not panic");
        assert!(short_us >= SHORT_SLEEP_US - 1 && both_us >= 2 * SHORT_SLEEP_US - 1, "{short_us} {both_us}");
    }

    #[test]
    fn a_dropped_sleep_leaves_no_timer() {
        let clock = SystemClock::new();
        let start = clock.now_us();
        for _ in 0..1000 {
            let mut given_up = clock.sleep(50_000_000);
            assert!(given_up.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert!(clock.timer.state.lock().sleepers.is_empty(), "nothing waits for these deadlines any more");
        // The thread, if it still waits for the first of them, is woken for an earlier one.
        block_on(clock.sleep(5_000));
        let slept_us = clock.now_us() - start;
        assert!((5_000..20_000_000).contains(&slept_us), "{slept_us}");
        assert!(clock.timer.state.lock().sleepers.is_empty());
    }
}
