//! A set of keys on disk: runs that are sorted by the keys' hashes, each with a filter in memory that tells of most keys that it
//! does not have them.
//!
//! Invariant: a key is in one run at most, since only keys are added that no run has. Some runs of one level become one of the
//! next, so there are few, however many keys there are. Called by the executor for keys that it has no room for.
use crate::failure::damaged;
use crate::file::{BLOCK_BYTES, SpillFile};
use crate::reader::StreamReader;
use crate::sorter::Pause;
use crate::writer::{Stream, StreamWriter};
use datum::SqlError;
use env::TemporarySpace;
use foldhash::fast::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

/// So many runs of a level become one of the next.
const RUNS_MERGED: usize = 8;
/// One key in a hundred that a run does not have is looked for in it.
const FILTER_BITS_PER_KEY: usize = 10;
const FILTER_PROBES: u64 = 6;
/// Keys that are moved between two pauses.
const KEYS_BETWEEN_PAUSES: usize = 512;

#[derive(Default)]
pub struct KeyRuns {
    hasher: RandomState,
    file: Option<Arc<SpillFile>>,
    /// Those of the highest level first.
    runs: Vec<Run>,
    written_bytes: u64,
}

struct Run {
    level: u32,
    /// Records of a hash and a key, in the order of the hashes.
    stream: Arc<Stream>,
    /// The first record that begins in each block.
    starts: Vec<Start>,
    filter: Filter,
}

struct Start {
    hash: u64,
    block: usize,
    at: usize,
    /// How many records are before it.
    number: u64,
}

struct Filter {
    bits: Vec<u64>,
}

struct RunWriter {
    writer: StreamWriter,
    starts: Vec<Start>,
    filter: Filter,
    record: Vec<u8>,
}

impl KeyRuns {
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// What filters and places take in memory.
    pub fn memory_bytes(&self) -> usize {
        self.runs.iter().map(|run| size_of_val(&*run.starts) + size_of_val(&*run.filter.bits)).sum()
    }

    /// All that was written so far, merges included.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    pub async fn contains(&self, key: &[u8]) -> Result<bool, SqlError> {
        let hash = self.hasher.hash_one(key);
        for run in &self.runs {
            if run.filter.may_have(hash) && run.has(hash, key).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes different keys that no run has.
    pub async fn add(
        &mut self,
        keys: impl IntoIterator<Item = Box<[u8]>>,
        space: &Arc<TemporarySpace>,
        pause: &mut dyn Pause,
    ) -> Result<(), SqlError> {
        let file = match &self.file {
            Some(file) => file.clone(),
            None => self.file.insert(SpillFile::create(space).await?).clone(),
        };
        let hashed = keys.into_iter().map(|key| (self.hasher.hash_one(&key[..]), key));
        let mut keys: Vec<(u64, Box<[u8]>)> = hashed.collect();
        keys.sort_unstable_by_key(|(hash, _)| *hash);
        pause.pause(keys.len()).await?;
        let mut writer = RunWriter::new(file, keys.len());
        for (number, (hash, key)) in keys.into_iter().enumerate() {
            writer.push(hash, &key).await?;
            if (number + 1).is_multiple_of(KEYS_BETWEEN_PAUSES) {
                pause.pause(KEYS_BETWEEN_PAUSES).await?;
            }
        }
        self.keep(writer.finish(0).await?);
        while let Some(level) = self.crowded_level() {
            self.merge(level, pause).await?;
        }
        Ok(())
    }

    fn keep(&mut self, run: Run) {
        debug_assert!(
            self.runs.last().is_none_or(|last| last.level >= run.level),
            "higher levels come first"
        );
        self.written_bytes += run.stream.bytes();
        self.runs.push(run);
    }

    /// The level of the last runs, if there are as many as are merged.
    fn crowded_level(&self) -> Option<u32> {
        let level = self.runs.last()?.level;
        let count = self.runs.iter().rev().take_while(|run| run.level == level).count();
        (count >= RUNS_MERGED).then_some(level)
    }

    /// Makes one run of those of the level.
    async fn merge(&mut self, level: u32, pause: &mut dyn Pause) -> Result<(), SqlError> {
        let first = self.runs.partition_point(|run| run.level > level);
        let (mut count, mut sources) = (0, Vec::new());
        for run in self.runs.drain(first..) {
            count += run.stream.records() as usize;
            let mut reader = StreamReader::consuming(run.stream);
            if reader.advance().await? {
                sources.push((split(reader.record())?.0, reader));
            }
        }
        let file = self.file.clone().ok_or_else(damaged)?;
        let mut writer = RunWriter::new(file, count);
        let mut moved = 0;
        while let Some(least) = (0..sources.len()).min_by_key(|place| sources[*place].0) {
            let (hash, reader) = &mut sources[least];
            writer.push(*hash, split(reader.record())?.1).await?;
            match reader.advance().await? {
                true => *hash = split(reader.record())?.0,
                false => drop(sources.swap_remove(least)),
            }
            moved += 1;
            if moved % KEYS_BETWEEN_PAUSES == 0 {
                pause.pause(KEYS_BETWEEN_PAUSES).await?;
            }
        }
        debug_assert_eq!(moved, count, "a merge loses no key");
        self.keep(writer.finish(level + 1).await?);
        Ok(())
    }
}

impl RunWriter {
    fn new(file: Arc<SpillFile>, count: usize) -> RunWriter {
        let words = (count * FILTER_BITS_PER_KEY).div_ceil(u64::BITS as usize).max(1);
        RunWriter {
            writer: StreamWriter::new(file),
            starts: Vec::new(),
            filter: Filter { bits: vec![0; words] },
            record: Vec::new(),
        }
    }

    async fn push(&mut self, hash: u64, key: &[u8]) -> Result<(), SqlError> {
        let place = self.writer.bytes() as usize;
        let (block, at) = (place / BLOCK_BYTES, place % BLOCK_BYTES);
        if self.starts.last().is_none_or(|start| start.block < block) {
            self.starts.push(Start { hash, block, at, number: self.writer.records() });
        }
        debug_assert!(self.starts.last().is_some_and(|start| start.block <= block), "blocks begin in order");
        self.filter.add(hash);
        self.record.clear();
        self.record.extend_from_slice(&hash.to_le_bytes());
        self.record.extend_from_slice(key);
        self.writer.push(&self.record).await
    }

    async fn finish(self, level: u32) -> Result<Run, SqlError> {
        let stream = self.writer.finish().await?;
        Ok(Run { level, stream, starts: self.starts, filter: self.filter })
    }
}

impl Run {
    async fn has(&self, hash: u64, key: &[u8]) -> Result<bool, SqlError> {
        // The keys of a hash may begin in the block before the first one that begins with it.
        let place = self.starts.partition_point(|start| start.hash < hash).saturating_sub(1);
        let Some(start) = self.starts.get(place) else { return Ok(false) };
        let mut reader = StreamReader::looking(self.stream.clone(), start.block, start.at, start.number);
        while reader.advance().await? {
            let (found, rest) = split(reader.record())?;
            if found > hash {
                break;
            }
            if found == hash && rest == key {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The hash and the key of a record.
fn split(record: &[u8]) -> Result<(u64, &[u8]), SqlError> {
    let (hash, key) = record.split_first_chunk().ok_or_else(damaged)?;
    Ok((u64::from_le_bytes(*hash), key))
}

impl Filter {
    fn places(&self, hash: u64) -> impl Iterator<Item = (usize, u64)> + use<> {
        let bits = self.bits.len() as u128 * u128::from(u64::BITS);
        let step = hash.rotate_left(u64::BITS / 2) | 1;
        (0..FILTER_PROBES).map(move |probe| {
            let spread = u128::from(hash.wrapping_add(step.wrapping_mul(probe)));
            let bit = ((spread * bits) >> u64::BITS) as usize;
            (bit / u64::BITS as usize, 1 << (bit % u64::BITS as usize))
        })
    }

    fn add(&mut self, hash: u64) {
        for (word, bit) in self.places(hash) {
            self.bits[word] |= bit;
        }
    }

    fn may_have(&self, hash: u64) -> bool {
        self.places(hash).all(|(word, bit)| self.bits[word] & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::sim::{Fault, SimOptions, World};
    use env::{IoOp, yield_now};
    use std::pin::Pin;

    struct Yields;

    impl Pause for Yields {
        fn pause<'a>(&'a mut self, _rows: usize) -> Pin<Box<dyn Future<Output = Result<(), SqlError>> + 'a>> {
            Box::pin(async {
                yield_now().await;
                Ok(())
            })
        }
    }

    /// A few keys are longer than a block.
    fn key(number: u32) -> Box<[u8]> {
        let mut key = number.to_le_bytes().to_vec();
        key.resize(if number.is_multiple_of(701) { 150_000 } else { 4 + number as usize % 90 }, 7);
        key.into()
    }

    async fn filled(space: &Arc<TemporarySpace>, runs: u32) -> Result<KeyRuns, SqlError> {
        let mut keys = KeyRuns::default();
        for run in 0..runs {
            keys.add((run * 50..run * 50 + 50).map(key), space, &mut Yields).await?;
        }
        Ok(keys)
    }

    #[test]
    fn runs_have_their_keys_and_no_others() {
        let world = World::new(2, SimOptions::default());
        let env = world.env();
        let run = async move {
            let space = TemporarySpace::new(env, "tmp");
            assert!(!KeyRuns::default().contains(b"x").await.expect("nothing to read"));
            let keys = filled(&space, 100).await.expect("writes");
            assert!(keys.runs.len() <= 3 * (RUNS_MERGED - 1), "{} runs", keys.runs.len());
            let mut looked_for = 0;
            for number in 0..10_000 {
                let key = key(number);
                assert_eq!(keys.contains(&key).await.expect("reads"), number < 5000, "{number}");
                let hash = keys.hasher.hash_one(&key[..]);
                looked_for += keys.runs.iter().filter(|run| run.filter.may_have(hash)).count();
            }
            assert!(looked_for < 5000 + 5000, "{looked_for} of keys that are there and of others");
            assert!(keys.memory_bytes() < 20_000 && keys.written_bytes() > 1_000_000);
            // What was merged has given its space back.
            assert!(space.used_bytes() < keys.written_bytes());
            drop(keys);
            assert_eq!(space.used_bytes(), 0);
        };
        world.block_on(run).unwrap();
    }

    #[test]
    fn failing_operations_are_errors() {
        for (op, errno) in [(IoOp::Write, 1026), (IoOp::Read, 1024), (IoOp::Open, 1026)] {
            let fault = Fault::input_output_error(op, "tmp", 2 * u64::from(op != IoOp::Open));
            let world = World::new(7, SimOptions { faults: vec![fault], ..SimOptions::default() });
            let env = world.env();
            let run = async move {
                let space = TemporarySpace::new(env, "tmp");
                let keys = filled(&space, 9).await?;
                for number in 0..400 {
                    keys.contains(&key(number)).await?;
                }
                Ok::<(), SqlError>(())
            };
            assert_eq!(world.block_on(run).unwrap().expect_err("fails").errno, errno, "{op:?}");
        }
    }
}
