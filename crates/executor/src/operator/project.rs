//! Computes a new frame from each row.
use super::{Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use datum::{SqlError, Value};
use expression::Expr;
use plan::Node;
use schema::LocalFuture;

pub struct ProjectRows<'p> {
    input: Box<dyn Operator + 'p>,
    rows: RowBatch,
    expressions: &'p [Expr],
}

impl<'p> ProjectRows<'p> {
    pub fn new(input: &'p Node, expressions: &'p [Expr]) -> ProjectRows<'p> {
        ProjectRows { rows: RowBatch::new(input.width), input: build(input), expressions }
    }
}

impl Operator for ProjectRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
        self.rows.clear();
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            self.rows.clear();
            let more = self.input.next_batch(context, wanted, &mut self.rows).await?;
            for row in self.rows.rows() {
                let target = out.push_empty();
                for (expr, value) in self.expressions.iter().zip(target) {
                    *value = expr.eval(row, context.eval)?;
                }
            }
            Ok(more)
        })
    }
}
