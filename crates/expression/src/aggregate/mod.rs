//! Aggregate functions: the bound call and the accumulator that gathers one group.
//!
//! `bind` infers types and casts arguments, `accumulator` gathers rows, `distinct` remembers what was seen, `document`
//! gathers JSON, `sliding` is the state over a frame of rows that moves.
use crate::expr::{Expr, ExprType};

mod accumulator;
mod bind;
mod distinct;
mod document;
mod sliding;

pub use accumulator::Accumulator;
pub use sliding::SlidingAggregate;

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
    JsonArray,
    JsonObject,
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
            "json_arrayagg" => AggregateFunction::JsonArray,
            "json_objectagg" => AggregateFunction::JsonObject,
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

impl AggregateCall {
    /// ORDER BY and SEPARATOR of GROUP_CONCAT.
    #[must_use]
    pub fn with_order(self, order_by: Vec<AggregateOrder>, separator: Vec<u8>) -> AggregateCall {
        AggregateCall { order_by, separator, ..self }
    }

    /// The empty state for one group.
    pub fn accumulator(&self) -> Accumulator {
        Accumulator::new(self)
    }
}

#[cfg(test)]
mod recorded_tests;
