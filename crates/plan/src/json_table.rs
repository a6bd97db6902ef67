//! JSON_TABLE: rows out of a document.
use datum::{ColumnType, Value};
use expression::Expr;

use crate::document_value::JsonPath;

#[derive(Debug, Clone)]
pub struct JsonTable {
    /// Over the base frame.
    pub document: Expr,
    /// Positions of the base frame that nothing else reads: the rows have NULL there.
    pub read_here_alone: Vec<usize>,
    pub alias: String,
    /// A row for each thing that it selects.
    pub path: JsonPath,
    pub columns: Vec<JsonTableColumn>,
    /// How many columns there are, nested ones included.
    pub width: usize,
    /// (column, frame position).
    pub projection: Vec<(usize, usize)>,
    pub filter: Vec<Expr>,
}

/// `number` is the column's place in a row.
#[derive(Debug, Clone)]
pub enum JsonTableColumn {
    /// The number of the row, from 1.
    Ordinality {
        number: usize,
    },
    Value {
        number: usize,
        name: String,
        column_type: ColumnType,
        path: JsonPath,
        on_empty: JsonTableBehaviour,
        on_error: JsonTableBehaviour,
    },
    Exists {
        number: usize,
        name: String,
        column_type: ColumnType,
        path: JsonPath,
    },
    /// A row for each thing that the path selects, beside the row's other columns.
    Nested {
        path: JsonPath,
        columns: Vec<JsonTableColumn>,
    },
}

#[derive(Debug, Clone)]
pub enum JsonTableBehaviour {
    Null,
    Error,
    Default(Value),
}
