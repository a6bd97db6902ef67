//! What a change of a row adds to its transaction's events and keys. Called by `change` behind each write.
use crate::handle::TableHandle;
use crate::row_events::{note_change, row_events};
use datum::{SqlError, Value};
use engine::Transaction;

impl TableHandle {
    /// Notes a change that has just been made, and the keys of its row.
    pub(crate) async fn note(
        &self,
        transaction: &mut Transaction,
        before: Option<&[Value]>,
        after: Option<&[Value]>,
    ) -> Result<(), SqlError> {
        note_change(transaction, self.definition(), before, after).await?;
        if self.definition().temporary {
            return Ok(());
        }
        let Some(events) = row_events(transaction) else { return Ok(()) };
        before.into_iter().chain(after).try_for_each(|row| events.writes.add(self, row))
    }
}
