//! CREATE and DROP of tables, indexes and databases.
use super::{
    AlgorithmOption, CheckConstraint, DataType, Expr, ForeignKey, Ident, IndexDefinition, LockOption,
    ObjectName, Partitioning, Query, References,
};

#[derive(Debug, Clone, Copy)]
pub struct CreateTable<'a> {
    pub temporary: bool,
    pub if_not_exists: bool,
    pub name: ObjectName<'a>,
    /// `LIKE other`; everything below is empty then.
    pub like: Option<ObjectName<'a>>,
    pub elements: &'a [TableElement<'a>],
    pub options: &'a [TableOption<'a>],
    pub partitioning: Option<&'a Partitioning<'a>>,
    pub duplicates: Option<DuplicateHandling>,
    pub query: Option<&'a Query<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub enum TableElement<'a> {
    Column(ColumnDefinition<'a>),
    Index(IndexDefinition<'a>),
    ForeignKey(ForeignKey<'a>),
    Check(CheckConstraint<'a>),
}

#[derive(Debug, Clone, Copy)]
pub struct ColumnDefinition<'a> {
    pub name: Ident<'a>,
    pub data_type: DataType<'a>,
    /// In the order written; duplicates are kept (the last one wins in MySQL).
    pub attributes: &'a [ColumnAttribute<'a>],
}

#[derive(Debug, Clone, Copy)]
pub enum ColumnAttribute<'a> {
    Null,
    NotNull,
    /// A literal, NULL, CURRENT_TIMESTAMP (as a function call) or, when `parenthesized`, any expression.
    Default {
        expr: Expr<'a>,
        parenthesized: bool,
    },
    OnUpdate(Expr<'a>),
    AutoIncrement,
    SerialDefaultValue,
    /// `PRIMARY KEY` and a bare `KEY`.
    PrimaryKey,
    Unique,
    Comment(&'a str),
    Collate(Ident<'a>),
    /// `GENERATED ALWAYS AS (expr)`
    Generated {
        expr: Expr<'a>,
        stored: bool,
    },
    Check(CheckConstraint<'a>),
    References(References<'a>),
    Srid(u64),
    Visible(bool),
    /// `FIXED`, `DYNAMIC`, `DEFAULT`
    ColumnFormat(Ident<'a>),
    /// `DISK`, `MEMORY`, `DEFAULT`
    Storage(Ident<'a>),
    EngineAttribute(&'a str),
    SecondaryEngineAttribute(&'a str),
    NotSecondary,
}

/// What CREATE TABLE .. SELECT and LOAD DATA do with duplicate keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DuplicateHandling {
    Ignore,
    Replace,
}

#[derive(Debug, Clone, Copy)]
pub struct TableOption<'a> {
    pub name: TableOptionName,
    pub value: TableOptionValue<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableOptionName {
    Engine,
    SecondaryEngine,
    AutoIncrement,
    AutoExtendSize,
    AverageRowLength,
    CharacterSet,
    Checksum,
    Collate,
    Comment,
    Compression,
    Connection,
    DataDirectory,
    DelayKeyWrite,
    Encryption,
    EngineAttribute,
    IndexDirectory,
    InsertMethod,
    KeyBlockSize,
    MaxRows,
    MinRows,
    NodeGroup,
    PackKeys,
    Password,
    RowFormat,
    SecondaryEngineAttribute,
    StartTransaction,
    StatsAutoRecalc,
    StatsPersistent,
    StatsSamplePages,
    Storage,
    Tablespace,
    Union,
}

#[derive(Debug, Clone, Copy)]
pub enum TableOptionValue<'a> {
    Integer(u64),
    String(&'a str),
    /// A name or keyword: an engine, a character set, `DYNAMIC`.
    Name(Ident<'a>),
    /// `DEFAULT`
    Default,
    /// The members of UNION.
    Tables(&'a [ObjectName<'a>]),
    /// An option without a value, or with NULL.
    None,
}

#[derive(Debug, Clone, Copy)]
pub struct DropTable<'a> {
    pub temporary: bool,
    pub if_exists: bool,
    pub tables: &'a [ObjectName<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct TruncateTable<'a> {
    pub table: ObjectName<'a>,
}

#[derive(Debug, Clone, Copy)]
pub struct CreateIndex<'a> {
    pub table: ObjectName<'a>,
    /// `name` is always set.
    pub index: IndexDefinition<'a>,
    pub change: SchemaChangeOption,
}

#[derive(Debug, Clone, Copy)]
pub struct DropIndex<'a> {
    pub name: Ident<'a>,
    pub table: ObjectName<'a>,
    pub change: SchemaChangeOption,
}

/// `ALGORITHM = ..` and `LOCK = ..`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchemaChangeOption {
    pub algorithm: Option<AlgorithmOption>,
    pub lock: Option<LockOption>,
}

#[derive(Debug, Clone, Copy)]
pub struct CreateDatabase<'a> {
    pub if_not_exists: bool,
    pub name: Ident<'a>,
    pub options: &'a [DatabaseOption<'a>],
}

#[derive(Debug, Clone, Copy)]
pub enum DatabaseOption<'a> {
    CharacterSet(Ident<'a>),
    Collate(Ident<'a>),
    Encryption(&'a str),
    /// `READ ONLY = 0 | 1 | DEFAULT`; `None` is DEFAULT.
    ReadOnly(Option<bool>),
}

#[derive(Debug, Clone, Copy)]
pub struct DropDatabase<'a> {
    pub if_exists: bool,
    pub name: Ident<'a>,
}
