//! Reading one record: through a snapshot, or locked and current.
//!
//! Invariant: the version chain and the locks are looked up under the leaf latch, so a rollback cannot slip
//! in between the page and the chain.

use crate::engine::Engine;
use crate::locks::lock_wait::Waited;
use crate::row_table::{Attempt, Before, Visible};
use crate::spill::{PassedSpills, RowPlace};
use crate::storage::record::{Record, stub_of};
use crate::transactions::transaction::Transaction;
use crate::transactions::transaction_state::TransactionState;
use crate::versions::snapshot::Snapshot;
use crate::{EngineError, Isolation, LockMode, ReadMode, TreeId, WaitPolicy};
use btree::overflow::Stub;
use buffer::Stop;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use wal::Lsn;

impl Transaction {
    /// The record's value, or `None`.
    pub async fn get(
        &mut self,
        tree: TreeId,
        key: &[u8],
        mode: ReadMode,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        self.work.engine.stats.rows_read.fetch_add(1, Relaxed);
        let found = match mode {
            ReadMode::Snapshot => pin!(self.get_visible(tree, key)).await?,
            ReadMode::Locking(mode, wait) => pin!(self.get_locked(tree, key, mode, wait)).await?,
        };
        let read = match found {
            Found::Absent => Ok(None),
            Found::Value(value) => Ok(Some(value)),
            Found::Chain(stub) => {
                let value = self.work.engine.read_chain(stub).await;
                value.map(Some).map_err(|error| error.of(tree))
            }
            Found::Damaged => Err(damaged(tree)),
        };
        if mode == ReadMode::Snapshot {
            self.check_snapshot()?;
        }
        read
    }

    /// Refuses what was read through a snapshot that is given up.
    pub(crate) fn check_snapshot(&mut self) -> Result<(), EngineError> {
        let snapshot = self.snapshot();
        match self.work.engine.versions.snapshots.is_expired(snapshot.lsn) {
            true => Err(EngineError::SnapshotTooOld),
            false => Ok(()),
        }
    }

    async fn get_visible(&mut self, tree: TreeId, key: &[u8]) -> Result<Found, EngineError> {
        self.prepare_snapshot().await?;
        let view = self.view();
        let engine = &self.work.engine;
        let Some(handle) = engine.tree_in_view(tree, &view)? else { return Ok(Found::Absent) };
        engine
            .lookup(&handle, key, |record, page_lsn| {
                view.visible(engine, tree, key, record, page_lsn, Found::from_record)
            })
            .await
    }

    async fn get_locked(
        &mut self,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
        wait: WaitPolicy,
    ) -> Result<Found, EngineError> {
        self.work.engine.check_running()?;
        self.work.spill_if_large().await?;
        let state = self.work.state();
        let handle = self.work.engine.tree(tree)?;
        let newest_allowed = self.work.newest_allowed;
        let mark = self.work.held_count();
        let mut has_waited = false;
        loop {
            self.work.moves_seen = self.work.engine.rows.moves();
            let engine = &self.work.engine;
            let (attempt, found) = engine
                .lookup(&handle, key, |record, page_lsn| {
                    let row = RowPlace { tree, key, page_lsn: page_lsn.0 };
                    let attempt = engine.try_lock_row(&state, row, mode, newest_allowed)?;
                    Ok((attempt, Found::from_record(record)))
                })
                .await?;
            match attempt {
                Attempt::Granted { newest_lsn } if newest_lsn > newest_allowed => {
                    return Err(EngineError::RecordChanged);
                }
                Attempt::Granted { newest_lsn } => {
                    self.work.seen_lsn = self.work.seen_lsn.max(newest_lsn);
                    let is_absent = matches!(found, Found::Absent);
                    if is_absent && !has_waited && self.isolation() < Isolation::RepeatableRead {
                        // Only the stricter levels promise that the key stays absent. The lock of a row that went
                        // away meanwhile stays, as in InnoDB.
                        self.work.unlock_row(tree, key, mark);
                    }
                    return Ok(found);
                }
                Attempt::Conflict => {
                    if self.work.wait_for_row(tree, key, mode, wait).await? == Waited::Skip {
                        return Ok(Found::Absent);
                    }
                    has_waited = true;
                }
            }
        }
    }

    /// How this transaction's plain reads see records now.
    pub(crate) fn view(&mut self) -> View {
        let snapshot = self.snapshot();
        let dirty = self.isolation() == Isolation::ReadUncommitted;
        View { snapshot, me: self.work.state.clone(), dirty, passed_spills: PassedSpills::default() }
    }
}

/// What a plain read sees.
pub(crate) struct View {
    snapshot: Snapshot,
    me: Option<Arc<TransactionState>>,
    /// ReadUncommitted: the newest version, whoever wrote it.
    dirty: bool,
    passed_spills: PassedSpills,
}

impl View {
    /// Whether the read sees what a transaction has committed, or is doing.
    pub fn sees(&self, other: &Arc<TransactionState>) -> bool {
        let is_own = self.me.as_ref().is_some_and(|me| Arc::ptr_eq(me, other));
        is_own || self.dirty || other.is_visible_at(self.snapshot.lsn)
    }

    /// Gives the visible record to `read`. Call it under the leaf latch.
    pub fn visible<R>(
        &self,
        engine: &Engine,
        tree: TreeId,
        key: &[u8],
        record: Option<&[u8]>,
        page_lsn: Lsn,
        read: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Stop> {
        // A dirty read must not follow a chain that its writer may be freeing.
        let dirty = self.dirty && record.is_none_or(|record| stub_of(record).is_none());
        if page_lsn.0 < self.snapshot.low_lsn || dirty {
            return Ok(read(record));
        }
        let row = RowPlace { tree, key, page_lsn: page_lsn.0 };
        let (me, passed) = (self.me.as_ref(), &self.passed_spills);
        engine.visible(row, self.snapshot.lsn, me, passed, |visible| match visible {
            Visible::Page => read(record),
            Visible::Before(Before::Absent) => read(None),
            Visible::Before(Before::Record(before)) => read(Some(before)),
        })
    }
}

/// A record as it was read.
pub(crate) enum Found {
    Absent,
    Value(Vec<u8>),
    Chain(Stub),
    /// Bytes that no engine wrote.
    Damaged,
}

impl Found {
    pub fn from_record(record: Option<&[u8]>) -> Found {
        match record.map(Record::decode) {
            None | Some(Some(Record::Ghost)) => Found::Absent,
            Some(Some(Record::Value(value))) => Found::Value(value.to_vec()),
            Some(Some(Record::Chain(stub))) => Found::Chain(stub),
            Some(None) => Found::Damaged,
        }
    }
}

pub(crate) fn damaged(tree: TreeId) -> EngineError {
    EngineError::Corrupt { what: format!("a record of tree {} has an unknown header", tree.0) }
}
