//! A stream of records on its way into a temporary file, and what it becomes.
//!
//! Invariant: a record is its length in four bytes and its bytes; records follow each other across blocks, of which all
//! but the last are full. At most `WRITES_AHEAD` blocks are being written while the next one is filled.
use crate::failure::spill_error;
use crate::file::{BLOCK_BYTES, SpillFile};
use datum::SqlError;
use env::{Completion, IoBuf};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

const WRITES_AHEAD: usize = 2;
pub(crate) const LENGTH_BYTES: usize = 4;

pub struct StreamWriter {
    file: Arc<SpillFile>,
    blocks: Vec<u64>,
    buffer: Option<IoBuf>,
    filled: usize,
    records: u64,
    writes: VecDeque<(u64, Completion)>,
}

impl StreamWriter {
    pub fn new(file: Arc<SpillFile>) -> StreamWriter {
        StreamWriter {
            file,
            blocks: Vec::new(),
            buffer: None,
            filled: 0,
            records: 0,
            writes: VecDeque::new(),
        }
    }

    /// Takes a record when it fits into the block at hand; else `push` has to.
    #[inline]
    pub fn try_push(&mut self, record: &[u8]) -> bool {
        debug_assert!(self.filled <= BLOCK_BYTES, "a block is filled to its end at most");
        let end = self.filled + LENGTH_BYTES + record.len();
        let Some(buffer) = self.buffer.as_mut().filter(|_| end <= BLOCK_BYTES) else { return false };
        let length = u32::try_from(record.len()).expect("it is smaller than a block").to_le_bytes();
        let room = &mut buffer.as_mut_slice()[self.filled..end];
        room[..LENGTH_BYTES].copy_from_slice(&length);
        room[LENGTH_BYTES..].copy_from_slice(record);
        self.filled = end;
        self.records += 1;
        true
    }

    pub async fn push(&mut self, record: &[u8]) -> Result<(), SqlError> {
        if self.try_push(record) {
            return Ok(());
        }
        let length = u32::try_from(record.len()).expect("a row is smaller than 4 GiB").to_le_bytes();
        self.put(&length).await?;
        self.put(record).await?;
        self.records += 1;
        Ok(())
    }

    async fn put(&mut self, mut bytes: &[u8]) -> Result<(), SqlError> {
        while !bytes.is_empty() {
            if self.filled == BLOCK_BYTES {
                self.write_block().await?;
            }
            let buffer = self.buffer.get_or_insert_with(|| IoBuf::for_overwriting(BLOCK_BYTES));
            let count = bytes.len().min(BLOCK_BYTES - self.filled);
            buffer.as_mut_slice()[self.filled..self.filled + count].copy_from_slice(&bytes[..count]);
            self.filled += count;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    async fn write_block(&mut self) -> Result<(), SqlError> {
        let Some(mut buffer) = self.buffer.take() else { return Ok(()) };
        debug_assert!(self.filled > 0, "a block has bytes");
        buffer.set_len(self.filled);
        self.filled = 0;
        let block = self.file.take_block()?;
        self.writes.push_back((block, self.file.write(block, buffer)));
        if self.writes.len() > WRITES_AHEAD {
            self.await_oldest().await?;
        }
        Ok(())
    }

    async fn await_oldest(&mut self) -> Result<(), SqlError> {
        let Some((block, write)) = self.writes.front_mut() else { return Ok(()) };
        let block = *block;
        // Awaited in its place: when this future is dropped, the block still counts as being written.
        let (_, result) = write.await;
        self.writes.pop_front();
        self.blocks.push(block);
        result.map_err(spill_error)
    }

    /// Bytes written so far, the ones at hand included.
    pub fn bytes(&self) -> u64 {
        ((self.blocks.len() + self.writes.len()) * BLOCK_BYTES + self.filled) as u64
    }

    pub fn records(&self) -> u64 {
        self.records
    }

    pub async fn finish(mut self) -> Result<Arc<Stream>, SqlError> {
        let last_length = self.filled;
        self.write_block().await?;
        while !self.writes.is_empty() {
            self.await_oldest().await?;
        }
        debug_assert!(self.filled == 0 && self.buffer.is_none(), "all is written");
        debug_assert_eq!(self.blocks.is_empty(), self.records == 0, "records are in blocks");
        let blocks = std::mem::take(&mut self.blocks);
        let last_length = if last_length == 0 { BLOCK_BYTES } else { last_length };
        Ok(Arc::new(Stream {
            file: self.file.clone(),
            count: blocks.len(),
            blocks: Mutex::new(
                blocks.into_iter().map(|number| Block { number, state: State::Kept }).collect(),
            ),
            last_length,
            records: self.records,
        }))
    }
}

impl Drop for StreamWriter {
    fn drop(&mut self) {
        // Blocks that are being written stay taken until the file ends.
        self.blocks.iter().for_each(|block| self.file.give_block(*block));
    }
}

/// Records in a temporary file, to be read any number of times.
pub struct Stream {
    file: Arc<SpillFile>,
    count: usize,
    blocks: Mutex<Vec<Block>>,
    last_length: usize,
    records: u64,
}

struct Block {
    number: u64,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Kept,
    /// Read for the last time.
    GivenBack,
    /// A reader was dropped while it read it: it stays taken until the file ends.
    Abandoned,
}

impl Stream {
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What it takes on disk.
    pub fn bytes(&self) -> u64 {
        debug_assert!((1..=BLOCK_BYTES).contains(&self.last_length), "the last block has bytes");
        match self.count {
            0 => 0,
            count => ((count - 1) * BLOCK_BYTES + self.last_length) as u64,
        }
    }

    pub(crate) fn block_count(&self) -> usize {
        self.count
    }

    /// Starts to read a block.
    pub(crate) fn read(&self, index: usize) -> Completion {
        let block = &self.blocks.lock()[index];
        assert!(block.state != State::GivenBack, "a block is read before it is given back");
        let length = if index + 1 == self.count { self.last_length } else { BLOCK_BYTES };
        self.file.read(block.number, length)
    }

    /// Nobody reads the block again.
    pub(crate) fn give_back(&self, index: usize) {
        let block = &mut self.blocks.lock()[index];
        if block.state == State::Kept {
            block.state = State::GivenBack;
            self.file.give_block(block.number);
        }
    }

    /// A read of the block may still be under way though its reader is gone.
    pub(crate) fn abandon(&self, index: usize) {
        debug_assert!(
            self.blocks.lock()[index].state != State::GivenBack,
            "a block that is read has not been given back"
        );
        self.blocks.lock()[index].state = State::Abandoned;
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        for block in self.blocks.get_mut().iter().filter(|block| block.state == State::Kept) {
            self.file.give_block(block.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partitions::{PARTITION_COUNT, Partitions, partition_of};
    use crate::reader::StreamReader;
    use env::TemporarySpace;
    use env::sim::{Fault, SimOptions, World};
    use env::{IoOp, yield_now};
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    fn records() -> Vec<Vec<u8>> {
        (0..3000usize)
            .map(|number| vec![number as u8; number * 7 % 300 + number % 991 / 990 * 200_000])
            .collect()
    }

    async fn read(mut reader: StreamReader) -> Vec<Vec<u8>> {
        let mut read = Vec::new();
        while reader.advance().await.expect("reads") {
            read.push(reader.record().to_vec());
        }
        read
    }

    #[test]
    fn streams_read_back_any_number_of_times() {
        let world = World::new(1, SimOptions::default());
        let env = world.env();
        let run = async move {
            let space = TemporarySpace::new(env, "tmp");
            let file = SpillFile::create(&space).await.expect("creates");
            let mut writer = StreamWriter::new(file.clone());
            for record in records() {
                writer.push(&record).await.expect("writes");
            }
            let stream = writer.finish().await.expect("writes");
            assert_eq!(read(StreamReader::new(stream.clone())).await, records());
            // One that is dropped in its midst leaves the others alone.
            let mut partly = StreamReader::new(stream.clone());
            assert!(partly.advance().await.expect("reads"));
            drop(partly);
            assert_eq!(read(StreamReader::new(stream.clone())).await, records());
            let used = space.used_bytes();
            assert_eq!(read(StreamReader::consuming(stream.clone())).await, records());
            drop(stream);
            // What was given back is used again; the file grows by the abandoned block at most.
            let mut writer = StreamWriter::new(file.clone());
            for record in records() {
                writer.push(&record).await.expect("writes");
            }
            assert!(space.used_bytes() <= used + BLOCK_BYTES as u64);
            drop(writer);
            drop(file);
            assert_eq!(space.used_bytes(), 0);
        };
        world.block_on(run).unwrap();
    }

    #[test]
    fn writes_and_reads_may_be_given_up_at_any_await() {
        for polls in 0..60 {
            let world = World::new(polls, SimOptions::default());
            let env = world.env();
            let run = async move {
                let space = TemporarySpace::new(env, "tmp");
                let file = SpillFile::create(&space).await.expect("creates");
                {
                    let file = file.clone();
                    let mut work = pin!(async move {
                        let mut writer = StreamWriter::new(file);
                        for record in records() {
                            writer.push(&record).await.expect("writes");
                        }
                        read(StreamReader::consuming(writer.finish().await.expect("writes"))).await
                    });
                    for _ in 0..polls {
                        let mut context = Context::from_waker(Waker::noop());
                        if work.as_mut().poll(&mut context).is_ready() {
                            break;
                        }
                        yield_now().await;
                    }
                }
                // Whatever was under way: the next user of the file meets none of it.
                let mut writer = StreamWriter::new(file);
                for record in records() {
                    writer.push(&record).await.expect("writes");
                }
                let stream = writer.finish().await.expect("writes");
                assert_eq!(read(StreamReader::new(stream)).await, records());
                assert_eq!(space.used_bytes(), 0);
            };
            world.block_on(run).unwrap();
        }
    }

    #[test]
    fn failing_operations_are_errors() {
        for (op, errno) in [(IoOp::Write, 1026), (IoOp::Read, 1024), (IoOp::Open, 1026)] {
            let fault = Fault::input_output_error(op, "tmp", 2 * u64::from(op != IoOp::Open));
            let world = World::new(7, SimOptions { faults: vec![fault], ..SimOptions::default() });
            let env = world.env();
            let run = async move {
                let space = TemporarySpace::new(env, "tmp");
                let file = SpillFile::create(&space).await?;
                let mut writer = StreamWriter::new(file);
                for record in records() {
                    writer.push(&record).await?;
                }
                let mut reader = StreamReader::new(writer.finish().await?);
                while reader.advance().await? {}
                Ok::<(), SqlError>(())
            };
            assert_eq!(world.block_on(run).unwrap().expect_err("fails").errno, errno, "{op:?}");
        }
    }

    #[test]
    fn parts_hold_their_keys() {
        let world = World::new(3, SimOptions::default());
        let env = world.env();
        let run = async move {
            let space = TemporarySpace::new(env, "tmp");
            let file = SpillFile::create(&space).await.expect("creates");
            let mut parts = Partitions::new(file, 5);
            for number in 0..10_000u32 {
                let key = number.to_le_bytes();
                if !parts.try_push(&key, &key) {
                    parts.push(&key, &key).await.expect("writes");
                }
                assert!(parts.has(&key));
            }
            let mut count = 0;
            for (number, part) in parts.finish().await.expect("writes").into_iter().enumerate() {
                let records = read(StreamReader::new(part.expect("no part is empty"))).await;
                assert!(records.iter().all(|key| partition_of(key, 5) == number));
                assert!(records.len() < 3 * 10_000 / PARTITION_COUNT);
                count += records.len();
            }
            assert_eq!(count, 10_000);
        };
        world.block_on(run).unwrap();
    }
}
