//! User-level locks: GET_LOCK and its kin.
//!
//! Invariant: a lock has one owner, who may have taken it several times; a session waits for one lock at most, and
//! no circle of sessions waits for each other (the one that would close it gets error 3058). A lock's waiters get it
//! in the order in which they came. Callers: `SharedState`, for the functions; the session, when it ends.
use std::collections::HashMap;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use datum::{SqlError, error_code};
use parking_lot::Mutex;

use crate::connection_id::ConnectionId;

#[derive(Default)]
pub struct UserLocks {
    /// A leaf lock, held for one look or change.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: HashMap<String, Held>,
    /// In the order in which they came.
    waiting: Vec<Waiting>,
}

struct Held {
    owner: ConnectionId,
    /// How often the owner took it.
    count: u64,
}

struct Waiting {
    session: ConnectionId,
    name: String,
    waker: Waker,
}

impl UserLocks {
    /// Takes the lock, if need be after its owner and those who came before.
    pub async fn acquire(&self, session: ConnectionId, name: &str) -> Result<(), SqlError> {
        let place = Place { locks: self, session };
        let result = poll_fn(|context| {
            let mut state = self.state.lock();
            if state.take(session, name) {
                return Poll::Ready(Ok(()));
            }
            if let Some(known) = state.waiting.iter_mut().find(|waiting| waiting.session == session) {
                known.waker.clone_from(context.waker());
                return Poll::Pending;
            }
            if state.would_deadlock(session, name) {
                return Poll::Ready(Err(error_code::ER_USER_LOCK_DEADLOCK.plain()));
            }
            let waker = context.waker().clone();
            state.waiting.push(Waiting { session, name: name.to_owned(), waker });
            Poll::Pending
        })
        .await;
        drop(place);
        result
    }

    /// Takes the lock if nobody else has it or waits for it.
    pub fn try_acquire(&self, session: ConnectionId, name: &str) -> bool {
        self.state.lock().take(session, name)
    }

    /// Gives the lock back once; `Some(false)` if another session has it, `None` if nobody has.
    pub fn release(&self, session: ConnectionId, name: &str) -> Option<bool> {
        let mut state = self.state.lock();
        let held = state.held.get_mut(name)?;
        if held.owner != session {
            return Some(false);
        }
        held.count -= 1;
        if held.count == 0 {
            state.held.remove(name);
            state.wake_next(name);
        }
        Some(true)
    }

    /// Gives all locks of a session back; how often it had taken any.
    pub fn release_all(&self, session: ConnectionId) -> u64 {
        let names = self.held_by(session);
        let mut state = self.state.lock();
        let mut count = 0;
        for name in names {
            count += state.held.remove(&name).map_or(0, |held| held.count);
            state.wake_next(&name);
        }
        count
    }

    /// The locks of a session.
    pub fn held_by(&self, session: ConnectionId) -> Vec<String> {
        let state = self.state.lock();
        let own = state.held.iter().filter(|(_, held)| held.owner == session);
        own.map(|(name, _)| name.clone()).collect()
    }

    pub fn owner(&self, name: &str) -> Option<ConnectionId> {
        self.state.lock().held.get(name).map(|held| held.owner)
    }
}

impl State {
    fn take(&mut self, session: ConnectionId, name: &str) -> bool {
        if let Some(held) = self.held.get_mut(name) {
            let is_own = held.owner == session;
            held.count += u64::from(is_own);
            return is_own;
        }
        let first = self.waiting.iter().find(|waiting| waiting.name == name);
        let is_next = first.is_none_or(|first| first.session == session);
        if is_next {
            self.held.insert(name.to_owned(), Held { owner: session, count: 1 });
        }
        is_next
    }

    /// Follows who waits for whom from the lock's owner on; each session waits for one lock at most.
    fn would_deadlock(&self, session: ConnectionId, name: &str) -> bool {
        let mut name = name;
        for _ in 0..=self.waiting.len() {
            let Some(held) = self.held.get(name) else { return false };
            if held.owner == session {
                return true;
            }
            match self.waiting.iter().find(|waiting| waiting.session == held.owner) {
                Some(waiting) => name = &waiting.name,
                None => return false,
            }
        }
        false
    }

    fn wake_next(&self, name: &str) {
        if let Some(first) = self.waiting.iter().find(|waiting| waiting.name == name) {
            first.waker.wake_by_ref();
        }
    }
}

/// The place in the queue, left when the wait ends in any way.
struct Place<'l> {
    locks: &'l UserLocks,
    session: ConnectionId,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.locks.state.lock();
        let position = state.waiting.iter().position(|waiting| waiting.session == self.session);
        let Some(position) = position else { return };
        let left = state.waiting.remove(position);
        // It may have been woken for a lock that is free; then the next one has its turn.
        if !state.held.contains_key(&left.name) {
            state.wake_next(&left.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::Context;

    const A: ConnectionId = ConnectionId(1);
    const B: ConnectionId = ConnectionId(2);
    const C: ConnectionId = ConnectionId(3);

    #[test]
    fn locks_count_and_pass_on_in_order() {
        let locks = UserLocks::default();
        let mut context = Context::from_waker(Waker::noop());
        assert!(locks.try_acquire(A, "x") && locks.try_acquire(A, "x"));
        let mut b = pin!(locks.acquire(B, "x"));
        let mut c = pin!(locks.acquire(C, "x"));
        assert!(b.as_mut().poll(&mut context).is_pending() && c.as_mut().poll(&mut context).is_pending());
        assert_eq!((locks.release(A, "x"), locks.owner("x")), (Some(true), Some(A)));
        assert_eq!((locks.release(A, "x"), locks.owner("x")), (Some(true), None));
        assert!(c.as_mut().poll(&mut context).is_pending(), "it came after the other one");
        assert!(b.as_mut().poll(&mut context).is_ready());
        assert_eq!((locks.release(A, "x"), locks.release(A, "y")), (Some(false), None));
        assert_eq!(locks.release_all(B), 1);
        assert!(c.as_mut().poll(&mut context).is_ready());
    }

    #[test]
    fn circles_are_refused_and_places_are_left() {
        let locks = UserLocks::default();
        let mut context = Context::from_waker(Waker::noop());
        assert!(locks.try_acquire(A, "x") && locks.try_acquire(B, "y"));
        {
            let mut waits = pin!(locks.acquire(A, "y"));
            assert!(waits.as_mut().poll(&mut context).is_pending());
            let refused = pin!(locks.acquire(B, "x")).poll(&mut context);
            let Poll::Ready(Err(error)) = refused else { panic!("a circle") };
            assert!(error.is(&error_code::ER_USER_LOCK_DEADLOCK));
        }
        assert_eq!(locks.release(B, "y"), Some(true));
        assert!(locks.try_acquire(C, "y"), "the place of the wait that was given up is free");
    }
}
