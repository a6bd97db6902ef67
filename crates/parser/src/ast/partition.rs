//! PARTITION BY.
use super::{Expr, Ident, TableOption};

#[derive(Debug, Clone, Copy)]
pub struct Partitioning<'a> {
    pub method: PartitionMethod<'a>,
    pub count: Option<u64>,
    /// `HASH` or `KEY`.
    pub sub_method: Option<PartitionMethod<'a>>,
    pub sub_count: Option<u64>,
    pub definitions: &'a [PartitionDefinition<'a>],
}

#[derive(Debug, Clone, Copy)]
pub enum PartitionMethod<'a> {
    Hash { linear: bool, expr: &'a Expr<'a> },
    Key { linear: bool, algorithm: Option<u64>, columns: &'a [Ident<'a>] },
    Range(&'a Expr<'a>),
    RangeColumns(&'a [Ident<'a>]),
    List(&'a Expr<'a>),
    ListColumns(&'a [Ident<'a>]),
}

#[derive(Debug, Clone, Copy)]
pub struct PartitionDefinition<'a> {
    pub name: Ident<'a>,
    pub values: PartitionValues<'a>,
    pub options: &'a [TableOption<'a>],
    pub sub_partitions: &'a [SubPartitionDefinition<'a>],
}

#[derive(Debug, Clone, Copy)]
pub enum PartitionValues<'a> {
    None,
    /// `LESS THAN (..)`; `None` is MAXVALUE.
    LessThan(&'a [Option<Expr<'a>>]),
    /// `IN (..)`; a member of LIST COLUMNS with several columns is `ExprKind::Row`.
    In(&'a [Expr<'a>]),
}

#[derive(Debug, Clone, Copy)]
pub struct SubPartitionDefinition<'a> {
    pub name: Ident<'a>,
    pub options: &'a [TableOption<'a>],
}
