//! An executor of one thread that owns an io_uring, like a worker of the server: the I/O of the store is measured as the
//! server does it. It never sleeps: a measurement has a processor to itself.

use env::real::uring::Reactor;
use env::{BoxFuture, Spawner};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// As in the server.
const QUEUE_DEPTH: usize = 128;

#[derive(Default)]
pub struct RingSpawner {
    runnable: Arc<Mutex<VecDeque<Arc<Task>>>>,
}

struct Task {
    future: Mutex<Option<BoxFuture<'static, ()>>>,
    is_queued: AtomicBool,
    runnable: Arc<Mutex<VecDeque<Arc<Task>>>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::SeqCst) {
            let runnable = self.runnable.clone();
            runnable.lock().unwrap_or_else(PoisonError::into_inner).push_back(self);
        }
    }
}

impl Spawner for RingSpawner {
    fn spawn(&self, _name: &'static str, future: BoxFuture<'static, ()>) {
        let future = Mutex::new(Some(future));
        let runnable = self.runnable.clone();
        Arc::new(Task { future, is_queued: AtomicBool::new(false), runnable }).wake();
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl RingSpawner {
    /// Runs `main` to its end, and what was spawned beside it.
    pub fn block_on<T>(&self, main: impl Future<Output = T>) -> T {
        let reactor = Reactor::new(QUEUE_DEPTH).expect("io_uring");
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(woken.clone());
        let mut main = pin!(main);
        loop {
            if woken.0.swap(false, Ordering::SeqCst)
                && let Poll::Ready(value) = main.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return value;
            }
            let count = self.runnable.lock().unwrap_or_else(PoisonError::into_inner).len();
            for _ in 0..count {
                let task = self.runnable.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                task.expect("only this thread takes tasks").run();
            }
            reactor.submit();
            if reactor.reap() == 0 && count == 0 {
                std::thread::yield_now();
            }
        }
    }
}

impl Task {
    fn run(self: &Arc<Self>) {
        let waker = Waker::from(self.clone());
        self.is_queued.store(false, Ordering::SeqCst);
        let mut slot = self.future.lock().unwrap_or_else(PoisonError::into_inner);
        let poll = slot.as_mut().map(|future| future.as_mut().poll(&mut Context::from_waker(&waker)));
        if poll.is_some_and(|poll| poll.is_ready()) {
            *slot = None;
        }
    }
}
