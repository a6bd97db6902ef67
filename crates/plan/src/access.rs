//! How one table's rows are reached.
use datum::ColumnType;
use expression::Expr;
use schema::{TableDef, VirtualTable};
use std::sync::Arc;

/// A table read through one access path. Rows come out as frames: the base frame (of the outer side of a join, or
/// empty) with this table's positions filled in.
#[derive(Debug, Clone)]
pub struct TableAccess {
    pub table: Arc<TableDef>,
    /// The name in this statement (alias or table name).
    pub alias: String,
    pub path: AccessPath,
    /// Backward in the order of the index.
    pub backward: bool,
    /// (column, frame position) in column order: only these are decoded.
    pub projection: Vec<(usize, usize)>,
    /// Position that receives the row's clustered key as bytes, for UPDATE and DELETE.
    pub row_key_position: Option<usize>,
    /// The index alone has all columns of the projection.
    pub covering: bool,
    /// Conditions that read nothing of this table: checked once, before anything is read.
    pub gate: Vec<Expr>,
    /// What columns of keys are compared with that may divide by zero. It is computed once, before anything is read, and what it
    /// tells of stays a warning in strict mode; nothing is read if it is NULL.
    pub bounds: Vec<Expr>,
    /// Conditions that an index entry tells alone, tested before its row is read; the others are in `filter`.
    pub entry_filter: Vec<Expr>,
    /// (column, frame position) of what they read of this table.
    pub entry_columns: Vec<(usize, usize)>,
    /// The rows behind index entries may come in their own order: plain reads of many fetch them so.
    pub in_row_order: bool,
    /// Conditions on this table and the ones before it in the join; a row that fails one is never returned.
    pub filter: Vec<Expr>,
    /// Conditions that hold for every row of the path, as long as all its bounds can be expressed exactly in the
    /// key's order when their values are known; else they are checked like `filter`.
    pub implied: Vec<Expr>,
    /// `None` for a snapshot read.
    pub lock: Option<LockClause>,
    /// Indexes that could have been used, for EXPLAIN.
    pub possible_indexes: Vec<usize>,
}

/// Positions are those in `TableDef::indexes`. Expressions of conditions may read the base frame.
#[derive(Debug, Clone)]
pub enum AccessPath {
    /// All rows in the order of the clustered key.
    FullScan,
    /// All entries of an index in its order.
    IndexScan { index: usize },
    /// At most one row: every part of a unique index is compared by `=` with a value.
    Point { index: usize, key: Vec<Expr> },
    /// A union of ranges of one index; the executor sorts and merges them, so that rows come in index order.
    Ranges { index: usize, ranges: Vec<RangeCondition> },
    /// Of an index one entry for each different value of its first parts, and more for MIN and MAX.
    Groups { index: usize, walk: GroupWalk },
    /// For each different value of the first `skipped` parts the range of those behind them.
    Skip { index: usize, skipped: usize, range: RangeCondition },
    /// Rows that several indexes give together, in the order of their keys.
    Merge(Box<IndexMerge>),
    /// What lies between two keys of an index, of the clustered records without one: HANDLER goes on from where it was.
    Keys { index: Option<usize>, span: KeySpan },
    /// The condition can never be true: no row is read.
    Nothing,
}

/// Bounds as key bytes, each with whether it is included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySpan {
    pub lower: Option<(Vec<u8>, bool)>,
    pub upper: Option<(Vec<u8>, bool)>,
}

/// What a loose index scan reads.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupWalk {
    /// So many first parts are a group.
    pub parts: usize,
    /// On these parts; none: all groups.
    pub ranges: Vec<RangeCondition>,
    /// Also the first entry whose next part is not NULL.
    pub least: bool,
    /// Also the last entry.
    pub greatest: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IndexMerge {
    pub kind: MergeKind,
    pub parts: Vec<MergePart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeKind {
    /// Rows that one of them gives, each by one value for all parts of its index.
    Union,
    SortUnion,
    /// Rows that all give.
    Intersection,
    /// Rows that have any of several elements in a multi-valued index, which is the only part.
    Elements,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MergePart {
    pub index: usize,
    pub ranges: Vec<RangeCondition>,
}

impl AccessPath {
    pub fn index(&self) -> Option<usize> {
        match self {
            AccessPath::IndexScan { index }
            | AccessPath::Point { index, .. }
            | AccessPath::Ranges { index, .. }
            | AccessPath::Groups { index, .. }
            | AccessPath::Skip { index, .. } => Some(*index),
            AccessPath::Keys { index, .. } => *index,
            AccessPath::FullScan | AccessPath::Merge(_) | AccessPath::Nothing => None,
        }
    }
}

/// Conditions on a prefix of an index's parts, one for each part. All but the last are `OneOf`, `SameAs` or
/// `IsNull`. The row set is at least what the conditions say: a bound that cannot be expressed in the key's order
/// when its value is known is widened, and the condition is checked for each row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RangeCondition {
    pub parts: Vec<KeyCondition>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum KeyCondition {
    /// Equal to one of the values (`=` has one, IN more); NULL among them matches nothing.
    OneOf(Vec<Expr>),
    /// `<=>`: NULL matches NULL.
    SameAs(Expr),
    IsNull,
    Between(Interval),
    /// Not NULL and different from all of the values (`<>` has one, NOT IN more).
    NoneOf(Vec<Expr>),
    /// `LIKE pattern ESCAPE character`: the pattern's fixed head bounds the range.
    Like {
        pattern: Expr,
        escape: Option<u8>,
    },
}

/// NULL is outside of every interval that has a bound. An empty interval with `not_null` is IS NOT NULL.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interval {
    /// The bound and whether it is included.
    pub lower: Option<(Expr, bool)>,
    pub upper: Option<(Expr, bool)>,
    pub not_null: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockClause {
    pub exclusive: bool,
    pub wait: LockWait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    /// As long as the session's `innodb_lock_wait_timeout` says.
    Session,
    NoWait,
    SkipLocked,
}

/// A table whose rows are computed.
#[derive(Debug, Clone)]
pub struct VirtualAccess {
    pub table: Arc<dyn VirtualTable>,
    pub alias: String,
    pub projection: Vec<(usize, usize)>,
    pub filter: Vec<Expr>,
    /// Columns are wanted that are late (`VirtualTable::late_columns`); the conditions from this one on need them.
    pub late_from: Option<usize>,
}

impl KeyCondition {
    /// Whether at most one key value can match (so that the next part's condition narrows the range too).
    pub fn is_equality(&self) -> bool {
        matches!(self, KeyCondition::OneOf(_) | KeyCondition::SameAs(_) | KeyCondition::IsNull)
    }
}

/// The bytes EXPLAIN's `key_len` counts for one key part of this type.
pub fn key_length(column_type: &ColumnType, prefix_length: Option<u32>) -> u32 {
    use datum::TypeKind::*;
    let nullable = u32::from(column_type.nullable);
    let characters = prefix_length.unwrap_or(column_type.length);
    let text = characters * column_type.collation.charset().bytes_per_character_max();
    let fraction = |fsp: u8| u32::from(fsp.div_ceil(2));
    nullable
        + match &column_type.kind {
            Null => 0,
            Tiny | Year => 1,
            Short => 2,
            Int24 | Date => 3,
            Long | Float { .. } => 4,
            LongLong | Double { .. } => 8,
            Decimal { precision, scale } => decimal_bytes(precision - scale) + decimal_bytes(*scale),
            Char | Binary => text,
            VarChar | VarBinary => text + 2,
            TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob | Json => {
                text + 2
            }
            Time { fsp } => 3 + fraction(*fsp),
            DateTime { fsp } => 5 + fraction(*fsp),
            Timestamp { fsp } => 4 + fraction(*fsp),
            Enum(members) => 1 + u32::from(members.len() > 255),
            Set(members) => match members.len().div_ceil(8) {
                bytes @ 0..=4 => bytes.max(1) as u32,
                _ => 8,
            },
            Bit(bits) => u32::from(bits.div_ceil(8)),
        }
}

/// Nine decimal digits take four bytes; fewer take as many as they need.
fn decimal_bytes(digits: u8) -> u32 {
    const BYTES_OF_REMAINDER: [u32; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    u32::from(digits / 9) * 4 + BYTES_OF_REMAINDER[usize::from(digits % 9)]
}
