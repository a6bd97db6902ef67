//! DELETE from one or more tables.
use super::foreign_key::{ForeignKeys, pardon};
use super::input::ChangeInput;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::outcome::Outcome;
use crate::seen_keys::SeenKeys;
use datum::{SqlError, Value};
use plan::{DeletePlan, DeleteTarget};
use schema::{TableId, TriggerEvent};
use std::sync::Arc;
use table::TableHandle;

struct Target<'p> {
    plan: &'p DeleteTarget,
    handle: Arc<TableHandle>,
    foreign_keys: ForeignKeys,
}

/// With joins: rows already deleted, under whatever name of their table.
struct Done {
    rows: SeenKeys,
    key: Vec<u8>,
}

impl Done {
    /// Whether the row was not deleted yet; it is from now on.
    async fn insert(
        &mut self,
        table: TableId,
        row_key: &[u8],
        context: &mut ExecContext<'_>,
    ) -> Result<bool, SqlError> {
        self.key.clear();
        self.key.extend_from_slice(&table.0.to_le_bytes());
        self.key.extend_from_slice(row_key);
        self.rows.insert(&self.key, context).await
    }
}

pub async fn execute_delete(plan: &DeletePlan, context: &mut ExecContext<'_>) -> Result<Outcome, SqlError> {
    let mut targets = Vec::with_capacity(plan.targets.len());
    for target in &plan.targets {
        let handle = context.tables.table(target.table.id)?;
        let foreign_keys = ForeignKeys::of(&handle, context);
        targets.push(Target { plan: target, handle, foreign_keys });
    }
    let mut done = Done { rows: SeenKeys::new(), key: Vec::new() };
    // Either needs the whole row.
    let reads_rows = targets.iter().any(|target| {
        target.foreign_keys.is_parent() || context.triggers.follow(target.plan.table.id, TriggerEvent::Delete)
    });
    let mut input = ChangeInput::new(&plan.input, plan.collect_first || reads_rows && targets.len() > 1);
    let mut outcome = Outcome::default();
    if reads_rows {
        outcome.affected_rows = delete_with_children(plan, &targets, &mut done, &mut input, context).await?;
        return Ok(outcome);
    }
    let mut rows = RowBatch::new(plan.input.width);
    let mut pace = Pace::default();
    let mut more = true;
    while more {
        rows.clear();
        more = input.next_rows(context, &mut rows).await?;
        for frame in rows.rows() {
            context.check()?;
            for target in &targets {
                // The inner side of an outer join without a match has no row.
                let Value::Bytes(row_key) = &frame[target.plan.row_key_position] else { continue };
                if plan.collect_first && !done.insert(target.plan.table.id, row_key, context).await? {
                    continue;
                }
                let mut row = vec![Value::Null; target.plan.table.columns.len()];
                for &(column, position) in &target.plan.index_columns {
                    row[column] = frame[position].clone();
                }
                context.delete_row(&target.handle, row_key, &row).await?;
                outcome.affected_rows += 1;
                pace.count_change().await;
            }
        }
    }
    Ok(outcome)
}

/// Deletes rows that may have children, children among the targets first: a row counts for itself where it can.
async fn delete_with_children(
    plan: &DeletePlan,
    targets: &[Target<'_>],
    done: &mut Done,
    input: &mut ChangeInput<'_>,
    context: &mut ExecContext<'_>,
) -> Result<u64, SqlError> {
    let mut count = 0;
    let mut pace = Pace::default();
    let mut rows = RowBatch::new(plan.input.width);
    for position in children_first(targets) {
        let target = &targets[position];
        input.rewind();
        let mut more = true;
        while more {
            rows.clear();
            more = input.next_rows(context, &mut rows).await?;
            for frame in rows.rows() {
                context.check()?;
                let Value::Bytes(row_key) = &frame[target.plan.row_key_position] else { continue };
                if plan.collect_first && !done.insert(target.plan.table.id, row_key, context).await? {
                    continue;
                }
                count += u64::from(target.delete_present(row_key, plan.ignore, context).await?);
                pace.count_change().await;
            }
        }
    }
    Ok(count)
}

/// The targets in an order in which, cycles apart, none is the parent of a later one.
fn children_first(targets: &[Target<'_>]) -> Vec<usize> {
    let mut left: Vec<usize> = (0..targets.len()).collect();
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let has_child_left = |parent: usize| {
            left.iter().any(|&child| {
                child != parent
                    && targets[parent].foreign_keys.has_child(targets[child].handle.definition().id)
            })
        };
        let next = left.iter().position(|&target| !has_child_left(target)).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    ordered
}

impl Target<'_> {
    /// Deletes a row with its children, unless a cascade of this statement has done so before; true when it did.
    async fn delete_present(
        &self,
        row_key: &[u8],
        ignore: bool,
        context: &mut ExecContext<'_>,
    ) -> Result<bool, SqlError> {
        let Target { handle, foreign_keys, .. } = self;
        let Some(row) = foreign_keys.present_row(handle, row_key, context).await? else { return Ok(false) };
        let row_begin = context.host.transaction().savepoint();
        if let Err(error) = foreign_keys.before_delete(handle, row_key, &row, None, context).await {
            pardon(error, ignore, row_begin, handle, context).await?;
            return Ok(false);
        }
        context.delete_row(handle, row_key, &row).await?;
        Ok(true)
    }
}
