//! The entry point: runs one plan.
use crate::context::ExecContext;
use crate::outcome::Outcome;
use crate::sink::RowSink;
use datum::{SqlError, error_code};
use plan::Plan;

/// Runs the plan: rows of a query go to `sink`, the outcome tells the rest. See the crate's head for what the caller
/// does after an error.
pub async fn execute(
    plan: &Plan,
    context: &mut ExecContext<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let _ = (plan, context, sink);
    Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"this statement"]))
}
