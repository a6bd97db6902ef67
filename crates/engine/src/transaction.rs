//! A transaction: its state, its undo stack and its snapshot. The operations are in `read`, `write`, `scan`,
//! `commit` and `rollback`.
//!
//! Invariant: every change of a page by this transaction has an entry on the undo stack, added without an
//! await after the change; a version that was announced in the row table for a change that never happened
//! is in `work.announced`. So a future that is dropped at any await leaves something that can be undone.

use crate::engine::Engine;
use crate::log_record::Operation;
use crate::row_table::RowName;
use crate::snapshot::Snapshot;
use crate::transaction_state::TransactionState;
use crate::{AccessMode, EngineError, Isolation, LockMode, Savepoint, TreeId};
use pagestore::PageId;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One transaction, used by one task at a time. Dropping it without `commit` rolls it back (in the
/// background); call [`Transaction::rollback`] to wait for that.
pub struct Transaction {
    pub(crate) work: Work,
    pub(crate) access: AccessMode,
    snapshot: Option<Snapshot>,
    /// Held locks before the current statement: see `unlock_unmatched`.
    statement_mark: usize,
    /// How an insert locks the record that it duplicates.
    pub(crate) duplicate_lock: LockMode,
}

/// What rollback needs, apart from the rest so that it can go on in the background.
pub(crate) struct Work {
    pub engine: Arc<Engine>,
    pub isolation: Isolation,
    /// Made by the first lock or change.
    pub state: Option<Arc<TransactionState>>,
    pub undo: Vec<UndoItem>,
    /// A version in the row table whose page change has not happened (yet).
    pub announced: Option<RowName>,
    /// Trees to drop at commit, with the length of the undo stack at that time.
    pub dropped: Vec<(TreeId, usize)>,
    /// The newest commit that a locking read depended on: results are given out when it is durable.
    pub seen_lsn: u64,
}

/// One change on the undo stack; its position is the sequence number of its version.
pub(crate) enum UndoItem {
    Row {
        name: RowName,
        operation: Operation,
        /// The overflow chain of the record before, to be freed when nobody sees it any more.
        old_chain: Option<PageId>,
    },
    /// A new tree.
    Tree(TreeId),
    /// A new overflow chain.
    Chain(PageId),
}

impl Transaction {
    pub(crate) fn new(engine: Arc<Engine>, isolation: Isolation, access: AccessMode) -> Transaction {
        let work = Work {
            engine,
            isolation,
            state: None,
            undo: Vec::new(),
            announced: None,
            dropped: Vec::new(),
            seen_lsn: 0,
        };
        Transaction { work, access, snapshot: None, statement_mark: 0, duplicate_lock: LockMode::Exclusive }
    }

    pub fn isolation(&self) -> Isolation {
        self.work.isolation
    }

    /// Its number, once it has locked or changed something.
    pub fn id(&self) -> Option<u64> {
        self.work.state.as_ref().map(|state| state.id.0)
    }

    /// True once the transaction has changed anything.
    pub fn has_changes(&self) -> bool {
        !self.work.undo.is_empty() || !self.work.dropped.is_empty()
    }

    /// Marks the start of a statement: at ReadCommitted the next snapshot read sees all that is committed now.
    pub fn begin_statement(&mut self) {
        if self.isolation() < Isolation::RepeatableRead {
            self.drop_snapshot();
        }
        self.statement_mark = self.work.state.as_ref().map_or(0, |state| state.held_count());
    }

    /// Takes the snapshot now (START TRANSACTION WITH CONSISTENT SNAPSHOT).
    pub fn take_snapshot(&mut self) {
        self.snapshot();
    }

    /// How later inserts lock a record that they duplicate. Exclusive, the default, suits ON DUPLICATE KEY
    /// UPDATE and REPLACE, which change that record next; shared is enough for a plain INSERT.
    pub fn set_duplicate_lock(&mut self, mode: LockMode) {
        self.duplicate_lock = mode;
    }

    pub fn savepoint(&self) -> Savepoint {
        Savepoint(self.work.undo.len() as u64)
    }

    /// At ReadCommitted: gives up the lock on a record that a locking read returned but the statement's
    /// condition rejected. Does nothing at stricter levels.
    pub fn unlock_unmatched(&mut self, tree: TreeId, key: &[u8]) {
        if self.isolation() >= Isolation::RepeatableRead {
            return;
        }
        if let Some(state) = &self.work.state
            && state.forget_lock_since(self.statement_mark, tree, key)
        {
            let name = RowName { tree, key: key.into() };
            self.work.engine.rows.release(state, &name);
        }
    }

    /// The snapshot of the transaction or statement, taken at its first use.
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        let engine = &self.work.engine;
        *self.snapshot.get_or_insert_with(|| engine.register_snapshot())
    }

    pub(crate) fn drop_snapshot(&mut self) {
        if let Some(snapshot) = self.snapshot.take() {
            self.work.engine.snapshots.unregister(snapshot);
        }
    }

    pub(crate) fn check_writable(&self) -> Result<(), EngineError> {
        match self.access {
            AccessMode::ReadOnly => Err(EngineError::ReadOnly),
            AccessMode::ReadWrite => self.work.engine.check_running(),
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.drop_snapshot();
        let engine = self.work.engine.clone();
        let rest = Work {
            engine,
            isolation: self.work.isolation,
            state: self.work.state.take(),
            undo: std::mem::take(&mut self.work.undo),
            announced: self.work.announced.take(),
            dropped: Vec::new(),
            seen_lsn: 0,
        };
        rest.abandon();
    }
}

impl Work {
    /// The shared state, registered at first use.
    pub fn state(&mut self) -> Arc<TransactionState> {
        let Work { engine, isolation, state, .. } = self;
        state.get_or_insert_with(|| engine.start_writer(*isolation)).clone()
    }

    /// The number of the next change.
    pub fn sequence(&self) -> u64 {
        self.undo.len() as u64
    }

    /// Records a change that has just happened.
    pub fn push_undo(&mut self, item: UndoItem, bytes: usize) {
        self.undo.push(item);
        let state = self.state.as_ref().expect("a change needs a state");
        state.undo_records.store(self.undo.len() as u64, Ordering::Relaxed);
        state.undo_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Withdraws the announcement of a change that did not happen.
    pub fn withdraw(&mut self) {
        if let Some(name) = self.announced.take() {
            let state = self.state.as_ref().expect("an announcement needs a state");
            self.engine.rows.pop_version(state, &name, self.sequence(), false);
        }
    }

    /// Gives up all locks and intervals, handing them to those who wait.
    pub fn release_locks(&mut self) {
        let Some(state) = &self.state else { return };
        let released = state.end();
        for name in &released.names {
            self.engine.rows.release(state, name);
        }
        for tree in released.interval_trees {
            self.engine.intervals.release(state, tree);
        }
    }
}
