//! Looking at a table that no statement has used since the start.
//!
//! Statements make their tables ready themselves, behind the metadata locks that they hold until their end (see
//! `table::ReadyTable`). Whoever only wants to show what a table knows comes here: SHOW and `information_schema`.
use std::sync::Arc;

use datum::SqlError;
use table::{ReadyTable, TableHandle, TableResolver};

use crate::catalog::Catalog;
use crate::metadata_lock::{LockMode, LockName, LockOwner};

impl Catalog {
    /// Makes the table ready. `None` when it is gone, or its definition is just being changed: a list of many tables
    /// must not wait for each ALTER.
    pub async fn ready_unless_changing(
        &self,
        table: &Arc<TableHandle>,
        owner: LockOwner,
    ) -> Result<Option<ReadyTable>, SqlError> {
        if let Some(ready) = table.if_ready() {
            return Ok(Some(ready));
        }
        let definition = table.definition();
        let name = LockName::Table(definition.database.as_str().into(), definition.name.as_str().into());
        let Some(_lock) = self.locks().try_acquire(owner, &name, LockMode::Shared) else { return Ok(None) };
        if !TableResolver::table(self, definition.id).is_ok_and(|present| Arc::ptr_eq(&present, table)) {
            return Ok(None);
        }
        let ready = table.clone().ready(self.engine()).await?;
        // A query over very many tables whose pages are in memory lets others have the thread.
        env::yield_now().await;
        Ok(Some(ready))
    }
}
