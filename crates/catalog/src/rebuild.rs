//! Reading the rows of a table within a schema change, and what makes others of them.
//!
//! Invariant: all rows are of one moment: that of the change's first read.
use datum::{SqlError, Value};
use engine::{Direction, EntryBatch, KeyRange, ReadMode, TreeId};
use table::{Projection, TableHandle, table_error};

use crate::change::SchemaChange;

pub(crate) const BATCH_ROWS: usize = 256;

/// Makes a row of the new table from one of the old.
pub trait RowConverter {
    fn convert(&mut self, row: &[Value], converted: &mut Vec<Value>) -> Result<(), SqlError>;
}

/// All rows of a table in the order of their keys.
pub struct TableRows<'t> {
    table: &'t TableHandle,
    projection: Projection,
    cursor: engine::Cursor,
    more: bool,
}

impl<'t> TableRows<'t> {
    pub fn new(change: &mut SchemaChange, table: &'t TableHandle) -> TableRows<'t> {
        let tree = TreeId(table.definition().tree);
        let mode = ReadMode::Snapshot;
        let cursor = change.transaction().scan(tree, KeyRange::all(), Direction::Forward, mode);
        let columns: Vec<(usize, usize)> =
            (0..table.definition().columns.len()).map(|column| (column, column)).collect();
        TableRows { table, projection: table.layout().project_rows(&columns), cursor, more: true }
    }

    /// The next rows with their keys; empty at the end.
    pub async fn next(
        &mut self,
        change: &mut SchemaChange,
        batch: &mut EntryBatch,
    ) -> Result<Vec<(Vec<u8>, Vec<Value>)>, SqlError> {
        let definition = self.table.definition();
        let mut rows = Vec::new();
        while rows.is_empty() && self.more {
            batch.clear();
            let read = self.cursor.next_batch(change.transaction(), BATCH_ROWS, batch).await;
            self.more = read.map_err(|error| table_error(definition, error))?;
            for (key, value) in batch.iter() {
                let mut row = vec![Value::Null; definition.columns.len()];
                let decoded =
                    self.table.layout().read_row(definition, &self.projection, key, value, &mut row);
                decoded.map_err(|error| error.of(definition))?;
                rows.push((key.to_vec(), row));
            }
        }
        Ok(rows)
    }
}
