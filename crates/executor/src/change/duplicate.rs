//! What REPLACE and ON DUPLICATE KEY UPDATE do with the row that is already there.
use super::auto_increment;
use super::foreign_key::pardon;
use super::rules::check_row;
use crate::change::inserter::Inserter;
use crate::context::ExecContext;
use crate::deferred::retried;
use crate::operator::run_initialisers;
use datum::{SqlError, Value, error_code};
use engine::{LockMode, ReadMode, Savepoint};
use plan::{Assignment, RowSubquery};
use schema::TriggerEvent;
use table::{ChangeOutcome, TableHandle, damaged, follow_key};

/// All columns of the row at `row_key`, exclusively locked.
async fn existing_row(
    handle: &TableHandle,
    row_key: &[u8],
    context: &mut ExecContext<'_>,
) -> Result<Vec<Value>, SqlError> {
    let mode = ReadMode::Locking(LockMode::Exclusive, context.settings.lock_wait);
    let row = handle.read_row_at(context.host.transaction(), row_key, mode).await?;
    row.ok_or_else(|| error_code::ER_KEY_NOT_FOUND.with(&[&handle.definition().name]))
}

/// REPLACE: every row that has a key of the new one is deleted, then the new one inserted. `index` is the key that both have.
pub async fn replace_existing(
    inserter: &mut Inserter<'_>,
    index: usize,
    row_key: Vec<u8>,
    row: &[Value],
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let (mut index, mut conflicting) = (index, row_key);
    // Each unique index can refuse once.
    for _ in 0..=inserter.plan.table.indexes.len() {
        let existing = existing_row(&inserter.handle, &conflicting, context).await?;
        let mut later = inserter.plan.table.indexes[index + 1..].iter();
        if existing == row
            && later.all(|index| !index.is_unique())
            && !inserter.foreign_keys.is_parent()
            && !context.triggers.follow(inserter.plan.table.id, TriggerEvent::Delete)
        {
            // Where no later key can refuse, MySQL updates the row, and finds that nothing changes.
            inserter.outcome.affected_rows += 1;
            return Ok(());
        }
        let Inserter { handle, foreign_keys, .. } = &*inserter;
        foreign_keys.before_delete(handle, &conflicting, &existing, Some(row), context).await?;
        // Children that keep their parent are no concern of a replica, which would delete them with this row.
        let is_parent = foreign_keys.is_parent();
        follow_key(context.host.transaction(), is_parent);
        let deleted = context.delete_row(handle, &conflicting, &existing).await;
        follow_key(context.host.transaction(), false);
        deleted?;
        inserter.outcome.affected_rows += 1;
        match context.insert_row(&inserter.handle, row).await? {
            ChangeOutcome::Done => {
                inserter.outcome.affected_rows += 1;
                return Ok(());
            }
            ChangeOutcome::Duplicate { index: next, row_key } => (index, conflicting) = (next, row_key),
        }
    }
    Err(damaged(&inserter.plan.table.name))
}

/// ON DUPLICATE KEY UPDATE; `new_row` is followed by the source query's row. 2 affected rows for a change, 0 when the values stay as they are.
pub async fn update_existing(
    inserter: &mut Inserter<'_>,
    (assignments, subqueries): (&[Assignment], &[RowSubquery]),
    row_key: &[u8],
    new_row: Vec<Value>,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let existing = existing_row(&inserter.handle, row_key, context).await?;
    let width = existing.len();
    let number = inserter.outcome.records;
    let mut frame = existing.clone();
    frame.extend(new_row);
    for (place, assignment) in assignments.iter().enumerate() {
        for subquery in subqueries.iter().filter(|subquery| subquery.assignment == place) {
            for &(slot, position) in &subquery.reads {
                context.eval.slots[slot] = frame[position].clone();
            }
            run_initialisers(std::slice::from_ref(&subquery.initialiser), context).await?;
        }
        let column = assignment.column;
        let (assigner, value) = (&inserter.assigner, &assignment.value);
        let value = retried(context, |eval| assigner.assigned(column, value, &frame, number, eval)).await?;
        let definition = &inserter.plan.table.columns[column];
        frame[column] = match value {
            // The counter numbers new rows only; here MySQL takes NULL for 0 without a word.
            Value::Null if definition.auto_increment && !definition.nullable() => {
                definition.column_type.implicit_default()
            }
            value => value,
        };
    }
    context.check()?;
    frame.truncate(width);
    inserter.outcome.matched_rows += 1;
    let is_assigned = |column: usize| assignments.iter().any(|assignment| assignment.column == column);
    // Before the triggers, as in UPDATE.
    if frame != existing {
        inserter.assigner.touch_timestamps(&mut frame, is_assigned, context.eval)?;
    }
    let fired = context.fire_before(&inserter.handle, TriggerEvent::Update, Some(&existing), &mut frame);
    if let Some(given) = fired.await? {
        inserter.assigner.require_values(&mut frame, &given, &[], false, context.eval)?;
    }
    if frame == existing {
        inserter.outcome.unchanged_rows += 1;
        return context.update_nothing(&inserter.handle, &existing).await;
    }
    let row_begin = context.host.transaction().savepoint();
    if let Some(rules) = &inserter.plan.rules {
        inserter.assigner.generate(rules, &mut frame, number, context.eval)?;
        context.check()?;
        if let Err(error) = check_row(rules, &frame, context.eval) {
            return pardon(error, inserter.plan.ignore, row_begin, &inserter.handle, context).await;
        }
    }
    write_existing(inserter, row_key, (&existing, &frame), row_begin, context).await
}

/// Brings the new values of a row that was there into the table.
async fn write_existing(
    inserter: &mut Inserter<'_>,
    row_key: &[u8],
    (existing, frame): (&[Value], &[Value]),
    row_begin: Savepoint,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let Inserter { handle, foreign_keys, .. } = &*inserter;
    if let Err(error) = foreign_keys.before_update(handle, row_key, existing, frame, context).await {
        return pardon(error, inserter.plan.ignore, row_begin, handle, context).await;
    }
    let changed = context.update_row(&inserter.handle, row_key, existing, frame).await?;
    match changed {
        ChangeOutcome::Done => {
            inserter.outcome.affected_rows += 2;
            if let Some(number) = auto_increment::observe_update(&inserter.handle, frame) {
                inserter.outcome.explicit_insert_id = number;
            }
            Ok(())
        }
        ChangeOutcome::Duplicate { index, .. } => {
            let error = inserter.handle.duplicate_error(index, frame);
            pardon(error, inserter.plan.ignore, row_begin, &inserter.handle, context).await
        }
    }
}
