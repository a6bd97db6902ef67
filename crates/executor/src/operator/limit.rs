//! LIMIT and OFFSET. The input is asked for no more rows than are still needed.
use super::Operator;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use datum::{SqlError, Value, error_code};
use expression::{EvalContext, Expr};
use schema::LocalFuture;

pub struct LimitRows<'p> {
    input: Box<dyn Operator + 'p>,
    rows: RowBatch,
    count: &'p Expr,
    offset: Option<&'p Expr>,
    /// Rows still to skip and to pass, known from the first batch on.
    left: Option<(u64, u64)>,
}

impl<'p> LimitRows<'p> {
    pub fn new(
        input: Box<dyn Operator + 'p>,
        width: usize,
        count: &'p Expr,
        offset: Option<&'p Expr>,
    ) -> LimitRows<'p> {
        LimitRows { input, rows: RowBatch::new(width), count, offset, left: None }
    }
}

/// The value of a LIMIT or OFFSET. NULL is none; clients that bind every value as text bind this one so too.
pub fn row_limit(expr: &Expr, context: &EvalContext) -> Result<u64, SqlError> {
    match &*expr.eval_ref(&[], context)? {
        Value::Null => Ok(0),
        text @ Value::Bytes(_) => {
            let number = text.to_integer(&expr.ty.column, &mut datum::no_warning);
            u64::try_from(number.unwrap_or(0)).map_err(|_| wrong_count())
        }
        _ => row_count(expr, context),
    }
}

/// A number of rows: an integer that is not negative.
pub fn row_count(expr: &Expr, context: &EvalContext) -> Result<u64, SqlError> {
    match &*expr.eval_ref(&[], context)? {
        Value::UInt(number) => Ok(*number),
        Value::Int(number) => u64::try_from(*number).map_err(|_| wrong_count()),
        _ => Err(wrong_count()),
    }
}

fn wrong_count() -> SqlError {
    error_code::ER_WRONG_ARGUMENTS.with(&[&"EXECUTE"])
}

impl Operator for LimitRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
        self.left = None;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            let (skip, pass) = match self.left {
                Some(left) => left,
                None => {
                    let offset = self.offset.map(|offset| row_limit(offset, context.eval)).transpose()?;
                    (offset.unwrap_or(0), row_limit(self.count, context.eval)?)
                }
            };
            if pass == 0 {
                return Ok(false);
            }
            let needed = usize::try_from(skip.saturating_add(pass)).unwrap_or(usize::MAX);
            self.rows.clear();
            let more = self.input.next_batch(context, wanted.min(needed), &mut self.rows).await?;
            let skipped = skip.min(self.rows.len() as u64);
            let mut passed = 0;
            for index in skipped as usize..self.rows.len() {
                if passed == pass {
                    break;
                }
                out.push_row(self.rows.take_row(index));
                passed += 1;
            }
            self.left = Some((skip - skipped, pass - passed));
            Ok(more && pass > passed)
        })
    }
}
