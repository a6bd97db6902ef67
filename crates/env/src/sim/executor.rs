//! The tasks of a simulated machine and the set of those that can run.
//!
//! Invariant: a task is in the ready set at most once; which one runs next is the world's draw.

use crate::{BoxFuture, Spawner};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

/// The future that `World::block_on` was given.
pub(super) const MAIN_TASK: usize = usize::MAX;

#[derive(Default)]
pub(super) struct Executor {
    tasks: Mutex<Vec<Option<Task>>>,
    ready: Arc<ReadySet>,
}

struct Task {
    /// None while it is being polled.
    future: Option<BoxFuture<'static, ()>>,
    waker: Arc<TaskWaker>,
}

#[derive(Default)]
pub(super) struct ReadySet {
    tasks: Mutex<Vec<usize>>,
}

pub(super) struct TaskWaker {
    task: usize,
    queued: AtomicBool,
    ready: Arc<ReadySet>,
}

impl Executor {
    pub(super) fn waker(&self, task: usize) -> Arc<TaskWaker> {
        Arc::new(TaskWaker { task, queued: AtomicBool::new(false), ready: self.ready.clone() })
    }

    pub(super) fn ready_count(&self) -> usize {
        self.ready.tasks.lock().len()
    }

    pub(super) fn take_ready(&self, index: usize) -> usize {
        self.ready.tasks.lock().swap_remove(index)
    }

    pub(super) fn forget_main(&self) {
        self.ready.tasks.lock().retain(|task| *task != MAIN_TASK);
    }

    /// Takes a task out for polling.
    pub(super) fn start_poll(&self, task: usize) -> Option<(BoxFuture<'static, ()>, Waker)> {
        let mut tasks = self.tasks.lock();
        let task = tasks[task].as_mut()?;
        task.waker.queued.store(false, Ordering::SeqCst);
        Some((task.future.take()?, Waker::from(task.waker.clone())))
    }

    pub(super) fn end_poll(&self, task: usize, future: BoxFuture<'static, ()>) {
        let mut tasks = self.tasks.lock();
        let polled = tasks[task].as_mut().expect("a task that is polled exists");
        debug_assert!(polled.future.is_none(), "a task is polled by one at a time");
        polled.future = Some(future);
    }

    pub(super) fn remove(&self, task: usize) {
        debug_assert_ne!(task, MAIN_TASK, "the main task is not in the table");
        self.tasks.lock()[task] = None;
    }

    /// Takes all tasks, to drop them without the lock.
    pub(super) fn take_all(&self) -> Vec<Option<BoxFuture<'static, ()>>> {
        let tasks = std::mem::take(&mut *self.tasks.lock());
        self.ready.tasks.lock().clear();
        tasks.into_iter().map(|task| task.and_then(|task| task.future)).collect()
    }
}

impl Spawner for Executor {
    fn spawn(&self, _name: &'static str, future: BoxFuture<'static, ()>) {
        let mut tasks = self.tasks.lock();
        let free = tasks.iter().position(|task| task.is_none());
        let index = free.unwrap_or(tasks.len());
        let waker = self.waker(index);
        let task = Some(Task { future: Some(future), waker: waker.clone() });
        match free {
            Some(index) => tasks[index] = task,
            None => tasks.push(task),
        }
        drop(tasks);
        waker.wake();
    }
}

impl TaskWaker {
    pub(super) fn start_poll(&self) {
        self.queued.store(false, Ordering::SeqCst);
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::SeqCst) {
            self.ready.tasks.lock().push(self.task);
        }
    }
}
