//! Ends a statement early: KILL, its time limit, a lock that is not granted in time.
//!
//! Invariant: commits, roll backs and the commit of a schema change are never left half-way: while `Shield` is up,
//! neither KILL nor the time limit drops the statement.
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use instance::{KillSwitch, SleepFuture, Timer};

/// Set while a statement must not be dropped.
#[derive(Default)]
pub struct Shield(Cell<bool>);

impl Shield {
    pub fn raise(&self) {
        self.0.set(true);
    }

    pub fn lower(&self) {
        self.0.set(false);
    }

    fn is_up(&self) -> bool {
        self.0.get()
    }
}

pub enum Ended<T> {
    ByItself(T),
    Killed,
    OutOfTime,
}

/// Runs `work` until it ends, is killed or is out of time.
pub async fn run_guarded<T>(
    kill: &KillSwitch,
    shield: &Shield,
    mut time_limit: Option<SleepFuture>,
    work: impl Future<Output = T>,
) -> Ended<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        if !shield.is_up() && !kill.is_handled() && kill.state().is_some() {
            return Poll::Ready(Ended::Killed);
        }
        if let Poll::Ready(output) = work.as_mut().poll(context) {
            return Poll::Ready(Ended::ByItself(output));
        }
        if shield.is_up() {
            return Poll::Pending;
        }
        // A statement that never waits never pays for what follows.
        kill.wake_on_kill(context.waker());
        if !kill.is_handled() && kill.state().is_some() {
            return Poll::Ready(Ended::Killed);
        }
        let is_over = time_limit.as_mut().is_some_and(|sleep| sleep.as_mut().poll(context).is_ready());
        if is_over && kill.is_handled() {
            time_limit = None;
            kill.time_out();
            return Poll::Pending;
        }
        if is_over { Poll::Ready(Ended::OutOfTime) } else { Poll::Pending }
    })
    .await
}

/// `work`'s result, or `None` when it takes longer. The timer is only started when `work` has to wait.
pub async fn within<T>(timer: &dyn Timer, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut sleep: Option<Pin<Box<dyn Future<Output = ()>>>> = None;
    poll_fn(|context| {
        if let Poll::Ready(output) = work.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        let sleep = sleep.get_or_insert_with(|| timer.sleep(limit));
        sleep.as_mut().poll(context).map(|()| None)
    })
    .await
}
