//! Queries: SELECT, TABLE, VALUES, their set operations, and the clauses around them.
use super::{
    Expr, FieldOptions, Ident, LineOptions, LoadColumn, ObjectName, Span, TableReference, WindowSpecification,
};

/// A query expression with everything that applies to its whole result.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    pub with: Option<&'a With<'a>>,
    pub body: QueryBody<'a>,
    pub order_by: &'a [OrderItem<'a>],
    pub limit: Option<Limit<'a>>,
    pub locking: &'a [Locking<'a>],
    pub into: Option<&'a Into<'a>>,
    pub span: Span,
    /// The longest way down through expressions, joins and queries below, bounded as `Expr::height` is.
    pub height: u32,
}

#[derive(Debug, Clone, Copy)]
pub enum QueryBody<'a> {
    Select(&'a Select<'a>),
    /// `TABLE name`
    Table(ObjectName<'a>),
    /// `VALUES ROW(..), ROW(..)`; a member may be `ExprKind::DefaultValue`.
    Values(&'a [&'a [Expr<'a>]]),
    /// A query in parentheses that has a clause of its own (or a set operation inside).
    Parenthesized(&'a Query<'a>),
    Set(&'a SetChain<'a>),
}

/// `first op second op third ..`: operators of one precedence, from left to right. UNION and EXCEPT share a chain;
/// INTERSECT, which binds tighter, forms chains of its own.
#[derive(Debug, Clone, Copy)]
pub struct SetChain<'a> {
    pub first: QueryBody<'a>,
    pub rest: &'a [SetBranch<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct SetBranch<'a> {
    pub operator: SetOperator,
    /// False keeps distinct rows only, the default.
    pub all: bool,
    pub body: QueryBody<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetOperator {
    Union,
    Except,
    Intersect,
}

#[derive(Debug, Clone, Copy)]
pub struct With<'a> {
    pub recursive: bool,
    pub tables: &'a [CommonTable<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct CommonTable<'a> {
    pub name: Ident<'a>,
    /// Empty when none were written.
    pub columns: &'a [Ident<'a>],
    pub query: &'a Query<'a>,
}

/// One SELECT block.
#[derive(Debug, Clone, Copy)]
pub struct Select<'a> {
    /// Query blocks are numbered from 1 as they are written.
    pub number: u32,
    pub options: SelectOptions,
    /// The text between `/*+` and `*/`.
    pub hints: Option<&'a str>,
    pub items: &'a [SelectItem<'a>],
    /// The comma-separated members of FROM; empty without FROM and with `FROM DUAL`.
    pub from: &'a [TableReference<'a>],
    pub from_dual: bool,
    pub filter: Option<&'a Expr<'a>>,
    pub group_by: Option<GroupBy<'a>>,
    pub having: Option<&'a Expr<'a>>,
    pub windows: &'a [(Ident<'a>, WindowSpecification<'a>)],
    pub qualify: Option<&'a Expr<'a>>,
    pub span: Span,
}

/// The words between SELECT and the first item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SelectOptions {
    pub distinct: bool,
    pub high_priority: bool,
    pub straight_join: bool,
    pub small_result: bool,
    pub big_result: bool,
    pub buffer_result: bool,
    pub no_cache: bool,
    pub calc_found_rows: bool,
}

#[derive(Debug, Clone, Copy)]
pub enum SelectItem<'a> {
    /// `*`
    Wildcard(Span),
    /// `table.*`, `database.table.*`
    QualifiedWildcard(ObjectName<'a>),
    Expression {
        expr: Expr<'a>,
        alias: Option<Ident<'a>>,
        /// The name that the result column gets when nothing better is known: the alias, else the column's name as
        /// written, else the expression's own text (a lone string literal gives its content).
        name: &'a str,
    },
}

#[derive(Debug, Clone, Copy)]
pub struct GroupBy<'a> {
    pub items: &'a [OrderItem<'a>],
    pub rollup: bool,
}

/// A member of ORDER BY or GROUP BY. `descending` is false in GROUP BY.
#[derive(Debug, Clone, Copy)]
pub struct OrderItem<'a> {
    pub expr: Expr<'a>,
    pub descending: bool,
}

/// LIMIT: the values are integer literals, parameters or (in stored programs) variables.
#[derive(Debug, Clone, Copy)]
pub struct Limit<'a> {
    pub count: Expr<'a>,
    pub offset: Option<Expr<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub struct Locking<'a> {
    pub strength: LockStrength,
    /// `OF a, b`; empty means all tables.
    pub tables: &'a [ObjectName<'a>],
    pub wait: LockWait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockStrength {
    Update,
    /// `FOR SHARE` and `LOCK IN SHARE MODE`.
    Share,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}

#[derive(Debug, Clone, Copy)]
pub enum Into<'a> {
    OutFile { path: &'a str, charset: Option<Ident<'a>>, fields: FieldOptions<'a>, lines: LineOptions<'a> },
    DumpFile { path: &'a str },
    Variables(&'a [LoadColumn<'a>]),
}
