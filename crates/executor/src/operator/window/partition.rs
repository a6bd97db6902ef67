//! The rows of one partition, as far as they have been read and are still needed.
//!
//! Invariant: rows are numbered from 0 in the partition's order; those before `first` have been given back. Beyond the operator's
//! share chunks of rows go to disk, the longest unused first: a row of such a chunk is `missing` until it was loaded, and who asked
//! for it asks again then. The last chunk and the ones in use stay.
use crate::context::ExecContext;
use crate::memory::{Held, row_bytes};
use datum::{SqlError, Value};
use rowstore::{SpillFile, Stream, StreamReader, StreamWriter, damaged, read_row, write_row};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

/// Rows of one chunk.
const CHUNK_ROWS: usize = 128;
/// Chunks that stay in any case: no function looks at rows of more to find one value.
const CHUNKS_MIN: usize = 12;

pub struct PartitionRow {
    /// The input's row.
    pub frame: Vec<Value>,
    /// Values of the order, then of all functions' arguments.
    pub values: Vec<Value>,
    /// The first row that is equal to it by the order.
    pub peers_from: u64,
    /// How many groups of peers begin before it.
    pub peer_group: u64,
}

struct Chunk {
    /// Empty when they are on disk only.
    rows: Vec<PartitionRow>,
    /// What they take, also when they are on disk.
    bytes: usize,
    stream: Option<Arc<Stream>>,
    used_at: Cell<u64>,
}

#[derive(Default)]
pub struct Partition {
    chunks: VecDeque<Chunk>,
    /// The numbers of the chunks in memory, from the partition's start.
    resident: Vec<u64>,
    /// The first row of the first chunk, and the rows read so far.
    first: u64,
    count: u64,
    /// No more rows follow.
    pub is_complete: bool,
    held: Held,
    /// Grows with every row that is looked for.
    clock: Cell<u64>,
    missing: Cell<Option<u64>>,
    file: Option<Arc<SpillFile>>,
}

impl Partition {
    /// Rows read so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// `None` when the row is on disk; `load_missing` brings it.
    #[inline]
    pub fn row(&self, number: u64) -> Option<&PartitionRow> {
        let place = (number - self.first) as usize;
        let chunk = &self.chunks[place / CHUNK_ROWS];
        self.clock.set(self.clock.get() + 1);
        chunk.used_at.set(self.clock.get());
        let row = chunk.rows.get(place % CHUNK_ROWS);
        if row.is_none() {
            self.missing.set(Some(number));
        }
        row
    }

    /// As `row`, to take from it what nobody looks at again.
    pub fn row_mut(&mut self, number: u64) -> Option<&mut PartitionRow> {
        self.row(number)?;
        let place = (number - self.first) as usize;
        self.chunks[place / CHUNK_ROWS].rows.get_mut(place % CHUNK_ROWS)
    }

    pub fn last(&self) -> Option<&PartitionRow> {
        self.chunks.back().and_then(|chunk| chunk.rows.last())
    }

    pub async fn push(&mut self, row: PartitionRow, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        if self.chunks.back().is_none_or(|chunk| chunk.rows.len() == CHUNK_ROWS) {
            let used_at = self.clock.clone();
            self.resident.push(self.count / CHUNK_ROWS as u64);
            self.chunks.push_back(Chunk { rows: Vec::new(), bytes: 0, stream: None, used_at });
        }
        let bytes = bytes_of(&row);
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.rows.push(row);
            chunk.bytes += bytes;
        }
        self.count += 1;
        self.make_room(bytes, context).await
    }

    /// Counts bytes that have come into memory, and sends chunks to disk when they are too many.
    async fn make_room(&mut self, bytes: usize, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let share = context.settings.shares.rows_bytes;
        let mut has_too_much = self.held.take_or_spill(bytes, share, &mut context.memory)?;
        while has_too_much && self.resident.len() > CHUNKS_MIN {
            let last = self.count.div_ceil(CHUNK_ROWS as u64) - 1;
            let movable = self.resident.iter().enumerate().filter(|(_, chunk)| **chunk != last);
            let used_at = |chunk: u64| self.chunks[self.place_of(chunk)].used_at.get();
            let Some((index, _)) = movable.min_by_key(|(_, chunk)| used_at(**chunk)) else { break };
            let chunk = self.resident.swap_remove(index);
            self.send_to_disk(self.place_of(chunk), context).await?;
            has_too_much = self.held.take_or_spill(0, share, &mut context.memory)?;
        }
        Ok(())
    }

    /// Where a chunk is in `chunks`.
    fn place_of(&self, chunk: u64) -> usize {
        (chunk - self.first / CHUNK_ROWS as u64) as usize
    }

    async fn send_to_disk(&mut self, place: usize, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        if self.chunks[place].stream.is_none() {
            let file = match &self.file {
                Some(file) => file.clone(),
                None => {
                    context.work.disk_tables += 1;
                    self.file.insert(SpillFile::create(context.temporary).await?).clone()
                }
            };
            let mut writer = StreamWriter::new(file);
            let mut record = Vec::new();
            for row in &self.chunks[place].rows {
                record.clear();
                let numbers = [Value::UInt(row.peers_from), Value::UInt(row.peer_group)];
                write_row(numbers.iter().chain(&row.frame).chain(&row.values), &mut record);
                writer.push(&record).await?;
            }
            let stream = writer.finish().await?;
            context.work.spilled_bytes += stream.bytes();
            self.chunks[place].stream = Some(stream);
        }
        let chunk = &mut self.chunks[place];
        chunk.rows = Vec::new();
        self.held.give_back(chunk.bytes, &mut context.memory);
        Ok(())
    }

    /// Brings the row that was looked for and not there; false when none was.
    pub async fn load_missing(&mut self, context: &mut ExecContext<'_>) -> Result<bool, SqlError> {
        let Some(number) = self.missing.take().filter(|number| *number >= self.first) else {
            return Ok(false);
        };
        let place = (number - self.first) as usize / CHUNK_ROWS;
        let width = self.last().map_or(0, |row| row.frame.len());
        let chunk = &mut self.chunks[place];
        let Some(stream) = chunk.stream.clone().filter(|_| chunk.rows.is_empty()) else { return Ok(true) };
        let mut rows = Vec::with_capacity(CHUNK_ROWS);
        let mut reader = StreamReader::new(stream);
        while reader.advance().await? {
            rows.push(read_partition_row(reader.record(), width)?);
        }
        let bytes = chunk.bytes;
        chunk.rows = rows;
        self.resident.push(number / CHUNK_ROWS as u64);
        self.make_room(bytes, context).await?;
        Ok(true)
    }

    /// Gives rows before `number` back, chunk by chunk.
    pub fn forget_before(&mut self, number: u64, context: &mut ExecContext<'_>) {
        while number >= self.first + CHUNK_ROWS as u64 {
            let Some(chunk) = self.chunks.pop_front() else { return };
            if !chunk.rows.is_empty() {
                self.held.give_back(chunk.bytes, &mut context.memory);
            }
            self.resident.retain(|number| *number != self.first / CHUNK_ROWS as u64);
            self.first += CHUNK_ROWS as u64;
        }
    }

    /// Begins another partition.
    pub fn clear(&mut self, context: &mut ExecContext<'_>) {
        self.chunks.clear();
        self.resident.clear();
        self.held.release(&mut context.memory);
        self.missing.set(None);
        self.first = 0;
        self.count = 0;
        self.is_complete = false;
    }
}

fn read_partition_row(record: &[u8], width: usize) -> Result<PartitionRow, SqlError> {
    let mut numbers = Vec::with_capacity(2 + width);
    read_row(record, &mut numbers)?;
    if numbers.len() < 2 + width {
        return Err(damaged());
    }
    let mut frame = numbers.split_off(2);
    let values = frame.split_off(width);
    match numbers[..] {
        [Value::UInt(peers_from), Value::UInt(peer_group)] => {
            Ok(PartitionRow { frame, values, peers_from, peer_group })
        }
        _ => Err(damaged()),
    }
}

fn bytes_of(row: &PartitionRow) -> usize {
    row_bytes(&row.frame) + row_bytes(&row.values) + size_of::<PartitionRow>()
}
