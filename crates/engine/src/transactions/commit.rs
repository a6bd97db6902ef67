//! Commit: the commit record, the stamp that makes the changes visible, the early release of locks, and the
//! wait for durability.
//!
//! Invariant: append, stamp and entry into the history happen under one mutex, so the order in the log, the
//! order of visibility and the order of the history are the same. A commit is acknowledged only after its
//! record is as durable as `flush_at_commit` asks.

use crate::engine::Engine;
use crate::log::events::{FinishedEvents, LoggedPieces};
use crate::log::log_record::{LogRecord, NO_TRANSACTION, Operation};
use crate::row_table::RowName;
use crate::transactions::transaction::{Transaction, Work};
use crate::transactions::transaction_state::TransactionState;
use crate::versions::history::Committed;
use crate::writes::undo_stack::{UndoItem, UndoStack};
use crate::{EngineError, TreeId};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use wal::{AppendError, Lsn, Priority, WalGroup};

/// A commit that is in the log, whose locks are free, and that nobody has waited for. It is settled before the engine is
/// closed, in the order of the commits; until then no new snapshot sees it.
#[must_use]
pub struct UnsettledCommit {
    engine: Arc<Engine>,
    state: Option<Arc<TransactionState>>,
    lsn: u64,
    /// How many rows were changed, if any.
    changes: Option<usize>,
}

impl UnsettledCommit {
    /// Returns once the commit is durable as `flush_at_commit` asks.
    pub async fn settle(self) -> Result<(), EngineError> {
        debug_assert!(self.changes.is_none() || self.lsn > 0, "changes have a commit record");
        if self.lsn > 0 {
            self.engine.answer(self.lsn).await?;
        }
        if let Some(changes) = self.changes {
            self.engine.stats.commits.fetch_add(1, Relaxed);
            // Acknowledged, hence visible to every new snapshot.
            self.state.iter().for_each(|state| self.engine.writers.seen(state));
            let version_bytes = self.engine.after_commit(changes);
            self.engine.slow_down_for(version_bytes).await;
        }
        Ok(())
    }
}

/// How far commits have come.
pub(crate) struct CommitClock {
    /// Every commit at or before it is stamped.
    pub last_lsn: AtomicU64,
    /// The newest time in the log, or of a commit of the same millisecond. Changed under the commit mutex.
    pub last_time_us: AtomicU64,
    /// Commits up to here count as acknowledged, durable or not: they were made in a weaker flush mode.
    pub acknowledged_floor: AtomicU64,
}

impl CommitClock {
    /// The clock of a database whose log ends at `log_end`.
    pub fn new(log_end: u64) -> CommitClock {
        CommitClock {
            last_lsn: AtomicU64::new(0),
            last_time_us: AtomicU64::new(0),
            acknowledged_floor: AtomicU64::new(log_end),
        }
    }
}

/// What a committed transaction takes in memory while its history does, generously.
const STATE_BYTES: u64 = 400;

impl Transaction {
    /// Commits; returns once the commit is durable as `flush_at_commit` asks. `Deadlock` if the transaction was to be
    /// rolled back and the future that did so was dropped.
    pub async fn commit(mut self) -> Result<(), EngineError> {
        self.drop_snapshot();
        self.work.finish_victim().await?;
        self.work.withdraw();
        self.work.commit_all().await
    }

    /// Commits without a wait for the log: whoever applies changes that can be had again goes on with the next ones meanwhile.
    pub async fn commit_behind(mut self) -> Result<UnsettledCommit, EngineError> {
        self.drop_snapshot();
        self.work.finish_victim().await?;
        self.work.withdraw();
        self.work.commit_behind().await
    }

    /// Makes sure that what the transaction's locking reads returned cannot be lost: call it before the
    /// rows of a locking read leave the server, unless `commit` follows anyway.
    pub fn settle_reads(&self) -> impl Future<Output = Result<(), EngineError>> + Send + use<> {
        let (engine, lsn) = (self.work.engine.clone(), self.work.seen_lsn);
        async move { if lsn == 0 { Ok(()) } else { engine.acknowledge(lsn).await } }
    }
}

impl Work {
    /// Commits all changes; returns once that is durable as `flush_at_commit` asks.
    pub async fn commit_all(&mut self) -> Result<(), EngineError> {
        self.commit_behind().await?.settle().await
    }

    /// Commits all changes without a wait for the log.
    pub async fn commit_behind(&mut self) -> Result<UnsettledCommit, EngineError> {
        debug_assert!(self.announced.is_none(), "what did not happen is withdrawn before the end");
        let changed = self.has_undo();
        let events = self.finish_events().await?;
        let lsn = match (changed, events) {
            (true, events) => self.append_commit(events).await?,
            (false, Some(events)) => self.append_events_alone(events).await?,
            (false, None) => self.seen_lsn,
        };
        let state = self.state.clone();
        let changes = self.finish_commit(changed);
        let (engine, changes) = (self.engine.clone(), changed.then_some(changes));
        Ok(UnsettledCommit { engine, state, lsn, changes })
    }

    async fn append_commit(&mut self, events: Option<FinishedEvents>) -> Result<u64, EngineError> {
        let state = self.state();
        // Only events borrow it, and most commits have none.
        let engine;
        let events = match events {
            Some(events) => {
                engine = self.engine.clone();
                Some(Box::pin(engine.log_pieces(state.id.0, events)).await?)
            }
            None => None,
        };
        // The record lists the chains that are replaced: in 8 bytes each, in half a group.
        let chains_max = self.engine.wal.group_bytes_max() / 16;
        if state.with_undo(|undo| undo.has_cut_off_batch() || undo.replaces_more_chains_than(chains_max)) {
            // A change counts once, and so does the chain that it has replaced. In a spill it is on record already.
            Box::pin(self.spill()).await?;
        }
        debug_assert!(
            state.with_settled_undo(|_| ()).is_some() || self.engine.failure().is_some(),
            "no step is half done, unless the log has failed"
        );
        let Remains { mut chains, dropped_trees, mut rows } = state.with_undo(Remains::of);
        chains.append(&mut self.unloaded_chains);
        let spill = state.spill();
        let spill_tree = spill.iter().map(|spill| spill.id());
        let record = LogRecord::Commit {
            dropped_trees: dropped_trees.iter().copied().chain(spill_tree).collect(),
            freed_chains: chains.clone(),
        };
        // Before the commit record can be at the end of the log.
        let leaves_work = spill.is_some() || !dropped_trees.is_empty();
        let pin = leaves_work.then(|| self.engine.pin_checkpoint(self.engine.wal.end_lsn().0));
        let mut group = WalGroup::reused();
        if let Some(events) = &events {
            events.push_to(&mut group, state.id.0);
        }
        group.push_with(record.kind(), state.id.0, |bytes| record.encode(bytes));
        loop {
            let mut end = CommitEnd { rows: &mut rows, chains: &chains, events: events.as_ref() };
            match self.engine.commit_at_log_end(&state, &mut group, &mut end) {
                Ok(lsn) => {
                    group.give_back();
                    let Some(pin) = pin else { return Ok(lsn) };
                    if let Some(spill) = spill {
                        state.set_spill(None);
                        let pin = self.engine.pin_checkpoint(pin.lsn());
                        self.engine.spill_committed(pin, spill);
                    }
                    if !dropped_trees.is_empty() {
                        self.engine.drop_committed(pin, &dropped_trees);
                    }
                    return Ok(lsn);
                }
                Err(AppendError::Full) => {
                    let space = self.engine.wal.wait_for_space(group.encoded_len(), Priority::Reserve);
                    space.await.map_err(|error| self.engine.log_error(error))?;
                }
                Err(error) => return Err(self.engine.log_error(error)),
            }
        }
    }

    /// After the commit record is in the log: lets the others go on. Answers how much was changed.
    fn finish_commit(&mut self, changed: bool) -> usize {
        debug_assert!(
            !changed || self.state.as_ref().is_some_and(|state| !state.is_active()),
            "a commit is stamped before others can have its rows"
        );
        self.release_locks();
        let Some(state) = self.state.take() else { return 0 };
        self.engine.writers.no_longer_active(&state);
        if !changed {
            // It only locked, so there is nothing to see.
            state.stamp_aborted();
            self.engine.writers.seen(&state);
        }
        state.clear_undo()
    }

    /// Commits what concerns no snapshot, without waiting until that is durable.
    pub async fn commit_unseen(&mut self) -> Result<(), EngineError> {
        let state = self.state();
        self.append_commit(None).await?;
        self.finish_commit(true);
        self.engine.writers.seen(&state);
        Ok(())
    }
}

impl Engine {
    fn commit_at_log_end(
        &self,
        state: &Arc<TransactionState>,
        group: &mut WalGroup,
        end: &mut CommitEnd<'_>,
    ) -> Result<u64, AppendError> {
        let mut history = self.versions.history.lock();
        let lsn = self.append_with_time(group)?;
        debug_assert!(
            lsn > self.commits.last_lsn.load(Acquire),
            "commits are stamped in the order of the log"
        );
        state.stamp_committed(lsn);
        if let Some(events) = end.events {
            events.queue(lsn);
        }
        let rows = std::mem::take(end.rows);
        let (born_lsn, bytes) = (state.born_lsn(), state.undo_memory_bytes() + STATE_BYTES);
        history.push(Committed { lsn, born_lsn, bytes, state: Some(state.clone()), rows }, end.chains);
        self.commits.last_lsn.store(lsn, Release);
        Ok(lsn)
    }

    /// Appends a commit's group; the first of its millisecond says when that was. Called under the commit mutex, so the times
    /// have the order of the log: what is before a time in the log was committed before it.
    fn append_with_time(&self, group: &mut WalGroup) -> Result<u64, AppendError> {
        debug_assert!(!group.is_empty(), "a commit has a record");
        let unix_us = self.env.clock.unix_us();
        let is_due = unix_us / 1000 != self.commits.last_time_us.load(Relaxed) / 1000;
        if is_due {
            let record = LogRecord::Time { unix_us };
            group.push_with(record.kind(), NO_TRANSACTION.0, |bytes| record.encode(bytes));
        }
        match self.wal.append_reserve(group) {
            Ok(lsns) => {
                self.commits.last_time_us.store(unix_us, Relaxed);
                Ok(lsns.end.0)
            }
            Err(error) => {
                // It is appended later, at another time.
                if is_due {
                    group.pop();
                }
                Err(error)
            }
        }
    }

    /// Waits until every commit that has begun before can be seen: by the next snapshot.
    pub async fn settle_commits(&self) -> Result<(), EngineError> {
        let lsn = self.commits.last_lsn.load(Acquire);
        self.acknowledge(lsn).await
    }

    /// Waits until a commit at `lsn` may be seen.
    pub(crate) async fn acknowledge(&self, lsn: u64) -> Result<(), EngineError> {
        debug_assert!(lsn <= self.wal.end_lsn().0, "only what is in the log is waited for");
        self.wait_for_log(lsn).await?;
        if self.commits.last_lsn.load(Acquire) < lsn {
            // Whoever has just stamped it says so before he lets go of the mutex.
            drop(self.versions.history.lock());
        }
        if self.held_commits.visible_to() < lsn {
            self.held_commits.passed(lsn).await;
        }
        Ok(())
    }

    /// Waits until whoever has committed at `lsn` may be answered.
    pub(crate) async fn answer(&self, lsn: u64) -> Result<(), EngineError> {
        self.acknowledge(lsn).await?;
        self.held_commits.passed(lsn).await;
        Ok(())
    }

    async fn wait_for_log(&self, lsn: u64) -> Result<(), EngineError> {
        if self.wal.durable_lsn().0 >= lsn {
            return Ok(());
        }
        let waited = self.wal.wait_commit(Lsn(lsn)).await;
        if waited.is_ok() && self.wal.durable_lsn().0 < lsn {
            // It need not be durable, and stays visible when later ones have to be.
            self.commits.acknowledged_floor.fetch_max(lsn, Release);
        }
        waited.map_err(|error| self.log_failed(&error))
    }
}

/// What enters history and queue with a commit record.
struct CommitEnd<'a> {
    rows: &'a mut Vec<(RowName, bool)>,
    chains: &'a [u64],
    events: Option<&'a LoggedPieces<'a>>,
}

/// What a commit leaves to be done later.
#[derive(Default)]
struct Remains {
    /// Overflow chains to be freed when nobody sees their records any more.
    chains: Vec<u64>,
    dropped_trees: Vec<TreeId>,
    /// The rows whose chains can be pruned later, each with whether it became a ghost.
    rows: Vec<(RowName, bool)>,
}

impl Remains {
    fn of(undo: &UndoStack) -> Remains {
        let rows = Vec::with_capacity(undo.iter().count());
        let mut remains = Remains { rows, ..Remains::default() };
        for change in undo.iter() {
            match &change.item {
                UndoItem::Row { name, operation, old_chain } => {
                    remains.chains.extend(old_chain.map(|page| page.0));
                    remains.rows.push((name.clone(), *operation == Operation::Delete));
                }
                UndoItem::DropTree(tree) => remains.dropped_trees.push(*tree),
                UndoItem::Tree { .. } | UndoItem::Chain(_) => {}
            }
        }
        debug_assert!(
            remains.chains.len() <= remains.rows.len(),
            "a row's change replaces one chain at most"
        );
        remains
    }
}
