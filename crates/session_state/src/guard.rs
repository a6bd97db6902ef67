//! Ends a statement early: KILL, its limits of time and memory, a lock that is not granted in time.
//!
//! Invariant: commits, roll backs and the commit of a schema change are never left half-way: while `Shield` is up,
//! neither KILL nor the time limit drops the statement.
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use datum::SqlError;
use env::TaskWaits;
use executor::SessionMemory;
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
    OutOfMemory(SqlError),
}

/// What ends a statement before its end.
pub struct Limits<'a> {
    pub kill: &'a KillSwitch,
    pub shield: &'a Shield,
    pub memory: &'a SessionMemory,
    /// Who asks for its waits one by one.
    pub watch: Option<&'a crate::watch::Watch<'a>>,
    /// When its time is over.
    pub deadline: Option<Instant>,
}

impl Limits<'_> {
    /// The reason to end, if there is one; `base` is what the task had allocated when the statement began.
    fn reason<T>(&self, base: isize) -> Option<Ended<T>> {
        if self.shield.is_up() {
            return None;
        }
        let allocated = u64::try_from(env::coroutine::task_bytes() - base).unwrap_or(0);
        if !self.kill.is_handled() {
            if self.kill.state().is_some() {
                return Some(Ended::Killed);
            }
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Some(Ended::OutOfTime);
            }
        }
        self.memory.measure(allocated).err().map(Ended::OutOfMemory)
    }
}

/// Runs `work` until it ends, is killed, or is out of time or memory. What it waits for is added to `waits`, and how long it has the
/// thread to `cpu_ns`. While it waits it is dropped then, while it computes it is taken down
/// at a yield point, which is the same for it.
pub async fn run_guarded<T>(
    limits: Limits<'_>,
    (waits, cpu_ns): (&RefCell<Option<TaskWaits>>, Option<&Cell<u64>>),
    mut time_limit: Option<SleepFuture>,
    work: impl Future<Output = T>,
) -> Ended<T> {
    let Limits { kill, shield, .. } = limits;
    let base = env::coroutine::task_bytes();
    let outer = limits.memory.begin_statement();
    let mut work = pin!(work);
    let ended = poll_fn(|context| {
        if !shield.is_up() && !kill.is_handled() && kill.state().is_some() {
            return Poll::Ready(Ended::Killed);
        }
        let reason = RefCell::new(None);
        let is_to_end = || {
            *reason.borrow_mut() = limits.reason(base);
            reason.borrow().is_some()
        };
        // What another task has left there is not this one's.
        TaskWaits::take();
        if let Some(watch) = limits.watch {
            watch.begin_poll();
        }
        let began = cpu_ns.map(|_| Instant::now());
        let polled = env::coroutine::unless(&is_to_end, || work.as_mut().poll(context));
        if let (Some(cpu_ns), Some(began)) = (cpu_ns, began) {
            cpu_ns.set(cpu_ns.get() + began.elapsed().as_nanos() as u64);
        }
        if let Some(watch) = limits.watch {
            watch.end_poll();
        }
        if let Some(more) = TaskWaits::take() {
            waits.borrow_mut().get_or_insert_default().add(&more);
        }
        match polled {
            Some(Poll::Ready(output)) => return Poll::Ready(Ended::ByItself(output)),
            Some(Poll::Pending) => {}
            None => return Poll::Ready(reason.take().unwrap_or(Ended::Killed)),
        }
        if shield.is_up() {
            return Poll::Pending;
        }
        // A statement that never waits never pays for what follows.
        kill.wake_on_kill(context.waker());
        if let Some(ended) = limits.reason(base) {
            return Poll::Ready(ended);
        }
        let is_over = time_limit.as_mut().is_some_and(|sleep| sleep.as_mut().poll(context).is_ready());
        if is_over && kill.is_handled() {
            time_limit = None;
            kill.time_out();
            return Poll::Pending;
        }
        if is_over { Poll::Ready(Ended::OutOfTime) } else { Poll::Pending }
    })
    .await;
    limits.memory.end_statement(outer);
    ended
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
