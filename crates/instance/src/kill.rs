//! The switch by which another connection, a time limit or a shutdown ends a statement or a whole session.
//!
//! Invariant: a connection kill, once set, is never taken back; a query kill lasts until the statement it hit
//! has ended. Shared by the session (checks it between awaits), the connection (waits on it while idle) and
//! `Instance::kill`.
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Poll, Waker};

use executor::Interrupt;
use parking_lot::Mutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillKind {
    Query,
    Connection,
}

const RUNNING: u8 = 0;
const QUERY_KILLED: u8 = 1;
const CONNECTION_KILLED: u8 = 2;

#[derive(Debug, Default)]
pub struct KillSwitch {
    state: AtomicU8,
    /// The same news for code that does not wait: the executor asks it between batches.
    pub interrupt: Interrupt,
    /// The statement is in a wait that sees to interruptions itself, so it is not dropped for them.
    handled: AtomicBool,
    /// Tasks waiting for the switch; a leaf lock, held for a push or a take.
    wakers: Mutex<Vec<Waker>>,
}

impl KillSwitch {
    pub fn kill(&self, kind: KillKind) {
        let value = match kind {
            KillKind::Query => QUERY_KILLED,
            KillKind::Connection => CONNECTION_KILLED,
        };
        self.state.fetch_max(value, Ordering::SeqCst);
        self.interrupt.kill();
        for waker in std::mem::take(&mut *self.wakers.lock()) {
            waker.wake();
        }
    }

    /// The statement's time is over: what waits and sees to that itself is woken.
    pub fn time_out(&self) {
        self.interrupt.time_out();
        for waker in std::mem::take(&mut *self.wakers.lock()) {
            waker.wake();
        }
    }

    /// While the guard lives, interruptions are seen to by who made it (through `interrupt`).
    pub fn handle(&self) -> Handled<'_> {
        self.handled.store(true, Ordering::SeqCst);
        Handled(self)
    }

    pub fn is_handled(&self) -> bool {
        self.handled.load(Ordering::SeqCst)
    }

    /// What was killed, or `None` while nothing is.
    #[inline]
    pub fn state(&self) -> Option<KillKind> {
        match self.state.load(Ordering::SeqCst) {
            RUNNING => None,
            QUERY_KILLED => Some(KillKind::Query),
            _ => Some(KillKind::Connection),
        }
    }

    /// Forgets a query kill; called when a statement starts and when it has ended.
    pub fn clear_query(&self) {
        let _ = self.state.compare_exchange(QUERY_KILLED, RUNNING, Ordering::SeqCst, Ordering::SeqCst);
        if self.state().is_none() {
            self.interrupt.clear();
        }
    }

    /// Resolves when the connection is killed (not merely a query); for the connection's idle read.
    pub async fn connection_killed(&self) {
        poll_fn(|context| {
            self.register(context.waker());
            match self.state() {
                Some(KillKind::Connection) => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Wakes the task when anything is killed.
    pub fn wake_on_kill(&self, waker: &Waker) {
        self.register(waker);
    }

    /// Nobody waits any more: the session goes on in another task, which asks for itself.
    pub fn forget_waiting(&self) {
        self.wakers.lock().clear();
    }

    fn register(&self, waker: &Waker) {
        let mut wakers = self.wakers.lock();
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }
}

pub struct Handled<'k>(&'k KillSwitch);

impl Drop for Handled<'_> {
    fn drop(&mut self) {
        self.0.handled.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_kill_outlasts_a_query_kill() {
        let switch = KillSwitch::default();
        switch.kill(KillKind::Query);
        assert_eq!(switch.state(), Some(KillKind::Query));
        switch.clear_query();
        assert_eq!(switch.state(), None);
        switch.kill(KillKind::Connection);
        switch.kill(KillKind::Query);
        switch.clear_query();
        assert_eq!(switch.state(), Some(KillKind::Connection));
    }
}
