//! Rows that an operator has no room for, divided by the hash of their key into parts that it works off one by one.
//!
//! Invariant: rows with equal keys are in one part, each with its key, so nothing is evaluated twice. A part that is too large
//! itself is divided again. Called by `aggregate` and `distinct`.
use crate::batch::RowBatch;
use crate::context::ExecContext;
use datum::{SqlError, Value};
use rowstore::{Partitions, SpillFile, Stream, StreamReader, read_row_into, write_row};
use std::sync::Arc;

/// Before the key in a record.
const KEY_LENGTH_BYTES: usize = 4;

#[derive(Default)]
pub struct Divided {
    file: Option<Arc<SpillFile>>,
    /// Where rows go now.
    parts: Option<Partitions>,
    /// Parts that have not been read, with the level on which they were divided.
    waiting: Vec<(Arc<Stream>, u32)>,
    /// The part that is read, and its level.
    reader: Option<(StreamReader, u32)>,
    record: Vec<u8>,
}

/// Keys of a batch of rows, one behind the other.
#[derive(Default)]
pub struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends the last key once more.
    pub fn repeat(&mut self) {
        let last = self.ends.len() - 1;
        let start = if last == 0 { 0 } else { self.ends[last - 1] };
        self.bytes.extend_from_within(start..self.ends[last]);
        self.ends.push(self.bytes.len());
    }

    /// Appends what `write` writes as one key.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), SqlError>) -> Result<(), SqlError> {
        let start = self.bytes.len();
        // Nothing of a failed one stays: it may be written once more.
        write(&mut self.bytes).inspect_err(|_| self.bytes.truncate(start))?;
        self.ends.push(self.bytes.len());
        Ok(())
    }
}

impl Divided {
    /// Rows are being put aside.
    pub fn is_dividing(&self) -> bool {
        self.parts.is_some()
    }

    /// From now on rows are put aside.
    pub async fn begin(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let file = match &self.file {
            Some(file) => file.clone(),
            None => {
                context.work.disk_tables += 1;
                self.file.insert(SpillFile::create(context.temporary).await?).clone()
            }
        };
        let level = self.reader.as_ref().map_or(0, |(_, level)| level + 1);
        self.parts = Some(Partitions::new(file, level));
        Ok(())
    }

    pub async fn put(&mut self, key: &[u8], row: &[Value]) -> Result<(), SqlError> {
        let parts = self.parts.as_mut().expect("rows are put aside behind `begin`");
        write_record(key, row, &mut self.record);
        if parts.try_push(key, &self.record) {
            return Ok(());
        }
        parts.push(key, &self.record).await
    }

    /// Goes to the next part; false when there is none.
    pub async fn next_part(&mut self, context: &mut ExecContext<'_>) -> Result<bool, SqlError> {
        if let Some(parts) = self.parts.take() {
            let level = parts.level();
            for part in parts.finish().await?.into_iter().flatten() {
                context.work.spilled_bytes += part.bytes();
                self.waiting.push((part, level));
            }
        }
        self.reader = self.waiting.pop().map(|(part, level)| (StreamReader::consuming(part), level));
        Ok(self.reader.is_some())
    }

    /// A part is being read.
    pub fn has_part(&self) -> bool {
        self.reader.is_some()
    }

    /// Appends rows of the part, up to `wanted`, and their keys; false at its end.
    pub async fn read(
        &mut self,
        wanted: usize,
        batch: &mut RowBatch,
        keys: &mut Keys,
    ) -> Result<bool, SqlError> {
        let Some((reader, _)) = &mut self.reader else { return Ok(false) };
        for _ in 0..wanted {
            if !reader.advance().await? {
                return Ok(false);
            }
            let (key, row) = split_record(reader.record())?;
            keys.push(|bytes| {
                bytes.extend_from_slice(key);
                Ok(())
            })?;
            read_row_into(row, batch.push_empty())?;
        }
        Ok(true)
    }
}

/// Replaces `record` by one of a key and a row.
pub fn write_record<'v>(key: &[u8], row: impl IntoIterator<Item = &'v Value>, record: &mut Vec<u8>) {
    record.clear();
    let length = u32::try_from(key.len()).expect("a key is smaller than 4 GiB");
    record.extend_from_slice(&length.to_le_bytes());
    record.extend_from_slice(key);
    write_row(row, record);
}

/// The key and the row of a record.
pub fn split_record(record: &[u8]) -> Result<(&[u8], &[u8]), SqlError> {
    let split = || {
        let (length, rest) = record.split_first_chunk::<KEY_LENGTH_BYTES>()?;
        rest.split_at_checked(u32::from_le_bytes(*length) as usize)
    };
    split().ok_or_else(rowstore::damaged)
}
