//! Function calls: plain ones, aggregates, window functions and those with a syntax of their own.
use super::{CastType, ColumnReference, Expr, Ident, Literal, ObjectName, OrderItem};

/// `name(arguments)`, or `database.name(arguments)` for a stored function.
#[derive(Debug, Clone, Copy)]
pub struct FunctionCall<'a> {
    pub name: ObjectName<'a>,
    pub arguments: &'a [Expr<'a>],
    /// Argument aliases are legal only for loadable functions: `f(a AS x)`. Empty when there are none.
    pub aliases: &'a [Option<Ident<'a>>],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateKind {
    /// `COUNT(*)`: no arguments.
    CountAll,
    Count,
    Sum,
    Average,
    Minimum,
    Maximum,
    BitAnd,
    BitOr,
    BitXor,
    StandardDeviation,
    StandardDeviationSample,
    Variance,
    VarianceSample,
    GroupConcat,
    JsonArray,
    JsonObject,
    AnyValue,
    StCollect,
}

#[derive(Debug, Clone, Copy)]
pub struct Aggregate<'a> {
    pub kind: AggregateKind,
    /// As written, for the column's name in messages.
    pub name: Ident<'a>,
    pub distinct: bool,
    pub arguments: &'a [Expr<'a>],
    /// GROUP_CONCAT's ORDER BY.
    pub order_by: &'a [OrderItem<'a>],
    /// GROUP_CONCAT's SEPARATOR; `None` means a comma.
    pub separator: Option<Literal<'a>>,
    pub over: Option<WindowName<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumulativeDistribution,
    NthTile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NullTreatment {
    Respect,
    Ignore,
}

#[derive(Debug, Clone, Copy)]
pub struct WindowCall<'a> {
    pub function: WindowFunction,
    pub arguments: &'a [Expr<'a>],
    /// NTH_VALUE's `FROM LAST`.
    pub from_last: bool,
    pub nulls: Option<NullTreatment>,
    pub over: WindowName<'a>,
}

/// What follows OVER.
#[derive(Debug, Clone, Copy)]
pub enum WindowName<'a> {
    Named(Ident<'a>),
    Inline(&'a WindowSpecification<'a>),
}

#[derive(Debug, Clone, Copy)]
pub struct WindowSpecification<'a> {
    /// The window that this one extends.
    pub base: Option<Ident<'a>>,
    pub partition_by: &'a [Expr<'a>],
    pub order_by: &'a [OrderItem<'a>],
    pub frame: Option<WindowFrame<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

#[derive(Debug, Clone, Copy)]
pub struct WindowFrame<'a> {
    pub unit: FrameUnit,
    pub start: FrameBound<'a>,
    /// `None` when the frame was written without BETWEEN.
    pub end: Option<FrameBound<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub enum FrameBound<'a> {
    CurrentRow,
    UnboundedPreceding,
    UnboundedFollowing,
    Preceding { amount: &'a Expr<'a>, unit: Option<super::IntervalUnit> },
    Following { amount: &'a Expr<'a>, unit: Option<super::IntervalUnit> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

#[derive(Debug, Clone, Copy)]
pub struct Trim<'a> {
    pub side: TrimSide,
    pub remove: Option<Expr<'a>>,
    pub operand: Expr<'a>,
}

/// `CHAR(n, .. USING charset)`
#[derive(Debug, Clone, Copy)]
pub struct CharFunction<'a> {
    pub arguments: &'a [Expr<'a>],
    pub charset: Option<Ident<'a>>,
}

/// `WEIGHT_STRING(x)`, `WEIGHT_STRING(x AS CHAR(n))` and `WEIGHT_STRING(x, length, weights, flags)`
#[derive(Debug, Clone, Copy)]
pub struct WeightString<'a> {
    pub operand: Expr<'a>,
    pub cast: Option<CastType<'a>>,
    /// Bytes of the result, characters that are weighed (0: as many as there are), and bits that say how it is filled.
    pub measure: Option<[u64; 3]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FullTextModifier {
    NaturalLanguage,
    Boolean,
    QueryExpansion,
}

#[derive(Debug, Clone, Copy)]
pub struct FullTextMatch<'a> {
    pub columns: &'a [ColumnReference<'a>],
    pub against: Expr<'a>,
    pub modifier: FullTextModifier,
}

/// What JSON_VALUE and JSON_TABLE do ON EMPTY or ON ERROR.
#[derive(Debug, Clone, Copy)]
pub enum JsonBehaviour<'a> {
    Null,
    Error,
    Default(Literal<'a>),
}

/// `JSON_VALUE(document, path RETURNING type .. ON EMPTY .. ON ERROR)`
#[derive(Debug, Clone, Copy)]
pub struct JsonValue<'a> {
    pub document: Expr<'a>,
    pub path: Literal<'a>,
    pub returning: Option<CastType<'a>>,
    pub on_empty: Option<JsonBehaviour<'a>>,
    pub on_error: Option<JsonBehaviour<'a>>,
}
