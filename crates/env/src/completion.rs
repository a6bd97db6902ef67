//! The future of one disk operation and the handle by which an implementation completes it.
//!
//! Invariant: an operation starts when it is called, not when its future is first polled, and it owns its
//! buffer until it is complete. Dropping the future discards the result and nothing else.

use crate::{IoBuf, IoError};
use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

type Outcome = (IoBuf, Result<(), IoError>);

enum State {
    Pending(Option<Waker>),
    Done(Outcome),
    Taken,
}

struct Operation {
    /// Only `in_flight` is locked while it is held, and no waker runs under it.
    state: Mutex<State>,
    /// Ends with the operation. A leaf lock, taken under `state`.
    in_flight: Mutex<Option<InFlight>>,
}

/// One operation in a count of those that have begun and not ended.
pub(crate) struct InFlight(Arc<AtomicU64>);

impl InFlight {
    pub(crate) fn begin(count: &Arc<AtomicU64>) -> InFlight {
        count.fetch_add(1, Ordering::Relaxed);
        InFlight(count.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        debug_assert!(self.0.load(Ordering::Relaxed) > 0, "each operation in flight is counted");
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A read or write under way: resolves to the buffer and the result.
pub struct Completion {
    operation: Arc<Operation>,
}

/// A file sync under way.
pub struct SyncCompletion(Completion);

/// The implementation's half of a `Completion`.
pub struct Completer {
    operation: Arc<Operation>,
}

/// Makes a future and its completer.
pub fn completion() -> (Completer, Completion) {
    let state = Mutex::new(State::Pending(None));
    let operation = Arc::new(Operation { state, in_flight: Mutex::new(None) });
    (Completer { operation: operation.clone() }, Completion { operation })
}

/// The same for a sync, which is completed with `IoBuf::empty()`.
pub fn sync_completion() -> (Completer, SyncCompletion) {
    let (completer, completion) = completion();
    (completer, SyncCompletion(completion))
}

impl Completion {
    /// Counts the operation until it ends.
    pub(crate) fn watched(self, in_flight: InFlight) -> Completion {
        let state = self.operation.state.lock();
        if matches!(&*state, State::Pending(_)) {
            debug_assert!(self.operation.in_flight.lock().is_none(), "an operation is counted once");
            *self.operation.in_flight.lock() = Some(in_flight);
        }
        drop(state);
        self
    }
}

impl SyncCompletion {
    /// Of a file that nothing has to be made durable for.
    pub fn done() -> SyncCompletion {
        let (completer, completion) = sync_completion();
        completer.complete(IoBuf::empty(), Ok(()));
        completion
    }

    pub(crate) fn watched(self, in_flight: InFlight) -> SyncCompletion {
        SyncCompletion(self.0.watched(in_flight))
    }
}

impl Completer {
    /// Hands the buffer and the result to the waiting future.
    pub fn complete(self, buffer: IoBuf, result: Result<(), IoError>) {
        let mut state = self.operation.state.lock();
        // First: who sees the operation ended does not find it in the count.
        drop(self.operation.in_flight.lock().take());
        let previous = std::mem::replace(&mut *state, State::Done((buffer, result)));
        drop(state);
        match previous {
            State::Pending(Some(waker)) => waker.wake(),
            State::Pending(None) => {}
            State::Done(_) | State::Taken => unreachable!("a completer is consumed by completing"),
        }
    }
}

impl Future for Completion {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let mut state = self.operation.state.lock();
        match &mut *state {
            State::Pending(waker) => {
                match waker {
                    Some(known) if known.will_wake(context.waker()) => {}
                    _ => *waker = Some(context.waker().clone()),
                }
                Poll::Pending
            }
            State::Done(_) => match std::mem::replace(&mut *state, State::Taken) {
                State::Done(outcome) => Poll::Ready(outcome),
                _ => unreachable!("the state was just seen to be done"),
            },
            State::Taken => panic!("a completion was polled after it returned its result"),
        }
    }
}

impl Future for SyncCompletion {
    type Output = Result<(), IoError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|(_, result)| result)
    }
}
