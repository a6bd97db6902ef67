//! Something that is done once, by the first of many that need it, while the others wait.
//!
//! Invariant: at most one `Turn` exists at a time and none after `Turn::finish`. Who has the turn and drops it (an
//! error, a killed statement) leaves it to one of those who wait. Asked by `ready` for each table.
use parking_lot::Mutex;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

#[derive(Debug, Default)]
pub(crate) struct Once {
    /// Set with `Release` after what was done, read with `Acquire` before it is used.
    done: AtomicBool,
    /// A leaf lock, held for a few instructions.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_taken: bool,
    /// Of those who wait; one that has given up meanwhile is woken for nothing.
    wakers: Vec<Waker>,
}

/// The right to do it. Dropping it passes it on.
pub(crate) struct Turn<'a>(&'a Once);

impl Once {
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Waits until it is this caller's turn, or until somebody else has done it: `None`.
    pub async fn turn(&self) -> Option<Turn<'_>> {
        poll_fn(|context| self.poll_turn(context)).await
    }

    fn poll_turn(&self, context: &mut Context<'_>) -> Poll<Option<Turn<'_>>> {
        let mut state = self.state.lock();
        // Under the lock: whoever finishes wakes those who are in the list after that.
        if self.is_done() {
            return Poll::Ready(None);
        }
        if !state.is_taken {
            state.is_taken = true;
            return Poll::Ready(Some(Turn(self)));
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// For a new value that nobody else knows yet and for which nothing is to be done.
    pub fn set_done(&self) {
        self.done.store(true, Ordering::Release);
    }
}

impl Turn<'_> {
    /// It is done, for everybody.
    pub fn finish(self) {
        self.0.set_done();
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let wakers = {
            let mut state = self.0.state.lock();
            debug_assert!(state.is_taken, "a turn is given back once");
            state.is_taken = false;
            std::mem::take(&mut state.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_dropped_turn_goes_to_another_and_a_finished_one_to_nobody() {
        let once = Once::default();
        let woken = Arc::new(Count::default());
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let Poll::Ready(Some(first)) = pin!(once.turn()).poll(&mut context) else { panic!("nobody has it") };
        let mut second = pin!(once.turn());
        let mut third = pin!(once.turn());
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending(), "polled for another reason");
        drop(first);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "each waker is woken once");
        let Poll::Ready(Some(turn)) = second.as_mut().poll(&mut context) else { panic!("it was passed on") };
        assert!(third.as_mut().poll(&mut context).is_pending());
        assert!(!once.is_done());
        turn.finish();
        assert_eq!(woken.0.load(Ordering::Relaxed), 2);
        assert!(matches!(third.as_mut().poll(&mut context), Poll::Ready(None)));
        assert!(matches!(pin!(once.turn()).poll(&mut context), Poll::Ready(None)));
    }
}
