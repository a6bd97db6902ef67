//! Waiting for a lock: the queue, the deadlock check, the timeout, and the clean-up when the wait is dropped.
//!
//! Invariant: no latch is held here. Whoever was granted tries the tree operation again from the start.

use crate::engine::Engine;
use crate::locks::wait::{Outcome, WaitCell, WaitTarget};
use crate::row_table::Enqueued;
use crate::transactions::transaction::Work;
use crate::transactions::transaction_state::{TransactionState, Waiting};
use crate::{EngineError, LockMode, TreeId, WaitPolicy};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;

/// What a lock attempt that could not wait leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Granted,
    /// `WaitPolicy::SkipLocked`.
    Skip,
}

impl Work {
    /// Waits until this transaction holds the lock on a row. A deadlock victim is rolled back here.
    pub async fn wait_for_row(
        &mut self,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
        policy: WaitPolicy,
    ) -> Result<Waited, EngineError> {
        let timeout_us = match policy {
            WaitPolicy::Wait { timeout_us } => timeout_us,
            WaitPolicy::NoWait => return Err(EngineError::LockNotAvailable),
            WaitPolicy::SkipLocked => return Ok(Waited::Skip),
        };
        let state = self.state();
        match self.engine.rows.enqueue_unmoved(&state, tree, key, mode, self.moves_seen) {
            // Not granted but moved to a spill, perhaps: trying again tells.
            None | Some((_, Enqueued::Granted)) => Ok(Waited::Granted),
            Some((name, Enqueued::Waiting(cell))) => {
                self.wait(state, WaitTarget::Row(name, mode), cell, timeout_us).await
            }
        }
    }

    /// Waits until no other transaction protects the gap that `key` would go into.
    pub async fn wait_for_gap(
        &mut self,
        tree: TreeId,
        key: &[u8],
        policy: WaitPolicy,
    ) -> Result<(), EngineError> {
        let timeout_us = match policy {
            WaitPolicy::Wait { timeout_us } => timeout_us,
            WaitPolicy::NoWait | WaitPolicy::SkipLocked => return Err(EngineError::LockNotAvailable),
        };
        let state = self.state();
        let Some(cell) = self.engine.locks.intervals.enqueue(&state, tree, key) else { return Ok(()) };
        self.wait(state, WaitTarget::Gap(tree, key.into()), cell, timeout_us).await.map(|_| ())
    }

    async fn wait(
        &mut self,
        state: Arc<TransactionState>,
        target: WaitTarget,
        cell: Arc<WaitCell>,
        timeout_us: u64,
    ) -> Result<Waited, EngineError> {
        let engine = self.engine.clone();
        let outcome = {
            let wait = RegisteredWait::start(&engine, &state, target, cell);
            wait.outcome(timeout_us).await
        };
        match outcome {
            Some(Outcome::Granted) => Ok(Waited::Granted),
            Some(Outcome::Victim) => {
                self.is_victim = true;
                self.roll_back_all().await?;
                Err(EngineError::Deadlock)
            }
            Some(Outcome::GivenUp) | None => {
                engine.stats.lock_timeouts.fetch_add(1, Relaxed);
                Err(EngineError::LockWaitTimeout)
            }
        }
    }
}

/// A wait that others can see; dropping it takes it out of the queue.
struct RegisteredWait<'a> {
    engine: &'a Engine,
    state: &'a Arc<TransactionState>,
    target: WaitTarget,
    cell: Arc<WaitCell>,
    since_us: u64,
}

impl<'a> RegisteredWait<'a> {
    fn start(
        engine: &'a Engine,
        state: &'a Arc<TransactionState>,
        target: WaitTarget,
        cell: Arc<WaitCell>,
    ) -> RegisteredWait<'a> {
        debug_assert!(state.is_active(), "who has ended waits for no lock");
        debug_assert!(state.waiting().is_none(), "a transaction waits for one thing");
        let since_us = engine.env.clock.now_us();
        env::begin_wait(env::WaitCause::RowLock, || Some(env::WaitObject::Tree(target.tree().0)));
        state.set_waiting(Some(Waiting { target: target.clone(), cell: cell.clone(), since_us }));
        engine.stats.lock_waits.fetch_add(1, Relaxed);
        engine.stats.lock_waits_current.fetch_add(1, Relaxed);
        let wait = RegisteredWait { engine, state, target, cell, since_us };
        let victims = engine.locks.deadlocks.check(
            state,
            |state, target| engine.blockers(state, target),
            |cycle, victim| engine.describe_deadlock(cycle, victim),
        );
        engine.stats.deadlocks.fetch_add(victims as u64, Relaxed);
        wait
    }

    /// `None` after the timeout.
    async fn outcome(&self, timeout_us: u64) -> Option<Outcome> {
        let mut sleep = None;
        poll_fn(|context| {
            if let Poll::Ready(outcome) = self.cell.poll(context) {
                return Poll::Ready(Some(outcome));
            }
            // Dropped with this future: a lock that comes in time leaves no timer behind.
            let sleep = sleep.get_or_insert_with(|| self.engine.env.clock.sleep(timeout_us));
            sleep.as_mut().poll(context).map(|()| self.cell.outcome())
        })
        .await
    }
}

impl Drop for RegisteredWait<'_> {
    fn drop(&mut self) {
        // First of all: who waits behind this request must not be thought to wait for one that waits for nobody.
        self.cell.resolve(Outcome::GivenUp);
        self.state.set_waiting(None);
        debug_assert!(self.cell.is_resolved(), "who leaves the queue has its outcome");
        match &self.target {
            // Whoever granted the lock has taken the request out of the queue.
            WaitTarget::Row(..) if self.cell.outcome() == Some(Outcome::Granted) => {}
            WaitTarget::Row(name, _) => self.engine.rows.cancel(name, &self.cell),
            WaitTarget::Gap(tree, _) => self.engine.locks.intervals.cancel(*tree, &self.cell),
        }
        let stats = &self.engine.stats;
        let waits = stats.lock_waits_current.fetch_sub(1, Relaxed);
        debug_assert!(waits > 0, "each wait is counted until it ends");
        let time_us = stats.lock_wait.end(&*self.engine.env.clock, self.since_us);
        env::note_wait(env::WaitCause::RowLock, time_us);
    }
}
