//! Evaluation that waits: expressions with SLEEP or user-level locks.
//!
//! The operators evaluate as always, and only where that fails they come here with the error, so statements without
//! such calls pay nothing. Clauses that are not wired to it refuse the calls with error 1235.
use crate::context::ExecContext;
use crate::operator::all_true;
use datum::{SqlError, Value};
use expression::{EvalContext, Expr, SessionRequest};
use schema::LocalFuture;

/// The value of an expression.
pub async fn evaluated(expr: &Expr, row: &[Value], context: &ExecContext<'_>) -> Result<Value, SqlError> {
    match expr.eval(row, context.eval) {
        Err(error) => value_after(error, expr, row, context).await,
        Ok(value) => Ok(value),
    }
}

/// Whether all predicates hold.
pub async fn all_hold(
    predicates: &[Expr],
    row: &[Value],
    context: &ExecContext<'_>,
) -> Result<bool, SqlError> {
    match all_true(predicates, row, context.eval) {
        Err(error) => truth_after(error, predicates, row, context).await,
        Ok(truth) => Ok(truth),
    }
}

/// The value of an expression whose evaluation failed with `error`, or the error it really failed with.
#[cold]
fn value_after<'a>(
    error: SqlError,
    expr: &'a Expr,
    row: &'a [Value],
    context: &'a ExecContext<'_>,
) -> LocalFuture<'a, Result<Value, SqlError>> {
    Box::pin(ask_and_retry(error, context, |eval| expr.eval(row, eval)))
}

/// As `value_after`, for `all_true`.
#[cold]
fn truth_after<'a>(
    error: SqlError,
    predicates: &'a [Expr],
    row: &'a [Value],
    context: &'a ExecContext<'_>,
) -> LocalFuture<'a, Result<bool, SqlError>> {
    Box::pin(async move {
        let truth = ask_and_retry(error, context, |eval| all_true(predicates, row, eval)).await?;
        // A sleep that KILL ended gives 1, but as a condition it ends the statement.
        context.check()?;
        Ok(truth)
    })
}

/// Asks the session for what the evaluation could not know, until it ends.
async fn ask_and_retry<T>(
    mut error: SqlError,
    context: &ExecContext<'_>,
    evaluate: impl Fn(&EvalContext) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let deferred = &context.eval.deferred;
    loop {
        let Some(request) = deferred.take_request() else {
            deferred.clear();
            return Err(error);
        };
        context.check()?;
        let is_pause = request == SessionRequest::Pause;
        let answer = context.eval.session.answer(request).await?;
        if !is_pause {
            deferred.keep(answer);
        }
        match evaluate(context.eval) {
            Ok(value) => {
                deferred.clear();
                return Ok(value);
            }
            Err(next) => error = next,
        }
    }
}
