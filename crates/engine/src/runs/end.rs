//! The end of a run, when every snapshot sees all its commits: the ghosts of its rows go from the leaves that are in
//! memory, replaced overflow chains are freed, then the tree.
//!
//! Ghosts in other leaves stay until a scan reads them (`ghosts`). What a shutdown or a crash leaves is freed by the next
//! start: see `runs`.

use super::Run;
use super::entry;
use crate::engine::Engine;
use crate::row_table::RowName;
use crate::storage::record::stub_of;
use crate::{EngineError, EntryBatch};
use btree::{Direction, Position};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Engine {
    /// Drops the runs that no snapshot needs.
    pub(crate) fn end_seen_runs(self: &Arc<Self>) {
        if self.runs.newest_lsn() == 0 {
            return;
        }
        let horizon_lsn = self.versions.snapshots.horizon(|| self.visible_lsn());
        if self.runs.first_end_lsn() > horizon_lsn {
            return;
        }
        for run in self.runs.take_seen(horizon_lsn) {
            self.spawn("drop run", |engine| async move { engine.take_run_apart(&run).await });
        }
    }

    async fn take_run_apart(self: &Arc<Self>, run: &Run) -> Result<(), EngineError> {
        debug_assert!(!run.is_busy.load(Ordering::Acquire), "a run that is joined is not taken apart");
        if run.chains > 0 || run.ghosts > 0 {
            let (mut position, mut next) = (Position::start(), Position::start());
            let mut leaf = EntryBatch::default();
            while !position.is_end() {
                if self.life.closed.load(Ordering::Acquire) {
                    return Ok(());
                }
                self.keep_log_room().await?;
                match self.leaf_of_run(run, &position, &mut next, &mut leaf).await {
                    // Scans find the ghosts, and the next start frees the chains.
                    Err(error) if error.is_corruption() => leaf.clear(),
                    read => read?,
                }
                for (key, value) in leaf.iter() {
                    self.take_version_apart(key, value).await?;
                }
                std::mem::swap(&mut position, &mut next);
                self.start_due_checkpoint();
                env::yield_now().await;
            }
        }
        self.drop_run_tree(run.tree);
        Ok(())
    }

    async fn take_version_apart(&self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        let Some(entry) = entry::decode(key, value) else { return Ok(()) };
        if entry.may_be_ghost {
            self.remove_ghost(&RowName { tree: entry.tree, key: entry.key.into() });
        }
        if let Some(stub) = entry.before.and_then(stub_of) {
            self.free_chains(vec![stub.first.0]).await?;
        }
        Ok(())
    }

    /// Replaces the content of `entries` by those of a leaf.
    pub(super) async fn leaf_of_run(
        &self,
        run: &Run,
        position: &Position,
        next: &mut Position,
        entries: &mut EntryBatch,
    ) -> Result<(), EngineError> {
        let read = self.pool.run(|| {
            run.tree.scan(&self.pool, position, Direction::Forward, next, |leaf| {
                entries.clear();
                let _ = leaf.for_each(|key, value| {
                    entries.push(key, value);
                    ControlFlow::<()>::Continue(())
                });
            })
        });
        read.await.map_err(|error| self.tree_error(&run.tree, error))
    }
}
