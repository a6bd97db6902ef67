//! The engine: the one object that owns log, pages, trees, locks and versions of a database.
//!
//! Invariant: everything that changes a page goes through `modify` or a mini-transaction of its own in
//! `trees` and `overflow`; so every change is in the log before its page can be written.

use crate::budget::Budgets;
use crate::checkpoints::checkpoint::Checkpointer;
use crate::checkpoints::page_logs::Renewal;
use crate::checks::damage::Damage;
use crate::full_disk::FullDisk;
use crate::life::Life;
use crate::locks::Locks;
use crate::log::events::EventQueue;
use crate::reads::read::View;
use crate::row_table::RowTable;
use crate::runs::Runs;
use crate::spill::Spills;
use crate::stats::Counters;
use crate::storage::files::FileCounters;
use crate::storage::live_trees::{InView, Trees};
use crate::storage::record;
use crate::transactions::commit::CommitClock;
use crate::transactions::held_commits::HeldCommits;
use crate::transactions::transaction::Transaction;
use crate::transactions::transaction_state::TransactionState;
use crate::transactions::writers::Writers;
use crate::versions::Versions;
use crate::versions::snapshot::Snapshot;
use crate::{AccessMode, EngineError, FlushAtCommit, Isolation, TreeId};
use btree::{Edit, Mtr, Space, Tree};
use buffer::{BufferError, BufferPool, Stop};
use env::Env;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::{AppendError, FlushMode, Lsn, Priority, Wal, WalError};

/// An open database. Cheap to share: begin transactions from any task.
pub struct Engine {
    pub(crate) env: Env,
    pub(crate) wal: Arc<Wal>,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) space: Arc<Space>,
    pub(crate) trees: Trees,
    pub(crate) rows: RowTable,
    pub(crate) locks: Locks,
    pub(crate) versions: Versions,
    pub(crate) writers: Writers,
    pub(crate) commits: CommitClock,
    pub(crate) spills: Spills,
    pub(crate) runs: Runs,
    pub(crate) checkpointer: Checkpointer,
    pub(crate) renewal: Renewal,
    pub(crate) budgets: Budgets,
    pub(crate) stats: Counters,
    /// What the files of pages, and those of the log, have been asked.
    pub(crate) io: FileCounters,
    pub(crate) life: Life,
    pub(crate) damage: Damage,
    pub(crate) full_disk: FullDisk,
    pub(crate) events: EventQueue,
    pub(crate) held_commits: HeldCommits,
}

impl Engine {
    /// Starts a transaction; nothing is written or locked until it does something.
    pub fn begin(self: &Arc<Self>, isolation: Isolation, access: AccessMode) -> Transaction {
        Transaction::new(self.clone(), isolation, access)
    }

    /// Changes `innodb_flush_log_at_trx_commit` for all later commits.
    pub fn set_flush_at_commit(&self, mode: FlushAtCommit) {
        // What was visible stays visible.
        self.commits.acknowledged_floor.fetch_max(self.visible_lsn(), Ordering::AcqRel);
        self.wal.set_flush_mode(flush_mode(mode));
    }

    /// Changes `innodb_flush_log_at_timeout`: how long a commit that did not wait for the disk may stay unsynced.
    pub fn set_lazy_sync_us(&self, interval_us: u64) {
        self.wal.set_lazy_sync_us(interval_us);
    }

    /// Makes everything durable that was logged before, whatever `innodb_flush_log_at_trx_commit` is.
    pub async fn flush_log(&self) -> Result<(), EngineError> {
        let end = self.wal.end_lsn();
        self.wal.wait_durable(end).await.map_err(|error| self.log_failed(&error))?;
        debug_assert!(self.wal.durable_lsn() >= end, "what was waited for is durable");
        Ok(())
    }

    pub(crate) fn start_writer(&self, isolation: Isolation, label: u64) -> Arc<TransactionState> {
        self.writers.start(isolation, label, self.env.clock.now_us(), || self.wal.end_lsn().0)
    }

    /// What a snapshot taken now sees: every commit that is stamped and acknowledged, and not held.
    pub(crate) fn visible_lsn(&self) -> u64 {
        let acknowledged = match self.wal.flush_mode() {
            FlushMode::Durable => {
                self.wal.durable_lsn().0.max(self.commits.acknowledged_floor.load(Ordering::Acquire))
            }
            FlushMode::Written | FlushMode::Lazy => u64::MAX,
        };
        let newest = self.commits.last_lsn.load(Ordering::Acquire);
        newest.min(acknowledged).min(self.held_commits.visible_to())
    }

    pub(crate) fn register_snapshot(&self) -> Snapshot {
        self.versions.snapshots.register(|| {
            // First the bound: writers that start in between only have higher first LSNs.
            let low_lsn = self.writers.low_lsn();
            debug_assert!(low_lsn <= self.wal.end_lsn().0, "no page is newer than the log");
            Snapshot { lsn: self.visible_lsn(), low_lsn }
        })
    }

    /// Reads one key's record under the leaf latch. `read` may need further pages.
    pub(crate) async fn lookup<R>(
        &self,
        tree: &Tree,
        key: &[u8],
        mut read: impl FnMut(Option<&[u8]>, Lsn) -> Result<R, Stop>,
    ) -> Result<R, EngineError> {
        let found = pin!(self.pool.run(|| tree.lookup(&self.pool, key, &mut read)?)).await;
        found.map_err(|error| self.tree_error(tree, error))
    }

    /// Changes one key's record together with what `edit` logs, as one atomic group.
    pub(crate) async fn modify<E: Edit>(
        &self,
        tree: &Tree,
        key: &[u8],
        edit: &mut E,
        priority: Priority,
    ) -> Result<E::Output, EngineError> {
        self.modify_or_stop(tree, key, edit, priority, |_| None).await
    }

    /// The same for an edit that may need further pages to decide: then it keeps the record and `stop` tells why.
    pub(crate) async fn modify_or_stop<E: Edit>(
        &self,
        tree: &Tree,
        key: &[u8],
        edit: &mut E,
        priority: Priority,
        stop: impl Fn(&mut E) -> Option<Stop>,
    ) -> Result<E::Output, EngineError> {
        // What it leaves in memory keeps within the engine's budgets: versions, locks, the pages' logs.
        let mut change = || {
            let mut mtr = Mtr::begin_with(&self.pool, priority);
            let output = tree.modify(&self.space, &mut mtr, key, edit)?;
            if let Some(stop) = stop(edit) {
                return Err(stop);
            }
            let is_sparse = mtr.is_sparse();
            Ok((output, is_sparse, mtr.commit()))
        };
        let changed = self.pool.run(|| env::coroutine::uncounted(&mut change));
        let (output, is_sparse, committed) = changed.await.map_err(|error| self.tree_error(tree, error))?;
        committed.map_err(|error| self.log_failed(&error))?;
        if is_sparse {
            self.merge(tree, key);
        }
        self.checkpointer.note_log_end(self.wal.end_lsn().0);
        Ok(output)
    }

    /// Merges an underfull leaf with a neighbour if that needs no waiting; the tree is right without it.
    pub(crate) fn merge(&self, tree: &Tree, key: &[u8]) {
        for _ in 0..3 {
            match tree.merge_at(&self.pool, &self.space, key) {
                Err(Stop::Restart) => {}
                Ok(_) | Err(_) => return,
            }
        }
    }

    pub(crate) fn tree(&self, tree: TreeId) -> Result<Tree, EngineError> {
        self.trees.get(tree).ok_or(EngineError::NoSuchTree(tree))
    }

    /// The tree for a plain read, `None` if it sees no records of it. `SnapshotTooOld` if it was created after what the read sees: its records have no
    /// versions that would tell (`load`).
    pub(crate) fn tree_in_view(&self, tree: TreeId, view: &View) -> Result<Option<Tree>, EngineError> {
        match self.trees.in_view(tree, |creator| view.sees(creator)) {
            Some(InView::Tree(tree)) => Ok(Some(tree)),
            Some(InView::Empty) => Ok(None),
            Some(InView::Younger) => Err(EngineError::SnapshotTooOld),
            None => Err(EngineError::NoSuchTree(tree)),
        }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.pool.page_bytes() as u64
    }

    /// Whether the value stands in the record itself.
    pub(crate) fn is_inline(&self, key: &[u8], value: &[u8]) -> bool {
        let limit = btree::inline_value_max(self.pool.store().page_size(), key.len());
        value.len() + record::RECORD_HEADER_BYTES <= limit
    }

    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), EngineError> {
        let limit = btree::key_bytes_max(self.pool.store().page_size());
        if key.len() > limit {
            return Err(EngineError::TooLarge { bytes: key.len(), limit });
        }
        Ok(())
    }

    /// Refuses changes after a failure or during shutdown.
    pub(crate) fn check_running(&self) -> Result<(), EngineError> {
        if self.life.closed.load(Ordering::Acquire) {
            return Err(EngineError::Closed);
        }
        Ok(())
    }

    /// The failure that stops the engine for good, once there is one: the server has to end.
    pub fn failure(&self) -> Option<EngineError> {
        let pages = || self.pool.failure().map(|error| EngineError::Io { what: error.to_string() });
        self.life.failure.lock().clone().or_else(pages)
    }

    pub(crate) fn log_failed(&self, error: &WalError) -> EngineError {
        self.fail(EngineError::Io { what: error.to_string() })
    }

    pub(crate) fn log_error(&self, error: AppendError) -> EngineError {
        match error {
            AppendError::Failed(error) => self.log_failed(&error),
            AppendError::NoSpace => self.disk_is_full(),
            AppendError::TooLarge { bytes } => {
                EngineError::TooLarge { bytes, limit: self.wal.group_bytes_max() }
            }
            AppendError::Full => EngineError::Io { what: "the log stayed full".into() },
        }
    }

    pub(crate) fn pool_error(&self, error: BufferError) -> EngineError {
        if error.is_no_space() {
            return self.disk_is_full();
        }
        match error {
            BufferError::Corrupt(corrupt) => {
                self.damage.note(corrupt);
                EngineError::CorruptPage { tree: None, corrupt }
            }
            error if error.is_corruption() => EngineError::Corrupt { what: error.to_string() },
            BufferError::Log(error) => self.log_error(error),
            BufferError::Stopped => EngineError::Closed,
            other => EngineError::Io { what: other.to_string() },
        }
    }

    /// The error of an operation on one tree.
    pub(crate) fn tree_error(&self, tree: &Tree, error: BufferError) -> EngineError {
        self.pool_error(error).of(TreeId(tree.id.0))
    }

    pub(crate) fn fail(&self, error: EngineError) -> EngineError {
        self.life.closed.store(true, Ordering::Release);
        self.stop_holding_commits();
        self.life.failure.lock().get_or_insert(error).clone()
    }

    /// A background task could not do its work: nobody else would hear of it.
    pub(crate) fn background_failed(&self, task: &'static str, error: &EngineError) {
        // A damaged page is an error for who needs it, not for the server; `damage` has noted it.
        if !matches!(error, EngineError::DiskFull | EngineError::Closed) && !error.is_corruption() {
            self.fail(EngineError::Io { what: format!("{task}: {error}") });
        }
    }
}

pub(crate) fn flush_mode(mode: FlushAtCommit) -> FlushMode {
    match mode {
        FlushAtCommit::Durable => FlushMode::Durable,
        FlushAtCommit::Written => FlushMode::Written,
        FlushAtCommit::Lazy => FlushMode::Lazy,
    }
}
