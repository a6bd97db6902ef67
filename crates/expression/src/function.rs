//! What a scalar function is: one declarative entry that binding, evaluation and documentation read.
use std::cell::Cell;

use datum::{SqlError, Value};

use crate::build::BindContext;
use crate::context::EvalContext;
use crate::expr::{Expr, ExprType};

/// How often a function may be evaluated without changing a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Depends on its arguments only; may be folded when they are constant.
    Pure,
    /// Constant during one statement (NOW(), DATABASE()); folded per execution, never in a cached plan.
    Statement,
    /// As `Statement` without arguments; with one every evaluation counts, as it is kept (LAST_INSERT_ID()).
    StatementUnlessGiven,
    /// Every evaluation counts (RAND(), UUID(), SLEEP()).
    Volatile,
}

/// The arguments of one call, evaluated on demand.
pub struct Arguments<'a> {
    pub exprs: &'a [Expr],
    pub row: &'a [Value],
    pub context: &'a EvalContext,
    /// The type binding gave to the call.
    pub ty: &'a ExprType,
    /// The result would exceed `max_allowed_packet`.
    pub overflowed: Cell<bool>,
}

/// Infers a call's result type and inserts conversions into its arguments; it is given the function's name.
pub type Infer = fn(&BindContext, &'static str, &mut [Expr]) -> Result<ExprType, SqlError>;
/// Computes a call's value.
pub type Evaluate = fn(&Arguments<'_>) -> Result<Value, SqlError>;

/// One entry of the function registry.
pub struct Function {
    /// Lower case, as `FUNCTION %s does not exist` prints it.
    pub name: &'static str,
    pub arguments_min: u8,
    /// `u8::MAX` for functions of any number of arguments.
    pub arguments_max: u8,
    pub volatility: Volatility,
    pub infer: Infer,
    pub evaluate: Evaluate,
}

impl Function {
    /// An entry of a function with so many arguments at least and at most.
    pub const fn new(
        name: &'static str,
        (arguments_min, arguments_max): (u8, u8),
        volatility: Volatility,
        infer: Infer,
        evaluate: Evaluate,
    ) -> Function {
        Function { name, arguments_min, arguments_max, volatility, infer, evaluate }
    }

    /// The same of one that depends on its arguments alone.
    pub const fn pure(name: &'static str, counts: (u8, u8), infer: Infer, evaluate: Evaluate) -> Function {
        Function::new(name, counts, Volatility::Pure, infer, evaluate)
    }

    /// Whether every evaluation of a call with these arguments counts.
    pub fn is_volatile(&self, arguments: &[Expr]) -> bool {
        match self.volatility {
            Volatility::Pure | Volatility::Statement => false,
            Volatility::StatementUnlessGiven => !arguments.is_empty(),
            Volatility::Volatile => true,
        }
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}

/// Functions whose first argument, if it is NULL, ends their evaluation before the others are evaluated, as in MySQL.
const ENDED_BY_NULL: &[&str] = &[
    "field",
    "insert",
    "instr",
    "left",
    "lpad",
    "mid",
    "pow",
    "power",
    "repeat",
    "replace",
    "right",
    "round",
    "rpad",
    "strcmp",
    "substr",
    "substring",
    "substring_index",
    "truncate",
];

impl Arguments<'_> {
    /// The first argument is NULL, so that a stored function among the others is not called.
    pub(crate) fn is_null_before_calls(&self, function: &Function) -> bool {
        let [first, _, ..] = self.exprs else { return false };
        if !ENDED_BY_NULL.contains(&function.name) {
            return false;
        }
        // Another value leaves what was asked as it is.
        let null = || first.eval(self.row, self.context).ok().filter(Value::is_null);
        self.context.deferred.again(null).is_some()
    }
}
