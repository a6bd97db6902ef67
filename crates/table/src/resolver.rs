//! From the id in a plan to the live table.
use crate::handle::TableHandle;
use datum::{SqlError, Value};
use schema::{TableDef, TableId};

use crate::foreign_key::link::Relations;
use std::sync::Arc;

/// Implemented by the catalog. The statement's metadata lock keeps the table alive while the plan runs.
pub trait TableResolver {
    /// The handle; an error when the table is gone (a plan that outlived it).
    fn table(&self, id: TableId) -> Result<Arc<TableHandle>, SqlError>;

    /// The parents and children of the table; `None` for one that has neither.
    fn relations(&self, id: TableId) -> Option<Arc<Relations>>;
}

/// Gives a row that a cascade has changed what the table's definition makes of it: its generated columns. Implemented by
/// who can evaluate expressions.
pub trait RowCompleter {
    fn complete(&self, table: &TableDef, row: &mut [Value]) -> Result<(), SqlError>;
}
