//! The entry point: runs one plan.
use crate::batch::RowBatch;
use crate::change::{LoadSource, execute_delete, execute_insert, execute_load, execute_update};
use crate::context::{ExecContext, OneByOne};
use crate::memory::outside_bytes;
use crate::operator::{BATCH_ROWS, build, row_limit};
use crate::outcome::Outcome;
use crate::sink::RowSink;
use datum::{SqlError, Value};
use expression::SessionServices;
use plan::{Plan, PlanKind, QueryPlan};
use std::pin::pin;
use std::sync::Arc;

/// What a row of a result costs at least.
const TICKS_PER_ROW: usize = 32;

/// Runs the plan: rows of a query go to `sink`, the outcome tells the rest. See the crate's head for what the caller
/// does after an error.
pub async fn execute(
    plan: &Plan,
    context: &mut ExecContext<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    context.strict.start();
    context.eval.slots.clear();
    context.eval.slots.resize(plan.slot_count, Value::Null);
    context.settings.locks_one_by_one = locks_one_by_one(plan);
    match &plan.kind {
        // Pinned where it is made: awaiting it by value would copy kilobytes of state.
        PlanKind::Query(query) => pin!(execute_query(query, context, sink)).await,
        // A strict statement around makes errors of what IGNORE has made warnings.
        change if context.settings.is_inside_strict => execute_change(change, context).await,
        PlanKind::Insert(insert) if insert.ignore => execute_insert(insert, context).await,
        PlanKind::Update(update) if update.ignore => execute_update(update, context).await,
        PlanKind::Delete(delete) if delete.ignore => execute_delete(delete, context).await,
        change => execute_change(change, context).await,
    }
}

/// Who reads everything from one table first, or nothing else than it, has nothing to do between two rows.
fn locks_one_by_one(plan: &Plan) -> OneByOne {
    let collects_first = match &plan.kind {
        PlanKind::Update(update) => update.collect_first,
        PlanKind::Delete(delete) => delete.collect_first,
        PlanKind::Insert(_) | PlanKind::Query(_) if plan.tables.len() == 1 => return OneByOne::Never,
        PlanKind::Insert(_) => false,
        PlanKind::Query(_) => return OneByOne::Always,
    };
    match collects_first {
        true if plan.tables.len() > 1 => OneByOne::LookedUp,
        true => OneByOne::Never,
        false => OneByOne::NotSources,
    }
}

/// Runs the plan of a LOAD DATA over the rows of a file.
pub async fn load(
    plan: &Plan,
    context: &mut ExecContext<'_>,
    source: &mut dyn LoadSource,
) -> Result<Outcome, SqlError> {
    context.strict.start();
    context.eval.slots.clear();
    context.eval.slots.resize(plan.slot_count, Value::Null);
    context.settings.locks_one_by_one = locks_one_by_one(plan);
    let PlanKind::Insert(insert) = &plan.kind else { return Ok(Outcome::default()) };
    if insert.ignore {
        return execute_load(insert, source, context).await;
    }
    let session = enter_strict_mode(context);
    let outcome = execute_load(insert, source, context).await;
    leave_strict_mode(session, outcome, context)
}

fn enter_strict_mode(context: &mut ExecContext<'_>) -> Arc<dyn SessionServices> {
    let session = context.eval.session.clone();
    if context.eval.settings.sql_mode.is_strict() {
        context.eval.session = context.strict.clone();
    }
    session
}

fn leave_strict_mode(
    session: Arc<dyn SessionServices>,
    outcome: Result<Outcome, SqlError>,
    context: &mut ExecContext<'_>,
) -> Result<Outcome, SqlError> {
    let checked = context.check();
    context.eval.session = session;
    outcome.and_then(|outcome| checked.map(|()| outcome))
}

/// A change whose warnings are errors in strict mode.
async fn execute_change(change: &PlanKind, context: &mut ExecContext<'_>) -> Result<Outcome, SqlError> {
    let session = enter_strict_mode(context);
    let outcome = match change {
        PlanKind::Query(_) => unreachable!("queries are run by execute_query"),
        PlanKind::Insert(insert) => execute_insert(insert, context).await,
        PlanKind::Update(update) => execute_update(update, context).await,
        PlanKind::Delete(delete) => execute_delete(delete, context).await,
    };
    leave_strict_mode(session, outcome, context)
}

async fn execute_query(
    query: &QueryPlan,
    context: &mut ExecContext<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    if let Some(outcome) = pin!(crate::point::try_point_query(query, context, sink)).await? {
        return Ok(outcome);
    }
    if query.count_found_rows {
        return execute_counted(query, context, sink).await;
    }
    let mut root = build(&query.root);
    root.start(&[]);
    let mut rows = RowBatch::new(query.root.width);
    let mut sent = 0;
    let mut more = true;
    while more && sent < context.settings.select_limit {
        context.interrupt.check()?;
        rows.clear();
        more = root.next_batch(context, BATCH_ROWS, &mut rows).await?;
        for index in 0..rows.len() {
            if sent < context.settings.select_limit {
                send_row(&mut rows, index, sink).await?;
                sent += 1;
            }
        }
    }
    Ok(Outcome { rows_sent: sent, found_rows: sent, ..Outcome::default() })
}

/// Gives a row to the sink, and waits for the client when much has gathered for it.
async fn send_row(rows: &mut RowBatch, index: usize, sink: &mut dyn RowSink) -> Result<(), SqlError> {
    env::tick(TICKS_PER_ROW);
    sink.row(rows.row(index))?;
    if !sink.is_full() {
        return Ok(());
    }
    // To give megabytes back to the system takes time as well.
    for value in rows.row_mut(index) {
        let bytes = outside_bytes(value);
        if bytes >= env::LONG_PIECE {
            *value = Value::Null;
            env::tick(bytes / 16);
        }
    }
    sink.flush().await
}

/// SQL_CALC_FOUND_ROWS: the LIMIT only decides what is sent; all rows are counted.
async fn execute_counted(
    query: &QueryPlan,
    context: &mut ExecContext<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let (count, offset) = match &query.counted_limit {
        Some((count, offset)) => {
            let offset = offset.as_ref().map(|offset| row_limit(offset, context.eval)).transpose()?;
            (row_limit(count, context.eval)?, offset.unwrap_or(0))
        }
        None => (u64::MAX, 0),
    };
    let mut root = build(&query.root);
    root.start(&[]);
    let mut rows = RowBatch::new(query.root.width);
    let mut outcome = Outcome::default();
    let mut more = true;
    while more {
        context.interrupt.check()?;
        rows.clear();
        more = root.next_batch(context, BATCH_ROWS, &mut rows).await?;
        for index in 0..rows.len() {
            let is_sent = outcome.found_rows >= offset && outcome.rows_sent < count;
            if is_sent && outcome.rows_sent < context.settings.select_limit {
                send_row(&mut rows, index, sink).await?;
                outcome.rows_sent += 1;
            }
            outcome.found_rows += 1;
        }
    }
    Ok(outcome)
}
