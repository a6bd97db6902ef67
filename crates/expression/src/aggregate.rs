//! Aggregate functions: the bound call and the accumulator that gathers one group.
use datum::{SqlError, Value};

use crate::build::BindContext;
use crate::context::EvalContext;
use crate::expr::{Expr, ExprType};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    /// COUNT(*) when there are no arguments.
    Count,
    Sum,
    Avg,
    Min,
    Max,
    GroupConcat,
    BitAnd,
    BitOr,
    BitXor,
    StddevPop,
    StddevSamp,
    VarPop,
    VarSamp,
    AnyValue,
}

impl AggregateFunction {
    pub fn by_name(name: &str) -> Option<AggregateFunction> {
        let function = match name.to_ascii_lowercase().as_str() {
            "count" => AggregateFunction::Count,
            "sum" => AggregateFunction::Sum,
            "avg" => AggregateFunction::Avg,
            "min" => AggregateFunction::Min,
            "max" => AggregateFunction::Max,
            "group_concat" => AggregateFunction::GroupConcat,
            "bit_and" => AggregateFunction::BitAnd,
            "bit_or" => AggregateFunction::BitOr,
            "bit_xor" => AggregateFunction::BitXor,
            "std" | "stddev" | "stddev_pop" => AggregateFunction::StddevPop,
            "stddev_samp" => AggregateFunction::StddevSamp,
            "variance" | "var_pop" => AggregateFunction::VarPop,
            "var_samp" => AggregateFunction::VarSamp,
            "any_value" => AggregateFunction::AnyValue,
            _ => return None,
        };
        Some(function)
    }
}

/// One ORDER BY item inside GROUP_CONCAT.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateOrder {
    pub expr: Expr,
    pub descending: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    pub function: AggregateFunction,
    pub arguments: Vec<Expr>,
    pub distinct: bool,
    pub order_by: Vec<AggregateOrder>,
    pub separator: Vec<u8>,
    pub ty: ExprType,
}

/// The state of one aggregate over one group.
#[derive(Clone, Debug, Default)]
pub struct Accumulator {}

impl AggregateCall {
    /// Binds an aggregate: infers its type and inserts conversions into the arguments.
    pub fn new(
        bind: &BindContext,
        function: AggregateFunction,
        arguments: Vec<Expr>,
        distinct: bool,
    ) -> Result<AggregateCall, SqlError> {
        let _ = (bind, function, arguments, distinct);
        Err(datum::error_code::ER_NOT_SUPPORTED_YET.with(&[&"aggregate"]))
    }

    /// ORDER BY and SEPARATOR of GROUP_CONCAT.
    #[must_use]
    pub fn with_order(self, order_by: Vec<AggregateOrder>, separator: Vec<u8>) -> AggregateCall {
        AggregateCall { order_by, separator, ..self }
    }

    pub fn accumulator(&self) -> Accumulator {
        Accumulator::default()
    }
}

impl Accumulator {
    /// Takes one row of the group.
    pub fn add(
        &mut self,
        call: &AggregateCall,
        row: &[Value],
        context: &EvalContext,
    ) -> Result<(), SqlError> {
        let _ = (call, row, context);
        Ok(())
    }

    /// The result for the group; a group without rows gives COUNT 0, BIT_AND all ones, others NULL.
    pub fn finish(&mut self, call: &AggregateCall, context: &EvalContext) -> Result<Value, SqlError> {
        let _ = (call, context);
        Ok(Value::Null)
    }

    /// Bytes held beyond the accumulator itself, for the memory limit of grouping.
    pub fn memory_bytes(&self) -> usize {
        0
    }
}
