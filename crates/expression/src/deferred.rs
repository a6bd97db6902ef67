//! Calls that the session answers: SLEEP, user-level locks, the pauses of BENCHMARK.
//!
//! An operator that can wait evaluates in an `attempt`: the call leaves a request and fails, the operator asks the session, keeps
//! the answer here and evaluates the expression anew, in which the call gives the kept answer. In other clauses the call waits in
//! the middle of its evaluation, where the statement is polled on a stack of its own (`env::coroutine`).
//! Invariant: answers are kept only from the first request of one expression's evaluation on one row to its end, so
//! a clause that can do neither refuses these calls and changes nothing.
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use datum::{SqlError, Value, error_code};

use crate::context::EvalContext;
use crate::function::Arguments;

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
    /// The value of a stored function, by the number that its name stands for. `name`: what errors call the value, if not by the
    /// function's name.
    Function { id: u64, name: Option<Arc<str>>, arguments: Vec<Value> },
    /// The bytes of a file of the host, or NULL where there is none that may be read; the length of one that has more.
    LoadFile { name: String, bytes_max: u64 },
    /// 0 when the set of identifiers is executed, 1 when the time is over before.
    WaitForIdentifiers { set: String, timeout: Option<Duration> },
    /// How often the applier of the channel has moved on to the place in its source's files; -1 when the time is over before, NULL
    /// without an applier.
    WaitForPosition { file: String, position: u64, timeout: Option<Duration>, channel: Option<String> },
    /// The accounts and the roles that are granted to them, as GraphML.
    RoleGraph,
    /// Lets other sessions of the thread run.
    Pause,
}

#[derive(Debug, Default)]
pub struct Deferred {
    /// A statement runs on one thread; held for one access.
    state: Mutex<State>,
    /// Whoever evaluates now asks for requests, see `attempt`.
    is_asked: AtomicBool,
    /// Warnings of this attempt, and of all attempts at its expression: one that begins anew meets the same ones again.
    met: AtomicUsize,
    heard: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    request: Option<SessionRequest>,
    /// By call, in the order in which they were given.
    answers: Vec<(CallId, Value)>,
    /// The call that the request is from.
    asking: CallId,
    /// The calls that this attempt has given an answer to, once for each.
    told: Vec<CallId>,
    /// Rounds that a BENCHMARK has run.
    rounds: u64,
}

impl Deferred {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An evaluation by somebody who looks for requests when it fails and then waits outside of it, where a client that goes
    /// away is noticed.
    #[inline]
    pub fn attempt<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        self.heard.store(0, Relaxed);
        self.attempt_again(evaluate)
    }

    /// The same with an answer to what an attempt before has asked. Warnings up to there have been told.
    #[inline]
    pub fn attempt_again<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        self.met.store(0, Relaxed);
        self.is_asked.store(true, Relaxed);
        let value = evaluate();
        self.is_asked.store(false, Relaxed);
        value
    }

    /// Whether a warning that is met now has not been told by an attempt before.
    pub(crate) fn is_news(&self) -> bool {
        if !self.is_asked() {
            return true;
        }
        let before = self.met.fetch_add(1, Relaxed);
        let is_news = before >= self.heard.load(Relaxed);
        if is_news {
            self.heard.store(before + 1, Relaxed);
        }
        is_news
    }

    /// Another statement follows.
    pub(crate) fn renew(&mut self) {
        *self.is_asked.get_mut() = false;
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.request = None;
        state.answers.clear();
        state.told.clear();
        state.rounds = 0;
    }

    /// Whether the evaluation under way is an `attempt`.
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Relaxed)
    }

    /// What the failed evaluation waits for, if that is why it failed.
    pub fn take_request(&self) -> Option<SessionRequest> {
        let mut state = self.state();
        state.told.clear();
        state.request.take()
    }

    /// Whether a call has asked in this attempt.
    pub(crate) fn is_due(&self) -> bool {
        self.state().request.is_some()
    }

    /// Evaluates once more what this attempt may have evaluated before a call asked; `None` where that asks itself. A value is the
    /// end of what was asked.
    pub(crate) fn again<T>(&self, evaluate: impl FnOnce() -> Option<T>) -> Option<T> {
        let (request, told) = {
            let mut state = self.state();
            (state.request.take(), std::mem::take(&mut state.told))
        };
        // What it warns of has been told.
        let (met, heard) = (self.met.load(Relaxed), self.heard.swap(usize::MAX, Relaxed));
        let value = evaluate();
        self.met.store(met, Relaxed);
        self.heard.store(heard, Relaxed);
        let mut state = self.state();
        let is_asked = state.request.is_some();
        state.told = told;
        match value {
            Some(value) if !is_asked => Some(value),
            _ => {
                state.request = request;
                None
            }
        }
    }

    /// Keeps an answer for the next attempt.
    pub fn keep(&self, answer: Value) {
        let mut state = self.state();
        let asking = state.asking;
        state.answers.push((asking, answer));
    }

    /// The expression is evaluated.
    pub fn clear(&self) {
        *self.state() = State::default();
    }

    /// Rounds done by a benchmark whose expression asks nothing of the session.
    pub fn rounds(&self) -> u64 {
        self.state().rounds
    }

    /// Ends this attempt of a benchmark; the next one goes on after `rounds`.
    pub fn pause_after(&self, rounds: u64) -> SqlError {
        let mut state = self.state();
        state.rounds = rounds;
        state.request = Some(SessionRequest::Pause);
        not_here("benchmark")
    }
}

impl EvalContext {
    /// The answer that the session has given to a call, whose arguments are then not evaluated again.
    pub fn told(&self, call: &Arguments<'_>) -> Option<Value> {
        let mut state = self.deferred.state();
        let id = call_id(call);
        let taken = state.told.iter().filter(|told| **told == id).count();
        let answer = state.answers.iter().filter(|(of, _)| *of == id).nth(taken)?.1.clone();
        state.told.push(id);
        Some(answer)
    }

    /// Fails with the error that makes an operator ask the session, or where none does waits for the answer in the middle of the
    /// evaluation.
    pub fn ask(
        &self,
        call: &Arguments<'_>,
        function: &str,
        request: SessionRequest,
    ) -> Result<Value, SqlError> {
        if !self.deferred.is_asked()
            && let Some(answer) = env::coroutine::wait(self.session.answer(request.clone()))
        {
            return answer;
        }
        Err(self.defer(call, function, request))
    }

    /// The error that makes an operator ask: for what needs more of the statement than an expression has.
    pub fn defer(&self, call: &Arguments<'_>, function: &str, request: SessionRequest) -> SqlError {
        let mut state = self.deferred.state();
        state.request = Some(request);
        state.asking = call_id(call);
        not_here(function)
    }
}

/// Calls are told apart by the place of their type, which stays while a statement runs.
type CallId = usize;

fn call_id(call: &Arguments<'_>) -> CallId {
    std::ptr::from_ref(call.ty).addr()
}

fn not_here(function: &str) -> SqlError {
    error_code::ER_NOT_SUPPORTED_YET.with(&[&format!("{function}() in this clause")])
}
