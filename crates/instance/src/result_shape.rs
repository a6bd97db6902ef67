//! How a plan's result looks to a client: its columns, and what is done to their values on the way.
//!
//! Kept with the plan, so that a cached one tells the client the same without working it out again.
use collation::Charset;
use datum::ColumnType;

/// Everything the protocol says about one column of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnMeta {
    pub schema: String,
    /// The alias under which the table was used.
    pub table: String,
    pub org_table: String,
    /// The name or alias that the statement gave the column.
    pub name: String,
    pub org_name: String,
    /// The character set the client receives text in (63 for binary and numbers).
    pub collation_id: u16,
    /// Display length in bytes.
    pub length: u32,
    pub column_type: ColumnTypeCode,
    pub flags: u16,
    pub decimals: u8,
}

/// The protocol's type byte (`MYSQL_TYPE_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnTypeCode(pub u8);

/// The columns of a result. The same `Arc` comes again when a cached plan runs again.
#[derive(Debug)]
pub struct ResultShape {
    /// Never reused within a server's life: a key for the sink's cache of encoded column packets.
    pub id: u64,
    pub columns: Vec<ColumnMeta>,
}

/// What is done to the values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Conversion {
    None,
    /// TIMESTAMP: UTC to the session's zone.
    LocalTime,
    /// ENUM and SET: the member's text, from this character set.
    Members(ColumnType),
    /// Text from one character set to another.
    Text(Charset),
}
