//! The door through which each row that a statement changes goes to its table.
//!
//! Invariant: nothing else in the executor calls the changes of a table, so what is due for every row is done once, here:
//! it is counted, and triggers fire. Those before an insert or an update may change the row, so whoever makes the row
//! fires them while it is still being made. Rows that foreign keys change with it go on from there inside `table`, and
//! fire nothing.
use datum::{SqlError, Value};
use schema::TriggerEvent;
use table::{ChangeOutcome, ReadyTable, TableHandle};

use crate::context::ExecContext;
use crate::host::{Firing, NewRow};

impl ExecContext<'_> {
    pub(super) async fn insert_row(
        &mut self,
        table: &ReadyTable,
        row: &[Value],
    ) -> Result<ChangeOutcome, SqlError> {
        self.work.inserts += 1;
        self.uses.of(table.definition().id, None).inserted += 1;
        let done = table.insert_row(self.host.transaction(), row, self.settings.lock_wait).await?;
        if let ChangeOutcome::Done = done {
            self.fire_after(table, TriggerEvent::Insert, None, Some(row)).await?;
        }
        Ok(done)
    }

    /// Gives the row at `row_key` new values.
    pub(super) async fn update_row(
        &mut self,
        table: &ReadyTable,
        row_key: &[u8],
        old: &[Value],
        new: &[Value],
    ) -> Result<ChangeOutcome, SqlError> {
        self.work.updates += 1;
        self.uses.of(table.definition().id, None).updated += 1;
        let lock_wait = self.settings.lock_wait;
        let done = table.update_row(self.host.transaction(), row_key, old, new, lock_wait).await?;
        if let ChangeOutcome::Done = done {
            self.fire_after(table, TriggerEvent::Update, Some(old), Some(new)).await?;
        }
        Ok(done)
    }

    /// An update that leaves the row as it is: its triggers fire all the same.
    pub(super) async fn update_nothing(&mut self, table: &ReadyTable, row: &[Value]) -> Result<(), SqlError> {
        self.fire_after(table, TriggerEvent::Update, Some(row), Some(row)).await
    }

    /// Deletes the row at `row_key`; `row` needs the values of indexed columns only, unless triggers follow.
    pub(super) async fn delete_row(
        &mut self,
        table: &TableHandle,
        row_key: &[u8],
        row: &[Value],
    ) -> Result<(), SqlError> {
        self.work.deletes += 1;
        self.uses.of(table.definition().id, None).deleted += 1;
        let id = table.definition().id;
        if self.triggers.has(id, true, TriggerEvent::Delete) {
            let (is_before, event) = (true, TriggerEvent::Delete);
            self.host.fire(Firing { table: id, is_before, event, old: Some(row), new: None }).await?;
        }
        table.delete_row(self.host.transaction(), row_key, row, self.settings.lock_wait).await?;
        self.fire_after(table, TriggerEvent::Delete, Some(row), None).await
    }

    /// Fires what comes before an insert or an update; gives the columns that have got values there, if anything was fired.
    pub(super) async fn fire_before(
        &mut self,
        table: &TableHandle,
        event: TriggerEvent,
        old: Option<&[Value]>,
        new: &mut Vec<Value>,
    ) -> Result<Option<Vec<usize>>, SqlError> {
        let id = table.definition().id;
        if !self.triggers.has(id, true, event) {
            return Ok(None);
        }
        let mut given = Vec::new();
        let new = Some(NewRow::Changeable { row: new, given: &mut given });
        self.host.fire(Firing { table: id, is_before: true, event, old, new }).await?;
        self.check()?;
        Ok(Some(given))
    }

    async fn fire_after(
        &mut self,
        table: &TableHandle,
        event: TriggerEvent,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> Result<(), SqlError> {
        let id = table.definition().id;
        if !self.triggers.has(id, false, event) {
            return Ok(());
        }
        let new = new.map(NewRow::Final);
        self.host.fire(Firing { table: id, is_before: false, event, old, new }).await?;
        self.check()
    }
}
