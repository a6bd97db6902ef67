//! What REPLACE and ON DUPLICATE KEY UPDATE do with the row that is already there.
use super::auto_increment;
use super::insert::Inserter;
use crate::context::ExecContext;
use datum::{SqlError, Value, error_code};
use engine::{LockMode, ReadMode};
use plan::Assignment;
use table::{ChangeOutcome, TableHandle, damaged, table_error};

/// All columns of the row at `row_key`, exclusively locked.
async fn existing_row(
    handle: &TableHandle,
    row_key: &[u8],
    context: &mut ExecContext<'_>,
) -> Result<Vec<Value>, SqlError> {
    let table = handle.definition();
    let mode = ReadMode::Locking(LockMode::Exclusive, context.settings.lock_wait);
    let record = context.transaction.get(handle.layout().tree, row_key, mode).await;
    let record = record.map_err(|error| table_error(table, error))?;
    let record = record.ok_or_else(|| error_code::ER_KEY_NOT_FOUND.with(&[&table.name]))?;
    let wanted: Vec<(usize, usize)> = (0..table.columns.len()).map(|column| (column, column)).collect();
    let projection = handle.layout().project_rows(&wanted);
    let mut row = vec![Value::Null; table.columns.len()];
    let read = handle.layout().read_row(table, &projection, row_key, &record, &mut row);
    read.map_err(|_| damaged(&table.name))?;
    Ok(row)
}

/// REPLACE: every row that has a key of the new one is deleted, then the new one inserted.
pub async fn replace_existing(
    inserter: &mut Inserter<'_>,
    row_key: Vec<u8>,
    row: &[Value],
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let wait = context.settings.lock_wait;
    let mut conflicting = row_key;
    // Each unique index can refuse once.
    for _ in 0..=inserter.plan.table.indexes.len() {
        let existing = existing_row(&inserter.handle, &conflicting, context).await?;
        inserter.handle.delete_row(context.transaction, &conflicting, &existing, wait).await?;
        inserter.outcome.affected_rows += 1;
        match inserter.handle.insert_row(context.transaction, row, wait).await? {
            ChangeOutcome::Done => {
                inserter.outcome.affected_rows += 1;
                return Ok(());
            }
            ChangeOutcome::Duplicate { row_key, .. } => conflicting = row_key,
        }
    }
    Err(damaged(&inserter.plan.table.name))
}

/// ON DUPLICATE KEY UPDATE; `new_row` is followed by the source query's row. 2 affected rows for a change, 0 when the values stay as they are.
pub async fn update_existing(
    inserter: &mut Inserter<'_>,
    assignments: &[Assignment],
    row_key: &[u8],
    new_row: Vec<Value>,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let existing = existing_row(&inserter.handle, row_key, context).await?;
    let width = existing.len();
    let number = inserter.outcome.records;
    let mut frame = existing.clone();
    frame.extend(new_row);
    for assignment in assignments {
        let column = assignment.column;
        let value = inserter.assigner.assigned(column, &assignment.value, &frame, number, context.eval)?;
        frame[column] = value;
    }
    context.check()?;
    frame.truncate(width);
    inserter.outcome.matched_rows += 1;
    if frame == existing {
        return Ok(());
    }
    let is_assigned = |column: usize| assignments.iter().any(|assignment| assignment.column == column);
    inserter.assigner.touch_timestamps(&mut frame, is_assigned, context.eval)?;
    let wait = context.settings.lock_wait;
    let changed = inserter.handle.update_row(context.transaction, row_key, &existing, &frame, wait).await?;
    match changed {
        ChangeOutcome::Done => {
            inserter.outcome.affected_rows += 2;
            if let Some(number) = auto_increment::observe_update(&inserter.handle, &frame) {
                inserter.outcome.explicit_insert_id = number;
            }
            Ok(())
        }
        ChangeOutcome::Duplicate { index, .. } => {
            let error = inserter.handle.duplicate_error(index, &frame);
            if !inserter.plan.ignore {
                return Err(error);
            }
            context.eval.session.warn(error.into_warning());
            Ok(())
        }
    }
}
