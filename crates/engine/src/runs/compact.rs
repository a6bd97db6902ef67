//! Making one run of several: so that a look-up asks few, and so that versions go that no snapshot needs any more, or
//! that an older change of the same row makes superfluous.
//!
//! Invariant: readers find every version in the old runs or in the new one; they are exchanged at once. Only neighbours in
//! the order of commits are joined. An overflow chain is freed when its image is in no run that can be seen.

use super::pacer::Pacer;
use super::write::RunWriter;
use super::{RUNS_MAX, Run, Runs, entry};
use crate::engine::Engine;
use crate::record::stub_of;
use crate::row_table::RowName;
use crate::{EngineError, EntryBatch};
use btree::Position;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// So many of the newest runs are joined when they are of about one size,
const RUNS_ALIKE: usize = 8;
/// which means that the largest is at most so many times the smallest.
const ALIKE_FACTOR: u64 = 4;

/// Other ghosts wait for a scan.
const GHOSTS_MAX: usize = 1 << 16;

impl Engine {
    /// Joins runs while there are too many, beside the moving of further versions: large runs take their time, and the
    /// history must not wait for them.
    pub(crate) fn compact_in_background(self: &Arc<Self>) {
        if self.runs.totals().runs < RUNS_ALIKE as u64 || self.runs.is_compacting.swap(true, Ordering::AcqRel)
        {
            return;
        }
        self.spawn_dedicated("join runs", |engine| async move {
            let joined = engine.compact_runs().await;
            engine.runs.is_compacting.store(false, Ordering::Release);
            joined
        });
    }

    async fn compact_runs(self: &Arc<Self>) -> Result<(), EngineError> {
        while !self.closed.load(Ordering::Acquire) {
            let inputs = self.runs.choose();
            if inputs.is_empty() {
                break;
            }
            let compacted = self.compact(&inputs).await;
            inputs.iter().for_each(|run| run.is_busy.store(false, Ordering::Release));
            self.end_seen_runs();
            match compacted {
                Ok(()) => {}
                Err(EngineError::DiskFull) => break,
                Err(error) if error.is_corruption() => {
                    // Readers meet the damage only where it is.
                    inputs.iter().for_each(|run| run.is_damaged.store(true, Ordering::Release));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn compact(self: &Arc<Self>, inputs: &[Arc<Run>]) -> Result<(), EngineError> {
        let (snapshots, _) = self.snapshots.list(|| self.visible_lsn());
        let rows = inputs.iter().map(|run| run.entries).sum::<u64>();
        let mut writer = RunWriter::new(self, usize::try_from(rows).unwrap_or(usize::MAX)).await?;
        let mut rest = Rest { keeps_voids: self.snapshots.has_strict(), ..Rest::default() };
        let mut pacer = Pacer::joining(self);
        match self.join(inputs, &snapshots, &mut writer, &mut rest, &mut pacer).await {
            Ok(true) => {}
            given_up => {
                self.drop_run_tree(writer.tree);
                return given_up.map(drop);
            }
        }
        let last_lsn = inputs.last().map_or(0, |run| run.last_lsn);
        let low_lsn = inputs.iter().map(|run| run.low_lsn).min().unwrap_or(0);
        let run = writer.finish(last_lsn, low_lsn);
        self.runs.exchange(inputs, run);
        inputs.iter().for_each(|run| self.drop_run_tree(run.tree));
        self.stats.runs_joined.fetch_add(inputs.len() as u64, Ordering::Relaxed);
        for name in &rest.ghosts {
            self.remove_ghost(name);
            pacer.turn().await;
        }
        self.free_chains(rest.chains).await
    }

    /// Writes what some snapshot needs, and lists what is left of the rest; false when nobody needs anything any more.
    async fn join(
        &self,
        inputs: &[Arc<Run>],
        snapshots: &[u64],
        writer: &mut RunWriter,
        rest: &mut Rest,
        pacer: &mut Pacer<'_>,
    ) -> Result<bool, EngineError> {
        let mut sources = Vec::new();
        let mut firsts = BinaryHeap::new();
        for (number, run) in inputs.iter().enumerate() {
            let mut source = Source::new(run);
            if let Some(key) = source.peek(self).await? {
                firsts.push(Reverse((key.to_vec(), number)));
            }
            sources.push(source);
        }
        let last_lsn = inputs.last().map_or(0, |run| run.last_lsn);
        let mut row = Row::default();
        while let Some(Reverse((key, number))) = firsts.pop() {
            let source = &mut sources[number];
            let value = source.take();
            if !row.takes(&key) {
                row.write(snapshots, writer, rest);
                writer.write_full(pacer).await?;
            }
            row.versions.push((key, value));
            if let Some(next) = source.peek(self).await? {
                firsts.push(Reverse((next.to_vec(), number)));
            }
            if source.at == 0 {
                let horizon_lsn = self.snapshots.horizon(|| self.visible_lsn());
                if horizon_lsn >= last_lsn || self.closed.load(Ordering::Acquire) {
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
    /// The runs to be joined, which are busy from now on; none if there are not too many.
    fn choose(&self) -> Vec<Arc<Run>> {
        let live = self.live.read();
        let is_good = |run: &&Arc<Run>| !run.is_damaged.load(Ordering::Acquire);
        let good = live.iter().rev().take_while(is_good).count();
        let candidates = &live[live.len() - good..];
        let sizes: Vec<u64> = candidates.iter().map(|run| run.bytes).collect();
        let chosen = &candidates[first_to_join(&sizes)..];
        chosen.iter().for_each(|run| run.is_busy.store(true, Ordering::Release));
        chosen.to_vec()
    }

    fn exchange(&self, old: &[Arc<Run>], new: Arc<Run>) {
        self.change(|live| {
            let is_old = |run: &Arc<Run>| old.iter().any(|old| Arc::ptr_eq(old, run));
            live.retain(|run| !is_old(run));
            let place = live.partition_point(|run| run.last_lsn < new.last_lsn);
            live.insert(place, new);
        });
    }
}

/// From where on runs of these sizes are joined; their number if none are. Entries are written again when there are
/// `RUNS_ALIKE` times as many of them, so seldom, and the runs stay few.
fn first_to_join(sizes: &[u64]) -> usize {
    let Some(first) = sizes.len().checked_sub(RUNS_ALIKE) else { return sizes.len() };
    let newest = &sizes[first..];
    let (smallest, largest) = (newest.iter().min().copied(), newest.iter().max().copied());
    if largest.unwrap_or(0) <= ALIKE_FACTOR * smallest.unwrap_or(0).max(1) {
        return first;
    }
    if sizes.len() <= RUNS_MAX {
        return sizes.len();
    }
    let is_first = |first: &usize| sizes[*first] <= sizes[first + 1..].iter().sum();
    (0..first).find(is_first).unwrap_or(first)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_few_and_entries_are_not_written_often() {
        let random = env::sim::SeededRandom::new(5);
        for varies in [false, true] {
            let (mut sizes, mut total, mut written): (Vec<u64>, u64, u64) = (Vec::new(), 0, 0);
            for _ in 0..1000 {
                let size = if varies { 1 + random.below(1000) as u64 } else { 100 };
                sizes.push(size);
                total += size;
                written += size;
                while let first = first_to_join(&sizes)
                    && first < sizes.len()
                {
                    let joined = sizes.drain(first..).sum();
                    written += joined;
                    sizes.push(joined);
                }
                assert!(sizes.len() <= RUNS_MAX, "{sizes:?}");
            }
            assert_eq!(sizes.iter().sum::<u64>(), total);
            assert!(written < total * if varies { 8 } else { 5 }, "{written} of {total}");
        }
    }

    #[test]
    fn runs_that_do_not_grow_are_joined_as_often_as_new_ones_come() {
        let mut sizes = vec![100];
        let mut joined = 0;
        for _ in 0..700 {
            sizes.extend([100]);
            let first = first_to_join(&sizes);
            if first < sizes.len() {
                joined += sizes.len() - first;
                // All changed the same rows.
                sizes.truncate(first + 1);
            }
        }
        assert!(joined <= 801 && sizes.len() <= RUNS_ALIKE, "{joined} {sizes:?}");
    }
}
