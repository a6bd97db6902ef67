//! Making one run of several: so that a look-up asks few, and so that versions go that no snapshot needs any more, or
//! that an older change of the same row makes superfluous.
//!
//! Invariant: readers find every version in the old runs or in the new one; they are exchanged at once. Only neighbours in
//! the order of commits are joined. An overflow chain is freed when its image is in no run that can be seen.

use super::choose::Join;
use super::pacer::Pacer;
use super::write::RunWriter;
use super::{Run, Runs, entry};
use crate::engine::Engine;
use crate::row_table::RowName;
use crate::storage::record::stub_of;
use crate::{EngineError, EntryBatch};
use btree::Position;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Other ghosts wait for a scan.
const GHOSTS_MAX: usize = 1 << 16;

impl Engine {
    /// Joins runs while there are too many, beside the moving of further versions: large runs take their time, and neither
    /// the history nor smaller runs must wait for them.
    pub(crate) fn compact_in_background(self: &Arc<Self>) {
        while !self.life.closed.load(Ordering::Acquire)
            && let Some(join) = self.runs.begin_join()
        {
            self.spawn_dedicated("join runs", |engine| async move { engine.compact(join).await });
        }
    }

    async fn compact(self: Arc<Self>, join: Join) -> Result<(), EngineError> {
        let made = self.make_one(&join).await;
        let is_damaged = made.as_ref().is_err_and(EngineError::is_corruption);
        if is_damaged {
            // Readers meet the damage only where it is.
            join.inputs.iter().for_each(|run| run.is_damaged.store(true, Ordering::Release));
        }
        self.runs.end_join(&join);
        self.end_seen_runs();
        match made {
            // Tried again after the next move.
            Err(EngineError::DiskFull) => return Ok(()),
            Err(_) if is_damaged => {}
            made => made?,
        }
        self.compact_in_background();
        Ok(())
    }

    async fn make_one(self: &Arc<Self>, join: &Join) -> Result<(), EngineError> {
        let (snapshots, _) = self.versions.snapshots.list(|| self.visible_lsn());
        let rows = join.inputs.iter().map(|run| run.entries).sum::<u64>();
        let mut writer = RunWriter::new(self, usize::try_from(rows).unwrap_or(usize::MAX)).await?;
        let mut rest = Rest { keeps_voids: self.versions.snapshots.has_strict(), ..Rest::default() };
        let mut pacer = Pacer::joining(self, join);
        match self.join(join, &snapshots, &mut writer, &mut rest, &mut pacer).await {
            Ok(true) => {}
            given_up => {
                self.drop_run_tree(writer.tree);
                return given_up.map(drop);
            }
        }
        let run = writer.finish(join.last_lsn(), join.low_lsn());
        self.runs.exchange(&join.inputs, run);
        join.inputs.iter().for_each(|run| self.drop_run_tree(run.tree));
        self.stats.runs_joined.fetch_add(join.inputs.len() as u64, Ordering::Relaxed);
        for name in &rest.ghosts {
            self.remove_ghost(name);
            pacer.turn().await;
        }
        self.free_chains(rest.chains).await
    }

    /// Writes what some snapshot needs, and lists what is left of the rest; false when nobody needs anything any more.
    async fn join(
        &self,
        join: &Join,
        snapshots: &[u64],
        writer: &mut RunWriter,
        rest: &mut Rest,
        pacer: &mut Pacer<'_>,
    ) -> Result<bool, EngineError> {
        let mut sources = Vec::new();
        let mut firsts = BinaryHeap::new();
        for (number, run) in join.inputs.iter().enumerate() {
            let mut source = Source::new(run);
            if let Some(key) = source.peek(self).await? {
                firsts.push(Reverse((key.to_vec(), number)));
            }
            sources.push(source);
        }
        let mut row = Row::default();
        while let Some(Reverse((key, number))) = firsts.pop() {
            let source = &mut sources[number];
            let value = source.take();
            pacer.joined(key.len() + value.len());
            if !row.takes(&key) {
                row.write(snapshots, writer, rest);
                writer.write_full(pacer).await?;
            }
            row.versions.push((key, value));
            if let Some(next) = source.peek(self).await? {
                firsts.push(Reverse((next.to_vec(), number)));
            }
            if source.at == 0 {
                let horizon_lsn = self.versions.snapshots.horizon(|| self.visible_lsn());
                if horizon_lsn >= join.last_lsn() || self.life.closed.load(Ordering::Acquire) {
                    return Ok(false);
                }
                pacer.turn().await;
            }
        }
        row.write(snapshots, writer, rest);
        writer.write_rest(pacer).await?;
        Ok(true)
    }
}

impl Runs {
    fn exchange(&self, old: &[Arc<Run>], new: Arc<Run>) {
        self.change(|live| {
            let is_old = |run: &Arc<Run>| old.iter().any(|old| Arc::ptr_eq(old, run));
            let before = live.len();
            live.retain(|run| !is_old(run));
            debug_assert_eq!(before - live.len(), old.len(), "who is joined stays until it is exchanged");
            let place = live.partition_point(|run| run.last_lsn < new.last_lsn);
            live.insert(place, new);
        });
    }
}

/// A run that is read from its beginning.
struct Source<'a> {
    run: &'a Run,
    position: Position,
    next: Position,
    leaf: EntryBatch,
    at: usize,
}

impl<'a> Source<'a> {
    fn new(run: &'a Run) -> Source<'a> {
        let (position, next) = (Position::start(), Position::start());
        Source { run, position, next, leaf: EntryBatch::default(), at: 0 }
    }

    /// The key of the next entry.
    async fn peek(&mut self, engine: &Engine) -> Result<Option<&[u8]>, EngineError> {
        while self.at >= self.leaf.len() {
            if self.position.is_end() {
                return Ok(None);
            }
            engine.leaf_of_run(self.run, &self.position, &mut self.next, &mut self.leaf).await?;
            std::mem::swap(&mut self.position, &mut self.next);
            self.at = 0;
        }
        Ok(Some(self.leaf.get(self.at).0))
    }

    /// The value of that entry, which is passed.
    fn take(&mut self) -> Vec<u8> {
        debug_assert!(self.at < self.leaf.len(), "its key was looked at before");
        let value = self.leaf.get(self.at).1.to_vec();
        self.at += 1;
        value
    }
}

/// What versions leave that nobody needs.
#[derive(Default)]
struct Rest {
    /// Versions of rows that came and went are not among them.
    keeps_voids: bool,
    chains: Vec<u64>,
    /// Rows without versions whose ghosts may be in their leaves; some of them.
    ghosts: Vec<RowName>,
}

/// The entries of one row, oldest change first.
#[derive(Default)]
struct Row {
    versions: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Row {
    /// Whether an entry with this key is of the same row.
    fn takes(&self, key: &[u8]) -> bool {
        let prefix = |key: &[u8]| key.len().saturating_sub(entry::LSN_BYTES);
        self.versions.last().is_none_or(|(last, _)| last[..prefix(last)] == key[..prefix(key)])
    }

    /// Writes the versions that some snapshot needs; leaves no row.
    fn write(&mut self, snapshots: &[u64], writer: &mut RunWriter, rest: &mut Rest) {
        debug_assert!(snapshots.is_sorted(), "they are searched by halves");
        let is_ghost = |(key, value): &(Vec<u8>, Vec<u8>)| {
            entry::decode(key, value).is_some_and(|entry| entry.may_be_ghost)
        };
        let may_be_ghost = self.versions.iter().any(is_ghost);
        let Rest { keeps_voids, chains, ghosts } = rest;
        let mut older_lsn = 0;
        // As `VersionChain::thin` does it.
        let mut kept: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for (key, mut value) in self.versions.drain(..) {
            // Bytes that no engine wrote are kept for whoever meets them.
            let Some(entry) = entry::decode(&key, &value) else {
                kept.push((key, value));
                continue;
            };
            let deletes = entry.deletes;
            let first = snapshots.partition_point(|snapshot| *snapshot < older_lsn);
            if snapshots.get(first).is_some_and(|snapshot| *snapshot < entry.lsn) {
                older_lsn = entry.lsn;
                entry::set_flags(&mut value, may_be_ghost, deletes);
                kept.push((key, value));
            } else {
                if let Some((_, older)) = kept.last_mut() {
                    entry::set_flags(older, may_be_ghost, deletes);
                }
                chains.extend(entry.before.and_then(stub_of).map(|stub| stub.first.0));
            }
        }
        let mut is_left = false;
        for (key, value) in &kept {
            let is_void =
                entry::decode(key, value).is_some_and(|entry| entry.deletes && entry.before.is_none());
            if !is_void || *keeps_voids {
                writer.push(key, value);
                is_left = true;
            }
        }
        if may_be_ghost
            && !is_left
            && ghosts.len() < GHOSTS_MAX
            && let Some(entry) = kept.first().and_then(|(key, value)| entry::decode(key, value))
        {
            ghosts.push(RowName { tree: entry.tree, key: entry.key.into() });
        }
    }
}
