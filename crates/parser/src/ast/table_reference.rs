//! What may stand in FROM: tables, derived tables, JSON_TABLE and joins.
use super::{DataType, Expr, Ident, JsonBehaviour, Literal, ObjectName, Query, Span};

#[derive(Debug, Clone, Copy)]
pub enum TableReference<'a> {
    Table(&'a NamedTable<'a>),
    Derived(&'a DerivedTable<'a>),
    JsonTable(&'a JsonTable<'a>),
    Join(&'a Join<'a>),
    /// `(a, b, c)`: a cross join in parentheses, two or more members.
    List(&'a [TableReference<'a>]),
}

#[derive(Debug, Clone, Copy)]
pub struct NamedTable<'a> {
    pub name: ObjectName<'a>,
    pub partitions: &'a [Ident<'a>],
    pub alias: Option<Ident<'a>>,
    pub index_hints: &'a [IndexHint<'a>],
    pub span: Span,
}

#[derive(Debug, Clone, Copy)]
pub struct DerivedTable<'a> {
    pub lateral: bool,
    pub query: &'a Query<'a>,
    pub alias: Ident<'a>,
    pub columns: &'a [Ident<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct Join<'a> {
    pub left: TableReference<'a>,
    pub kind: JoinKind,
    pub right: TableReference<'a>,
    pub constraint: JoinConstraint<'a>,
    /// The longest way down to a table, bounded as `Expr::height` is.
    pub height: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// `JOIN`, `INNER JOIN`, `CROSS JOIN` (they are one thing in MySQL).
    Inner,
    Left,
    Right,
    Straight,
}

#[derive(Debug, Clone, Copy)]
pub enum JoinConstraint<'a> {
    None,
    On(&'a Expr<'a>),
    Using(&'a [Ident<'a>]),
    Natural,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexHintAction {
    Use,
    Ignore,
    Force,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexHintScope {
    All,
    Join,
    OrderBy,
    GroupBy,
}

#[derive(Debug, Clone, Copy)]
pub struct IndexHint<'a> {
    pub action: IndexHintAction,
    pub scope: IndexHintScope,
    /// `PRIMARY` is a name like any other here.
    pub indexes: &'a [Ident<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct JsonTable<'a> {
    pub document: Expr<'a>,
    pub path: Literal<'a>,
    pub columns: &'a [JsonTableColumn<'a>],
    pub alias: Ident<'a>,
}

#[derive(Debug, Clone, Copy)]
pub enum JsonTableColumn<'a> {
    Ordinality(Ident<'a>),
    Path {
        name: Ident<'a>,
        data_type: &'a DataType<'a>,
        exists: bool,
        path: Literal<'a>,
        on_empty: Option<JsonBehaviour<'a>>,
        on_error: Option<JsonBehaviour<'a>>,
    },
    Nested {
        path: Literal<'a>,
        columns: &'a [JsonTableColumn<'a>],
    },
}
