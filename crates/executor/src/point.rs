//! The fast path for the most common statements: one row by its clustered key, sent or changed.
//!
//! It does what the operators would do, without building them. Anything unusual (a value that is no exact key, a
//! secondary index) is left to them. Callers: `execute` for queries, `change::input` for rows to change.
use crate::context::ExecContext;
use crate::deferred::{all_hold, are_bounds_known, evaluated};
use crate::outcome::Outcome;
use crate::range::RangeBuilder;
use crate::sink::RowSink;
use datum::{SqlError, Value};
use expression::Expr;
use plan::{AccessPath, Node, NodeKind, QueryPlan};
use std::pin::pin;
use table::table_error;

/// What became of reading a node's only row.
pub enum PointRead {
    /// The node is something else, or its key is no exact one: the operators read it.
    Other,
    Absent,
    /// The node's frame.
    Row(Vec<Value>),
}

/// `None` when the query is of another shape.
pub async fn try_point_query(
    query: &QueryPlan,
    context: &mut ExecContext<'_>,
    sink: &mut dyn RowSink,
) -> Result<Option<Outcome>, SqlError> {
    let NodeKind::Project { input, expressions } = &query.root.kind else { return Ok(None) };
    if context.settings.select_limit == 0 {
        return Ok(None);
    }
    let mut frame = match pin!(read_point(input, context)).await? {
        PointRead::Other => return Ok(None),
        PointRead::Absent => return Ok(Some(Outcome::default())),
        PointRead::Row(frame) => frame,
    };
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

/// Reads the row of a node that has one at most, locked if the node locks.
pub async fn read_point(node: &Node, context: &mut ExecContext<'_>) -> Result<PointRead, SqlError> {
    let NodeKind::Table(access) = &node.kind else { return Ok(PointRead::Other) };
    let AccessPath::Point { index, key } = &access.path else { return Ok(PointRead::Other) };
    let handle = context.tables.table(access.table.id)?;
    let layout = handle.layout();
    if !layout.indexes[*index].clustered {
        return Ok(PointRead::Other);
    }
    let is_open = are_bounds_known(access, context)? && all_hold(&access.gate, &[], context).await?;
    if !is_open {
        return Ok(PointRead::Absent);
    }
    let builder = RangeBuilder {
        table: &access.table,
        parts: &layout.indexes[*index].parts,
        frame: &[],
        context: context.eval,
        ranges: Vec::new(),
        widened: false,
    };
    let Some(row_key) = builder.exact_key(key)? else { return Ok(PointRead::Other) };
    context.interrupt.check()?;
    let mode = context.read_mode(access.lock);
    context.work.key_reads += 1;
    let mark = context.host.transaction().lock_mark();
    let record = pin!(context.host.transaction().get(layout.tree, &row_key, mode)).await;
    let Some(record) = record.map_err(|error| table_error(&access.table, error))? else {
        return Ok(PointRead::Absent);
    };
    context.work.rows_examined += 1;
    context.uses.of(access.table.id, Some(*index)).fetched += 1;
    let mut frame: Vec<Value> = std::iter::repeat_with(Value::default).take(node.width).collect();
    let read = layout.read_columns(&access.table, &access.projection, &row_key, &record, &mut frame);
    read.map_err(|error| error.of(&access.table))?;
    // Filters look at columns only.
    let keeps = all_hold(&access.filter, &frame, context).await?;
    if !keeps {
        context.host.transaction().unlock_unmatched(layout.tree, &row_key, mark);
        return Ok(PointRead::Absent);
    }
    if let Some(position) = access.row_key_position {
        frame[position] = Value::Bytes(row_key);
    }
    Ok(PointRead::Row(frame))
}

/// Plain columns that the frame has in this order: each can be moved out of it.
fn are_distinct_columns(expressions: &[Expr]) -> bool {
    let columns = || expressions.iter().map(Expr::as_column);
    columns().all(|column| column.is_some()) && columns().is_sorted_by(|left, right| left < right)
}
