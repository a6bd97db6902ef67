//! The rows of one partition, as far as they have been read and are still needed.
//!
//! Invariant: rows are numbered from 0 in the partition's order; those before `first` have been given back.
use crate::context::ExecContext;
use crate::memory::{Held, row_bytes};
use datum::{SqlError, Value};
use std::collections::VecDeque;

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

#[derive(Default)]
pub struct Partition {
    rows: VecDeque<PartitionRow>,
    first: u64,
    /// No more rows follow.
    pub is_complete: bool,
    held: Held,
}

impl Partition {
    /// Rows read so far.
    pub fn count(&self) -> u64 {
        self.first + self.rows.len() as u64
    }

    pub fn row(&self, number: u64) -> &PartitionRow {
        &self.rows[(number - self.first) as usize]
    }

    pub fn last(&self) -> Option<&PartitionRow> {
        self.rows.back()
    }

    pub fn push(&mut self, row: PartitionRow, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.held.take(bytes_of(&row), &mut context.memory)?;
        self.rows.push_back(row);
        Ok(())
    }

    /// Gives rows before `number` back.
    pub fn forget_before(&mut self, number: u64, context: &mut ExecContext<'_>) {
        while self.first < number {
            let Some(row) = self.rows.pop_front() else { return };
            self.held.give_back(bytes_of(&row), &mut context.memory);
            self.first += 1;
        }
    }

    /// Begins another partition.
    pub fn clear(&mut self, context: &mut ExecContext<'_>) {
        self.rows.clear();
        self.held.release(&mut context.memory);
        self.first = 0;
        self.is_complete = false;
    }
}

fn bytes_of(row: &PartitionRow) -> usize {
    row_bytes(&row.frame) + row_bytes(&row.values) + size_of::<PartitionRow>()
}
