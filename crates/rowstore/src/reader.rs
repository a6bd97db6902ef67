//! Reads a stream's records in their order, one block ahead unless few of them are looked at.
use crate::failure::{damaged, spill_error};
use crate::file::BLOCK_BYTES;
use crate::writer::{LENGTH_BYTES, Stream};
use datum::SqlError;
use env::{Completion, IoBuf};
use std::sync::Arc;

pub struct StreamReader {
    stream: Arc<Stream>,
    /// Blocks are given back behind the reader: it is the only one.
    consumes: bool,
    reads_ahead: bool,
    /// The block that is read next, and the one that is being read.
    next_block: usize,
    pending: Option<(usize, Completion)>,
    current: Option<(usize, IoBuf)>,
    /// Where in the current block the next bytes are, and where they begin in the first one.
    at: usize,
    first_at: usize,
    /// The record, when it is spread over blocks.
    spread: Vec<u8>,
    record: Record,
    left: u64,
}

enum Record {
    None,
    /// Where in the current block it is.
    Inside(usize, usize),
    Spread,
}

impl StreamReader {
    /// Reads from the start; others may too.
    pub fn new(stream: Arc<Stream>) -> StreamReader {
        StreamReader {
            left: stream.records(),
            stream,
            consumes: false,
            reads_ahead: true,
            next_block: 0,
            pending: None,
            current: None,
            at: 0,
            first_at: 0,
            spread: Vec::new(),
            record: Record::None,
        }
    }

    /// Reads once and gives the space back on its way.
    pub fn consuming(stream: Arc<Stream>) -> StreamReader {
        let mut reader = StreamReader::new(stream);
        reader.consumes = true;
        reader
    }

    /// Reads the few records from this place on, before which there are `number` others.
    pub(crate) fn looking(stream: Arc<Stream>, block: usize, at: usize, number: u64) -> StreamReader {
        debug_assert!(block < stream.block_count() && at < BLOCK_BYTES, "a look begins in the stream");
        debug_assert!(number < stream.records(), "a look begins at a record");
        let mut reader = StreamReader::new(stream);
        reader.left = reader.left.saturating_sub(number);
        reader.reads_ahead = false;
        reader.next_block = block;
        reader.first_at = at;
        reader
    }

    /// Whether the next `advance` needs no block from disk.
    #[inline]
    fn step_inside(&mut self) -> bool {
        let Some((_, block)) = &self.current else { return false };
        let bytes = block.as_slice();
        debug_assert!(self.at <= bytes.len(), "a reader stands in its block");
        let Some(length) = bytes.get(self.at..self.at + LENGTH_BYTES) else { return false };
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        let start = self.at + LENGTH_BYTES;
        if length > bytes.len() - start {
            return false;
        }
        self.record = Record::Inside(start, start + length);
        self.at = start + length;
        true
    }

    /// Goes to the next record; false when there is none.
    pub async fn advance(&mut self) -> Result<bool, SqlError> {
        if self.left == 0 {
            self.record = Record::None;
            self.let_go();
            return Ok(false);
        }
        self.left -= 1;
        if self.step_inside() {
            return Ok(true);
        }
        let mut length = [0; LENGTH_BYTES];
        self.spread.clear();
        self.fill_spread(LENGTH_BYTES).await?;
        length.copy_from_slice(&self.spread);
        self.spread.clear();
        self.fill_spread(u32::from_le_bytes(length) as usize).await?;
        self.record = Record::Spread;
        Ok(true)
    }

    /// Appends so many of the next bytes to `spread`.
    async fn fill_spread(&mut self, mut count: usize) -> Result<(), SqlError> {
        while count > 0 {
            let available = self.current.as_ref().map_or(0, |(_, block)| block.len() - self.at);
            if available == 0 {
                self.load().await?;
                continue;
            }
            let taken = count.min(available);
            let (_, block) = self.current.as_ref().expect("it has bytes");
            self.spread.extend_from_slice(&block.as_slice()[self.at..self.at + taken]);
            self.at += taken;
            count -= taken;
        }
        Ok(())
    }

    /// The current record, behind an `advance` that was true.
    pub fn record(&self) -> &[u8] {
        match (&self.record, &self.current) {
            (Record::Spread, _) => &self.spread,
            (Record::Inside(start, end), Some((_, block))) => &block.as_slice()[*start..*end],
            _ => &[],
        }
    }

    /// Makes the next block the current one.
    async fn load(&mut self) -> Result<(), SqlError> {
        self.let_go();
        if self.pending.is_none() {
            self.read_ahead();
        }
        let Some((index, read)) = &mut self.pending else { return Err(damaged()) };
        let index = *index;
        // Awaited in its place: see `drop`.
        let (block, result) = read.await;
        self.pending = None;
        result.map_err(spill_error)?;
        debug_assert!(self.current.is_none(), "a block is let go before the next");
        self.current = Some((index, block));
        self.at = std::mem::take(&mut self.first_at);
        if self.reads_ahead {
            self.read_ahead();
        }
        Ok(())
    }

    fn read_ahead(&mut self) {
        debug_assert!(self.pending.is_none(), "one block is read at a time");
        if self.next_block < self.stream.block_count() {
            self.pending = Some((self.next_block, self.stream.read(self.next_block)));
            self.next_block += 1;
        }
    }

    /// Done with the current block.
    fn let_go(&mut self) {
        if let Some((index, _)) = self.current.take()
            && self.consumes
        {
            self.stream.give_back(index);
        }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        if let Some((index, _)) = self.pending {
            self.stream.abandon(index);
        }
    }
}
