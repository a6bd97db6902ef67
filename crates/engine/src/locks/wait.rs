//! One wait for a lock: a cell that is resolved exactly once, by a grant, by the deadlock detector or by the waiter
//! itself when it gives up. From then on nobody counts the request, even while it is still in a queue.
//!
//! Invariant: `resolve` answers true to one caller only; who gets true carries out what it decided.

use crate::row_table::RowName;
use crate::{LockMode, TreeId};
use parking_lot::Mutex;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The lock is held now, or the obstacle is gone: try again.
    Granted,
    /// The deadlock detector chose this transaction.
    Victim,
    /// Its time ran out, or its statement was dropped.
    GivenUp,
}

/// What a transaction waits for.
#[derive(Clone)]
pub(crate) enum WaitTarget {
    Row(RowName, LockMode),
    /// To insert this key into intervals that others have scanned.
    Gap(TreeId, Arc<[u8]>),
}

impl WaitTarget {
    pub fn tree(&self) -> TreeId {
        match self {
            WaitTarget::Row(name, _) => name.tree,
            WaitTarget::Gap(tree, _) => *tree,
        }
    }
}

#[derive(Default)]
pub(crate) struct WaitCell {
    state: Mutex<CellState>,
}

#[derive(Default)]
struct CellState {
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

impl WaitCell {
    pub fn new() -> Arc<WaitCell> {
        Arc::default()
    }

    /// Decides the wait; false when it was decided before.
    pub fn resolve(&self, outcome: Outcome) -> bool {
        let waker = {
            let mut state = self.state.lock();
            if state.outcome.is_some() {
                return false;
            }
            state.outcome = Some(outcome);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    pub fn is_resolved(&self) -> bool {
        self.outcome().is_some()
    }

    pub fn outcome(&self) -> Option<Outcome> {
        self.state.lock().outcome
    }

    pub fn poll(&self, context: &mut Context<'_>) -> Poll<Outcome> {
        let mut state = self.state.lock();
        match state.outcome {
            Some(outcome) => {
                debug_assert!(state.waker.is_none(), "whoever decides a wait takes its waker");
                Poll::Ready(outcome)
            }
            None => {
                match &state.waker {
                    Some(known) if known.will_wake(context.waker()) => {}
                    _ => state.waker = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }
}
