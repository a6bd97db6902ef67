//! What a prepared statement keeps of an open cursor: the rows that its client has not fetched.
use executor::{MemoryBudget, RowReader, RowStore};

/// What COM_STMT_EXECUTE asks of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorKind {
    /// Send all rows.
    #[default]
    None,
    /// Keep the rows for COM_STMT_FETCH.
    ReadOnly,
}

/// Rows of an open cursor that the client has not fetched.
pub struct Cursor {
    pub(super) rows: RowStore,
    pub(super) reader: RowReader,
    /// Holds what the rows in memory take.
    pub(super) _memory: MemoryBudget,
}
