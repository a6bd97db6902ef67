//! Pruning: dropping the versions that nobody can see any more, and the ghosts and overflow chains with them.
//!
//! Committers prune about as much as they changed, right after their own commit; a background task takes
//! over when a large transaction has left more than its committer should do.

use crate::EngineError;
use crate::engine::Engine;
use crate::versions::merge::chain_of;
use crate::versions::snapshot::Snapshot;
use env::{BoxFuture, Overlap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a committer prunes beyond twice its own changes.
const ROWS_EXTRA: usize = 16;
/// A committer never prunes more than this itself.
const ROWS_MAX: usize = 512;
/// With more prunable rows than this, the background task starts.
const BACKLOG_ROWS: usize = 4096;
/// A snapshot that lies further back in the log than this has kept others from pruning.
const OLD_SNAPSHOT_BYTES: u64 = 1 << 20;
const GHOSTS_PER_STEP: usize = 8;

/// What pruning has done.
pub(crate) struct PrunedRows {
    rows: usize,
    /// The overflow chains that are free now.
    pub chains: Vec<u64>,
}

impl Engine {
    /// After a commit of `changes` changes. Answers what versions of committed transactions take in memory.
    pub(crate) fn after_commit(self: &Arc<Self>, changes: usize) -> u64 {
        let rows = (2 * changes + ROWS_EXTRA).min(ROWS_MAX);
        let PrunedRows { rows: pruned, chains } = self.prune(rows);
        for name in self.versions.ghosts.take(GHOSTS_PER_STEP) {
            self.remove_ghost(&name);
        }
        self.free_in_background(chains);
        self.end_seen_spills();
        self.end_seen_runs();
        self.start_due_checkpoint();
        // With fewer than it might have pruned there is nothing left that it could have.
        if pruned == rows {
            self.prune_backlog();
        }
        self.merge_history_if_long()
    }

    pub(crate) fn prune_backlog(self: &Arc<Self>) {
        if self.history_size().0 > BACKLOG_ROWS {
            self.prune_in_background();
        }
    }

    /// A snapshot has ended: if it was an old one, much may have waited for it, and no commit may follow.
    pub(crate) fn after_snapshot(self: &Arc<Self>, snapshot: Snapshot) {
        self.end_seen_spills();
        self.end_seen_runs();
        let behind = self.commits.last_lsn.load(Ordering::Relaxed).saturating_sub(snapshot.lsn);
        if behind > OLD_SNAPSHOT_BYTES && self.versions.history.lock().row_count() > ROWS_MAX {
            self.prune_in_background();
        }
    }

    /// Prunes up to `rows_max` rows.
    pub(crate) fn prune(&self, rows_max: usize) -> PrunedRows {
        let horizon_lsn = self.versions.snapshots.horizon(|| self.visible_lsn());
        let step = self.versions.history.lock().take(horizon_lsn, rows_max);
        let mut chains = Vec::new();
        for (name, may_be_ghost) in &step.rows {
            let is_empty = self.rows.prune(name, horizon_lsn, |before| chains.extend(chain_of(before)));
            if *may_be_ghost && is_empty {
                self.remove_ghost(name);
            }
        }
        self.writers.all_seen(&step.finished, || self.wal.end_lsn().0);
        PrunedRows { rows: step.rows.len(), chains }
    }

    fn prune_in_background(self: &Arc<Self>) {
        if self.versions.upkeep.prunes.swap(true, Ordering::AcqRel) {
            return;
        }
        self.spawn("prune", |engine| async move {
            let result = engine.prune_all().await;
            let was_pruning = engine.versions.upkeep.prunes.swap(false, Ordering::AcqRel);
            debug_assert!(was_pruning, "one task prunes at a time");
            result
        });
    }

    async fn prune_all(self: &Arc<Self>) -> Result<(), EngineError> {
        loop {
            let before = self.versions.history.lock().row_count();
            self.free_chains(self.prune(ROWS_MAX).chains).await?;
            let after = self.versions.history.lock().row_count();
            if after == 0 || after >= before || self.life.closed.load(Ordering::Acquire) {
                return Ok(());
            }
            env::yield_now().await;
        }
    }

    fn free_in_background(self: &Arc<Self>, chains: Vec<u64>) {
        if !chains.is_empty() {
            self.spawn("free long values", |engine| async move { engine.free_chains(chains).await });
        }
    }

    /// Runs a background task of another layer that `close` waits for; its errors are its own.
    pub fn run_in_background(
        self: &Arc<Self>,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        self.spawn(name, |_| async move {
            task.await;
            Ok(())
        });
    }

    /// Runs a background task that `close` waits for.
    pub(crate) fn spawn<F>(self: &Arc<Self>, name: &'static str, task: impl FnOnce(Arc<Engine>) -> F)
    where
        F: Future<Output = Result<(), EngineError>> + Send + 'static,
    {
        let task = self.background(name, task(self.clone()));
        self.env.spawner.spawn(name, task);
    }

    /// The same for much work between its waits: it has a thread of its own.
    pub(crate) fn spawn_dedicated<F>(
        self: &Arc<Self>,
        name: &'static str,
        task: impl FnOnce(Arc<Engine>) -> F,
    ) where
        F: Future<Output = Result<(), EngineError>> + Send + 'static,
    {
        let task = self.background(name, task(self.clone()));
        self.env.spawner.spawn_dedicated(name, Overlap::None, task);
    }

    fn background<F>(self: &Arc<Self>, name: &'static str, task: F) -> BoxFuture<'static, ()>
    where
        F: Future<Output = Result<(), EngineError>> + Send + 'static,
    {
        self.life.tasks.fetch_add(1, Ordering::AcqRel);
        let engine = self.clone();
        Box::pin(async move {
            if let Err(error) = task.await {
                engine.background_failed(name, &error);
            }
            let tasks = engine.life.tasks.fetch_sub(1, Ordering::AcqRel);
            debug_assert!(tasks > 0, "a task counts until it has ended");
        })
    }
}
