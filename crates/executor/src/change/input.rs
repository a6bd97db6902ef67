//! The rows that an UPDATE or DELETE changes and an INSERT .. SELECT adds: how they are read.
//!
//! Invariant: where changes could disturb the reading, all rows are read before the first is handed out. One row by its key
//! is read without operators. Collected rows can be handed out several times. Callers: `update`, `delete`, `insert`.
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::operator::{BATCH_ROWS, Operator, build};
use crate::point::{PointRead, read_point};
use crate::row_store::{RowReader, RowStore};
use datum::SqlError;
use plan::Node;

pub struct ChangeInput<'p> {
    node: &'p Node,
    /// `None` until it is known that there is more to read than one row by its key.
    operators: Option<Box<dyn Operator + 'p>>,
    /// Rows are collected before the first change, because changes could disturb the reading.
    collects: bool,
    collected: Option<(RowStore, RowReader)>,
}

impl<'p> ChangeInput<'p> {
    pub fn new(node: &'p Node, collects: bool) -> ChangeInput<'p> {
        ChangeInput { node, operators: None, collects, collected: None }
    }

    /// Appends the next rows to change; false when there are no more.
    pub async fn next_rows(
        &mut self,
        context: &mut ExecContext<'_>,
        rows: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        context.check()?;
        if !self.collects {
            return self.read(context, rows).await;
        }
        if self.collected.is_none() {
            let store = self.collect(context).await?;
            let reader = store.reader();
            self.collected = Some((store, reader));
        }
        let Some((store, reader)) = &mut self.collected else { return Ok(false) };
        for row in reader.rows(store, BATCH_ROWS).await?.iter() {
            rows.push_copy(row);
        }
        Ok(!reader.is_at_end(store))
    }

    /// Collected rows are handed out from the first one on again.
    pub fn rewind(&mut self) {
        if let Some((store, reader)) = &mut self.collected {
            *reader = store.reader();
        }
    }

    /// Other rows are handed out from now on, in place of the collected ones.
    pub fn replace(&mut self, store: RowStore, context: &mut ExecContext<'_>) {
        let reader = store.reader();
        if let Some((mut before, _)) = self.collected.replace((store, reader)) {
            before.clear(&mut context.memory);
        }
    }

    /// Reads some rows.
    async fn read(&mut self, context: &mut ExecContext<'_>, rows: &mut RowBatch) -> Result<bool, SqlError> {
        if self.operators.is_none() && self.read_point(context, rows).await? {
            return Ok(false);
        }
        let node = self.node;
        let operators = self.operators.get_or_insert_with(|| started(node));
        let more = operators.next_batch(context, BATCH_ROWS, rows).await?;
        context.check()?;
        Ok(more)
    }

    /// True when one row by its key was all that there was to read.
    async fn read_point(&self, context: &mut ExecContext<'_>, rows: &mut RowBatch) -> Result<bool, SqlError> {
        let read = read_point(self.node, context).await?;
        context.check()?;
        match read {
            PointRead::Other => Ok(false),
            PointRead::Absent => Ok(true),
            PointRead::Row(frame) => {
                rows.push_row(frame);
                Ok(true)
            }
        }
    }

    async fn collect(&self, context: &mut ExecContext<'_>) -> Result<RowStore, SqlError> {
        let mut store = RowStore::new(self.node.width);
        let mut point = RowBatch::new(self.node.width);
        if self.read_point(context, &mut point).await? {
            for row in point.rows() {
                store.push(row, context).await?;
            }
            store.finish(context).await?;
        } else {
            store.fill(&mut *started(self.node), context).await?;
        }
        context.check()?;
        Ok(store)
    }
}

fn started(node: &Node) -> Box<dyn Operator + '_> {
    let mut operators = build(node);
    operators.start(&[]);
    operators
}
