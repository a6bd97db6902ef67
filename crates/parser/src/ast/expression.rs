//! Expressions.
//!
//! Invariant: `Expr::height` is at most `limits::NESTING_MAX`, so a recursive walk over a tree is bounded.
use super::{
    Aggregate, BinaryOperator, CastType, CharFunction, FullTextMatch, FunctionCall, Ident, IntervalUnit,
    JsonValue, Local, LogicalOperator, ObjectName, Query, Span, Trim, UnaryOperator, WeightString,
    WindowCall,
};

#[derive(Clone, Copy)]
pub struct Expr<'a> {
    pub kind: ExprKind<'a>,
    /// Where the expression stands in the text, outer parentheses excluded.
    pub span: Span,
    /// The longest way down to a leaf; a leaf has 1.
    pub height: u32,
}

#[derive(Debug, Clone, Copy)]
pub enum ExprKind<'a> {
    Null,
    /// `TRUE` and `FALSE`.
    Boolean(bool),
    Literal(Literal<'a>),
    /// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'`, and ODBC's `{d '..'}`, `{t '..'}`, `{ts '..'}`.
    Temporal {
        kind: TemporalKind,
        literal: Literal<'a>,
    },
    /// `?`
    Parameter(ParameterIndex),
    /// A variable of a stored program, by the parameter that its value comes in through.
    Local(Local<'a>),
    Column(ColumnReference<'a>),
    /// `@name`; the name as written, without quotes.
    UserVariable(Ident<'a>),
    SystemVariable(&'a SystemVariable<'a>),
    /// `@name := value`
    AssignVariable {
        variable: Ident<'a>,
        value: &'a Expr<'a>,
    },
    /// A bare `DEFAULT` (allowed as the value of an assignment or in an INSERT row).
    DefaultValue,
    /// `DEFAULT(column)`
    DefaultOf(ColumnReference<'a>),
    /// `VALUES(column)` in ON DUPLICATE KEY UPDATE.
    ValuesOf(ColumnReference<'a>),
    Unary {
        operator: UnaryOperator,
        operand: &'a Expr<'a>,
    },
    Binary {
        operator: BinaryOperator,
        left: &'a Expr<'a>,
        right: &'a Expr<'a>,
    },
    /// `AND`, `OR`, `XOR`: two or more operands of one flattened chain.
    Logical {
        operator: LogicalOperator,
        operands: &'a [Expr<'a>],
    },
    Like {
        negated: bool,
        operand: &'a Expr<'a>,
        pattern: &'a Expr<'a>,
        escape: Option<&'a Expr<'a>>,
    },
    /// `REGEXP` and `RLIKE`.
    Regexp {
        negated: bool,
        operand: &'a Expr<'a>,
        pattern: &'a Expr<'a>,
    },
    Between {
        negated: bool,
        operand: &'a Expr<'a>,
        low: &'a Expr<'a>,
        high: &'a Expr<'a>,
    },
    InList {
        negated: bool,
        operand: &'a Expr<'a>,
        list: &'a [Expr<'a>],
    },
    InSubquery {
        negated: bool,
        operand: &'a Expr<'a>,
        query: &'a Query<'a>,
    },
    Is {
        negated: bool,
        operand: &'a Expr<'a>,
        test: IsTest,
    },
    Quantified(&'a Quantified<'a>),
    Exists(&'a Query<'a>),
    Subquery(&'a Query<'a>),
    /// `ROW(a, b)` or `(a, b)`: two or more members.
    Row(&'a [Expr<'a>]),
    Case(&'a Case<'a>),
    /// `CAST(x AS type)` and `CONVERT(x, type)`.
    Cast {
        operand: &'a Expr<'a>,
        target: &'a CastType<'a>,
    },
    /// `CONVERT(x USING charset)`
    ConvertUsing {
        operand: &'a Expr<'a>,
        charset: Ident<'a>,
    },
    Collate {
        operand: &'a Expr<'a>,
        collation: Ident<'a>,
    },
    /// `column -> 'path'` and `column ->> 'path'`.
    JsonExtract(&'a JsonExtract<'a>),
    /// `date + INTERVAL n unit`, `DATE_ADD(..)`, `ADDDATE(..)` and their opposites.
    DateArithmetic(&'a DateArithmetic<'a>),
    /// `EXTRACT(unit FROM operand)`
    Extract {
        unit: IntervalUnit,
        operand: &'a Expr<'a>,
    },
    /// `TIMESTAMPADD(unit, amount, date)`
    TimestampAdd {
        unit: IntervalUnit,
        amount: &'a Expr<'a>,
        date: &'a Expr<'a>,
    },
    /// `TIMESTAMPDIFF(unit, from, to)`
    TimestampDiff {
        unit: IntervalUnit,
        from: &'a Expr<'a>,
        to: &'a Expr<'a>,
    },
    /// `GET_FORMAT(DATE|TIME|DATETIME|TIMESTAMP, format)`; `of` is the type's name in capitals.
    GetFormat {
        of: &'static str,
        format: &'a Expr<'a>,
    },
    Trim(&'a Trim<'a>),
    Char(&'a CharFunction<'a>),
    WeightString(&'a WeightString<'a>),
    Match(&'a FullTextMatch<'a>),
    JsonValue(&'a JsonValue<'a>),
    /// Any function written `name(arguments)`, also those whose name is a keyword (`IF`, `LEFT`, `NOW`, `MOD`..)
    /// or which have a keyword form: `CURRENT_TIMESTAMP`, `SUBSTRING(a FROM b FOR c)`, `POSITION(a IN b)` (as
    /// `locate`).
    Function(&'a FunctionCall<'a>),
    /// `COUNT`, `SUM`, .. , without or with OVER.
    Aggregate(&'a Aggregate<'a>),
    /// `ROW_NUMBER`, `LAG`, ..: functions that need OVER.
    Window(&'a WindowCall<'a>),
}

/// The position of a literal among all literals of the statement's text, from 0: the same number that `digest`
/// gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LiteralOrdinal(pub u32);

/// The position of a `?` among all of the statement, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterIndex(pub u32);

#[derive(Debug, Clone, Copy)]
pub struct Literal<'a> {
    pub value: LiteralValue<'a>,
    pub ordinal: LiteralOrdinal,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LiteralValue<'a> {
    /// Digits that fit 64 unsigned bits. Above `i64::MAX` its type is BIGINT UNSIGNED.
    Integer(u64),
    /// Digits with a point, or whole digits beyond 64 bits; the text as written.
    Decimal(&'a str),
    /// A number with an exponent; the text as written.
    Float(&'a str),
    /// A string with escapes resolved. `charset` is the introducer without its underscore, as written (`N'..'`
    /// gives `utf8mb3`); without one the connection's character set applies.
    String { bytes: &'a [u8], charset: Option<&'a str> },
    /// `x'..'` and `0x..`; `charset` from an introducer.
    Hex { bytes: &'a [u8], charset: Option<&'a str> },
    /// `b'..'` and `0b..`, padded on the left to whole bytes; `charset` from an introducer.
    Bit { bytes: &'a [u8], charset: Option<&'a str> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TemporalKind {
    Date,
    Time,
    Timestamp,
}

/// `column`, `table.column` or `database.table.column`.
#[derive(Debug, Clone, Copy)]
pub struct ColumnReference<'a> {
    pub qualifier: Option<&'a ObjectName<'a>>,
    pub name: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VariableScope {
    /// No scope was written: the session's value, or the global one when there is no session value.
    Unspecified,
    Session,
    Global,
    Persist,
    PersistOnly,
}

/// `@@name`, `@@global.name`, `@@instance.name` (a structured variable, for instance a key cache).
#[derive(Debug, Clone, Copy)]
pub struct SystemVariable<'a> {
    pub scope: VariableScope,
    /// The part before the last point, for structured variables and component variables.
    pub instance: Option<Ident<'a>>,
    pub name: Ident<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IsTest {
    Null,
    True,
    False,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// `ANY` and `SOME`.
    Any,
    All,
}

/// `left operator ANY|ALL (query)`
#[derive(Debug, Clone, Copy)]
pub struct Quantified<'a> {
    pub left: &'a Expr<'a>,
    pub operator: BinaryOperator,
    pub quantifier: Quantifier,
    pub query: &'a Query<'a>,
}

#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub operand: Option<&'a Expr<'a>>,
    pub branches: &'a [WhenThen<'a>],
    pub otherwise: Option<&'a Expr<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub struct WhenThen<'a> {
    pub when: Expr<'a>,
    pub then: Expr<'a>,
}

#[derive(Debug, Clone, Copy)]
pub struct JsonExtract<'a> {
    pub column: Expr<'a>,
    pub path: Literal<'a>,
    /// `->>`
    pub unquote: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct DateArithmetic<'a> {
    pub date: Expr<'a>,
    pub amount: Expr<'a>,
    pub unit: IntervalUnit,
    pub subtract: bool,
}
