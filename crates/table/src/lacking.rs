//! Columns whose values rows may lack: rows that are older than a column which was added without touching them.
//!
//! Most such columns have one value in all older rows, which the descriptor keeps. A virtual column's is computed from the
//! row, each time that it is read ([decision 0061]). Invariant: what is computed depends on the row and the descriptor
//! alone, never on who reads it, so the entries of an index are found again by anybody.
//!
//! Callers: `layout`, for a column that a record does not have.
//!
//! [decision 0061]: ../../../docs/decisions/0061-virtual-columns-are-added-at-once.md
use crate::error::damaged;
use crate::key_codec::DecodeError;
use datum::{SqlError, Value};
use schema::{ColumnDef, TableDef};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Computes values of generated columns. Implemented by who can bind and evaluate expressions: the catalog.
pub trait ColumnMaker: Send + Sync + fmt::Debug {
    /// The columns that the expression of `column` reads.
    fn reads(&self, column: usize) -> &[usize];

    /// The value as the column keeps it. What does not fit is cut, as for a reader; with `strict` it is an error, as for
    /// a writer. `row` has the columns that the expression reads.
    fn make(&self, column: usize, row: &[Value], strict: bool) -> Result<Value, SqlError>;
}

/// Binds the expressions of a table's generated columns.
pub type ColumnBinder = fn(&Arc<TableDef>) -> Result<Arc<dyn ColumnMaker>, SqlError>;

/// Why a row cannot be read.
#[derive(Debug)]
pub enum RowError {
    /// Its bytes are not what the descriptor says.
    Damaged,
    /// A column has to be computed, and that fails.
    Computed(Box<SqlError>),
}

impl RowError {
    /// As the statement tells it.
    pub fn of(self, table: &TableDef) -> SqlError {
        match self {
            RowError::Damaged => damaged(&table.name),
            RowError::Computed(error) => *error,
        }
    }
}

impl From<DecodeError> for RowError {
    fn from(_: DecodeError) -> RowError {
        RowError::Damaged
    }
}

/// The expressions of one table, bound when the first row needs one.
#[derive(Debug)]
pub(crate) struct Lacking {
    table: Arc<TableDef>,
    binder: ColumnBinder,
    maker: OnceLock<Arc<dyn ColumnMaker>>,
}

/// Whether rows may lack the column, and its value is computed then.
pub(crate) fn is_computed(column: &ColumnDef) -> bool {
    column.added_value.is_some() && column.generated.is_some()
}

impl Lacking {
    /// `None` for a table whose rows have all that is computed.
    pub fn of(table: &Arc<TableDef>, binder: ColumnBinder) -> Option<Box<Lacking>> {
        let lacks = table.columns.iter().any(is_computed);
        lacks.then(|| Box::new(Lacking { table: table.clone(), binder, maker: OnceLock::new() }))
    }

    pub fn maker(&self) -> Result<&Arc<dyn ColumnMaker>, RowError> {
        if self.maker.get().is_none() {
            let bound = (self.binder)(&self.table).map_err(|error| RowError::Computed(Box::new(error)))?;
            // Another reader may have done the same.
            let _ = self.maker.set(bound);
        }
        Ok(self.maker.get().expect("set above, and never taken back"))
    }
}
