//! Computes a new frame from each row.
use super::{Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::deferred::evaluated;
use crate::memory::outside_bytes;
use datum::{SqlError, Value, error_code};
use expression::{Expr, ExprKind};
use plan::Node;
use schema::LocalFuture;

pub struct ProjectRows<'p> {
    input: Box<dyn Operator + 'p>,
    rows: RowBatch,
    expressions: &'p [Expr],
    /// By expression: the position whose value it is and which no later expression reads, so it is moved.
    moved: Vec<Option<usize>>,
    /// The first of `rows` that has not been computed.
    next: usize,
    /// The input may have further rows.
    more: bool,
    /// Ends the statement behind the rows that were computed before it.
    failure: Option<SqlError>,
}

/// Values that take more are not gathered in one batch, but given on.
const BATCH_BYTES: usize = 1 << 20;

impl<'p> ProjectRows<'p> {
    pub fn new(input: &'p Node, expressions: &'p [Expr]) -> ProjectRows<'p> {
        let moved = (0..expressions.len()).map(|number| movable(&expressions[number..])).collect();
        ProjectRows {
            rows: RowBatch::new(input.width),
            input: build(input),
            expressions,
            moved,
            next: 0,
            more: true,
            failure: None,
        }
    }
}

fn is_interruption(error: &SqlError) -> bool {
    error.is(&error_code::ER_QUERY_INTERRUPTED) || error.is(&error_code::ER_QUERY_TIMEOUT)
}

/// The first expression's position, if it is a column and all others are columns of other positions.
fn movable(expressions: &[Expr]) -> Option<usize> {
    let column = |expr: &Expr| match expr.kind {
        ExprKind::Column(position) => Some(position),
        _ => None,
    };
    let position = column(&expressions[0])?;
    let is_other = |expr: &Expr| match &expr.kind {
        ExprKind::Column(other) => *other != position,
        ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::Slot(_) => true,
        _ => false,
    };
    expressions[1..].iter().all(is_other).then_some(position)
}

impl Operator for ProjectRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
        self.rows.clear();
        self.next = 0;
        self.failure = None;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if self.next == self.rows.len() {
                self.rows.clear();
                self.next = 0;
                self.more = self.input.next_batch(context, wanted, &mut self.rows).await?;
            }
            let mut bytes = 0;
            while self.next < self.rows.len() && bytes < BATCH_BYTES {
                let row = self.rows.row_mut(self.next);
                let target = out.push_empty();
                for ((expr, moved), value) in self.expressions.iter().zip(&self.moved).zip(target) {
                    *value = match moved {
                        Some(position) => std::mem::take(&mut row[*position]),
                        None => match evaluated(expr, row, context).await {
                            Ok(value) => value,
                            // Who is interrupted is told nothing more.
                            Err(error) if is_interruption(&error) => return Err(error),
                            Err(error) => {
                                self.failure = Some(error);
                                break;
                            }
                        },
                    };
                    bytes += outside_bytes(value);
                }
                if self.failure.is_some() {
                    out.pop();
                    return if out.is_empty() {
                        Err(self.failure.take().expect("just seen"))
                    } else {
                        Ok(true)
                    };
                }
                self.next += 1;
            }
            Ok(self.more || self.next < self.rows.len())
        })
    }
}
