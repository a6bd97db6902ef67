//! INSERT, REPLACE, UPDATE and DELETE.
use super::{
    ColumnReference, Expr, Ident, Limit, NamedTable, ObjectName, OrderItem, Query, TableReference, With,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Priority {
    Low,
    High,
    Delayed,
}

#[derive(Debug, Clone, Copy)]
pub struct Insert<'a> {
    /// REPLACE instead of INSERT.
    pub replace: bool,
    pub priority: Option<Priority>,
    pub ignore: bool,
    pub hints: Option<&'a str>,
    pub table: ObjectName<'a>,
    pub partitions: &'a [Ident<'a>],
    /// `None` when no column list was written; `Some(&[])` for `()`. Not used with SET.
    pub columns: Option<&'a [ColumnReference<'a>]>,
    pub source: InsertSource<'a>,
    /// `AS new(a, b)`
    pub row_alias: Option<RowAlias<'a>>,
    /// ON DUPLICATE KEY UPDATE; empty without.
    pub on_duplicate: &'a [Assignment<'a>],
}

#[derive(Debug, Clone, Copy)]
pub enum InsertSource<'a> {
    /// VALUES; a member may be `ExprKind::DefaultValue`, a row may be empty.
    Values(&'a [&'a [Expr<'a>]]),
    Set(&'a [Assignment<'a>]),
    Query(&'a Query<'a>),
}

#[derive(Debug, Clone, Copy)]
pub struct RowAlias<'a> {
    pub name: Ident<'a>,
    pub columns: &'a [Ident<'a>],
}

/// `column = value`; the value may be `ExprKind::DefaultValue`.
#[derive(Debug, Clone, Copy)]
pub struct Assignment<'a> {
    pub column: ColumnReference<'a>,
    pub value: Expr<'a>,
}

#[derive(Debug, Clone, Copy)]
pub struct Update<'a> {
    /// Its own number among the query blocks.
    pub number: u32,
    pub with: Option<&'a With<'a>>,
    pub hints: Option<&'a str>,
    pub low_priority: bool,
    pub ignore: bool,
    /// One plain table for the single-table form; otherwise the joined tables.
    pub tables: &'a [TableReference<'a>],
    pub assignments: &'a [Assignment<'a>],
    pub filter: Option<&'a Expr<'a>>,
    pub order_by: &'a [OrderItem<'a>],
    pub limit: Option<Limit<'a>>,
}

impl<'a> Update<'a> {
    /// The table of the single-table form.
    pub fn single_table(&self) -> Option<&'a NamedTable<'a>> {
        match self.tables {
            [TableReference::Table(table)] => Some(table),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Delete<'a> {
    /// Its own number among the query blocks.
    pub number: u32,
    pub with: Option<&'a With<'a>>,
    pub hints: Option<&'a str>,
    pub low_priority: bool,
    pub quick: bool,
    pub ignore: bool,
    pub target: DeleteTarget<'a>,
    pub filter: Option<&'a Expr<'a>>,
    pub order_by: &'a [OrderItem<'a>],
    pub limit: Option<Limit<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub enum DeleteTarget<'a> {
    /// `DELETE FROM t [AS alias] ..`
    Single(&'a NamedTable<'a>),
    /// `DELETE a, b FROM ..` and `DELETE FROM a, b USING ..`
    Multiple { targets: &'a [ObjectName<'a>], from: &'a [TableReference<'a>] },
}
