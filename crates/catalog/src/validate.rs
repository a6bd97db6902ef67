//! Whether the rows that a table has already obey a new foreign key. ALTER TABLE calls it within its schema change.
use datum::SqlError;
use engine::{EntryBatch, ReadMode};
use env::yield_now;
use table::{ParentLink, TableHandle};

use crate::change::SchemaChange;
use crate::rebuild::TableRows;

/// Error 1452 for the first row without a parent, else the number of rows. The caller holds the exclusive metadata
/// locks of both tables.
pub async fn check_rows(
    change: &mut SchemaChange,
    child: &TableHandle,
    link: &ParentLink,
) -> Result<u64, SqlError> {
    let mut rows = TableRows::new(change, child);
    let mut batch = EntryBatch::default();
    let mut count = 0;
    loop {
        let next = rows.next(change, &mut batch).await?;
        if next.is_empty() {
            return Ok(count);
        }
        for (_, row) in &next {
            count += 1;
            let Some(values) = link.values(row) else { continue };
            let found = match &link.parent {
                Some(parent) => parent.has_key(change.transaction(), &values, ReadMode::Snapshot).await?,
                None => false,
            };
            if !found {
                return Err(link.no_parent(child));
            }
        }
        yield_now().await;
    }
}
