//! Calls that the session answers: SLEEP, user-level locks, the pauses of BENCHMARK.
//!
//! Evaluation never waits. Such a call leaves a request and fails; an operator that can wait asks the session, keeps
//! the answer here and evaluates the expression anew, in which the calls give the kept answers in their order.
//! Invariant: answers are kept only from the first request of one expression's evaluation on one row to its end, so
//! a clause whose operator cannot wait refuses these calls and changes nothing.
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use datum::{SqlError, Value, error_code};

use crate::context::EvalContext;

/// What a call asks of the session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionRequest {
    /// 0 after the time, 1 when the statement is interrupted before.
    Sleep(Duration),
    /// 1, or 0 after the timeout (`None`: never).
    GetLock { name: String, timeout: Option<Duration> },
    /// 1, 0 for the lock of another session, NULL for a lock that nobody has.
    ReleaseLock(String),
    /// How many were released, each as often as it was taken.
    ReleaseAllLocks,
    /// The connection that has the lock, or NULL.
    LockOwner(String),
    /// Lets other sessions of the thread run.
    Pause,
}

#[derive(Debug, Default)]
pub struct Deferred {
    /// A statement runs on one thread; held for one access.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    request: Option<SessionRequest>,
    answers: Vec<Value>,
    /// The answer that the next call of this evaluation takes.
    next: usize,
    /// Rounds that a BENCHMARK has run.
    rounds: u64,
}

impl Deferred {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the failed evaluation waits for, if that is why it failed.
    pub fn take_request(&self) -> Option<SessionRequest> {
        let mut state = self.state();
        state.next = 0;
        state.request.take()
    }

    /// Keeps an answer for the next attempt.
    pub fn keep(&self, answer: Value) {
        self.state().answers.push(answer);
    }

    /// The expression is evaluated.
    pub fn clear(&self) {
        *self.state() = State::default();
    }

    /// Rounds done by a benchmark whose expression asks nothing of the session.
    pub(crate) fn rounds(&self) -> u64 {
        self.state().rounds
    }

    /// Ends this attempt of a benchmark; the next one goes on after `rounds`.
    pub(crate) fn pause_after(&self, rounds: u64) -> SqlError {
        let mut state = self.state();
        state.rounds = rounds;
        state.request = Some(SessionRequest::Pause);
        not_here("benchmark")
    }
}

impl EvalContext {
    /// The session's answer, or the error that makes an operator ask for it.
    pub(crate) fn ask(&self, function: &str, request: SessionRequest) -> Result<Value, SqlError> {
        let mut state = self.deferred.state();
        if let Some(answer) = state.answers.get(state.next).cloned() {
            state.next += 1;
            return Ok(answer);
        }
        state.request = Some(request);
        Err(not_here(function))
    }
}

fn not_here(function: &str) -> SqlError {
    error_code::ER_NOT_SUPPORTED_YET.with(&[&format!("{function}() in this clause")])
}
