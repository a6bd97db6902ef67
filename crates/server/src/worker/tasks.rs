//! The tasks of one worker: who goes on with what it has begun comes before who begins something.
//!
//! What a command works with is in the processor's cache when its page or the log's answer arrives, and it may hold locks; a client
//! whose command has just arrived has nothing to lose yet. So where processors are the limit a thousand clients wait before their
//! commands begin and not in the middle of them, and a commit that the log's thread has made durable does not queue behind
//! commands that came later. Who yields comes last, as clients do from time to time: the others are few enough then to find in the
//! cache what their next commands work with (decision 0026).
//!
//! Invariants: a task is in one queue at most; of `SHARE` polls one is for each of the other queues first, so nobody waits for
//! ever; what other threads wake is seen before the next poll; sockets, ring and timers are asked after each turn of at most `TURN`
//! polls. Called by `worker`, whose thread and future run everything here; by all that spawns on a worker; by
//! `connection::commands`, which says what has begun.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use env::sync::Mutex;

/// Polls before the messages that were posted leave and sockets, ring and timers are asked: many messages share a system call, and
/// a turn of these takes some milliseconds at most.
const TURN: usize = 200;
/// Of so many polls one is for those who begin something first, and one for those who have yielded.
const SHARE: usize = 8;

/// The queues, in the order in which they are looked at: of those in the middle of something, of those who begin something, and of those
/// who have yielded.
const BEGUN: usize = 0;
const NEW: usize = 1;
const YIELDED: usize = 2;

thread_local! {
    static HERE: RefCell<Option<Rc<TaskSet>>> = const { RefCell::new(None) };
    /// Of the task that is being polled.
    static IS_BEGUN: Cell<bool> = const { Cell::new(true) };
}

/// Runs a future as a task of this worker's thread. A panic ends that task alone.
pub(crate) fn spawn(future: impl Future<Output = ()> + 'static) {
    let here = HERE.with_borrow(Clone::clone);
    here.expect("tasks are spawned on a worker's thread").spawn(Box::pin(future));
}

/// Says whether the current task is in the middle of something. Each is, until it says that it is not.
pub(crate) fn set_begun(is_begun: bool) {
    IS_BEGUN.set(is_begun);
}

/// Runs the tasks of this thread beside `main`, until that ends; tasks that have not ended by then are dropped.
/// `end_turn` is called after each turn, before the thread looks for what is new.
pub(super) async fn run_beside(main: impl Future<Output = ()>, end_turn: impl Fn()) {
    let set = Rc::new(TaskSet::default());
    HERE.set(Some(set.clone()));
    env::wake_yielding_tasks_by(|waker| {
        HERE.with_borrow(|here| match here {
            Some(set) => set.yielded.borrow_mut().push(waker.clone()),
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
    queues: RefCell<[VecDeque<Arc<Handle>>; 3]>,
    /// Who lets all others go first: woken when the next turn begins.
    yielded: RefCell<Vec<Waker>>,
    is_waking_yielded: Cell<bool>,
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
    future: Pin<Box<dyn Future<Output = ()>>>,
    waker: Waker,
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
        tasks[index] = Some(Task { future, waker: Waker::from(handle.clone()) });
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
        let queue = match handle.is_begun.load(Ordering::Relaxed) {
            _ if self.is_waking_yielded.get() => YIELDED,
            true => BEGUN,
            false => NEW,
        };
        self.queues.borrow_mut()[queue].push_back(handle);
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
        self.is_waking_yielded.set(true);
        yielded.into_iter().for_each(Waker::wake);
        self.is_waking_yielded.set(false);
    }

    /// Polls tasks, and answers whether there is more to do.
    fn turn(&self) -> bool {
        for poll in 1..=TURN {
            self.take_remote();
            match self.next(poll) {
                Some(handle) => self.poll(&handle),
                None => break,
            }
        }
        let is_idle = self.queues.borrow().iter().all(VecDeque::is_empty);
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

    /// `poll`: which of the turn's.
    fn next(&self, poll: usize) -> Option<Arc<Handle>> {
        const FOR_NEW: usize = SHARE / 2;
        let mut queues = self.queues.borrow_mut();
        let first = match poll % SHARE {
            0 => YIELDED,
            FOR_NEW => NEW,
            _ => BEGUN,
        };
        queues[first].pop_front().or_else(|| queues.iter_mut().find_map(VecDeque::pop_front))
    }

    fn poll(&self, handle: &Handle) {
        // Out of its place, because it may spawn others.
        let Some(mut task) = self.tasks.borrow_mut()[handle.index].take() else {
            // It was woken while it ended.
            return self.free.borrow_mut().push(handle.index);
        };
        IS_BEGUN.set(handle.is_begun.load(Ordering::Relaxed));
        // A swap, so that this poll sees what was done before a wake that found the task queued.
        handle.is_queued.swap(false, Ordering::AcqRel);
        let mut context = Context::from_waker(&task.waker);
        let outcome = catch_unwind(AssertUnwindSafe(|| task.future.as_mut().poll(&mut context)));
        handle.is_begun.store(IS_BEGUN.get(), Ordering::Relaxed);
        if matches!(outcome, Ok(Poll::Pending)) {
            self.tasks.borrow_mut()[handle.index] = Some(task);
            return;
        }
        // It ended, or panicked, which the panic hook has reported. A waker that is left finds it queued for ever.
        if !handle.is_queued.swap(true, Ordering::AcqRel) {
            self.free.borrow_mut().push(handle.index);
        }
        let _ = catch_unwind(AssertUnwindSafe(|| drop(task)));
    }
}

#[cfg(test)]
mod tests;
