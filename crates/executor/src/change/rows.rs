//! The door through which each row that a statement changes goes to its table.
//!
//! Invariant: nothing else in the executor calls the changes of a table, so what is due for every row is done once, here:
//! today it is counted. Rows that foreign keys change with it go on from there inside `table`.
use datum::{SqlError, Value};
use table::{ChangeOutcome, ReadyTable, TableHandle};

use crate::context::ExecContext;

impl ExecContext<'_> {
    pub(super) async fn insert_row(
        &mut self,
        table: &ReadyTable,
        row: &[Value],
    ) -> Result<ChangeOutcome, SqlError> {
        self.work.inserts += 1;
        self.uses.of(table.definition().id, None).inserted += 1;
        table.insert_row(self.transaction, row, self.settings.lock_wait).await
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
        table.update_row(self.transaction, row_key, old, new, self.settings.lock_wait).await
    }

    /// Deletes the row at `row_key`; `row` needs the values of indexed columns only.
    pub(super) async fn delete_row(
        &mut self,
        table: &TableHandle,
        row_key: &[u8],
        row: &[Value],
    ) -> Result<(), SqlError> {
        self.work.deletes += 1;
        self.uses.of(table.definition().id, None).deleted += 1;
        table.delete_row(self.transaction, row_key, row, self.settings.lock_wait).await
    }
}
