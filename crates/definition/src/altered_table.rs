//! What is to become of a table: its descriptor before and after, and where each column comes from.
use crate::draft::ColumnSource;
use schema::TableDef;
use std::sync::Arc;
use table::TableHandle;

/// What is to become of the table.
pub struct Alteration {
    pub before: Arc<TableHandle>,
    pub after: TableDef,
    /// For each column of `after`.
    pub sources: Vec<ColumnSource>,
    pub auto_increment: Option<u64>,
    pub rebuild: bool,
    /// `ALGORITHM=COPY`: the rows are copied whatever changes, and the client is told how many they were.
    pub copy_asked: bool,
}
