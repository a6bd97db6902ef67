//! A query in FROM: its rows are computed once and kept, then placed into the block's frame. Those of a query that reads
//! columns from outside are computed anew whenever their values change.
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::all_hold;
use crate::memory::{Held, row_bytes};
use datum::{SqlError, Value};
use expression::Expr;
use plan::{Lateral, Node};
use schema::LocalFuture;

pub struct DerivedScan<'p> {
    input: Box<dyn Operator + 'p>,
    projection: &'p [(usize, usize)],
    filter: &'p [Expr],
    correlation: &'p [(usize, Expr)],
    slots: &'p [usize],
    base: Vec<Value>,
    /// All rows of the input, kept over restarts.
    rows: RowBatch,
    is_filled: bool,
    /// The values from outside that the rows were made for.
    values: Vec<Value>,
    held: Held,
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
            correlation: &[],
            slots: &[],
            base: Vec::new(),
            is_filled: false,
            values: Vec::new(),
            held: Held::default(),
            next: 0,
            pace: Pace::default(),
        }
    }

    pub fn lateral(lateral: &'p Lateral) -> DerivedScan<'p> {
        DerivedScan {
            correlation: &lateral.correlation,
            slots: &lateral.slots,
            ..DerivedScan::new(&lateral.input, &lateral.projection, &lateral.filter)
        }
    }

    /// Hands the values from outside in, and forgets rows that were made for others.
    fn bring_in(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        for (slot, expr) in self.correlation {
            let value = expr.eval(&self.base, context.eval)?;
            context.eval.slots[*slot] = value;
        }
        let values: Vec<Value> = self.slots.iter().map(|slot| context.eval.slots[*slot].clone()).collect();
        if values != self.values || !self.is_filled {
            self.values = values;
            self.rows.clear();
            self.held.release(&mut context.memory);
            self.is_filled = false;
        }
        Ok(())
    }

    async fn fill(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.input.start(&[]);
        let mut more = true;
        while more {
            context.interrupt.check()?;
            let first = self.rows.len();
            more = self.input.next_batch(context, BATCH_ROWS, &mut self.rows).await?;
            let bytes = (first..self.rows.len()).map(|index| row_bytes(self.rows.row(index))).sum();
            self.held.take(bytes, &mut context.memory)?;
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
            self.base.resize(out.width(), Value::Null);
            if self.next == 0 && !self.slots.is_empty() {
                self.bring_in(context)?;
            }
            if !self.is_filled {
                self.fill(context).await?;
            }
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
