//! The rows of a sort while they are few: they stay values, and their places are sorted.
//!
//! Invariant: rows with equal keys come out in the order in which they came. Called by `sort`, which gives the rows to a `Sorter`
//! when they are more than `FIRST_BYTES`, or when their keys have no order as values.
use super::sort_key::SortKeys;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::deferred::retried;
use crate::memory::row_bytes;
use datum::{SqlError, Value};

/// What rows may take before their sort is one that can go to disk.
pub const FIRST_BYTES: usize = 64 << 10;

pub struct FirstRows {
    rows: RowBatch,
    /// The keys that are no columns, row by row.
    computed: RowBatch,
    bytes: usize,
    /// Once they are sorted: the places of the rows, the last one first.
    order: Vec<usize>,
}

impl FirstRows {
    pub fn new(width: usize, keys: &SortKeys<'_>) -> FirstRows {
        FirstRows {
            rows: RowBatch::new(width),
            computed: RowBatch::new(keys.computed()),
            bytes: 0,
            order: Vec::new(),
        }
    }

    pub fn clear(&mut self) {
        self.rows.clear();
        self.computed.clear();
        self.bytes = 0;
        self.order.clear();
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// What the rows and their keys take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the next rows go; `compute` is due behind them.
    pub fn batch(&mut self) -> &mut RowBatch {
        &mut self.rows
    }

    /// Finds the keys of rows that have come.
    pub async fn compute(
        &mut self,
        keys: &SortKeys<'_>,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        for index in self.computed.len()..self.rows.len() {
            let row = self.rows.row(index);
            let computed = self.computed.push_empty();
            if !computed.is_empty() {
                retried(context, |eval| keys.compute(row, eval, computed)).await?;
            }
            self.bytes += row_bytes(row) + row_bytes(computed) + size_of::<usize>();
        }
        Ok(())
    }

    /// A row and its computed keys.
    pub fn row(&self, index: usize) -> (&[Value], &[Value]) {
        (self.rows.row(index), self.computed.row(index))
    }

    /// Sorts the rows and keeps the first `keep`; false where the keys have no order as values.
    pub fn sort(&mut self, keys: &SortKeys<'_>, keep: usize) -> bool {
        if !keys.are_comparable((0..self.len()).map(|index| self.row(index))) {
            return false;
        }
        let mut order = std::mem::take(&mut self.order);
        order.extend(0..self.len());
        order.sort_unstable_by(|&left, &right| {
            keys.compare(self.row(left), self.row(right)).then(left.cmp(&right))
        });
        order.truncate(keep);
        order.reverse();
        self.order = order;
        true
    }

    /// Moves the next rows out, at most `wanted`; false when there are no more.
    pub fn take(&mut self, wanted: usize, out: &mut RowBatch) -> bool {
        for _ in 0..wanted {
            let Some(index) = self.order.pop() else { break };
            out.push_taken(&mut self.rows, index);
        }
        !self.order.is_empty()
    }
}
