//! Polls of tasks that may be left in the middle: long computations call `tick`, and calls that have to wait inside one `wait`.
//!
//! A statement that is to end (KILL, its time, its memory) ends at a yield point too.
//!
//! A task gives its thread away at an await. What computes without awaits (a function over 60 MB of text, a document of 10 MB, a sort)
//! would hold the thread and everybody on it. So each poll runs on a stack of its own; when it has had the thread for `SLICE` and comes
//! to a yield point, the thread goes back to the executor with the poll half done, and the executor resumes it when others have had their
//! turn. Nothing else changes: the poll sees no difference, stays on its thread, and nobody else touches its task meanwhile
//! (decision 0035).
//!
//! Invariants: a coroutine never leaves its thread; a poll that was left is resumed until it ends, also by the drop of what stands for
//! it; no lock and no borrow of what other tasks of the thread use is held at a yield point. Polled by the server's workers; outside of a
//! coroutine a yield point does nothing and `wait` refuses.

mod allocator;
mod room;
mod stack;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::ptr::{NonNull, null};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::{TaskWaits, WatchedWaits};

pub use allocator::{Allocations, CountedAllocator, thread_allocations};
use corosensei::{CoroutineResult, Yielder};
pub use room::{Roomy, roomy};
use stack::Stack;

/// How long a poll may have the thread before a yield point takes it away: about what a turn of all other tasks takes.
const SLICE: Duration = Duration::from_millis(1);
/// No step should be longer: who waits for the thread would notice.
const LONG_STEP: Duration = Duration::from_millis(10);
/// Some ten microseconds of work.
const TICKS_BETWEEN_YIELD_POINTS: usize = 32 * 1024;
/// See `tick_long`; loops over long texts count in pieces of this many bytes.
pub const LONG_PIECE: usize = 4096;
/// Polls of one thread that may be half done at one time; each holds a stack. Others are not interrupted meanwhile.
const LEFT_MAX: usize = 256;
/// Stacks that a thread keeps for its next polls.
const IDLE_MAX: usize = 4;

/// A task's future with the waker that it is polled with.
pub struct Polling {
    pub future: Pin<Box<dyn Future<Output = ()>>>,
    pub waker: Waker,
    /// The memory that its polls have taken and not given back.
    pub bytes: isize,
}

impl Polling {
    pub fn new(future: Pin<Box<dyn Future<Output = ()>>>, waker: Waker) -> Polling {
        Polling { future, waker, bytes: 0 }
    }
}

/// What a poll gave, or its panic.
pub type Outcome = Result<Poll<()>, Box<dyn Any + Send>>;

/// What came of polling.
pub enum Step {
    /// The poll has ended, or panicked.
    Done(Polling, Outcome),
    /// It has come to a yield point: resume it after others.
    Yields(Left),
    /// It waits inside: resume it when the waker is woken.
    Waits(Left),
}

/// A poll that is half done. Dropping it runs it to its end: yield points pass, and what it waits for is refused.
pub struct Left(Option<Coroutine>);

/// Why a coroutine gives the thread back.
enum Leaves {
    Yields,
    Waits,
    /// It has polled.
    Done,
}

/// The changes of stacks are those of the library.
type Switched = corosensei::Coroutine<*const Inner, Leaves, Infallible, Stack>;

/// A stack and what runs on it.
struct Coroutine(Box<Inner>);

struct Inner {
    /// The way back to whoever runs it; null before it has run.
    yielder: Cell<*const Yielder<*const Inner, Leaves>>,
    /// Since when it has the thread.
    since: Cell<Instant>,
    /// Asked at yield points, see `unless`.
    is_to_end: Cell<Option<&'static dyn Fn() -> bool>>,
    /// Of the poll that is under way: what it took in earlier steps, and the thread's count when this one began.
    bytes: Cell<isize>,
    bytes_before: Cell<isize>,
    /// It must come to its end: nobody resumes it again.
    is_closing: Cell<bool>,
    polling: Cell<Option<Polling>>,
    outcome: Cell<Option<Outcome>>,
    /// Of the poll that is under way: it lies on the stack below.
    waker: Cell<Option<NonNull<Waker>>>,
    /// What the poll had waited for when it was left.
    waits: Cell<Option<TaskWaits>>,
    /// The list of who watches it, while the thread is others'.
    watched: Cell<Option<Box<WatchedWaits>>>,
    /// Where the stack ends that it runs on: its own, or one that `roomy` has given it.
    limit: Cell<usize>,
    switched: RefCell<Switched>,
}

thread_local! {
    /// What runs on this thread now, or null.
    static CURRENT: Cell<*const Inner> = const { Cell::new(null()) };
    static IDLE: RefCell<Vec<Coroutine>> = const { RefCell::new(Vec::new()) };
    static TICKS: Cell<usize> = const { Cell::new(0) };
    static LEFT: Cell<usize> = const { Cell::new(0) };
    /// This thread's longest step.
    static LONGEST: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// When the last step ended, if nothing but the next one can have had the thread since.
    static LAST_END: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// What all threads together have seen.
static LONGEST_US: AtomicU64 = AtomicU64::new(0);
static LONG_STEPS: AtomicU64 = AtomicU64::new(0);

/// How long polls have held their threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepStats {
    pub longest_us: u64,
    /// Steps longer than `LONG_STEP`.
    pub long_steps: u64,
}

/// Of all threads since the start of the program, in real time: what the system takes from a thread counts.
pub fn step_stats() -> StepStats {
    StepStats { longest_us: LONGEST_US.load(Relaxed), long_steps: LONG_STEPS.load(Relaxed) }
}

/// The thread has done something else than steps since the last one, or will.
pub fn turn_begins() {
    LAST_END.set(None);
}

/// A step that follows another begins when that ended: the clock is read once for each.
fn step_begins() -> Instant {
    LAST_END.take().unwrap_or_else(Instant::now)
}

fn step_ends(began: Instant) {
    let now = Instant::now();
    LAST_END.set(Some(now));
    let duration = now.saturating_duration_since(began);
    if duration > LONG_STEP {
        LONG_STEPS.fetch_add(1, Relaxed);
    }
    if duration > LONGEST.get() {
        LONGEST.set(duration);
        LONGEST_US.fetch_max(duration.as_micros() as u64, Relaxed);
    }
}

/// Polls a task, on a stack that it can be left on where the system gives one.
pub fn poll(polling: Polling) -> Step {
    let idle = IDLE.with_borrow_mut(Vec::pop).or_else(Coroutine::new);
    let Some(coroutine) = idle else {
        let began = step_begins();
        let (polling, outcome) = poll_here(polling, None);
        step_ends(began);
        return Step::Done(polling, outcome);
    };
    coroutine.0.bytes.set(polling.bytes);
    coroutine.0.polling.set(Some(polling));
    coroutine.run()
}

impl Left {
    /// Goes on with the poll.
    pub fn resume(mut self) -> Step {
        let coroutine = self.0.take().expect("it is taken by its end alone");
        debug_assert!(LEFT.get() > 0, "each poll that was left is counted");
        LEFT.set(LEFT.get() - 1);
        coroutine.run()
    }

    /// What wakes the task.
    pub fn waker(&self) -> Waker {
        let coroutine = self.0.as_ref().expect("it is taken by its end alone");
        coroutine.0.waker().expect("a poll is under way")
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        let Some(coroutine) = self.0.take() else { return };
        debug_assert!(LEFT.get() > 0, "each poll that was left is counted");
        LEFT.set(LEFT.get() - 1);
        coroutine.0.is_closing.set(true);
        // Those of the poll that drops it, if one does.
        let (waits, watched) = (TaskWaits::take(), WatchedWaits::replace(None));
        // Without yield points and waits this is its end.
        drop(coroutine.run());
        TaskWaits::take();
        WatchedWaits::replace(watched);
        if let Some(waits) = waits {
            waits.give_back();
        }
    }
}

/// Counts work that a loop does, in units of about a nanosecond (a byte that is looked at or copied), and comes to a yield point now and then.
#[inline]
pub fn tick(units: usize) {
    let count = TICKS.get().saturating_add(units);
    if count < TICKS_BETWEEN_YIELD_POINTS {
        TICKS.set(count);
    } else {
        TICKS.set(0);
        yield_point();
    }
}

/// As `tick`, for pieces of work on what may be as short as a name: only long pieces are counted, so that what compares names under a lock
/// is never left there.
#[inline]
pub fn tick_long(units: usize) {
    if units >= LONG_PIECE {
        tick(units);
    }
}

/// Gives the thread away if the current poll has had it for long, and ends what was begun by `unless` and is to end.
#[cold]
pub fn yield_point() {
    let Some(inner) = current() else { return };
    // While frames are taken down the thread counts as panicking, which others of it must not see.
    if inner.since.get().elapsed() < SLICE || std::thread::panicking() {
        return;
    }
    if inner.may_leave() {
        inner.leave(Leaves::Yields);
    } else {
        inner.since.set(Instant::now());
    }
    if inner.is_to_end() {
        // Not a panic: nobody is told, the frames are taken down to `unless`.
        resume_unwind(Box::new(Ended));
    }
}

/// Does `work` unless `is_to_end` says at one of its yield points that it is to end; then it is taken down there, its values are dropped,
/// and the answer is `None`. What it works on is then as if its future had been dropped at an await.
pub fn unless<T>(is_to_end: &dyn Fn() -> bool, work: impl FnOnce() -> T) -> Option<T> {
    let Some(inner) = current() else { return Some(work()) };
    // SAFETY: only the lifetime changes, and the pointer is taken back before this function returns or unwinds.
    let condition = unsafe { std::mem::transmute::<&dyn Fn() -> bool, &'static dyn Fn() -> bool>(is_to_end) };
    let outer = inner.is_to_end.replace(Some(condition));
    let result = catch_unwind(AssertUnwindSafe(work));
    inner.is_to_end.set(outer);
    match result {
        Ok(value) => Some(value),
        Err(payload) if payload.is::<Ended>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// How much more memory the task that is being polled has taken than given back, since it was first polled; where the program's allocator
/// is a `CountedAllocator`.
pub fn task_bytes() -> isize {
    current().map_or(0, |inner| inner.bytes.get() + allocator::thread_bytes() - inner.bytes_before.get())
}

/// Does `work`; what it takes of memory and gives back is not the task's: for what is put where all tasks share it, within a budget of its
/// own, and where others may give it back.
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let before = task_bytes();
    let result = work();
    if let Some(inner) = current() {
        inner.bytes.set(inner.bytes.get() - (task_bytes() - before));
    }
    result
}

/// What `yield_point` unwinds with.
struct Ended;

fn current<'a>() -> Option<&'a Inner> {
    // SAFETY: what is current runs, so it exists for as long as the caller, which runs on it.
    unsafe { CURRENT.get().as_ref() }
}

/// Whether yield points give the thread away here.
pub fn is_running() -> bool {
    current().is_some()
}

/// Waits for a future in the middle of a poll; `None` where that cannot be: outside of a coroutine, and at the end of the thread.
pub fn wait<F: Future>(future: F) -> Option<F::Output> {
    let inner = current()?;
    let waker = inner.waker()?;
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        if !inner.may_leave() {
            return None;
        }
        inner.leave(Leaves::Waits);
    }
}

impl Coroutine {
    fn new() -> Option<Coroutine> {
        let body = |yielder: &Yielder<*const Inner, Leaves>, inner: *const Inner| {
            // SAFETY: it is kept for as long as its stack, which this runs on.
            let inner = unsafe { &*inner };
            inner.yielder.set(yielder);
            poll_for_ever(inner)
        };
        let stack = Stack::new()?;
        let inner = Inner {
            limit: Cell::new(stack.usable_from()),
            yielder: Cell::new(null()),
            since: Cell::new(Instant::now()),
            is_to_end: Cell::new(None),
            bytes: Cell::new(0),
            bytes_before: Cell::new(0),
            is_closing: Cell::new(false),
            polling: Cell::new(None),
            outcome: Cell::new(None),
            waker: Cell::new(None),
            waits: Cell::new(None),
            watched: Cell::new(None),
            switched: RefCell::new(Switched::with_stack(stack, body)),
        };
        Some(Coroutine(Box::new(inner)))
    }

    /// Lets it run until it leaves or has polled.
    fn run(self) -> Step {
        let inner = &*self.0;
        let before = CURRENT.replace(inner);
        inner.since.set(step_begins());
        if let Some(waits) = inner.waits.take() {
            waits.give_back();
        }
        if let Some(watched) = inner.watched.take() {
            WatchedWaits::replace(Some(watched));
        }
        inner.bytes_before.set(allocator::thread_bytes());
        let CoroutineResult::Yield(leaves) = inner.switched.borrow_mut().resume(inner);
        CURRENT.set(before);
        inner.bytes.set(inner.bytes.get() + allocator::thread_bytes() - inner.bytes_before.get());
        step_ends(inner.since.get());
        match leaves {
            Leaves::Yields => Step::Yields(self.left()),
            Leaves::Waits => Step::Waits(self.left()),
            Leaves::Done => self.done(),
        }
    }

    fn left(self) -> Left {
        debug_assert!(LEFT.get() < LEFT_MAX, "no more polls are left than there may be");
        debug_assert!(self.0.waker.get().is_some(), "a poll that is left is under way");
        LEFT.set(LEFT.get() + 1);
        // Others' polls come before the rest of this one.
        self.0.waits.set(TaskWaits::take());
        self.0.watched.set(WatchedWaits::replace(None));
        Left(Some(self))
    }

    fn done(self) -> Step {
        let inner = &*self.0;
        let polling = inner.polling.take().expect("it gives back what it has polled");
        let outcome = inner.outcome.take().expect("it says what came of it");
        debug_assert!(inner.waker.get().is_none(), "a poll that has ended shows no waker");
        debug_assert!(inner.is_to_end.get().is_none(), "conditions end with what they are for");
        inner.is_closing.set(false);
        let polling = Polling { bytes: inner.bytes.replace(0), ..polling };
        // At the end of the thread nobody needs it any more.
        let _ = IDLE.try_with(|idle| {
            let mut idle = idle.borrow_mut();
            if idle.len() < IDLE_MAX {
                idle.push(self);
            }
        });
        Step::Done(polling, outcome)
    }
}

impl Inner {
    /// Of the poll that is under way, if there is one.
    fn waker(&self) -> Option<Waker> {
        // SAFETY: it is set while the poll that borrows it is on the stack, which this value keeps.
        self.waker.get().map(|waker| unsafe { waker.as_ref() }.clone())
    }

    fn is_to_end(&self) -> bool {
        // Taken out meanwhile: what the condition does may come to a yield point itself.
        let Some(condition) = self.is_to_end.take() else { return false };
        let is_to_end = condition();
        self.is_to_end.set(Some(condition));
        is_to_end
    }

    fn may_leave(&self) -> bool {
        !self.is_closing.get() && LEFT.get() < LEFT_MAX
    }

    /// Back to whoever runs it; returns when it is resumed.
    fn leave(&self, why: Leaves) {
        debug_assert!(std::ptr::eq(CURRENT.get(), self), "only what runs leaves");
        debug_assert!(!self.yielder.get().is_null(), "what runs knows the way back");
        // SAFETY: this runs on the coroutine's own stack, where what it points to lies below.
        unsafe { &*self.yielder.get() }.suspend(why);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: nothing is half done, so there is nothing on its stack that would have to be dropped.
        unsafe { self.switched.get_mut().force_reset() };
    }
}

/// What runs on a coroutine's stack: polls whatever it is given.
fn poll_for_ever(inner: &Inner) -> Infallible {
    loop {
        let polling = inner.polling.take().expect("it runs to poll something");
        let (polling, outcome) = poll_here(polling, Some(&inner.waker));
        inner.polling.set(Some(polling));
        inner.outcome.set(Some(outcome));
        inner.leave(Leaves::Done);
    }
}

/// `shown` says while the poll lasts where its waker is.
fn poll_here(mut polling: Polling, shown: Option<&Cell<Option<NonNull<Waker>>>>) -> (Polling, Outcome) {
    let Polling { future, waker, .. } = &mut polling;
    if let Some(shown) = shown {
        debug_assert!(shown.get().is_none(), "one poll is under way on a stack");
        shown.set(Some(NonNull::from(&*waker)));
    }
    let poll = || future.as_mut().poll(&mut Context::from_waker(waker));
    let outcome = catch_unwind(AssertUnwindSafe(poll));
    if let Some(shown) = shown {
        shown.set(None);
    }
    (polling, outcome)
}

#[cfg(test)]
mod tests;
