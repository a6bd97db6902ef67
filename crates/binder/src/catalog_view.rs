//! The catalog as names of a statement see it; implemented by the session, and by those who bind without one.
use datum::{ColumnType, SqlError};
use plan::{ColumnNeed, TableNeed};
use schema::{TableDef, ViewDef, VirtualTable};
use std::sync::Arc;

pub trait CatalogView {
    /// The table of this name. Errors: 1146 no such table, 1049 unknown database.
    fn table(&self, database: &str, name: &str) -> Result<ResolvedTable, SqlError>;

    /// The same for names below a view, which reach no temporary table.
    fn base_table(&self, database: &str, name: &str) -> Result<ResolvedTable, SqlError> {
        self.table(database, name)
    }

    /// The stored function of this name, if there is one that may be called.
    fn function(&self, _database: &str, _name: &str) -> Result<Option<StoredFunction>, SqlError> {
        Ok(None)
    }

    /// Whether changes of the table's rows run triggers.
    fn has_triggers(&self, _table: &TableDef) -> bool {
        false
    }

    /// Whether what a statement needs on a table, columns apart, is allowed; asked before the table is looked up, so that
    /// an error tells nothing of it.
    fn permit(&self, _need: &TableNeed) -> Result<(), SqlError> {
        Ok(())
    }

    /// Whether the view can be read on behalf of its definer.
    fn permit_view(&self, _view: &ViewDef) -> Result<(), SqlError> {
        Ok(())
    }

    /// Whether what it needs on one of the table's columns is allowed, or on a column that may not exist.
    fn permit_column(&self, _need: &TableNeed, _column: &ColumnNeed) -> Result<(), SqlError> {
        Ok(())
    }
}

/// What a call of a stored function needs to be bound.
#[derive(Debug, Clone)]
pub struct StoredFunction {
    pub id: u64,
    pub parameter_count: usize,
    pub returns: ColumnType,
    pub is_deterministic: bool,
}

#[derive(Debug, Clone)]
pub enum ResolvedTable {
    Stored { table: Arc<TableDef>, statistics: TableStatistics },
    Virtual(Arc<dyn VirtualTable>),
    View(Arc<ViewDef>),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableStatistics {
    /// Estimated rows; `None`: nobody has used the table yet, so a plan that reads it is a guess.
    pub rows: Option<u64>,
    /// By position in `TableDef::indexes`; missing entries mean nothing is known.
    pub indexes: Vec<IndexStatistics>,
    /// Columns of which a histogram tells, or some rows that were looked at.
    pub histograms: Vec<usize>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexStatistics {
    /// Estimated number of different values of the first 1, 2, .. parts.
    pub distinct_prefixes: Vec<u64>,
}
