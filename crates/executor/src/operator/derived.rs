//! A query in FROM: its rows are computed once and kept, then placed into the block's frame.
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::all_hold;
use crate::memory::row_bytes;
use datum::{SqlError, Value};
use expression::Expr;
use plan::Node;
use schema::LocalFuture;

pub struct DerivedScan<'p> {
    input: Box<dyn Operator + 'p>,
    projection: &'p [(usize, usize)],
    filter: &'p [Expr],
    base: Vec<Value>,
    /// All rows of the input, kept over restarts: a derived table depends on nothing outside.
    rows: RowBatch,
    is_filled: bool,
    next: usize,
    pace: Pace,
}

impl<'p> DerivedScan<'p> {
    pub fn new(input: &'p Node, projection: &'p [(usize, usize)], filter: &'p [Expr]) -> DerivedScan<'p> {
        DerivedScan {
            rows: RowBatch::new(input.width),
            input: build(input),
            projection,
            filter,
            base: Vec::new(),
            is_filled: false,
            next: 0,
            pace: Pace::default(),
        }
    }

    async fn fill(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.input.start(&[]);
        let mut more = true;
        while more {
            context.interrupt.check()?;
            let first = self.rows.len();
            more = self.input.next_batch(context, BATCH_ROWS, &mut self.rows).await?;
            let bytes = (first..self.rows.len()).map(|index| row_bytes(self.rows.row(index))).sum();
            context.memory.take(bytes)?;
        }
        self.is_filled = true;
        Ok(())
    }
}

impl Operator for DerivedScan<'_> {
    fn start(&mut self, base: &[Value]) {
        self.base = base.to_vec();
        self.next = 0;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            if !self.is_filled {
                self.fill(context).await?;
            }
            self.base.resize(out.width(), Value::Null);
            let end = self.rows.len().min(self.next.saturating_add(wanted));
            for index in self.next..end {
                let row = self.rows.row(index);
                let frame = out.push_copy(&self.base);
                for &(column, position) in self.projection {
                    frame[position] = row[column].clone();
                }
                let row = out.row(out.len() - 1);
                let keeps = all_hold(self.filter, row, context).await?;
                if !keeps {
                    out.pop();
                }
            }
            self.pace.count(end - self.next + 1).await;
            self.next = end;
            Ok(end < self.rows.len())
        })
    }
}
