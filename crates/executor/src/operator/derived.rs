//! A query in FROM: its rows are computed once and kept, then placed into the block's frame. Those of a query that reads
//! columns from outside are computed anew whenever their values change.
use super::{Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::all_hold;
use crate::row_store::{RowReader, RowStore};
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
    rows: RowStore,
    is_filled: bool,
    /// The values from outside that the rows were made for.
    values: Vec<Value>,
    reader: RowReader,
    pace: Pace,
}

impl<'p> DerivedScan<'p> {
    pub fn new(input: &'p Node, projection: &'p [(usize, usize)], filter: &'p [Expr]) -> DerivedScan<'p> {
        DerivedScan {
            rows: RowStore::new(input.width),
            input: build(input),
            projection,
            filter,
            correlation: &[],
            slots: &[],
            base: Vec::new(),
            is_filled: false,
            values: Vec::new(),
            reader: RowReader::default(),
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
            self.rows.clear(&mut context.memory);
            self.is_filled = false;
        }
        Ok(())
    }

    async fn fill(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.rows.clear(&mut context.memory);
        self.input.start(&[]);
        self.rows.fill(&mut *self.input, context).await?;
        self.is_filled = true;
        Ok(())
    }
}

impl Operator for DerivedScan<'_> {
    fn start(&mut self, base: &[Value]) {
        self.base = base.to_vec();
        self.reader = self.rows.reader();
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
            if self.reader.position() == 0 && !self.slots.is_empty() {
                self.bring_in(context)?;
            }
            if !self.is_filled {
                self.fill(context).await?;
            }
            let rows = self.reader.rows(&self.rows, wanted).await?;
            for row in rows.iter() {
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
            let count = rows.len();
            self.pace.count(count + 1).await;
            Ok(!self.reader.is_at_end(&self.rows))
        })
    }
}
