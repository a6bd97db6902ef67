//! Keeps the rows for which all predicates are true.
use super::Operator;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::deferred::all_hold;
use datum::{SqlError, Value};
use expression::Expr;
use schema::LocalFuture;

pub struct FilterRows<'p> {
    input: Box<dyn Operator + 'p>,
    predicates: &'p [Expr],
}

impl<'p> FilterRows<'p> {
    pub fn new(input: Box<dyn Operator + 'p>, predicates: &'p [Expr]) -> FilterRows<'p> {
        FilterRows { input, predicates }
    }
}

impl Operator for FilterRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
    }

    fn expect<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        bases: &'a RowBatch,
    ) -> LocalFuture<'a, Result<(), SqlError>> {
        self.input.expect(context, bases)
    }

    fn has_expectations(&self) -> bool {
        self.input.has_expectations()
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            let first = out.len();
            let more = self.input.next_batch(context, wanted, out).await?;
            let mut kept = first;
            for index in first..out.len() {
                let row = out.row(index);
                let keeps = all_hold(self.predicates, row, context).await?;
                if keeps {
                    out.move_row(index, kept);
                    kept += 1;
                }
            }
            out.truncate(kept);
            Ok(more)
        })
    }
}
