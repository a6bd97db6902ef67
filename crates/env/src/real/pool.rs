//! The thread pool behind every cold disk operation, and behind all of them where io_uring is not available.
//!
//! Invariant: a job runs exactly once; threads sleep on a condition variable, so an idle pool never wakes up.
//! A thread that belongs to one task (`dedicate_thread`) runs its jobs itself.

use super::processors;
use parking_lot::{Condvar, Mutex};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

type Job = Box<dyn FnOnce() + Send>;

thread_local! {
    static DEDICATED: Cell<bool> = const { Cell::new(false) };
}

/// From now on this thread's disk operations and short sleeps are done when the call that starts them returns: nobody else has
/// work for the thread meanwhile, and two switches to another one are saved.
pub fn dedicate_thread() {
    DEDICATED.set(true);
}

pub(super) fn is_dedicated() -> bool {
    DEDICATED.get()
}

/// Started on first use; threads end when the pool is dropped and its queue is empty.
pub(super) struct Pool {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    stopped: bool,
}

/// Enough to keep a few requests in the device's queue; more would only add switches on small machines.
const THREADS_MAX: usize = 8;

impl Pool {
    pub(super) fn new() -> Self {
        Self { shared: Arc::default() }
    }

    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        if DEDICATED.get() {
            return job();
        }
        let mut state = self.shared.state.lock();
        state.jobs.push_back(Box::new(job));
        if state.idle >= state.jobs.len() || state.threads == THREADS_MAX {
            self.shared.changed.notify_one();
            return;
        }
        state.threads += 1;
        debug_assert!(state.threads <= THREADS_MAX, "a pool has no more threads than that");
        drop(state);
        let shared = self.shared.clone();
        let builder = std::thread::Builder::new().name("disk".into());
        if let Err(error) = builder.spawn(move || shared.work()) {
            let mut state = self.shared.state.lock();
            state.threads -= 1;
            assert!(state.threads > 0, "the system cannot start a disk thread: {error}");
        }
    }
}

impl Shared {
    fn work(&self) {
        processors::roam();
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state.lock();
            } else if state.stopped {
                return;
            } else {
                state.idle += 1;
                self.changed.wait(&mut state);
                debug_assert!(
                    state.idle > 0 && state.idle <= state.threads,
                    "idle threads are some of the pool's"
                );
                state.idle -= 1;
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.state.lock().stopped = true;
        self.shared.changed.notify_all();
    }
}
