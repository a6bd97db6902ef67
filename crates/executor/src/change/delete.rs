//! DELETE from one or more tables.
use super::update::read_rows;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::operator::build;
use crate::outcome::Outcome;
use datum::{SqlError, Value};
use plan::{DeletePlan, DeleteTarget};
use std::collections::HashSet;
use std::sync::Arc;
use table::TableHandle;

struct Target<'p> {
    plan: &'p DeleteTarget,
    handle: Arc<TableHandle>,
    /// With joins: rows already deleted.
    done: HashSet<Vec<u8>>,
}

pub async fn execute_delete(plan: &DeletePlan, context: &mut ExecContext<'_>) -> Result<Outcome, SqlError> {
    let mut targets = Vec::with_capacity(plan.targets.len());
    for target in &plan.targets {
        let handle = context.tables.table(target.table.id)?;
        targets.push(Target { plan: target, handle, done: HashSet::new() });
    }
    let mut input = build(&plan.input);
    input.start(&[]);
    let mut outcome = Outcome::default();
    let mut rows = RowBatch::new(plan.input.width);
    let mut more = true;
    while more {
        rows.clear();
        more = read_rows(input.as_mut(), plan.collect_first, context, &mut rows).await?;
        for frame in rows.rows() {
            context.check()?;
            for target in &mut targets {
                // The inner side of an outer join without a match has no row.
                let Value::Bytes(row_key) = &frame[target.plan.row_key_position] else { continue };
                if plan.collect_first && !target.done.insert(row_key.clone()) {
                    continue;
                }
                let mut row = vec![Value::Null; target.plan.table.columns.len()];
                for &(column, position) in &target.plan.index_columns {
                    row[column] = frame[position].clone();
                }
                let wait = context.settings.lock_wait;
                context.work.deletes += 1;
                target.handle.delete_row(context.transaction, row_key, &row, wait).await?;
                outcome.affected_rows += 1;
            }
        }
    }
    Ok(outcome)
}
