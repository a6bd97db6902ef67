//! Row events: each row is found, changed and noted for the own binary log, as a statement of a user does it.
//!
//! Invariant: a table of an event is locked until the transaction ends; triggers do not fire, because what they did is in
//! the events too.
use std::sync::Arc;

use binlog::{RowChange, Rows, rows_flag};
use catalog::{LockMode, LockName};
use datum::{SqlError, SqlMode, Timestamp, TypeKind, Value, error_code};
use definition::RowMaker;
use engine::WaitPolicy;
use instance::replication::SkippedErrors;
use schema::{ColumnDef, ColumnDefault, TableDef};
use table::{ChangeOutcome, ReadyTable};
use variables::Setting;

use super::ApplierSession;
use super::columns::{Columns, default_of};
use super::find::{Found, find_row};
use session::TableRowMaker;

/// A table that row events are about.
pub struct MappedTable {
    pub columns: Columns,
    pub table: ReadyTable,
    maker: Option<TableRowMaker>,
}

/// What is done about a row that is there, or is not there, against the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflicts {
    /// `replica_exec_mode = STRICT`.
    Stop,
    /// `replica_exec_mode = IDEMPOTENT`: the row becomes what the event says.
    Overwrite,
}

impl ApplierSession {
    /// Locks the table of a TABLE_MAP and fits its columns.
    pub(super) async fn map_table(&mut self, map: binlog::TableMap) -> Result<MappedTable, SqlError> {
        let (database, name) = (map.database.clone(), map.table.clone());
        let lock = LockName::Table(database.as_str().into(), name.as_str().into());
        self.pass_to_change().await?;
        self.lock_shared(&[(lock, LockMode::SharedWrite)]).await?;
        let handle = self.instance().catalog().require_table(&database, &name)?;
        let table = handle.ready(self.instance().engine()).await?;
        let columns = Columns::new(map, table.definition().clone())?;
        let has_defaults = table
            .definition()
            .columns
            .iter()
            .any(|one| matches!(one.default, ColumnDefault::Expression { .. }));
        let maker = match columns.has_generated || has_defaults {
            true => Some(self.forgiving_maker(&columns.table)?),
            false => None,
        };
        Ok(MappedTable { columns, table, maker })
    }

    /// Who computes what the events do not say. What the source has taken with a warning, as INSERT IGNORE and modes that are not strict
    /// do, is no error here: nobody refuses a statement any more, and MySQL's applier does not either.
    fn forgiving_maker(&mut self, table: &Arc<TableDef>) -> Result<TableRowMaker, SqlError> {
        let mode = self.settings().sql_mode;
        let named = |is_wanted: &dyn Fn(&str) -> bool| {
            let has = SqlMode::NAMED.iter().filter(|(flag, name)| mode.0 & flag.0 != 0 && is_wanted(name));
            Setting::text(&has.map(|(_, name)| *name).collect::<Vec<_>>().join(","))
        };
        let (forgiving, whole) = (named(&|name| !name.starts_with("STRICT_")), named(&|_| true));
        self.variables_mut().set_by_name("sql_mode", forgiving);
        self.refresh_settings();
        let maker = self.row_maker(table);
        self.variables_mut().set_by_name("sql_mode", whole);
        self.refresh_settings();
        maker
    }

    /// Locks a table that was mapped for an earlier transaction.
    pub(super) async fn relock_table(&mut self, mapped: &MappedTable) -> Result<(), SqlError> {
        let definition = mapped.table.definition();
        let lock = LockName::Table(definition.database.as_str().into(), definition.name.as_str().into());
        self.pass_to_change().await?;
        self.lock_shared(&[(lock, LockMode::SharedWrite)]).await
    }

    /// Applies one event's rows.
    pub(super) async fn apply_rows(
        &mut self,
        mapped: &MappedTable,
        rows: &Rows,
        conflicts: Conflicts,
        skipped: &SkippedErrors,
    ) -> Result<(), SqlError> {
        self.begin_applied_statement(rows.header.flags);
        for change in rows.changes(&mapped.columns.map) {
            let change = change.map_err(|error| super::applier::event_error(&error))?;
            let applied = self.apply_row(mapped, change, conflicts).await;
            applied.or_else(|error| self.pass_over(error, skipped))?;
        }
        if rows.header.flags & rows_flag::STATEMENT_END != 0 {
            self.end_applied_statement();
        }
        Ok(())
    }

    /// The rows that follow are of another statement.
    pub(super) fn end_applied_statement(&mut self) {
        self.leave_passage();
        if let Some(applying) = self.applying_mut() {
            applying.rows_flags |= rows_flag::STATEMENT_END;
        }
    }

    async fn apply_row(
        &mut self,
        mapped: &MappedTable,
        change: RowChange,
        conflicts: Conflicts,
    ) -> Result<(), SqlError> {
        let timeout_us = self.settings().row_lock_wait_timeout_s.saturating_mul(1_000_000);
        let wait = WaitPolicy::Wait { timeout_us };
        let before = change.before.map(|image| mapped.columns.placed(image)).transpose()?;
        let after = change.after.map(|image| mapped.columns.placed(image)).transpose()?;
        let Some(image) = before else {
            let row = self.new_row(mapped, after.unwrap_or_default())?;
            return self.insert_applied(mapped, row, wait, conflicts).await;
        };
        let transaction = self.open_transaction().ok_or_else(outside)?;
        let found = find_row(&mapped.table, transaction, &image, wait).await?;
        match (found, after, conflicts) {
            (Some(found), Some(after), _) => self.update_applied(mapped, found, after, wait, conflicts).await,
            (Some((key, row)), None, _) => {
                let transaction = self.open_transaction().ok_or_else(outside)?;
                mapped.table.delete_row(transaction, &key, &row, wait).await
            }
            (None, Some(after), Conflicts::Overwrite) if after.iter().all(Option::is_some) => {
                let row = self.new_row(mapped, after)?;
                self.insert_applied(mapped, row, wait, conflicts).await
            }
            (None, _, Conflicts::Overwrite) => Ok(()),
            (None, _, Conflicts::Stop) => {
                Err(error_code::ER_KEY_NOT_FOUND.with(&[&mapped.table.definition().name]))
            }
        }
    }

    /// A row with everything that its image does not have.
    fn new_row(&self, mapped: &MappedTable, image: Vec<Option<Value>>) -> Result<Vec<Value>, SqlError> {
        let table = &mapped.columns.table;
        let missing: Vec<usize> = (0..image.len()).filter(|place| image[*place].is_none()).collect();
        let complete = |(place, value): (usize, Option<Value>)| {
            let column = &table.columns[place];
            value.unwrap_or_else(|| default_of(column, self.moment_for(column)))
        };
        let mut row: Vec<Value> = image.into_iter().enumerate().map(complete).collect();
        let Some(maker) = &mapped.maker else { return Ok(row) };
        for place in missing {
            if matches!(table.columns[place].default, ColumnDefault::Expression { .. }) {
                row[place] = maker.default_value(place, &row, 1)?;
            }
        }
        maker.finish(&mut row, 1)?;
        Ok(row)
    }

    /// The moment of the event as the column has it.
    fn moment_for(&self, column: &ColumnDef) -> Value {
        let unit = 10_i64.pow(6 - u32::from(column.column_type.kind.fsp().min(6)));
        let micros = self.now_utc_micros() / unit * unit;
        let Some(instant) = Timestamp::from_unix_micros(micros) else { return Value::Null };
        match column.column_type.kind {
            TypeKind::Timestamp { .. } => Value::Timestamp(instant),
            _ => Value::DateTime(instant.in_zone(&self.settings().time_zone)),
        }
    }

    async fn insert_applied(
        &mut self,
        mapped: &MappedTable,
        row: Vec<Value>,
        wait: WaitPolicy,
        conflicts: Conflicts,
    ) -> Result<(), SqlError> {
        loop {
            let transaction = self.open_transaction().ok_or_else(outside)?;
            match mapped.table.insert_row(transaction, &row, wait).await? {
                ChangeOutcome::Done => {
                    mapped.table.observe_number(&row);
                    return Ok(());
                }
                ChangeOutcome::Duplicate { index, row_key } => {
                    self.remove_conflicting(mapped, (index, row_key), &row, wait, conflicts).await?;
                }
            }
        }
    }

    async fn update_applied(
        &mut self,
        mapped: &MappedTable,
        (key, old): Found,
        after: Vec<Option<Value>>,
        wait: WaitPolicy,
        conflicts: Conflicts,
    ) -> Result<(), SqlError> {
        let mut new: Vec<Value> =
            after.into_iter().zip(&old).map(|(new, old)| new.unwrap_or_else(|| old.clone())).collect();
        if let Some(maker) = mapped.maker.as_ref().filter(|_| mapped.columns.has_generated) {
            maker.finish(&mut new, 1)?;
        }
        loop {
            let transaction = self.open_transaction().ok_or_else(outside)?;
            match mapped.table.update_row(transaction, &key, &old, &new, wait).await? {
                ChangeOutcome::Done => {
                    mapped.table.observe_number(&new);
                    return Ok(());
                }
                ChangeOutcome::Duplicate { index, row_key } => {
                    self.remove_conflicting(mapped, (index, row_key), &new, wait, conflicts).await?;
                }
            }
        }
    }

    /// Error 1062, or the other row goes.
    async fn remove_conflicting(
        &mut self,
        mapped: &MappedTable,
        (index, row_key): (usize, Vec<u8>),
        row: &[Value],
        wait: WaitPolicy,
        conflicts: Conflicts,
    ) -> Result<(), SqlError> {
        if conflicts == Conflicts::Stop {
            return Err(mapped.table.duplicate_error(index, row));
        }
        let transaction = self.open_transaction().ok_or_else(outside)?;
        let mode = engine::ReadMode::Locking(engine::LockMode::Exclusive, wait);
        if let Some(other) = mapped.table.read_row_at(transaction, &row_key, mode).await? {
            mapped.table.delete_row(transaction, &row_key, &other, wait).await?;
        }
        Ok(())
    }
}

/// A row event before its BEGIN.
fn outside() -> SqlError {
    error_code::ER_INTERNAL_ERROR.with(&[&"a row event outside of a transaction"])
}

/// For the table that a mapping was made of.
pub fn is_current(mapped: &MappedTable, session: &ApplierSession) -> bool {
    let present = session.instance().catalog().table_by_id(mapped.table.definition().id);
    present.is_some_and(|handle| Arc::ptr_eq(handle.definition(), mapped.table.definition()))
}
