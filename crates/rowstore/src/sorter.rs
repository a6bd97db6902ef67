//! External merge sort of rows by keys that are compared as bytes.
//!
//! Rows gather in a buffer; when it is full they are sorted and written as a run. At the end the runs, and what is left
//! in the buffer, are merged while they are read. Invariants: the sort is stable; with a limit no more rows are kept than
//! can still be wanted; memory is the buffer's and two blocks for each of at most `MERGE_MAX` runs.
use crate::buffer::Buffer;
use crate::file::SpillFile;
use crate::key_order::KeyOrder;
use crate::merge::{Merge, Source};
use crate::reader::StreamReader;
use crate::writer::{Stream, StreamWriter};
use datum::SqlError;
use env::TemporarySpace;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Runs that are merged at once.
const MERGE_MAX: usize = 64;
/// Entries that are sorted without a pause.
const CHUNK_ENTRIES: usize = 8192;
/// Rows that are moved between two pauses.
const PAUSE_ROWS: usize = 512;
/// With a limit the buffer is not cut down before it has so many entries.
const CUT_ENTRIES_MIN: usize = 256;

/// Gives the thread away and looks whether the statement was killed; long work awaits it once in a while.
pub trait Pause {
    /// `rows` were moved since the last time.
    fn pause<'a>(&'a mut self, rows: usize) -> Pin<Box<dyn Future<Output = Result<(), SqlError>> + 'a>>;
}

pub struct Sorter {
    space: Arc<TemporarySpace>,
    order: KeyOrder,
    memory_bytes_max: usize,
    keep: usize,
    buffer: Buffer,
    /// With a limit: no row from here on is wanted.
    bound: Option<Vec<u8>>,
    file: Option<Arc<SpillFile>>,
    /// In the order in which their rows came.
    runs: Vec<Arc<Stream>>,
    merge: Option<Merge>,
    /// The merge stands on a row that was given out.
    is_taken: bool,
    left: usize,
    spilled_bytes: u64,
    merge_passes: u64,
    record: Vec<u8>,
}

impl Sorter {
    /// Keeps the first `keep` rows, in about `memory_bytes_max` of memory.
    pub fn new(space: &Arc<TemporarySpace>, order: KeyOrder, memory_bytes_max: usize, keep: usize) -> Sorter {
        Sorter {
            space: space.clone(),
            order,
            memory_bytes_max,
            keep,
            buffer: Buffer::default(),
            bound: None,
            file: None,
            runs: Vec::new(),
            merge: None,
            is_taken: false,
            left: keep,
            spilled_bytes: 0,
            merge_passes: 0,
            record: Vec::new(),
        }
    }

    /// What the buffer takes now.
    pub fn memory_bytes(&self) -> usize {
        self.buffer.len_bytes()
    }

    /// What has been written, rows that were merged again counted again.
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes
    }

    pub fn merge_passes(&self) -> u64 {
        self.merge_passes
    }

    /// Whether a row with this key may be among those that are kept.
    #[inline]
    pub fn wants(&self, key: &[u8]) -> bool {
        self.bound.as_ref().is_none_or(|bound| self.order.compare(key, bound).is_lt())
    }

    /// Takes a row; true when `spill` is due.
    pub fn push(&mut self, key: &[u8], row: &[u8]) -> bool {
        debug_assert!(self.merge.is_none(), "rows come before the first is given out");
        if !self.wants(key) {
            return false;
        }
        self.buffer.push(&self.order, key, row);
        if self.buffer.entries.len() / 2 >= self.keep.max(CUT_ENTRIES_MIN) {
            self.cut();
        }
        self.buffer.len_bytes() > self.memory_bytes_max
    }

    fn cut(&mut self) {
        self.buffer.cut(self.keep, &self.order);
        debug_assert!(self.buffer.entries.len() <= self.keep, "no more rows stay than are wanted");
        if self.buffer.entries.len() == self.keep {
            self.bound = self.buffer.greatest(&self.order).map(<[u8]>::to_vec);
        }
    }

    /// Writes the buffer as a run, unless the limit makes it small.
    pub async fn spill(&mut self, pause: &mut dyn Pause) -> Result<(), SqlError> {
        self.cut();
        if self.buffer.len_bytes() > self.memory_bytes_max / 2 {
            self.write_run(pause).await?;
        }
        Ok(())
    }

    /// Writes the buffer as a run: somebody else needs the memory.
    pub async fn write_run(&mut self, pause: &mut dyn Pause) -> Result<(), SqlError> {
        debug_assert!(self.merge.is_none(), "rows are written before the first is given out");
        if self.buffer.entries.is_empty() {
            return Ok(());
        }
        let file = match &self.file {
            Some(file) => file.clone(),
            None => self.file.insert(SpillFile::create(&self.space).await?).clone(),
        };
        let sources = self.sort_buffer(pause).await?;
        let mut merge = Merge::start(sources, self.order.clone(), &self.buffer).await?;
        let run = self.write_merged(&mut merge, file, pause).await?;
        self.runs.push(run);
        self.buffer.clear();
        Ok(())
    }

    /// Sorts what the buffer has, in pieces.
    async fn sort_buffer(&mut self, pause: &mut dyn Pause) -> Result<Vec<Source>, SqlError> {
        let count = self.buffer.entries.len();
        let mut sources = Vec::new();
        for start in (0..count).step_by(CHUNK_ENTRIES) {
            let chunk = start..count.min(start + CHUNK_ENTRIES);
            self.buffer.sort(chunk.clone(), &self.order);
            if count > CHUNK_ENTRIES {
                pause.pause(chunk.len()).await?;
            }
            sources.push(Source::Memory(chunk));
        }
        Ok(sources)
    }

    async fn write_merged(
        &mut self,
        merge: &mut Merge,
        file: Arc<SpillFile>,
        pause: &mut dyn Pause,
    ) -> Result<Arc<Stream>, SqlError> {
        let mut writer = StreamWriter::new(file);
        let mut since_pause = 0;
        for _ in 0..self.keep {
            let Some((key, row)) = merge.current(&self.buffer) else { break };
            self.record.clear();
            self.record.extend_from_slice(&(key.len() as u32).to_le_bytes());
            self.record.extend_from_slice(key);
            self.record.extend_from_slice(row);
            writer.push(&self.record).await?;
            merge.advance(&self.buffer).await?;
            since_pause += 1;
            if since_pause == PAUSE_ROWS {
                since_pause = 0;
                pause.pause(PAUSE_ROWS).await?;
            }
        }
        let run = writer.finish().await?;
        self.spilled_bytes += run.bytes();
        Ok(run)
    }

    /// All rows are there: `next` gives them out.
    pub async fn finish(&mut self, pause: &mut dyn Pause) -> Result<(), SqlError> {
        self.cut();
        debug_assert!(self.merge.is_none(), "a sort is finished once");
        while self.runs.len() > MERGE_MAX {
            self.merge_some(pause).await?;
        }
        let readers = std::mem::take(&mut self.runs).into_iter().map(StreamReader::consuming);
        let mut sources: Vec<Source> = readers.map(Source::stream).collect();
        self.merge_passes += u64::from(!sources.is_empty());
        sources.extend(self.sort_buffer(pause).await?);
        self.merge = Some(Merge::start(sources, self.order.clone(), &self.buffer).await?);
        Ok(())
    }

    /// One walk over the runs: neighbours become one, until there are few enough.
    async fn merge_some(&mut self, pause: &mut dyn Pause) -> Result<(), SqlError> {
        let empty = Buffer::default();
        let mut place = 0;
        while place < self.runs.len() && self.runs.len() > MERGE_MAX {
            let excess = self.runs.len() - MERGE_MAX + 1;
            let end = self.runs.len().min(place + excess.min(MERGE_MAX));
            if end - place > 1 {
                let parts: Vec<Arc<Stream>> = self.runs.drain(place..end).collect();
                let sources = parts.into_iter().map(|run| Source::stream(StreamReader::consuming(run)));
                let mut merge = Merge::start(sources.collect(), self.order.clone(), &empty).await?;
                let file = self.file.clone().expect("runs have a file");
                let run = self.write_merged(&mut merge, file, pause).await?;
                debug_assert!(place <= self.runs.len(), "a merged run takes the place of its parts");
                self.runs.insert(place, run);
                self.merge_passes += 1;
            }
            place += 1;
        }
        Ok(())
    }

    /// Goes to the next row; false behind the last.
    pub async fn next(&mut self) -> Result<bool, SqlError> {
        let Some(merge) = &mut self.merge else { return Ok(false) };
        if self.left == 0 {
            return Ok(false);
        }
        if std::mem::replace(&mut self.is_taken, true) {
            merge.advance(&self.buffer).await?;
        }
        self.left -= 1;
        Ok(merge.current(&self.buffer).is_some())
    }

    /// The key of the row, behind a `next` that was true.
    pub fn key(&self) -> &[u8] {
        let current = self.merge.as_ref().and_then(|merge| merge.current(&self.buffer));
        current.map_or(&[], |(key, _)| key)
    }

    /// The row, behind a `next` that was true.
    pub fn row(&self) -> &[u8] {
        let current = self.merge.as_ref().and_then(|merge| merge.current(&self.buffer));
        current.map_or(&[], |(_, row)| row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::sim::{SimOptions, World};

    struct NoPause;

    impl Pause for NoPause {
        fn pause<'a>(&'a mut self, _: usize) -> Pin<Box<dyn Future<Output = Result<(), SqlError>> + 'a>> {
            Box::pin(async { Ok(()) })
        }
    }

    /// Keys with many equal ones and rows of all lengths.
    fn rows(seed: u64, count: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut state = seed;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        (0..count)
            .map(|number| {
                let key = format!("{:05}", random() % (count / 2 + 1)).into_bytes();
                let padding = if random() % 200 == 0 { 100_000 } else { random() % 100 };
                let mut row = (number as u64).to_le_bytes().to_vec();
                row.resize(8 + padding, b'x');
                (key, row)
            })
            .collect()
    }

    async fn sorted(
        space: &Arc<TemporarySpace>,
        rows: &[(Vec<u8>, Vec<u8>)],
        order: KeyOrder,
        memory: usize,
        keep: usize,
    ) -> Result<(Vec<Vec<u8>>, u64), SqlError> {
        let mut sorter = Sorter::new(space, order, memory, keep);
        for (key, row) in rows {
            if sorter.push(key, row) {
                sorter.spill(&mut NoPause).await?;
            }
        }
        sorter.finish(&mut NoPause).await?;
        let mut out = Vec::new();
        while sorter.next().await? {
            out.push(sorter.row().to_vec());
        }
        assert!(!sorter.next().await?);
        Ok((out, sorter.merge_passes()))
    }

    #[test]
    fn the_memory_changes_nothing_but_the_passes() {
        for seed in 0..4 {
            let world = World::new(seed, SimOptions::default());
            let env = world.env();
            let run = async move {
                let space = TemporarySpace::new(env, "tmp");
                let rows = rows(seed, [0, 1, 3000, 20_000][seed as usize % 4]);
                let mut expected = rows.clone();
                expected.sort_by(|left, right| left.0.cmp(&right.0));
                let backwards = KeyOrder::By(Arc::new(|left: &[u8], right: &[u8]| right.cmp(left)));
                let mut reversed = rows.clone();
                reversed.sort_by(|left, right| right.0.cmp(&left.0));
                for keep in [usize::MAX, 10, 0, 1000] {
                    for memory in [2000, 100_000, usize::MAX] {
                        for (order, expected) in
                            [(KeyOrder::Bytes, &expected), (backwards.clone(), &reversed)]
                        {
                            let (out, passes) =
                                sorted(&space, &rows, order, memory, keep).await.expect("sorts");
                            let wanted = expected.iter().take(keep).map(|(_, row)| row);
                            assert!(out.iter().eq(wanted), "seed {seed}, memory {memory}, keep {keep}");
                            assert!(memory < usize::MAX || passes == 0);
                            assert!(memory > 2000 || passes > 0 || rows.len() < 2 || keep < 1000);
                        }
                    }
                }
                assert_eq!(space.used_bytes(), 0);
            };
            world.block_on(run).unwrap();
        }
    }

    #[test]
    fn a_full_disk_is_the_sorts_error_and_nothing_is_left() {
        let world = World::new(1, SimOptions::default());
        let env = world.env();
        let run = async move {
            let space = TemporarySpace::new(env, "tmp");
            let rows = rows(1, 3000);
            for limit in [0, 100_000, 1 << 20] {
                space.set_limit(limit);
                let error = sorted(&space, &rows, KeyOrder::Bytes, 2000, usize::MAX).await.expect_err("full");
                assert_eq!(error.errno, 1114);
                assert_eq!(space.used_bytes(), 0);
            }
        };
        world.block_on(run).unwrap();
    }
}
