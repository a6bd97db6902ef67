//! `Notify`: wakes one task, and remembers one wake-up when the task is not waiting yet.

use parking_lot::Mutex;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// For one waiting task at a time, such as a background loop.
#[derive(Default)]
pub struct Notify {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    permit: bool,
    waker: Option<Waker>,
}

impl Notify {
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves a permit (at most one is kept) and wakes the waiting task.
    pub fn notify(&self) {
        let mut state = self.state.lock();
        state.permit = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes the permit, waiting for it when there is none.
    pub async fn notified(&self) {
        poll_fn(|context| {
            let mut state = self.state.lock();
            if std::mem::take(&mut state.permit) {
                return Poll::Ready(());
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}
