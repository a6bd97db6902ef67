//! Rows that are kept to be read again: in memory up to a share, the rest in a temporary file.
//!
//! Invariant: rows are read in the order in which they came, by any number of readers, once `finish` was called. A few rows
//! cost no more than a batch of them does. Called by derived tables, WITH, recursion, subqueries, changes that collect rows
//! first, and cursors.
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::memory::{Held, MemoryBudget, row_bytes};
use crate::operator::{BATCH_ROWS, Operator};
use datum::{SqlError, Value};
use env::TemporarySpace;
use rowstore::{SpillFile, Stream, StreamReader, StreamWriter, read_row_into, write_row};
use std::ops::Range;
use std::sync::Arc;

pub struct RowStore {
    /// The first rows.
    head: RowBatch,
    tail: Tail,
    tail_rows: usize,
    /// What the head takes.
    held: Held,
    record: Vec<u8>,
}

enum Tail {
    None,
    Writing(StreamWriter),
    Written(Arc<Stream>),
}

impl RowStore {
    pub fn new(width: usize) -> RowStore {
        RowStore {
            head: RowBatch::new(width),
            tail: Tail::None,
            tail_rows: 0,
            held: Held::default(),
            record: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.head.len() + self.tail_rows
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A row of those that are in memory, which the first ones are.
    pub fn head_row(&self, index: usize) -> Option<&[Value]> {
        (index < self.head.len()).then(|| self.head.row(index))
    }

    pub fn width(&self) -> usize {
        self.head.width()
    }

    /// Forgets all rows.
    pub fn clear(&mut self, memory: &mut MemoryBudget) {
        let width = self.head.width();
        self.held.release(memory);
        *self = RowStore::new(width);
    }

    /// What it counts for in the budget that it was filled with.
    pub fn held_bytes(&self) -> usize {
        self.held.bytes()
    }

    /// Keeps all rows of an operator that was started.
    pub async fn fill(
        &mut self,
        input: &mut (dyn Operator + '_),
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let mut batch = RowBatch::new(self.head.width());
        let mut more = true;
        while more {
            context.check()?;
            if matches!(self.tail, Tail::None) {
                let first = self.head.len();
                more = input.next_batch(context, BATCH_ROWS, &mut self.head).await?;
                self.count_head(first, context).await?;
                continue;
            }
            batch.clear();
            more = input.next_batch(context, BATCH_ROWS, &mut batch).await?;
            for row in batch.rows() {
                self.write(row).await?;
            }
        }
        self.finish(context).await
    }

    /// Counts rows that have come into the head, and lets the next ones go to disk when it is full.
    async fn count_head(&mut self, first: usize, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let bytes: usize = (first..self.head.len()).map(|index| row_bytes(self.head.row(index))).sum();
        let share = context.settings.shares.rows_bytes;
        if self.held.take_or_spill(bytes, share, &mut context.memory)? {
            self.begin_tail(context.temporary).await?;
        }
        Ok(())
    }

    async fn begin_tail(&mut self, space: &Arc<TemporarySpace>) -> Result<(), SqlError> {
        self.tail = Tail::Writing(StreamWriter::new(SpillFile::create(space).await?));
        Ok(())
    }

    /// Keeps one more row.
    pub async fn push(&mut self, row: &[Value], context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let share = context.settings.shares.rows_bytes;
        self.push_within(row, share, &mut context.memory, context.temporary).await
    }

    /// The same outside of an execution.
    pub async fn push_within(
        &mut self,
        row: &[Value],
        share: usize,
        memory: &mut MemoryBudget,
        space: &Arc<TemporarySpace>,
    ) -> Result<(), SqlError> {
        if !matches!(self.tail, Tail::None) {
            return self.write(row).await;
        }
        self.head.push_row(row.to_vec());
        if self.held.take_or_spill(row_bytes(row), share, memory)? {
            self.begin_tail(space).await?;
        }
        Ok(())
    }

    async fn write(&mut self, row: &[Value]) -> Result<(), SqlError> {
        let Tail::Writing(writer) = &mut self.tail else {
            unreachable!("rows are written before the store is finished");
        };
        self.record.clear();
        write_row(row, &mut self.record);
        writer.push(&self.record).await?;
        self.tail_rows += 1;
        Ok(())
    }

    /// No more rows come. What has gone to disk is counted as the statement's.
    pub async fn finish(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let bytes = self.finish_writing().await?;
        context.work.spilled_bytes += bytes;
        context.work.disk_tables += u64::from(bytes > 0);
        Ok(())
    }

    /// The same outside of an execution; answers the bytes on disk.
    pub async fn finish_writing(&mut self) -> Result<u64, SqlError> {
        match std::mem::replace(&mut self.tail, Tail::None) {
            Tail::Writing(writer) if writer.records() > 0 => {
                let stream = writer.finish().await?;
                let bytes = stream.bytes();
                self.tail = Tail::Written(stream);
                Ok(bytes)
            }
            Tail::Written(stream) => {
                self.tail = Tail::Written(stream);
                Ok(0)
            }
            _ => Ok(0),
        }
    }

    pub fn reader(&self) -> RowReader {
        RowReader { next: 0, tail: None, batch: RowBatch::new(self.head.width()) }
    }
}

/// A place in a store.
#[derive(Default)]
pub struct RowReader {
    next: usize,
    tail: Option<StreamReader>,
    batch: RowBatch,
}

/// Some rows that follow each other.
pub struct Rows<'r> {
    batch: &'r RowBatch,
    range: Range<usize>,
}

impl<'r> Rows<'r> {
    pub fn iter(&self) -> impl Iterator<Item = &'r [Value]> + use<'r> {
        let batch = self.batch;
        self.range.clone().map(move |index| batch.row(index))
    }

    pub fn len(&self) -> usize {
        self.range.end - self.range.start
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl RowReader {
    /// How many rows it has passed.
    pub fn position(&self) -> usize {
        self.next
    }

    pub fn is_at_end(&self, store: &RowStore) -> bool {
        self.next >= store.len()
    }

    /// The next rows, at most `wanted`; none at the end.
    pub async fn rows<'r>(&'r mut self, store: &'r RowStore, wanted: usize) -> Result<Rows<'r>, SqlError> {
        let head = store.head.len();
        if self.next < head {
            let end = head.min(self.next.saturating_add(wanted));
            let range = self.next..end;
            self.next = end;
            return Ok(Rows { batch: &store.head, range });
        }
        self.batch.clear();
        if let Tail::Written(stream) = &store.tail {
            let reader = self.tail.get_or_insert_with(|| StreamReader::new(stream.clone()));
            while self.batch.len() < wanted.min(BATCH_ROWS) && reader.advance().await? {
                read_row_into(reader.record(), self.batch.push_empty())?;
                self.next += 1;
            }
        }
        let count = self.batch.len();
        Ok(Rows { batch: &self.batch, range: 0..count })
    }
}
