//! A transaction: its state, its undo stack and its snapshot. The operations are in `read`, `write`, `scan`,
//! `commit` and `rollback`.
//!
//! Invariant: every change of a page by this transaction has an entry on the undo stack, added without an
//! await after the change; a version that was announced in the row table for a change that never happened
//! is in `work.announced`. So a future that is dropped at any await leaves something that can be undone.

use crate::engine::Engine;
use crate::locks::lock_wait::Waited;
use crate::log::events::EventSource;
use crate::row_table::{Attempt, LockAfterUndo, RowName};
use crate::spill::RowPlace;
use crate::transactions::transaction_state::TransactionState;
use crate::versions::snapshot::Snapshot;
use crate::writes::undo_stack::UndoItem;
use crate::{AccessMode, EngineError, Isolation, LockMode, Savepoint, TreeId, WaitPolicy};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One transaction, used by one task at a time. Dropping it without `commit` rolls it back (in the
/// background); call [`Transaction::rollback`] to wait for that.
pub struct Transaction {
    pub(crate) work: Work,
    pub(crate) access: AccessMode,
    snapshot: Option<Snapshot>,
    /// See `set_snapshot_isolation`.
    snapshot_isolation: bool,
    /// How an insert locks the record that it duplicates.
    pub(crate) duplicate_lock: LockMode,
    /// `passes_snapshot` was true once.
    passed_snapshot: bool,
}

/// The locks held at some moment: see `Transaction::lock_mark`.
#[derive(Debug, Clone, Copy, Default)]
pub struct LockMark(usize);

/// What rollback needs, apart from the rest so that it can go on in the background.
pub(crate) struct Work {
    pub engine: Arc<Engine>,
    pub isolation: Isolation,
    /// Made by the first lock or change.
    pub state: Option<Arc<TransactionState>>,
    /// A version in the row table whose page change has not happened (yet).
    pub announced: Option<RowName>,
    /// Records that were changed by a later commit than this must not be locked: the snapshot, with snapshot isolation.
    pub newest_allowed: u64,
    /// The newest commit that a locking read depended on: results are given out when it is durable.
    pub seen_lsn: u64,
    /// Dropped with this, hence when the transaction has ended: see `keep_until_ended`.
    pub kept: Option<Box<dyn Send>>,
    /// The caller's own number for whoever runs this, for observers.
    pub label: u64,
    /// Chosen to break a deadlock, and not yet rolled back to the end: the rollback may have been cut off.
    pub is_victim: bool,
    /// The row table's number of moves before the present operation: see `RowTable::moves`.
    pub moves_seen: u64,
    /// What the next write to that tree makes of its mark: see `raise_mark`.
    pub mark: Option<(TreeId, u128)>,
    /// Overflow chains of records that were taken out of its own new trees: the commit frees them.
    pub unloaded_chains: Vec<u64>,
    /// With less in memory it does not look whether it must spill.
    pub spill_looks_at: u64,
    /// What its commit says of its changes.
    pub events: Option<Box<dyn EventSource>>,
}

impl Transaction {
    pub(crate) fn new(engine: Arc<Engine>, isolation: Isolation, access: AccessMode) -> Transaction {
        let work = Work::new(engine, isolation);
        Transaction {
            work,
            access,
            snapshot: None,
            snapshot_isolation: false,
            duplicate_lock: LockMode::Exclusive,
            passed_snapshot: false,
        }
    }

    /// The engine that it is a transaction of.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.work.engine
    }

    /// Its isolation level.
    pub fn isolation(&self) -> Isolation {
        self.work.isolation
    }

    /// A new transaction of the same characteristics.
    pub fn begin_anew(&self, label: u64) -> Transaction {
        let mut transaction = Transaction::new(self.work.engine.clone(), self.isolation(), self.access);
        transaction.set_label(label);
        transaction
    }

    /// Its number, once it has locked or changed something.
    pub fn id(&self) -> Option<u64> {
        self.work.state.as_ref().map(|state| state.id.0)
    }

    /// Tells observers who runs this transaction ([`crate::TransactionInfo::label`]); called before its first lock.
    pub fn set_label(&mut self, label: u64) {
        self.work.label = label;
    }

    /// True when a record that this transaction has locked was changed by another one after the snapshot was taken: a
    /// change of it makes visible what the snapshot did not show.
    pub fn passes_snapshot(&mut self, tree: TreeId, key: &[u8]) -> bool {
        let Some(snapshot) = self.snapshot else { return false };
        let engine = &self.work.engine;
        // Of what is in spills and runs only the bounds are known here: one that passes too often costs work, not more.
        let row = RowPlace { tree, key, page_lsn: u64::MAX };
        let passes = engine.newest_commit_bound(row) > snapshot.lsn;
        self.passed_snapshot |= passes;
        passes
    }

    /// From then on an entry of a secondary index and its row may be of different times for plain reads.
    pub fn has_passed_snapshot(&self) -> bool {
        self.passed_snapshot
    }

    /// True once the transaction has changed anything.
    pub fn has_changes(&self) -> bool {
        self.work.has_undo()
    }

    /// Marks the start of a statement: at ReadCommitted the next snapshot read sees all that is committed now.
    pub fn begin_statement(&mut self) {
        if self.isolation() < Isolation::RepeatableRead {
            self.drop_snapshot();
        }
    }

    /// From RepeatableRead on: whether a record that was changed after the snapshot was taken cannot be locked or changed
    /// any more ([`EngineError::RecordChanged`]), so that the first committer wins.
    pub fn set_snapshot_isolation(&mut self, wanted: bool) {
        self.snapshot_isolation = wanted && self.isolation() >= Isolation::RepeatableRead;
        self.limit_locks();
    }

    fn limit_locks(&mut self) {
        let snapshot = self.snapshot.filter(|_| self.snapshot_isolation);
        let before = self.work.newest_allowed;
        self.work.newest_allowed = snapshot.map_or(u64::MAX, |snapshot| snapshot.lsn);
        self.work.engine.versions.snapshots.count_strict(before != u64::MAX, snapshot.is_some());
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

    /// Drops `kept` once this transaction has ended: also where it is dropped and rolled back in the
    /// background, when that is done. For what protects the trees that the rollback will change.
    pub fn keep_until_ended(&mut self, kept: impl Send + 'static) {
        self.work.keep(kept);
    }

    /// A point to which `rollback_to` can go back.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint(self.work.sequence())
    }

    /// To be taken before a locking read whose records may be rejected.
    pub fn lock_mark(&self) -> LockMark {
        LockMark(self.work.held_count())
    }

    /// At ReadCommitted: gives up the lock on a record that a locking read returned but the statement's condition
    /// rejected, if that read took it. One that was held before stays: the same statement may have met the record
    /// before, by another alias or for another row of a join, and kept it. Does nothing at stricter levels.
    pub fn unlock_unmatched(&mut self, tree: TreeId, key: &[u8], since: LockMark) {
        if self.isolation() >= Isolation::RepeatableRead {
            return;
        }
        self.work.unlock_row(tree, key, since.0);
    }

    /// To be called before a plain read. What the transaction has locked or changed may follow a commit that is not durable
    /// yet, hence not visible: a snapshot that shows the own change and not what it was based on would be of two times.
    pub(crate) async fn prepare_snapshot(&mut self) -> Result<(), EngineError> {
        let (engine, seen_lsn) = (&self.work.engine, self.work.seen_lsn);
        if self.snapshot.is_some() || seen_lsn <= engine.visible_lsn() {
            return Ok(());
        }
        let engine = engine.clone();
        engine.acknowledge(seen_lsn).await?;
        debug_assert!(engine.visible_lsn() >= seen_lsn, "what was acknowledged can be seen");
        Ok(())
    }

    /// The snapshot of the transaction or statement, taken at its first use.
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        if let Some(snapshot) = self.snapshot {
            return snapshot;
        }
        let snapshot = self.work.engine.register_snapshot();
        debug_assert!(snapshot.lsn >= self.work.seen_lsn, "it shows what the own changes are based on");
        self.snapshot = Some(snapshot);
        self.limit_locks();
        snapshot
    }

    pub(crate) fn drop_snapshot(&mut self) {
        if let Some(snapshot) = self.snapshot.take() {
            self.limit_locks();
            self.work.engine.versions.snapshots.unregister(snapshot);
            self.work.engine.after_snapshot(snapshot);
        }
    }

    pub(crate) fn check_writable(&self) -> Result<(), EngineError> {
        match self.access {
            AccessMode::ReadOnly => Err(EngineError::ReadOnly),
            AccessMode::ReadWrite if self.work.is_victim => Err(EngineError::Deadlock),
            AccessMode::ReadWrite => self.work.engine.check_running(),
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.drop_snapshot();
        if !self.work.is_over() {
            self.work.take().abandon();
        }
    }
}

impl Work {
    fn new(engine: Arc<Engine>, isolation: Isolation) -> Work {
        Work {
            engine,
            isolation,
            state: None,
            announced: None,
            newest_allowed: u64::MAX,
            seen_lsn: 0,
            kept: None,
            label: 0,
            is_victim: false,
            moves_seen: 0,
            mark: None,
            unloaded_chains: Vec::new(),
            spill_looks_at: 0,
            events: None,
        }
    }

    /// Everything that the transaction's end needs; leaves the work of a transaction that has done nothing.
    pub fn take(&mut self) -> Work {
        Work {
            state: self.state.take(),
            announced: self.announced.take(),
            kept: self.kept.take(),
            label: self.label,
            ..Work::new(self.engine.clone(), self.isolation)
        }
    }

    /// Takes over a transaction of an earlier life, to end it.
    pub fn adopted(engine: Arc<Engine>, isolation: Isolation, state: Arc<TransactionState>) -> Work {
        debug_assert!(state.is_active(), "what has ended needs no end");
        Work { state: Some(state), ..Work::new(engine, isolation) }
    }

    /// See `Transaction::keep_until_ended`.
    pub fn keep(&mut self, kept: impl Send + 'static) {
        self.kept = Some(match self.kept.take() {
            None => Box::new(kept),
            Some(before) => Box::new((before, kept)),
        });
    }

    /// Nothing to undo and nothing to release: it has ended, or nothing was locked or changed.
    pub fn is_over(&self) -> bool {
        self.state.is_none() && self.announced.is_none()
    }

    /// The shared state, registered at first use.
    pub fn state(&mut self) -> Arc<TransactionState> {
        let Work { engine, isolation, state, label, .. } = self;
        let state = state.get_or_insert_with(|| engine.start_writer(*isolation, *label));
        debug_assert!(state.is_active(), "who has ended does nothing more");
        state.clone()
    }

    /// The number of the next change.
    pub fn sequence(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.next_sequence())
    }

    /// True when a rollback has something to do.
    pub fn has_undo(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.has_undo())
    }

    /// The trees in which there may be something to undo.
    pub fn trees(&self) -> BTreeSet<TreeId> {
        let Some(state) = &self.state else { return BTreeSet::new() };
        let mut trees: BTreeSet<TreeId> =
            state.with_undo(|undo| undo.iter().filter_map(|change| change.item.tree()).collect());
        trees.extend(state.spill().iter().flat_map(|spill| spill.trees_expected()));
        trees
    }

    /// Records a change that has just happened.
    pub fn push_undo(&mut self, item: UndoItem, bytes: usize) {
        self.state.as_ref().expect("a change needs a state").push_undo(item, bytes);
    }

    /// Withdraws the announcement of a change that did not happen.
    pub fn withdraw(&mut self) {
        if let Some(name) = self.announced.take() {
            let state = self.state.as_ref().expect("an announcement needs a state");
            debug_assert!(state.is_active(), "who has ended has done what he announced");
            self.engine.rows.pop_version(state, &name, self.sequence(), LockAfterUndo::UntilEnd);
        }
    }

    /// Takes a row's lock, waiting as the policy says; `SkipLocked` fails like `NoWait`.
    pub async fn lock_row(
        &mut self,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
        wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        let state = self.state();
        self.moves_seen = self.engine.rows.moves();
        let attempt =
            |work: &Work| env::coroutine::uncounted(|| work.engine.rows.try_lock(&state, tree, key, mode));
        while attempt(self) == Attempt::Conflict {
            if self.wait_for_row(tree, key, mode, wait).await? == Waited::Skip {
                return Err(EngineError::LockNotAvailable);
            }
            self.moves_seen = self.engine.rows.moves();
        }
        Ok(())
    }

    pub fn held_count(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.held_count())
    }

    /// Gives up an explicit lock before the transaction ends.
    pub fn unlock_row(&mut self, tree: TreeId, key: &[u8], since: usize) {
        if let Some(state) = &self.state
            && state.forget_lock_since(since, tree, key)
        {
            self.engine.rows.release(state, &RowName { tree, key: key.into() });
        }
    }

    /// Gives up all locks and intervals, handing them to those who wait.
    pub fn release_locks(&mut self) {
        let Some(state) = &self.state else { return };
        debug_assert!(
            !state.is_active() || !state.has_undo(),
            "who has changes ends before others get the rows"
        );
        let released = state.end();
        for name in &released.names {
            self.engine.rows.release(state, name);
        }
        for tree in released.interval_trees {
            self.engine.locks.intervals.release(state, tree);
        }
        for tree in released.run_trees {
            self.engine.locks.row_runs.release(state, tree);
        }
    }
}
