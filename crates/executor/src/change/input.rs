//! The rows that an UPDATE or DELETE changes and an INSERT .. SELECT adds: how they are read.
//!
//! Invariant: where changes could disturb the reading, all rows are read before the first is handed out. One row by its key
//! is read without operators. Callers: `update`, `delete`, `insert`.
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::memory::row_bytes;
use crate::operator::{BATCH_ROWS, Operator, build};
use crate::point::{PointRead, read_point};
use datum::SqlError;
use plan::Node;

pub struct ChangeInput<'p> {
    node: &'p Node,
    /// `None` until it is known that there is more to read than one row by its key.
    operators: Option<Box<dyn Operator + 'p>>,
    /// Rows are collected before the first change, because changes could disturb the reading.
    collects: bool,
}

impl<'p> ChangeInput<'p> {
    pub fn new(node: &'p Node, collects: bool) -> ChangeInput<'p> {
        ChangeInput { node, operators: None, collects }
    }

    /// Appends the next rows to change: a batch, or all of them when they are collected. False when there are no more.
    pub async fn next_rows(
        &mut self,
        context: &mut ExecContext<'_>,
        rows: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        context.check()?;
        if self.operators.is_none() {
            let read = read_point(self.node, context).await?;
            context.check()?;
            match read {
                PointRead::Other => {}
                PointRead::Absent => return Ok(false),
                PointRead::Row(frame) => {
                    rows.push_row(frame);
                    return Ok(false);
                }
            }
        }
        let operators = self.operators.get_or_insert_with(|| {
            let mut operators = build(self.node);
            operators.start(&[]);
            operators
        });
        loop {
            let first = rows.len();
            let more = operators.next_batch(context, BATCH_ROWS, rows).await?;
            context.check()?;
            if !self.collects {
                return Ok(more);
            }
            context.memory.take((first..rows.len()).map(|index| row_bytes(rows.row(index))).sum())?;
            if !more {
                return Ok(false);
            }
        }
    }
}
