//! Tasks that wait until the log is written or durable up to an LSN.
//!
//! Invariant: each publication wakes exactly the tasks that it satisfies; the others sleep on.

use crate::Lsn;
use env::sync::Mutex;
use std::collections::BTreeMap;
use std::task::Waker;

#[derive(Default)]
pub(crate) struct LsnWaiters {
    /// A leaf lock. Keyed by LSN and a ticket, so that many tasks can wait for one LSN.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    wakers: BTreeMap<(Lsn, u64), Waker>,
    next_ticket: u64,
}

/// A place among the waiters, given up when dropped.
pub(crate) struct Place<'a> {
    waiters: &'a LsnWaiters,
    key: (Lsn, u64),
}

impl LsnWaiters {
    /// Registers or renews the waker. The caller tests its condition *after* this.
    pub(crate) fn enroll<'a>(&'a self, place: &mut Option<Place<'a>>, lsn: Lsn, waker: &Waker) {
        let mut state = self.state.lock();
        let key = match place {
            Some(place) => place.key,
            None => {
                state.next_ticket += 1;
                let key = (lsn, state.next_ticket);
                *place = Some(Place { waiters: self, key });
                key
            }
        };
        state.wakers.insert(key, waker.clone());
    }

    pub(crate) fn wake_through(&self, lsn: Lsn) {
        let mut state = self.state.lock();
        let later = state.wakers.split_off(&(lsn, u64::MAX));
        let satisfied = std::mem::replace(&mut state.wakers, later);
        drop(state);
        for waker in satisfied.into_values() {
            waker.wake();
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.waiters.state.lock().wakers.remove(&self.key);
    }
}
