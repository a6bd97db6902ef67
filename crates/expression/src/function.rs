//! What a scalar function is: one declarative entry that binding, evaluation and documentation read.
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
}

/// One entry of the function registry.
pub struct Function {
    /// Lower case, as `FUNCTION %s does not exist` prints it.
    pub name: &'static str,
    pub arguments_min: u8,
    /// `u8::MAX` for functions of any number of arguments.
    pub arguments_max: u8,
    pub volatility: Volatility,
    /// Infers the result type and inserts conversions into the arguments.
    pub infer: fn(&BindContext, &'static str, &mut [Expr]) -> Result<ExprType, SqlError>,
    pub evaluate: fn(&Arguments<'_>) -> Result<Value, SqlError>,
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
