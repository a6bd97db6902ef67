//! A tiny executor on plain threads: `block_on` for tests and tools, and a `Spawner` that needs no runtime.
//!
//! Invariants: a task is polled by one thread at a time, and a wake during its poll makes it run again; `block_on_ring`
//! sleeps in the ring only while operations of its own are there, so it wakes up.

use crate::real::uring::Reactor;
use crate::{BoxFuture, Spawner};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{JoinHandle, Thread};

/// Runs a future on the calling thread, which sleeps while the future waits.
pub fn block_on<F: Future>(future: F) -> F::Output {
    drive(future, std::thread::park)
}

/// The same on a thread with a ring. While operations are in flight it sleeps until half of them are complete, and sees other
/// wakes then: for a future that starts many and needs all.
pub fn block_on_ring<F: Future>(ring: &Reactor, future: F) -> F::Output {
    drive(future, || match ring.in_flight() {
        0 => std::thread::park(),
        _ => ring.wait_for_half(),
    })
}

/// Polls a future whenever it was woken. `sleep` ends after a wake at the latest, or when operations end that were begun.
fn drive<F: Future>(future: F, sleep: impl Fn()) -> F::Output {
    let parker = Arc::new(Parker { thread: std::thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(parker.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        while !parker.woken.swap(false, Ordering::Acquire) {
            sleep();
        }
    }
}

struct Parker {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Runs spawned tasks on its own threads. Dropping it stops the threads; unfinished tasks are dropped.
pub struct ThreadSpawner {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    runnable: VecDeque<Arc<Task>>,
    stopped: bool,
}

struct Task {
    /// None while it is being polled elsewhere is impossible (the lock is held); None means finished.
    future: Mutex<Option<BoxFuture<'static, ()>>>,
    /// True from the wake until the poll that answers it begins.
    queued: AtomicBool,
    queue: Arc<Queue>,
}

impl ThreadSpawner {
    pub fn new(threads: usize) -> Self {
        assert!(threads > 0, "an executor needs a thread");
        let state = Mutex::new(QueueState { runnable: VecDeque::new(), stopped: false });
        let queue = Arc::new(Queue { state, changed: Condvar::new() });
        let start = |index: usize| {
            let queue = queue.clone();
            let builder = std::thread::Builder::new().name(format!("local-{index}"));
            builder.spawn(move || queue.work()).expect("the system can start a thread")
        };
        let threads = (0..threads).map(start).collect();
        Self { queue, threads }
    }
}

impl Queue {
    fn push(&self, task: Arc<Task>) {
        let mut state = self.state.lock();
        if !state.stopped {
            state.runnable.push_back(task);
            self.changed.notify_one();
        }
    }

    fn next(&self) -> Option<Arc<Task>> {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(task) = state.runnable.pop_front() {
                return Some(task);
            }
            self.changed.wait(&mut state);
        }
    }

    fn work(&self) {
        while let Some(task) = self.next() {
            let waker = Waker::from(task.clone());
            let mut slot = task.future.lock();
            task.queued.store(false, Ordering::SeqCst);
            if let Some(future) = slot.as_mut()
                && future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            {
                *slot = None;
            }
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::SeqCst) {
            let queue = self.queue.clone();
            queue.push(self);
        }
    }
}

impl Spawner for ThreadSpawner {
    fn spawn(&self, _name: &'static str, future: BoxFuture<'static, ()>) {
        let future = Mutex::new(Some(future));
        let task = Task { future, queued: AtomicBool::new(true), queue: self.queue.clone() };
        self.queue.push(Arc::new(task));
    }
}

impl Drop for ThreadSpawner {
    fn drop(&mut self) {
        self.queue.state.lock().stopped = true;
        self.queue.changed.notify_all();
        let current = std::thread::current().id();
        for thread in self.threads.drain(..) {
            // The last handle may be dropped by a task of this very executor.
            if thread.thread().id() != current {
                let result = thread.join();
                assert!(result.is_ok() || std::thread::panicking(), "a task panicked");
            }
        }
        // Dropped without the lock: a destructor inside a task may wake or spawn another.
        let unfinished = std::mem::take(&mut self.queue.state.lock().runnable);
        drop(unfinished);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{Event, Notify, WaitQueue};
    use crate::yield_now;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn tasks_wake_each_other() {
        let spawner = ThreadSpawner::new(2);
        let (ping, pong, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(Event::new()));
        let (ping_far, pong_far) = (ping.clone(), pong.clone());
        let echo = async move {
            for _ in 0..1000 {
                ping_far.notified().await;
                pong_far.notify();
            }
        };
        spawner.spawn("echo", Box::pin(echo));
        let finished = done.clone();
        let caller = async move {
            for _ in 0..1000 {
                ping.notify();
                pong.notified().await;
            }
            finished.set();
        };
        spawner.spawn("caller", Box::pin(caller));
        block_on(done.wait());
    }

    #[test]
    fn a_wait_queue_loses_no_wake_up() {
        let spawner = ThreadSpawner::new(2);
        let queue = Arc::new(WaitQueue::new());
        let (target, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        for _ in 0..8 {
            let (queue, target, seen) = (queue.clone(), target.clone(), seen.clone());
            let wait = async move {
                for round in 1..=200 {
                    loop {
                        let waiter = queue.register();
                        if target.load(Ordering::SeqCst) >= round {
                            break;
                        }
                        waiter.await;
                    }
                    seen.fetch_add(1, Ordering::SeqCst);
                }
            };
            spawner.spawn("waiter", Box::pin(wait));
        }
        block_on(async {
            for round in 1..=200 {
                target.store(round, Ordering::SeqCst);
                queue.wake_all();
                while seen.load(Ordering::SeqCst) < 8 * round {
                    yield_now().await;
                }
            }
        });
    }

    #[test]
    fn a_dropped_waiter_passes_its_wake_up_on() {
        let queue = WaitQueue::new();
        let first = queue.register();
        let second = queue.register();
        assert!(queue.wake_one());
        drop(first);
        block_on(second);
        assert!(queue.is_empty());
    }

    /// Wakes whoever waits for the notification when it is dropped.
    struct NotifyOnDrop(Arc<Notify>);

    impl Drop for NotifyOnDrop {
        fn drop(&mut self) {
            self.0.notify();
        }
    }

    #[test]
    fn a_task_that_is_dropped_unfinished_may_wake_another() {
        let spawner = ThreadSpawner::new(1);
        let (notify, waiting) = (Arc::new(Notify::new()), Arc::new(Event::new()));
        let (awaited, is_waiting) = (notify.clone(), waiting.clone());
        let waiter = async move {
            is_waiting.set();
            awaited.notified().await;
        };
        spawner.spawn("waiter", Box::pin(waiter));
        block_on(waiting.wait());
        // The only thread is busy until the spawner stops, so the task behind it never starts.
        let queue = spawner.queue.clone();
        let busy = async move {
            while !queue.state.lock().stopped {
                std::thread::yield_now();
            }
        };
        spawner.spawn("busy", Box::pin(busy));
        let owned = NotifyOnDrop(notify);
        spawner.spawn("never started", Box::pin(async move { drop(owned) }));
        let (ended, end) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            drop(spawner);
            ended.send(()).expect("the test waits");
        });
        end.recv_timeout(std::time::Duration::from_secs(20)).expect("dropping the spawner ends");
    }
}
