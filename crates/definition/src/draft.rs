//! A table on its way from syntax to descriptor: columns and indexes by name, so that both can still move.
use collation::CollationId;
use datum::{ColumnType, Condition, SqlError, SqlMode};
use parser::ast;
use schema::{CheckDef, ColumnDef, ColumnDefault, IndexId, IndexKind, TableDef, TableId};
use std::sync::Arc;

use schema::{MatchOption, ReferentialAction};

/// Gives the type of an expression over the row of a table, and that of its elements if it is a cast to an array.
pub type RowExpressionType<'a> =
    dyn Fn(&str, &Arc<TableDef>) -> Result<(ColumnType, Option<ColumnType>), SqlError> + 'a;

/// What definitions depend on outside their own words.
pub struct DefinitionContext<'a> {
    pub sql_mode: SqlMode,
    pub default_engine: &'a str,
    pub require_primary_key: bool,
    /// Makes a column's default from the expression of its DEFAULT clause (not CURRENT_TIMESTAMP, not NULL).
    pub literal_default: &'a dyn Fn(&ast::Expr<'_>, &ColumnDef) -> Result<ColumnDefault, SqlError>,
    /// Whether there is a function of this name, in lower case.
    pub knows_function: &'a dyn Fn(&str) -> bool,
    /// The types of an expression over the row of a table.
    pub row_expression_type: &'a RowExpressionType<'a>,
    /// The character set of the statement's strings.
    pub connection_charset: &'a str,
    pub conditions: Vec<Condition>,
}

/// Where the values of a column come from when a table is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnSource {
    /// The column of this position of the old table.
    Old(usize),
    /// A new column: its default.
    New,
}

impl ColumnSource {
    /// The position of the column as it was.
    pub fn old(self) -> Option<usize> {
        match self {
            ColumnSource::Old(position) => Some(position),
            ColumnSource::New => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct ColumnDraft {
    pub definition: ColumnDef,
    /// NULL or NOT NULL as written.
    pub written_nullable: Option<bool>,
    pub primary: bool,
    pub unique: bool,
    pub source: ColumnSource,
}

#[derive(Clone, Debug)]
pub struct IndexDraft {
    /// Set for an index that exists already and keeps its tree.
    pub existing: Option<(IndexId, u64)>,
    /// Empty until `name_indexes`.
    pub name: String,
    pub kind: IndexKind,
    pub parts: Vec<PartDraft>,
    pub invisible: bool,
    /// Made for a foreign key.
    pub generated: bool,
    pub comment: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartDraft {
    /// Of an expression: the hidden column, once there is one.
    pub column: String,
    pub expression: Option<String>,
    pub prefix_length: Option<u64>,
    pub descending: bool,
}

impl PartDraft {
    /// A cast to an array, which makes the index multi-valued.
    pub fn is_array(&self) -> bool {
        let is_cast = |text: &String| text.starts_with("cast(") && text.ends_with(" array)");
        self.expression.as_ref().is_some_and(is_cast)
    }
}

#[derive(Clone, Debug)]
pub struct TableDraft {
    pub id: TableId,
    pub database: String,
    pub name: String,
    pub columns: Vec<ColumnDraft>,
    pub indexes: Vec<IndexDraft>,
    /// New ones are numbered from here: also the number of one that is dropped in the same statement is never used again.
    pub next_index_id: u32,
    pub foreign_keys: Vec<ForeignKeyDraft>,
    /// The last number among the names that the server made for the table's foreign keys.
    pub foreign_key_number: u32,
    pub checks: Vec<CheckDraft>,
    /// The last number among the names that the server made for the table's CHECK constraints.
    pub check_number: u32,
    pub collation: CollationId,
    pub engine: String,
    pub comment: String,
    pub create_options: Vec<(String, String)>,
    pub auto_increment_start: u64,
    pub auto_increment_resets: u64,
    pub tree: u64,
    pub row_format: u8,
    pub created_at: i64,
}

impl TableDraft {
    pub fn column_position(&self, name: &str) -> Option<usize> {
        let is_it =
            |column: &ColumnDraft| !column.definition.hidden && same_name(&column.definition.name, name);
        self.columns.iter().position(is_it)
    }

    pub fn index_position(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|index| same_name(&index.name, name))
    }
}

/// Names of columns and indexes ignore letter case.
pub fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || (!left.is_ascii() && left.to_lowercase() == right.to_lowercase())
}

#[derive(Clone, Debug)]
pub struct CheckDraft {
    pub definition: CheckDef,
    /// Written with this column, the only one that it may read.
    pub column: Option<String>,
}

#[derive(Clone, Debug)]
pub struct ForeignKeyDraft {
    /// Empty until `name_foreign_keys`.
    pub name: String,
    /// The table has it already.
    pub exists: bool,
    pub columns: Vec<String>,
    pub parent_database: String,
    pub parent_table: String,
    /// None for the parent's primary key.
    pub parent_columns: Vec<String>,
    pub match_option: MatchOption,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
}
