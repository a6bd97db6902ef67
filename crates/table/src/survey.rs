//! Making statistics: from all keys of each index, or from some leaves.
//!
//! In the order of an index the values of its first parts change as often as there are different ones, less one: the
//! share of neighbours in sampled leaves that differ, times the entries, is their number. Few different values are
//! found one after the other instead, by seeking behind each. Called by the catalog, with the table's metadata lock.
use crate::error::table_error;
use crate::handle::TableHandle;
use crate::key_codec::KeyPart;
use crate::statistics::{IndexStatistics, Statistics};
use datum::SqlError;
use engine::{
    AccessMode, Direction, Engine, EngineError, EntryBatch, Isolation, KeyRange, ReadMode, Transaction,
};
use engine::{LeafSample, TreeId};
use std::sync::Arc;

/// How much of each index is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    All,
    Leaves {
        wanted: u64,
        /// Of the table, as they were counted: taken unless the leaves say that they are quite wrong.
        rows: Option<u64>,
    },
}

/// As many different values are sought one by one.
const SOUGHT_MAX: u64 = 64;
const BATCH: usize = 512;
/// Leaves that tell the size of a tree whose keys are all read.
const SIZE_SAMPLES: u64 = 8;

/// Neighbours in the order of an index.
struct Neighbours<'a> {
    parts: &'a [KeyPart],
    previous: Vec<u8>,
    /// Entries, and for each number of parts how often they differ from the entry before.
    count: f64,
    pairs: f64,
    changes: Vec<f64>,
}

impl<'a> Neighbours<'a> {
    fn new(parts: &'a [KeyPart]) -> Neighbours<'a> {
        Neighbours { parts, previous: Vec::new(), count: 0.0, pairs: 0.0, changes: vec![0.0; parts.len()] }
    }

    fn begin(&mut self) {
        self.previous.clear();
    }

    fn add(&mut self, key: &[u8], weight: f64) {
        debug_assert!(self.pairs <= self.count && weight >= 1.0, "an entry makes a pair at most");
        self.count += weight;
        if !self.previous.is_empty() {
            self.pairs += weight;
            let same = equal_parts(self.parts, &self.previous, key);
            self.changes[same..].iter_mut().for_each(|changes| *changes += weight);
        }
        self.previous.clear();
        self.previous.extend_from_slice(key);
    }
}

/// How many leading parts of both keys are the same.
fn equal_parts(parts: &[KeyPart], left: &[u8], right: &[u8]) -> usize {
    let common = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    let mut end = 0;
    for (number, part) in parts.iter().enumerate() {
        match part.length(&left[end..]) {
            Some(length) if end + length <= common => end += length,
            _ => return number,
        }
    }
    parts.len()
}

impl TableHandle {
    /// Statistics of what is committed now. `check` may end it.
    pub async fn survey(
        &self,
        engine: &Arc<Engine>,
        extent: Extent,
        made_at: i64,
        check: &(dyn Fn() -> Result<(), SqlError> + Sync),
    ) -> Result<Statistics, SqlError> {
        let mut transaction = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
        let mut statistics = Statistics { made_at, ..Statistics::default() };
        if self.layout().clustered.is_empty() {
            let (index, rows) =
                self.survey_tree(&mut transaction, self.layout().tree, &[], extent, check).await?;
            statistics.rows = rows;
            statistics.indexes.push(IndexStatistics { tree: self.layout().tree.0, ..index });
        }
        for layout in &self.layout().indexes {
            let tree = if layout.clustered { self.layout().tree } else { layout.tree };
            let (mut index, rows) =
                self.survey_tree(&mut transaction, tree, &layout.parts, extent, check).await?;
            if layout.clustered {
                statistics.rows = rows;
            }
            index.tree = layout.tree.0;
            statistics.indexes.push(index);
        }
        for index in &mut statistics.indexes {
            index.distinct.iter_mut().for_each(|distinct| *distinct = (*distinct).min(statistics.rows));
        }
        Ok(statistics)
    }

    async fn survey_tree(
        &self,
        transaction: &mut Transaction,
        tree: TreeId,
        parts: &[KeyPart],
        extent: Extent,
        check: &(dyn Fn() -> Result<(), SqlError> + Sync),
    ) -> Result<(IndexStatistics, u64), SqlError> {
        let failed = |error: EngineError| table_error(self.definition(), error);
        if let Extent::Leaves { wanted, rows } = extent {
            let engine = transaction.engine().clone();
            let mut samples = Vec::new();
            for number in 0..wanted {
                check()?;
                let sample = engine.sample_leaf(tree, tree.0 << 32 | number).await.map_err(failed)?;
                let is_small = sample.leaves <= wanted as f64 / 2.0;
                if is_small {
                    return self.survey_tree_whole(transaction, tree, parts, check).await;
                }
                samples.push(sample);
            }
            let (mut index, rows) = judged(parts, &samples, rows);
            for number in 0..parts.len() {
                let sought =
                    self.seek_different(transaction, tree, &parts[..=number]).await.map_err(failed)?;
                let Some(sought) = sought else { break };
                index.distinct[number] = sought;
            }
            return Ok((index, rows));
        }
        self.survey_tree_whole(transaction, tree, parts, check).await
    }

    async fn survey_tree_whole(
        &self,
        transaction: &mut Transaction,
        tree: TreeId,
        parts: &[KeyPart],
        check: &(dyn Fn() -> Result<(), SqlError> + Sync),
    ) -> Result<(IndexStatistics, u64), SqlError> {
        let failed = |error: EngineError| table_error(self.definition(), error);
        let engine = transaction.engine().clone();
        let mut samples = Vec::new();
        for number in 0..SIZE_SAMPLES {
            samples.push(engine.sample_leaf(tree, number).await.map_err(failed)?);
        }
        let (leaves, overflow_pages) = pages(&samples);
        let mut neighbours = Neighbours::new(parts);
        let mut cursor = transaction.scan(tree, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
        let mut batch = EntryBatch::default();
        loop {
            check()?;
            batch.clear();
            let more = cursor.next_batch(transaction, BATCH, &mut batch).await.map_err(failed)?;
            batch.iter().for_each(|(key, _)| neighbours.add(key, 1.0));
            if !more {
                break;
            }
            env::yield_now().await;
        }
        let rows = neighbours.count as u64;
        let distinct = neighbours.changes.iter().map(|changes| (*changes as u64 + 1).min(rows)).collect();
        Ok((IndexStatistics { tree: tree.0, distinct, leaves, overflow_pages, sampled: leaves }, rows))
    }

    /// How many different values the parts have, if they are few.
    async fn seek_different(
        &self,
        transaction: &mut Transaction,
        tree: TreeId,
        parts: &[KeyPart],
    ) -> Result<Option<u64>, EngineError> {
        let mut range = KeyRange::all();
        let mut batch = EntryBatch::default();
        for found in 0..=SOUGHT_MAX {
            batch.clear();
            let mut cursor = transaction.scan(tree, range, Direction::Forward, ReadMode::Snapshot);
            while batch.is_empty() && cursor.next_batch(transaction, 1, &mut batch).await? {}
            if batch.is_empty() {
                return Ok(Some(found));
            }
            let (key, _) = batch.get(0);
            let length = parts.iter().try_fold(0, |end, part| Some(end + part.length(&key[end..])?));
            let Some(length) = length else { return Ok(None) };
            // Where the next value begins.
            let behind = KeyRange::prefix(&key[..length]).upper;
            if behind.is_none() {
                return Ok(Some(found + 1));
            }
            range = KeyRange { lower: behind, ..KeyRange::all() };
        }
        Ok(None)
    }
}

fn judged(parts: &[KeyPart], samples: &[LeafSample], counted: Option<u64>) -> (IndexStatistics, u64) {
    let mut neighbours = Neighbours::new(parts);
    for sample in samples {
        // A leaf that seldom comes up stands for many.
        neighbours.begin();
        sample.keys.iter().for_each(|key| neighbours.add(key, sample.leaves));
    }
    let count = samples.len().max(1) as f64;
    let seen = neighbours.count / count;
    let is_likely = |counted: &f64| (seen / 2.0..=seen * 2.0).contains(counted);
    let rows = counted.map(|counted| counted as f64).filter(is_likely).unwrap_or(seen);
    let different = |changes: &f64| (changes / neighbours.pairs.max(1.0) * rows).round().max(1.0) as u64;
    let distinct = neighbours.changes.iter().map(different).collect();
    let (leaves, overflow_pages) = pages(samples);
    let sampled = samples.len() as u64;
    (IndexStatistics { tree: 0, distinct, leaves, overflow_pages, sampled }, rows as u64)
}

/// How many leaves a tree has, and overflow pages.
fn pages(samples: &[LeafSample]) -> (u64, u64) {
    let count = samples.len().max(1) as f64;
    let leaves: f64 = samples.iter().map(|sample| sample.leaves).sum();
    // A leaf that seldom comes up stands for many.
    let overflow: f64 = samples.iter().map(|sample| sample.leaves * sample.overflow_pages as f64).sum();
    ((leaves / count) as u64, (overflow / count) as u64)
}
