//! `Event`: happens once; everybody who waits for it, now or later, goes on.

use crate::sync::WaitQueue;
use std::sync::atomic::{AtomicBool, Ordering};

/// A one-way switch with waiters.
#[derive(Default)]
pub struct Event {
    /// Stored before the queue is woken, loaded after registering: see `WaitQueue`.
    happened: AtomicBool,
    queue: WaitQueue,
}

impl Event {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn set(&self) {
        self.happened.store(true, Ordering::SeqCst);
        self.queue.wake_all();
    }

    pub fn is_set(&self) -> bool {
        self.happened.load(Ordering::SeqCst)
    }

    pub async fn wait(&self) {
        while !self.is_set() {
            let waiter = self.queue.register();
            if self.is_set() {
                return;
            }
            waiter.await;
        }
    }
}
