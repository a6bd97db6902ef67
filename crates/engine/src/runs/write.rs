//! Writing a run: a new tree, filled in key order, that nobody sees before it is complete.
//!
//! Invariant: whoever gives up before `finish` has the tree dropped with `drop_run_tree`; a crash frees it as well.

use super::filter::Filter;
use super::pacer::Pacer;
use super::{Run, entry};
use crate::engine::Engine;
use crate::row_table::{Before, Ended, RowName};
use crate::storage::live_trees::LiveTree;
use crate::{AccessMode, EngineError, EntryBatch, Isolation};
use btree::{Mtr, Tree};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wal::Priority;

/// A filter takes at most this share of the budget for versions.
const FILTER_SHARE: u64 = 8;

/// Entries are collected until they fill so many leaves, so that each leaf is written once.
const LEAVES_COLLECTED: usize = 4;

/// A run that is being written.
pub(super) struct RunWriter {
    engine: Arc<Engine>,
    pub tree: Tree,
    filter: Filter,
    batch: EntryBatch,
    /// Of the batch.
    batch_bytes: usize,
    entries: u64,
    bytes: u64,
    chains: u64,
    ghosts: u64,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl RunWriter {
    /// `rows`: how many there will be at most.
    pub async fn new(engine: &Arc<Engine>, rows: usize) -> Result<RunWriter, EngineError> {
        let tree = engine.create_run_tree().await?;
        Ok(RunWriter {
            engine: engine.clone(),
            tree,
            filter: Filter::new(rows, engine.budgets.version_bytes() / FILTER_SHARE),
            batch: EntryBatch::default(),
            batch_bytes: 0,
            entries: 0,
            bytes: 0,
            chains: 0,
            ghosts: 0,
            key: Vec::new(),
            value: Vec::new(),
        })
    }

    /// Adds the versions of a row, oldest first, behind all rows before it. Call `write_full` now and then.
    pub fn push_row(&mut self, name: &RowName, versions: &[Ended<Before>], may_be_ghost: bool) {
        debug_assert!(
            versions.is_sorted_by(|one, next| one.lsn < next.lsn),
            "each commit has left one version"
        );
        let prefix = entry::row_prefix(name.tree, &name.key);
        for Ended { lsn, before, deletes } in versions {
            let (mut key, mut value) = (std::mem::take(&mut self.key), std::mem::take(&mut self.value));
            entry::encode_key(&prefix, *lsn, &mut key);
            entry::encode_value(before, may_be_ghost, *deletes, &mut value);
            debug_assert_eq!(
                (key.len(), value.len()),
                entry::sizes(name, before),
                "its fit was judged by the true sizes"
            );
            self.push(&key, &value);
            (self.key, self.value) = (key, value);
        }
    }

    /// Adds an entry behind all others.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        if let Some(entry) = entry::decode(key, value) {
            self.filter.add(self.engine.rows.hash(entry.tree, entry.key));
            self.chains += u64::from(entry.before.and_then(crate::storage::record::stub_of).is_some());
            self.ghosts += u64::from(entry.may_be_ghost);
        }
        self.entries += 1;
        self.bytes += (key.len() + value.len()) as u64;
        self.batch_bytes += key.len() + value.len();
        self.batch.push(key, value);
        debug_assert_eq!(self.batch_bytes, self.batch.bytes_len(), "the bytes are those of the batch");
    }

    /// Writes the leaves that are full.
    pub async fn write_full(&mut self, pacer: &mut Pacer<'_>) -> Result<(), EngineError> {
        let page_bytes = self.engine.pool.page_bytes();
        if self.batch_bytes > LEAVES_COLLECTED * page_bytes {
            self.write(page_bytes, pacer).await?;
        }
        Ok(())
    }

    /// Writes what is collected, but for a rest of at most so many bytes.
    async fn write(&mut self, rest_bytes: usize, pacer: &mut Pacer<'_>) -> Result<(), EngineError> {
        let engine = self.engine.clone();
        let mut start = 0;
        let mut left = self.batch_bytes;
        while start < self.batch.len() && left > rest_bytes {
            engine.keep_log_room().await?;
            let batch = &self.batch;
            let appended = engine.pool.run(|| {
                let mut mtr = Mtr::begin_with(&engine.pool, Priority::Normal);
                let entries = (start..batch.len()).map(|index| batch.get(index));
                let appended = self.tree.append(&engine.space, &mut mtr, entries)?;
                mtr.reserve(0)?;
                Ok((appended, mtr.commit()))
            });
            let (appended, committed) =
                appended.await.map_err(|error| engine.tree_error(&self.tree, error))?;
            committed.map_err(|error| engine.log_failed(&error))?;
            engine.checkpointer.note_log_end(engine.wal.end_lsn().0);
            engine.start_due_checkpoint();
            debug_assert!(0 < appended && appended <= batch.len() - start, "each step writes something");
            let taken = (start..start + appended).map(|index| batch.get(index));
            left -= taken.map(|(key, value)| key.len() + value.len()).sum::<usize>();
            start += appended;
            pacer.turn().await;
        }
        let mut rest = EntryBatch::default();
        (start..self.batch.len()).map(|index| self.batch.get(index)).for_each(|(k, v)| rest.push(k, v));
        debug_assert_eq!(rest.bytes_len(), left, "what was not written is left");
        self.batch = rest;
        self.batch_bytes = left;
        Ok(())
    }

    /// Writes the rest.
    pub async fn write_rest(&mut self, pacer: &mut Pacer<'_>) -> Result<(), EngineError> {
        self.write(0, pacer).await
    }

    /// The complete run.
    pub fn finish(self, last_lsn: u64, low_lsn: u64) -> Arc<Run> {
        assert!(self.batch.is_empty(), "everything is written");
        let RunWriter { tree, filter, entries, bytes, chains, ghosts, .. } = self;
        debug_assert!(chains <= entries && ghosts <= entries, "they are among the entries");
        debug_assert!(low_lsn <= last_lsn, "a change comes before its commit");
        let (is_busy, is_damaged) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Run { tree, last_lsn, low_lsn, filter, entries, bytes, chains, ghosts, is_busy, is_damaged })
    }
}

impl Engine {
    /// A new tree that a restart frees.
    async fn create_run_tree(self: &Arc<Self>) -> Result<Tree, EngineError> {
        // A transaction of its own: a crash before it has committed leaves nothing.
        let mut creator = self.begin(Isolation::ReadCommitted, AccessMode::ReadWrite);
        let id = creator.create_tree().await?;
        let tree = self.tree(id)?;
        // No other user of trees has to do with it.
        self.trees.remove(id);
        self.mark_dropped(&run_tree(tree)).await?;
        creator.work.commit_unseen().await?;
        Ok(tree)
    }

    /// Frees the pages of a run in the background.
    pub(super) fn drop_run_tree(self: &Arc<Self>, tree: Tree) {
        self.spawn("drop run", |engine| async move { engine.finish_drops(vec![run_tree(tree)]).await });
    }
}

fn run_tree(tree: Tree) -> LiveTree {
    // The chains are not the tree's: see `runs`.
    LiveTree { tree, with_chains: false, creator: None, was_empty: false }
}
