//! Tasks as the engine sees them: it may spawn named background futures and yield, nothing more.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// An owned, type-erased future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Starts background tasks.
pub trait Spawner: Send + Sync {
    /// Runs the future to its end, some time. The name is for diagnostics.
    fn spawn(&self, name: &'static str, future: BoxFuture<'static, ()>);

    /// The same for a task that should neither queue behind others nor delay them, such as the writer of the log: where
    /// there are threads to give it gets one.
    fn spawn_dedicated(&self, name: &'static str, overlap: Overlap, future: BoxFuture<'static, ()>) {
        let _ = overlap;
        self.spawn(name, future);
    }
}

/// How a task with a thread of its own uses the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// It waits for each operation before the next: operations block its thread, which saves switches to another.
    None,
    /// It has many in flight.
    Many,
}

thread_local! {
    static WAKE_AFTER_OTHERS: Cell<fn(&Waker)> = const { Cell::new(Waker::wake_by_ref) };
}

/// How the tasks of this thread that yield are woken; by default at once. For an executor that would run a task that is
/// woken at once before those that other threads or the disk have woken.
pub fn wake_yielding_tasks_by(wake_after_others: fn(&Waker)) {
    WAKE_AFTER_OTHERS.set(wake_after_others);
}

/// Wakes a task when the others have had their turn.
pub fn wake_after_others(waker: &Waker) {
    WAKE_AFTER_OTHERS.get()(waker);
}

/// Lets other runnable tasks go first, once. Long loops await this every few hundred microseconds.
pub fn yield_now() -> impl Future<Output = ()> + Send {
    YieldNow { yielded: false }
}

struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        wake_after_others(context.waker());
        Poll::Pending
    }
}
