//! The bound expression tree.
//!
//! Invariant: trees made by `build` are well typed: operands already carry the conversions their operator needs,
//! so evaluation dispatches on node and type only. Column nodes index the row the executor passes.
use std::sync::Arc;

use collation::CollationId;
use datum::{ColumnType, CompareMode, Value};

use crate::constant_set::ListId;
use crate::interval::IntervalUnit;
use crate::operator::{ArithmeticOperator, BitOperator, ComparisonOperator, TruthTest};

/// How strongly an expression's collation binds; the lower wins (MySQL manual, "Collation Coercibility").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coercibility {
    Explicit = 0,
    Implicit = 2,
    SystemConstant = 3,
    Coercible = 4,
    Numeric = 5,
    Ignorable = 6,
    /// Two implicit collations that differ were combined: any other one wins.
    NoCollation = 7,
}

/// The type of an expression's result.
#[derive(Clone, Debug)]
pub struct ExprType {
    pub column: ColumnType,
    pub coercibility: Coercibility,
    /// The full name of a table's column, for error messages. Types that differ in it alone are equal.
    pub name: Option<Arc<str>>,
    /// TRUE, FALSE or a condition: a BIGINT everywhere but in JSON, which has booleans.
    pub is_truth: bool,
}

impl PartialEq for ExprType {
    fn eq(&self, other: &ExprType) -> bool {
        self.column == other.column
            && self.coercibility == other.coercibility
            && self.is_truth == other.is_truth
    }
}

impl ExprType {
    pub fn new(column: ColumnType, coercibility: Coercibility) -> ExprType {
        ExprType { column, coercibility, name: None, is_truth: false }
    }

    /// The same, of a truth value.
    pub fn as_truth(self) -> ExprType {
        ExprType { is_truth: true, ..self }
    }

    pub fn collation(&self) -> CollationId {
        self.column.collation
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: ExprType,
}

impl Expr {
    /// A literal, a parameter or a user variable: a value that the statement is given, whatever its rows.
    pub fn is_given_constant(&self) -> bool {
        matches!(self.kind, ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::UserVariable(_))
    }

    /// The same, as a truth value.
    pub fn as_truth(self) -> Expr {
        Expr { ty: self.ty.as_truth(), ..self }
    }

    /// The frame position of a plain column.
    pub fn as_column(&self) -> Option<usize> {
        match self.kind {
            ExprKind::Column(position) => Some(position),
            _ => None,
        }
    }
}

/// See `ExprKind::InRows`.
#[derive(Clone, Debug, PartialEq)]
pub struct RowList {
    pub operands: Vec<Expr>,
    pub rows: Vec<Vec<(CompareMode, Expr)>>,
    pub id: ListId,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Literal(Value),
    /// The `?` marker with this index.
    Parameter(usize),
    /// The column of the row with this index.
    Column(usize),
    /// A value the executor puts into `EvalContext::slots`: a scalar subquery's result or an outer column.
    Slot(usize),
    /// `@name`, lower case.
    UserVariable(Box<str>),
    SetUserVariable(Box<str>, Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Xor(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    TruthTest(TruthTest, Box<Expr>),
    Compare(ComparisonOperator, CompareMode, Box<Expr>, Box<Expr>),
    /// `operand [NOT] IN (list)`; one compare mode per member.
    In {
        negated: bool,
        operand: Box<Expr>,
        list: Vec<(CompareMode, Expr)>,
        id: ListId,
    },
    /// `(a, b) IN ((1, 2), ..)`: each row equals the operands place by place. Only for long lists of constants, shorter
    /// ones are spelled out.
    InRows(Box<RowList>),
    Between {
        negated: bool,
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        mode: CompareMode,
    },
    Like {
        negated: bool,
        operand: Box<Expr>,
        pattern: Box<Expr>,
        escape: Box<Expr>,
    },
    Arithmetic(ArithmeticOperator, Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
    Bit(BitOperator, Box<Expr>, Box<Expr>),
    BitNot(Box<Expr>),
    /// CASE, IF and the like: the first true condition's value.
    Case {
        /// What `CaseOperand` stands for in the conditions; evaluated once, before them.
        operand: Option<Box<Expr>>,
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// The operand's value, in a condition of a CASE that has one.
    CaseOperand,
    /// Explicit or implicit conversion to the node's own type.
    Cast(Box<Expr>),
    /// The same of a value that is one of several to choose from, to their common type: who wants another type is given
    /// the value's own.
    Branch(Box<Expr>),
    /// A text cut to the length of the node's type with warning 1292; a binary string is filled up to it as well. What
    /// CAST AS CHAR(n) and BINARY(n) add to a conversion, which by itself keeps every length. A CHAR is filled up only:
    /// so PAD_CHAR_TO_FULL_LENGTH reads columns.
    Fit(Box<Expr>),
    /// COLLATE, or a relabelling that needs no conversion.
    Relabel(Box<Expr>),
    /// `date ± INTERVAL amount unit`
    DateAdd {
        date: Box<Expr>,
        amount: Box<Expr>,
        unit: IntervalUnit,
        subtract: bool,
    },
    Call(&'static crate::function::Function, Vec<Expr>),
}
