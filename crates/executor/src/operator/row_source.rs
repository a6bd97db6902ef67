//! Rows that come from no table: the base frame itself, none, and constant rows.
use super::Operator;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::deferred::evaluated;
use datum::{SqlError, Value};
use expression::Expr;
use schema::LocalFuture;

/// One row: the base frame.
pub struct BaseRow {
    width: usize,
    base: Vec<Value>,
    done: bool,
}

impl BaseRow {
    pub fn new(width: usize) -> BaseRow {
        BaseRow { width, base: Vec::new(), done: false }
    }
}

impl Operator for BaseRow {
    fn start(&mut self, base: &[Value]) {
        self.base = base.to_vec();
        self.base.resize(self.width, Value::Null);
        self.done = false;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        _context: &'a mut ExecContext<'c>,
        _wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        if !std::mem::replace(&mut self.done, true) {
            out.push_copy(&self.base);
        }
        Box::pin(async { Ok(false) })
    }
}

/// No row at all.
pub struct NoRow;

impl Operator for NoRow {
    fn start(&mut self, _base: &[Value]) {}

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        _context: &'a mut ExecContext<'c>,
        _wanted: usize,
        _out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async { Ok(false) })
    }
}

/// `VALUES ROW(..), ..`
pub struct ValueRows<'p> {
    rows: &'p [Vec<Expr>],
    next: usize,
}

impl<'p> ValueRows<'p> {
    pub fn new(rows: &'p [Vec<Expr>]) -> ValueRows<'p> {
        ValueRows { rows, next: 0 }
    }
}

impl Operator for ValueRows<'_> {
    fn start(&mut self, _base: &[Value]) {
        self.next = 0;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            let end = self.rows.len().min(self.next.saturating_add(wanted));
            for row in &self.rows[self.next..end] {
                let mut values = Vec::with_capacity(row.len());
                for expr in row {
                    values.push(evaluated(expr, &[], context).await?);
                }
                out.push_row(values);
            }
            self.next = end;
            Ok(end < self.rows.len())
        })
    }
}
