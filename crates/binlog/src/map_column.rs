//! What a table map event says of a table and its columns. Its head is coded in `table_map`, its optional fields in `optional_fields`.
use crate::cell::WireType;

/// `binlog_row_metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RowMetadata {
    /// Signs and character sets.
    #[default]
    Minimal,
    /// Also names, members, keys and visibility.
    Full,
}

/// One column as TABLE_MAP has it. What is `None` is not said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapColumn {
    /// How its values are read.
    pub wire: WireType,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// The number of its collation, for columns with characters; for ENUM and SET only with full metadata.
    pub collation: Option<u32>,
    /// Its name.
    pub name: Option<String>,
    /// The members of an ENUM or SET.
    pub members: Option<Vec<Vec<u8>>>,
    /// False for an invisible column.
    pub visible: Option<bool>,
}

/// The event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMap {
    /// What row events call the table.
    pub table_id: u64,
    /// 1, as all servers write it.
    pub flags: u16,
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// In the order of the definition, without hidden ones.
    pub columns: Vec<MapColumn>,
    /// Of the primary key: columns, each with its prefix length in characters, 0 for the whole column.
    pub primary_key: Vec<(u64, u64)>,
    /// Optional fields of other numbers, as they were.
    pub unknown_fields: Vec<(u8, Vec<u8>)>,
}
