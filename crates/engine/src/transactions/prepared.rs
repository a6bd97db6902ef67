//! Prepared transactions: their changes are durable and undecided until somebody commits them or rolls them back, also
//! after a restart (decision 0011). Called by `session` for XA.
//!
//! Invariants: the log has a `PREPARED` record behind the undo records of each prepared transaction that has changed
//! anything, wherever checkpoints have moved those; an `UNPREPARED` record comes before the first compensation of its
//! rollback. State and record change together under the commit mutex.

use crate::engine::Engine;
use crate::log::events::LoggedPieces;
use crate::log::log_record::LogRecord;
use crate::transactions::transaction::{Transaction, Work};
use crate::transactions::transaction_state::TransactionState;
use crate::writes::undo_stack::UndoItem;
use crate::{EngineError, Isolation, TreeId};
use std::collections::BTreeSet;
use std::sync::Arc;
use wal::{AppendError, WalGroup};

/// A transaction that waits for its decision. Dropped without one it stays prepared, with everything that it keeps others
/// from, until the next start offers it again ([`Engine::take_recovered`]); dropped in the middle of a rollback,
/// the rollback goes on in the background.
pub struct PreparedTransaction {
    xid: Arc<[u8]>,
    pub(crate) work: Work,
}

impl Transaction {
    /// Prepares the transaction under an identifier, any bytes; returns once that is as durable as a commit would be. Its
    /// row locks stay if it has changed anything; below RepeatableRead its ranges are free again. After an error it is
    /// rolled back, as after a drop.
    pub async fn prepare(mut self, xid: &[u8]) -> Result<PreparedTransaction, EngineError> {
        self.drop_snapshot();
        self.work.withdraw();
        let engine = self.work.engine.clone();
        engine.check_running()?;
        let xid: Arc<[u8]> = xid.into();
        if !self.has_changes() {
            // There is nothing to decide, and nothing that a restart could find. InnoDB gives up the locks as well.
            self.work.commit_all().await?;
            return Ok(PreparedTransaction { xid, work: self.work.take() });
        }
        self.work.leave_memory().await?;
        let state = self.work.state();
        let events = self.work.log_events(&engine).await?;
        let lsn = engine.log_prepared(&state, &xid, events.as_ref()).await?;
        if self.isolation() < Isolation::RepeatableRead {
            for tree in state.take_interval_trees() {
                engine.locks.intervals.release(&state, tree);
            }
        }
        engine.answer(lsn).await?;
        Ok(PreparedTransaction { xid, work: self.work.take() })
    }
}

impl PreparedTransaction {
    /// What it was prepared under.
    pub fn xid(&self) -> &[u8] {
        &self.xid
    }

    /// Its number, if it has changed something.
    pub fn id(&self) -> Option<u64> {
        self.work.state.as_ref().map(|state| state.id.0)
    }

    /// The trees that it has changed.
    pub fn trees(&self) -> BTreeSet<TreeId> {
        self.work.trees()
    }

    /// Drops `kept` once the transaction has ended, as `Transaction::keep_until_ended`.
    pub fn keep_until_ended(&mut self, kept: impl Send + 'static) {
        self.work.keep(kept);
    }

    /// Commits; returns once that is durable as `flush_at_commit` asks. After an error it is still prepared, unless the
    /// engine has failed. Calling it again after a success does nothing.
    pub async fn commit(&mut self) -> Result<(), EngineError> {
        self.work.engine.check_running()?;
        self.work.commit_all().await?;
        self.work.kept = None;
        Ok(())
    }

    /// Undoes everything and releases all locks; what it has begun no crash takes back. After an error it can be called
    /// again; nothing else can be done then.
    pub async fn rollback(&mut self) -> Result<(), EngineError> {
        self.work.roll_back_all().await?;
        self.work.kept = None;
        Ok(())
    }
}

impl Drop for PreparedTransaction {
    fn drop(&mut self) {
        let Some(state) = &self.work.state else { return };
        if state.prepared().is_some() {
            // What protects its trees has to stay with it.
            std::mem::forget(std::mem::take(&mut self.work.kept));
        } else {
            self.work.take().abandon();
        }
    }
}

impl Work {
    /// A prepared transaction may stay for days: what it has in memory, and what checkpoints log again, is little.
    async fn leave_memory(&mut self) -> Result<(), EngineError> {
        let state = self.state();
        if state.spill().is_some() || self.engine.is_large_in_memory(&state) {
            Box::pin(self.spill()).await?;
        }
        let has_trees = state.with_undo(|undo| {
            undo.iter().any(|change| matches!(change.item, UndoItem::Tree { .. } | UndoItem::DropTree(_)))
        });
        if has_trees { Err(EngineError::NotPreparable) } else { Ok(()) }
    }

    /// The decision to roll a prepared transaction back; returns once that is as durable as a commit would be. Does
    /// nothing for others.
    pub async fn unprepare(&mut self) -> Result<(), EngineError> {
        let Some(state) = self.state.clone().filter(|state| state.prepared().is_some()) else {
            return Ok(());
        };
        let engine = self.engine.clone();
        let events = self.log_events(&engine).await?;
        let lsn = engine.log_unprepared(&state, events.as_ref()).await?;
        self.events = None;
        engine.answer(lsn).await
    }

    /// Logs the pieces of the events that do not fit beside the record which makes them count.
    async fn log_events<'e>(&mut self, engine: &'e Engine) -> Result<Option<LoggedPieces<'e>>, EngineError> {
        let Some(events) = self.finish_events().await? else { return Ok(None) };
        let id = self.state().id.0;
        Box::pin(engine.log_pieces(id, events)).await.map(Some)
    }
}

impl Engine {
    /// The prepared transactions that the start has found, for whoever will decide them; once.
    pub fn take_recovered(self: &Arc<Self>) -> Vec<PreparedTransaction> {
        let recovered = std::mem::take(&mut *self.life.recovered.lock());
        let offer = |state: Arc<TransactionState>| {
            let xid = state.prepared().expect("it was found prepared");
            PreparedTransaction { xid, work: Work::adopted(self.clone(), state.isolation, state) }
        };
        recovered.into_iter().map(offer).collect()
    }

    async fn log_prepared(
        &self,
        state: &TransactionState,
        xid: &Arc<[u8]>,
        events: Option<&LoggedPieces<'_>>,
    ) -> Result<u64, EngineError> {
        debug_assert!(state.prepared().is_none(), "a transaction is prepared once");
        let set = || state.set_prepared(Some(xid.clone()));
        self.log_of_prepared(state, (LogRecord::Prepared { xid }, events), || true, set).await
    }

    /// Logs once more that a transaction is prepared, if it still is.
    pub(crate) async fn log_still_prepared(&self, state: &TransactionState) -> Result<(), EngineError> {
        let Some(xid) = state.prepared() else { return Ok(()) };
        let is_so = || state.is_active() && state.prepared().is_some();
        self.log_of_prepared(state, (LogRecord::Prepared { xid: &xid }, None), is_so, || ()).await.map(drop)
    }

    async fn log_unprepared(
        &self,
        state: &TransactionState,
        events: Option<&LoggedPieces<'_>>,
    ) -> Result<u64, EngineError> {
        debug_assert!(state.prepared().is_some(), "there is a decision to make");
        let unset = || state.set_prepared(None);
        self.log_of_prepared(state, (LogRecord::Unprepared, events), || true, unset).await
    }

    /// Appends a record with its events if that is wanted once there is room, and does what follows from it under the same
    /// mutex. Answers where the log ends then.
    async fn log_of_prepared(
        &self,
        state: &TransactionState,
        (record, events): (LogRecord<'_>, Option<&LoggedPieces<'_>>),
        is_wanted: impl Fn() -> bool,
        follow: impl Fn(),
    ) -> Result<u64, EngineError> {
        let mut group = WalGroup::new();
        if let Some(events) = events {
            events.push_to(&mut group, state.id.0);
        }
        group.push_with(record.kind(), state.id.0, |bytes| record.encode(bytes));
        loop {
            let appended = {
                let _commits_wait = self.versions.history.lock();
                if !is_wanted() {
                    return Ok(0);
                }
                debug_assert!(state.is_active(), "what has ended is decided");
                self.wal.append_reserve(&group).inspect(|range| {
                    follow();
                    events.iter().for_each(|events| events.queue(range.end.0));
                })
            };
            match appended {
                Ok(range) => return Ok(range.end.0),
                Err(AppendError::Full) => self.wait_for_log_space(group.encoded_len()).await?,
                Err(error) => return Err(self.log_error(error)),
            }
        }
    }
}
