//! The tasks of one worker: who goes on with what it has begun comes before who begins something.
//!
//! What a command works with is in the processor's cache when its page or the log's answer arrives, and it may hold locks; a client
//! whose command has just arrived has nothing to lose yet. So where processors are the limit a thousand clients wait before their
//! commands begin and not in the middle of them, and a commit that the log's thread has made durable does not queue behind
//! commands that came later. Who has had a slice of commands waits for the next one until nobody else begins something or goes on: those who have one
//! are fewer then, and what their next commands work with is more often in the cache (decision 0026).
//!
//! Invariants: a task is in one queue at most; what other threads wake is seen before the next poll; sockets, ring and timers are
//! asked after each turn (`queues`, which also keeps that nobody waits for ever); a poll that has had the thread for long is left half done
//! and goes on like one that has yielded (decision 0035). Called by `worker`, whose thread and future run
//! everything here; by all that spawns on a worker; by `connection::commands`, which says what has begun and when a slice may end.

mod queues;

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Wake, Waker};

use env::coroutine::{self, Left, Polling, Step};
use env::sync::Mutex;

use queues::{Queue, Queues};

/// A session's slice: after so many commands outside of transactions it lets others go first. Few, so that those who have a slice
/// differ little from those who had one a moment ago, and all get one soon.
const COMMANDS_PER_SLICE: usize = 8;
/// Of all who wait for a slice together, before each gets its next: slices are shorter when so many wait that a round would take long.
const COMMANDS_PER_ROUND: usize = 4096;

/// Of a task, from poll to poll.
#[derive(Clone, Copy)]
struct Standing {
    is_begun: bool,
    /// Within its slice.
    has_yielded: bool,
}

impl Standing {
    const AT_START: Self = Self { is_begun: true, has_yielded: false };
}

thread_local! {
    static HERE: RefCell<Option<Rc<TaskSet>>> = const { RefCell::new(None) };
    /// Of the task that is being polled.
    static STANDING: Cell<Standing> = const { Cell::new(Standing::AT_START) };
}

/// Runs a future as a task of this worker's thread. A panic ends that task alone.
pub(crate) fn spawn(future: impl Future<Output = ()> + 'static) {
    let here = HERE.with_borrow(Clone::clone);
    here.expect("tasks are spawned on a worker's thread").spawn(Box::pin(future));
}

/// Says whether the current task is in the middle of something. Each is, until it says that it is not.
pub(crate) fn set_begun(is_begun: bool) {
    STANDING.set(Standing { is_begun, ..STANDING.get() });
}

/// Whether the current task is to wait for its next slice, having done so many commands in this one. Never when no other task
/// could run meanwhile, and earlier when one of the commands was so large that it let others go first.
pub(crate) fn has_had_slice(commands: usize) -> bool {
    HERE.with_borrow(|here| {
        let Some(set) = here else { return false };
        let queues = set.queues.borrow();
        let limit = (COMMANDS_PER_ROUND / queues.parked().max(1)).clamp(1, COMMANDS_PER_SLICE);
        (commands >= limit || STANDING.get().has_yielded) && !queues.is_empty()
    })
}

/// Ready when the current task gets its next slice.
pub(crate) async fn next_slice() {
    STANDING.set(Standing { has_yielded: false, ..STANDING.get() });
    let mut is_parked = false;
    poll_fn(|context| {
        if std::mem::replace(&mut is_parked, true) {
            return Poll::Ready(());
        }
        let set = HERE.with_borrow(Clone::clone);
        let wake = || context.waker().wake_by_ref();
        set.map_or_else(wake, |set| set.waking_into(Queue::Parked, wake));
        Poll::Pending
    })
    .await;
}

/// Runs the tasks of this thread beside `main`, until that ends; tasks that have not ended by then are dropped.
/// `end_turn` is called after each turn, before the thread looks for what is new.
pub(super) async fn run_beside(main: impl Future<Output = ()>, end_turn: impl Fn()) {
    let set = Rc::new(TaskSet::default());
    HERE.set(Some(set.clone()));
    env::wake_yielding_tasks_by(|waker| {
        HERE.with_borrow(|here| match here {
            Some(set) => {
                STANDING.set(Standing { has_yielded: true, ..STANDING.get() });
                set.yielded.borrow_mut().push(waker.clone());
            }
            None => waker.wake_by_ref(),
        });
    });
    let mut main = pin!(main);
    poll_fn(|context| {
        set.begin_turn(context.waker());
        if main.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let is_more_to_do = set.turn();
        end_turn();
        if is_more_to_do {
            // Polled once, this leaves the waker with the runtime, which looks at everything else first.
            let _ = pin!(tokio::task::yield_now()).poll(context);
        }
        Poll::Pending
    })
    .await;
    // A task that is dropped may wake others, and finds this set.
    let tasks = std::mem::take(&mut *set.tasks.borrow_mut());
    drop(tasks);
    HERE.set(None);
}

#[derive(Default)]
struct TaskSet {
    queues: RefCell<Queues<Arc<Handle>>>,
    /// Who lets all others go first: woken when the next turn begins.
    yielded: RefCell<Vec<Waker>>,
    /// Where those go whom this thread wakes at the moment, if not where they belong by their standing.
    wakes_into: Cell<Option<Queue>>,
    /// By the index in their handles.
    tasks: RefCell<Vec<Option<Task>>>,
    free: RefCell<Vec<usize>>,
    /// Wakes the thread.
    waker: RefCell<Option<Waker>>,
    /// A turn is under way, or the thread has been woken for one.
    is_awake: Cell<bool>,
    remote: Arc<Remote>,
}

struct Task {
    work: Work,
    has_yielded: bool,
}

enum Work {
    Whole(Polling),
    /// Its poll was left in the middle.
    HalfPolled(Left),
}

/// A task as its wakers see it.
struct Handle {
    index: usize,
    /// From the wake to the poll that answers it, and after the end.
    is_queued: AtomicBool,
    is_begun: AtomicBool,
    remote: Arc<Remote>,
}

/// The part of a set that other threads reach.
#[derive(Default)]
struct Remote {
    woken: Mutex<Woken>,
    /// Whether there may be some, so that looking costs no lock.
    has_woken: AtomicBool,
}

#[derive(Default)]
struct Woken {
    handles: Vec<Arc<Handle>>,
    /// Wakes the thread.
    waker: Option<Waker>,
}

impl Wake for Handle {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::AcqRel) {
            self.enqueue();
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::AcqRel) {
            self.clone().enqueue();
        }
    }
}

impl Handle {
    fn enqueue(self: Arc<Self>) {
        // At the end of a thread its set is gone; then there is no turn in which this would be polled.
        let here = HERE.try_with(|here| here.borrow().clone()).ok().flatten();
        match here.filter(|set| Arc::ptr_eq(&set.remote, &self.remote)) {
            Some(set) => set.enqueue(self),
            None => {
                let remote = self.remote.clone();
                remote.enqueue(self);
            }
        }
    }
}

impl Remote {
    fn enqueue(&self, handle: Arc<Handle>) {
        let mut woken = self.woken.lock();
        let is_first = woken.handles.is_empty();
        woken.handles.push(handle);
        self.has_woken.store(true, Ordering::Release);
        let waker = woken.waker.as_ref().filter(|_| is_first).cloned();
        drop(woken);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl TaskSet {
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()>>>) {
        let mut tasks = self.tasks.borrow_mut();
        let index = self.free.borrow_mut().pop().unwrap_or_else(|| {
            tasks.push(None);
            tasks.len() - 1
        });
        let (is_queued, is_begun) = (AtomicBool::new(true), AtomicBool::new(true));
        let handle = Arc::new(Handle { index, is_queued, is_begun, remote: self.remote.clone() });
        let polling = Polling::new(future, Waker::from(handle.clone()));
        tasks[index] = Some(Task { work: Work::Whole(polling), has_yielded: false });
        drop(tasks);
        self.enqueue(handle);
    }

    fn enqueue(&self, handle: Arc<Handle>) {
        self.push(handle);
        if !self.is_awake.replace(true)
            && let Some(waker) = &*self.waker.borrow()
        {
            waker.wake_by_ref();
        }
    }

    fn push(&self, handle: Arc<Handle>) {
        let by_standing = if handle.is_begun.load(Ordering::Relaxed) { Queue::Begun } else { Queue::New };
        let queue = self.wakes_into.get().unwrap_or(by_standing);
        self.queues.borrow_mut().push(queue, handle);
    }

    fn waking_into(&self, queue: Queue, wake: impl FnOnce()) {
        self.wakes_into.set(Some(queue));
        wake();
        self.wakes_into.set(None);
    }

    fn begin_turn(&self, waker: &Waker) {
        self.is_awake.set(true);
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.remote.woken.lock().waker = Some(waker.clone());
            *known = Some(waker.clone());
        }
        drop(known);
        let yielded = std::mem::take(&mut *self.yielded.borrow_mut());
        self.waking_into(Queue::Yielded, || yielded.into_iter().for_each(Waker::wake));
    }

    /// Polls tasks, and answers whether there is more to do.
    fn turn(&self) -> bool {
        coroutine::turn_begins();
        self.take_remote();
        self.queues.borrow_mut().begin_turn();
        while let Some(handle) = self.next() {
            self.poll(&handle);
            self.take_remote();
        }
        let is_idle = self.queues.borrow().is_empty();
        let is_more_to_do = !is_idle || !self.yielded.borrow().is_empty();
        self.is_awake.set(is_more_to_do);
        is_more_to_do
    }

    /// What comes after the look wakes the thread.
    fn take_remote(&self) {
        if self.remote.has_woken.load(Ordering::Acquire) {
            let mut woken = self.remote.woken.lock();
            self.remote.has_woken.store(false, Ordering::Relaxed);
            woken.handles.drain(..).for_each(|handle| self.push(handle));
        }
    }

    fn next(&self) -> Option<Arc<Handle>> {
        self.queues.borrow_mut().next()
    }

    fn poll(&self, handle: &Handle) {
        // Out of its place, because it may spawn others.
        let Some(task) = self.tasks.borrow_mut()[handle.index].take() else {
            // It was woken while it ended.
            return self.free.borrow_mut().push(handle.index);
        };
        let is_begun = handle.is_begun.load(Ordering::Relaxed);
        STANDING.set(Standing { is_begun, has_yielded: task.has_yielded });
        // A swap, so that this poll sees what was done before a wake that found the task queued.
        handle.is_queued.swap(false, Ordering::AcqRel);
        let (step, was_left) = match task.work {
            Work::Whole(polling) => (coroutine::poll(polling), false),
            Work::HalfPolled(left) => (left.resume(), true),
        };
        let work = match step {
            Step::Done(polling, Ok(Poll::Pending)) => {
                if was_left {
                    // What was woken for something else than the rest of the poll has been taken for it.
                    polling.waker.wake_by_ref();
                }
                Work::Whole(polling)
            }
            Step::Yields(left) => {
                env::wake_after_others(&left.waker());
                Work::HalfPolled(left)
            }
            Step::Waits(left) => Work::HalfPolled(left),
            Step::Done(polling, _) => return self.end(handle, polling),
        };
        let standing = STANDING.get();
        handle.is_begun.store(standing.is_begun, Ordering::Relaxed);
        self.tasks.borrow_mut()[handle.index] = Some(Task { work, has_yielded: standing.has_yielded });
    }

    /// The task ended, or panicked, which the panic hook has reported.
    fn end(&self, handle: &Handle, polling: Polling) {
        // A waker that is left finds it queued for ever.
        if !handle.is_queued.swap(true, Ordering::AcqRel) {
            self.free.borrow_mut().push(handle.index);
        }
        let _ = catch_unwind(AssertUnwindSafe(|| drop(polling)));
    }
}

#[cfg(test)]
mod tests;
