//! What the client learns about a result column.
use datum::ColumnType;

/// What the values are, as far as the column depends on it that a table gets to keep them (CREATE TABLE .. SELECT).
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Kept {
    /// A column's, or those of a set operation, whose type is the column's.
    #[default]
    Same,
    /// What an operator or function computes.
    Computed,
    /// What IFNULL chooses: integers keep their type.
    Chosen,
    /// A subquery's or a window function's.
    Single,
    /// The least or greatest of an expression's.
    Aggregated,
    /// The least or greatest of a column's, of whose type it is, and which has no default where that has none.
    Extreme { of: ColumnType, no_default: bool },
    /// GROUP_CONCAT's, as long as `group_concat_max_len` says.
    Concatenated,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OutputColumn {
    /// The name shown: alias, column name or the expression's text.
    pub name: String,
    pub column_type: ColumnType,
    /// The column behind a plain column reference; empty for expressions.
    pub database: String,
    pub table_alias: String,
    pub table: String,
    pub original_name: String,
    pub primary_key: bool,
    pub unique_key: bool,
    /// Part of a plain index or not the first part of a unique one.
    pub multiple_key: bool,
    pub auto_increment: bool,
    /// NOT NULL without a default: INSERT must give a value.
    pub no_default: bool,
    pub on_update_now: bool,
    pub kept: Kept,
}

impl OutputColumn {
    /// A column that is no table's.
    pub fn computed(name: impl Into<String>, column_type: ColumnType) -> OutputColumn {
        OutputColumn {
            name: name.into(),
            column_type,
            database: String::new(),
            table_alias: String::new(),
            table: String::new(),
            original_name: String::new(),
            primary_key: false,
            unique_key: false,
            multiple_key: false,
            auto_increment: false,
            no_default: false,
            on_update_now: false,
            kept: Kept::Same,
        }
    }
}
