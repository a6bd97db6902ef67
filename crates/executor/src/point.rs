//! The fast path for the most common query: one row by its clustered key, projected.
//!
//! It does what the operators would do, without building them. Anything unusual (a value that is no exact key, a
//! secondary index) is left to them.
use crate::context::ExecContext;
use crate::deferred::{all_hold, evaluated};
use crate::outcome::Outcome;
use crate::range::RangeBuilder;
use crate::sink::RowSink;
use datum::{SqlError, Value};
use expression::Expr;
use plan::{AccessPath, NodeKind, QueryPlan};
use std::pin::pin;
use table::{damaged, table_error};

/// `None` when the query is of another shape.
pub async fn try_point_query(
    query: &QueryPlan,
    context: &mut ExecContext<'_>,
    sink: &mut dyn RowSink,
) -> Result<Option<Outcome>, SqlError> {
    let NodeKind::Project { input, expressions } = &query.root.kind else { return Ok(None) };
    let NodeKind::Table(access) = &input.kind else { return Ok(None) };
    let AccessPath::Point { index, key } = &access.path else { return Ok(None) };
    let handle = context.tables.table(access.table.id)?;
    if !handle.layout().indexes[*index].clustered || context.settings.select_limit == 0 {
        return Ok(None);
    }
    let builder = RangeBuilder {
        table: &access.table,
        parts: &handle.layout().indexes[*index].parts,
        frame: &[],
        context: context.eval,
        ranges: Vec::new(),
        widened: false,
    };
    let is_open = all_hold(&access.gate, &[], context).await?;
    if !is_open {
        return Ok(Some(Outcome::default()));
    }
    let Some(row_key) = builder.exact_key(key)? else { return Ok(None) };
    context.interrupt.check()?;
    let mode = context.read_mode(access.lock);
    context.work.key_reads += 1;
    let mark = context.transaction.lock_mark();
    let record = pin!(context.transaction.get(handle.layout().tree, &row_key, mode)).await;
    let Some(record) = record.map_err(|error| table_error(&access.table, error))? else {
        return Ok(Some(Outcome::default()));
    };
    let mut frame = vec![Value::Null; input.width];
    let read = handle.layout().read_columns(&access.table, &access.projection, &row_key, &record, &mut frame);
    read.map_err(|_| damaged(&access.table.name))?;
    let keeps = all_hold(&access.filter, &frame, context).await?;
    if !keeps {
        context.transaction.unlock_unmatched(handle.layout().tree, &row_key, mark);
        return Ok(Some(Outcome::default()));
    }
    let mut row = Vec::with_capacity(expressions.len());
    if are_distinct_columns(expressions) {
        row.extend(
            expressions.iter().filter_map(Expr::as_column).map(|place| std::mem::take(&mut frame[place])),
        );
    } else {
        for expr in expressions {
            row.push(evaluated(expr, &frame, context).await?);
        }
    }
    sink.row(&row)?;
    Ok(Some(Outcome { rows_sent: 1, found_rows: 1, ..Outcome::default() }))
}

/// Plain columns that the frame has in this order: each can be moved out of it.
fn are_distinct_columns(expressions: &[Expr]) -> bool {
    let columns = || expressions.iter().map(Expr::as_column);
    columns().all(|column| column.is_some()) && columns().is_sorted_by(|left, right| left < right)
}
