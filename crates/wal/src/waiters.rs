//! Tasks that wait until the log is written or durable up to an LSN.
//!
//! Invariant: each publication wakes exactly the tasks that it satisfies; the others sleep on.

use crate::Lsn;
use env::sync::Mutex;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::task::Waker;

#[derive(Default)]
pub(crate) struct LsnWaiters {
    /// A leaf lock.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Ascending by key. Most who come wait for the newest LSN, so they go to the end.
    waiting: VecDeque<Waiting>,
    next_ticket: u64,
}

struct Waiting {
    key: Key,
    waker: Waker,
}

/// An LSN and a ticket, so that many tasks can wait for one LSN.
type Key = (Lsn, u64);

/// A place among the waiters, given up when dropped.
pub(crate) struct Place<'a> {
    waiters: &'a LsnWaiters,
    key: Key,
}

impl LsnWaiters {
    /// Registers or renews the waker. The caller tests its condition *after* this.
    pub(crate) fn enroll<'a>(&'a self, place: &mut Option<Place<'a>>, lsn: Lsn, waker: &Waker) {
        let mut state = self.state.lock();
        let key = match place {
            Some(place) => {
                debug_assert_eq!(place.key.0, lsn, "a place is for one LSN");
                place.key
            }
            None => {
                state.next_ticket += 1;
                let key = (lsn, state.next_ticket);
                *place = Some(Place { waiters: self, key });
                key
            }
        };
        match state.find(key) {
            Ok(at) => state.waiting[at].waker.clone_from(waker),
            Err(at) => state.waiting.insert(at, Waiting { key, waker: waker.clone() }),
        }
    }

    pub(crate) fn wake_through(&self, lsn: Lsn) {
        let mut state = self.state.lock();
        let count = state.waiting.partition_point(|waiting| waiting.key.0 <= lsn);
        if count == 0 {
            return;
        }
        let satisfied: SmallVec<[Waiting; 1]> = state.waiting.drain(..count).collect();
        drop(state);
        debug_assert!(
            satisfied.iter().all(|waiting| waiting.key.0 <= lsn),
            "who waits for more is not woken"
        );
        for waiting in satisfied {
            waiting.waker.wake();
        }
    }
}

impl State {
    fn find(&self, key: Key) -> Result<usize, usize> {
        self.waiting.binary_search_by_key(&key, |waiting| waiting.key)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.waiters.state.lock();
        // Unless it was woken.
        if let Ok(at) = state.find(self.key) {
            state.waiting.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn those_are_woken_whose_lsn_is_reached_and_who_still_wait() {
        let waiters = LsnWaiters::default();
        let lsns = [30, 10, 20, 10, 40];
        let counts = lsns.map(|_| Arc::new(Count::default()));
        let mut places = [const { None }; 5];
        for ((place, lsn), count) in places.iter_mut().zip(lsns).zip(&counts) {
            waiters.enroll(place, Lsn(lsn), &Waker::from(count.clone()));
        }
        let woken = || counts.each_ref().map(|count| count.0.load(Ordering::Relaxed));
        places[2] = None;
        waiters.wake_through(Lsn(29));
        assert_eq!(woken(), [0, 1, 0, 1, 0]);
        // Who was woken may wait on, with a waker of its own choice.
        waiters.enroll(&mut places[1], Lsn(10), &Waker::from(counts[2].clone()));
        waiters.enroll(&mut places[4], Lsn(40), &Waker::from(counts[2].clone()));
        waiters.wake_through(Lsn::MAX);
        assert_eq!(woken(), [1, 1, 2, 1, 0]);
        drop(places);
        assert!(waiters.state.lock().waiting.is_empty());
    }
}
