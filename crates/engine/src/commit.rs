//! Commit: the commit record, the stamp that makes the changes visible, the early release of locks, and the
//! wait for durability.
//!
//! Invariant: append, stamp and entry into the history happen under one mutex, so the order in the log, the
//! order of visibility and the order of the history are the same. A commit is acknowledged only after its
//! record is as durable as `flush_at_commit` asks.

use crate::EngineError;
use crate::engine::Engine;
use crate::history::Committed;
use crate::log_record::{LogRecord, Operation};
use crate::row_table::RowName;
use crate::transaction::{Transaction, UndoItem, Work};
use std::sync::atomic::Ordering::Relaxed;
use wal::{AppendError, Lsn, Priority, WalGroup};

impl Transaction {
    /// Commits; returns once the commit is durable as `flush_at_commit` asks.
    pub async fn commit(mut self) -> Result<(), EngineError> {
        self.drop_snapshot();
        self.work.withdraw();
        let engine = self.work.engine.clone();
        let changed = self.has_changes();
        let lsn = if changed { self.work.append_commit().await? } else { self.work.seen_lsn };
        let changes = self.work.finish_commit();
        if lsn > 0 {
            engine.acknowledge(lsn).await?;
        }
        if changed {
            engine.stats.commits.fetch_add(1, Relaxed);
            engine.after_commit(changes);
        }
        Ok(())
    }

    /// Makes sure that what the transaction's locking reads returned cannot be lost: call it before the
    /// rows of a locking read leave the server, unless `commit` follows anyway.
    pub async fn settle_reads(&self) -> Result<(), EngineError> {
        match self.work.seen_lsn {
            0 => Ok(()),
            lsn => self.work.engine.acknowledge(lsn).await,
        }
    }
}

impl Work {
    async fn append_commit(&mut self) -> Result<u64, EngineError> {
        let state = self.state();
        let chains: Vec<u64> = self.undo.iter().filter_map(old_chain).collect();
        let record = LogRecord::Commit {
            dropped_trees: self.dropped.iter().map(|(tree, _)| *tree).collect(),
            freed_chains: chains.clone(),
        };
        let mut group = WalGroup::new();
        group.push_with(record.kind(), state.id.0, |bytes| record.encode(bytes));
        let mut rows = committed_rows(&self.undo);
        loop {
            match self.engine.commit_at_log_end(&state, &group, &mut rows, &chains) {
                Ok(lsn) => {
                    self.engine.drop_trees(&state, std::mem::take(&mut self.dropped));
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
    fn finish_commit(&mut self) -> usize {
        self.release_locks();
        if let Some(state) = self.state.take() {
            self.engine.writers.no_longer_active(&state);
            if state.is_active() {
                // It only locked, so there is nothing to see.
                state.stamp_aborted();
                self.engine.writers.seen(&state);
            }
        }
        std::mem::take(&mut self.undo).len()
    }
}

impl Engine {
    fn commit_at_log_end(
        &self,
        state: &std::sync::Arc<crate::transaction_state::TransactionState>,
        group: &WalGroup,
        rows: &mut Vec<(RowName, bool)>,
        chains: &[u64],
    ) -> Result<u64, AppendError> {
        let mut history = self.history.lock();
        let lsn = self.wal.append_reserve(group)?.end.0;
        state.stamp_committed(lsn);
        history.push(Committed { lsn, state: state.clone(), rows: std::mem::take(rows) }, chains);
        self.last_commit_lsn.store(lsn, std::sync::atomic::Ordering::Release);
        Ok(lsn)
    }

    /// Waits until a commit at `lsn` may be acknowledged.
    pub(crate) async fn acknowledge(&self, lsn: u64) -> Result<(), EngineError> {
        self.wal.wait_commit(Lsn(lsn)).await.map_err(|error| self.log_failed(&error))
    }
}

fn old_chain(item: &UndoItem) -> Option<u64> {
    match item {
        UndoItem::Row { old_chain, .. } => old_chain.map(|page| page.0),
        UndoItem::Tree(_) | UndoItem::Chain(_) => None,
    }
}

/// The rows whose chains can be pruned later, each with whether it became a ghost.
fn committed_rows(undo: &[UndoItem]) -> Vec<(RowName, bool)> {
    undo.iter()
        .filter_map(|item| match item {
            UndoItem::Row { name, operation, .. } => Some((name.clone(), *operation == Operation::Delete)),
            UndoItem::Tree(_) | UndoItem::Chain(_) => None,
        })
        .collect()
}
