//! Evaluation that waits: expressions with SLEEP, user-level locks or stored functions.
//!
//! The operators evaluate as always, and only where that fails they come here with the error, so statements without
//! such calls pay nothing. An evaluation that failed so is begun anew with the answer, until it ends: what is evaluated
//! here changes nothing before it has its values. Clauses that are not wired to it refuse the calls with error 1235.
use crate::context::ExecContext;
use crate::operator::all_true;
use datum::{SqlError, Value};
use expression::{EvalContext, Expr, SessionRequest};
use plan::TableAccess;
use schema::LocalFuture;

/// The value of an expression.
pub async fn evaluated(expr: &Expr, row: &[Value], context: &mut ExecContext<'_>) -> Result<Value, SqlError> {
    match context.eval.deferred.attempt(|| expr.eval(row, context.eval)) {
        Err(error) => value_after(error, expr, row, context).await,
        Ok(value) => Ok(value),
    }
}

/// The values of several.
pub async fn all_evaluated(
    exprs: &[Expr],
    row: &[Value],
    context: &mut ExecContext<'_>,
) -> Result<Vec<Value>, SqlError> {
    let mut values = Vec::with_capacity(exprs.len());
    for expr in exprs {
        values.push(evaluated(expr, row, context).await?);
    }
    Ok(values)
}

/// Whether all predicates hold.
/// Whether no bound of a table's keys is NULL, before anything of the table is read.
pub fn are_bounds_known(access: &TableAccess, context: &ExecContext<'_>) -> Result<bool, SqlError> {
    for bound in &access.bounds {
        if context.eval.unraised(|eval| bound.eval_ref(&[], eval).map(|value| value.is_null()))? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub async fn all_hold(
    predicates: &[Expr],
    row: &[Value],
    context: &mut ExecContext<'_>,
) -> Result<bool, SqlError> {
    match context.eval.deferred.attempt(|| all_true(predicates, row, context.eval)) {
        Err(error) => truth_after(error, predicates, row, context).await,
        Ok(truth) => Ok(truth),
    }
}

/// What `evaluate` makes of expressions; it may be asked several times and keeps nothing of a failure.
#[inline]
pub async fn retried<T>(
    context: &mut ExecContext<'_>,
    mut evaluate: impl FnMut(&EvalContext) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    match context.eval.deferred.attempt(|| evaluate(context.eval)) {
        Err(error) => Box::pin(ask_and_retry(error, context, evaluate)).await,
        Ok(value) => Ok(value),
    }
}

/// The value of an expression whose evaluation failed with `error`, or the error it really failed with.
#[cold]
fn value_after<'a>(
    error: SqlError,
    expr: &'a Expr,
    row: &'a [Value],
    context: &'a mut ExecContext<'_>,
) -> LocalFuture<'a, Result<Value, SqlError>> {
    Box::pin(ask_and_retry(error, context, |eval| expr.eval(row, eval)))
}

/// As `value_after`, for `all_true`.
#[cold]
pub fn truth_after<'a>(
    error: SqlError,
    predicates: &'a [Expr],
    row: &'a [Value],
    context: &'a mut ExecContext<'_>,
) -> LocalFuture<'a, Result<bool, SqlError>> {
    Box::pin(async move {
        let truth = ask_and_retry(error, context, |eval| all_true(predicates, row, eval)).await?;
        // A sleep that KILL ended gives 1, but as a condition it ends the statement.
        context.check()?;
        Ok(truth)
    })
}

/// Asks for what the evaluation could not know, until it ends.
pub async fn ask_and_retry<T>(
    mut error: SqlError,
    context: &mut ExecContext<'_>,
    mut evaluate: impl FnMut(&EvalContext) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    loop {
        let Some(request) = context.eval.deferred.take_request() else {
            context.eval.deferred.clear();
            return Err(error);
        };
        context.check()?;
        let is_pause = request == SessionRequest::Pause;
        let answer = match request {
            SessionRequest::Function { id, name, arguments } => {
                context.host.call_function(id, name, arguments).await?
            }
            SessionRequest::LoadFile { name, bytes_max } => context.host.load_file(name, bytes_max).await?,
            request => context.eval.session.answer(request).await?,
        };
        if !is_pause {
            context.eval.deferred.keep(answer);
        }
        match context.eval.deferred.attempt_again(|| evaluate(context.eval)) {
            Ok(value) => {
                context.eval.deferred.clear();
                return Ok(value);
            }
            Err(next) => error = next,
        }
    }
}
