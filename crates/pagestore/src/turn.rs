//! `Turn`: a lock that may be held across awaits. One holder, first come first served.

use env::sync::{Mutex, WaitQueue};

#[derive(Default)]
pub(crate) struct Turn {
    taken: Mutex<bool>,
    queue: WaitQueue,
}

pub(crate) struct TurnGuard<'a>(&'a Turn);

impl Turn {
    pub(crate) async fn take(&self) -> TurnGuard<'_> {
        loop {
            let waiter = self.queue.register();
            if !std::mem::replace(&mut *self.taken.lock(), true) {
                return TurnGuard(self);
            }
            waiter.await;
        }
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        let was_taken = std::mem::replace(&mut *self.0.taken.lock(), false);
        debug_assert!(was_taken, "a turn is given back once");
        self.0.queue.wake_one();
    }
}
