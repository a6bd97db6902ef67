//! Aggregate functions: the bound call and the accumulator that gathers one group.
//!
//! `bind` infers types and casts arguments, `accumulator` gathers rows, `distinct` remembers what was seen, `document`
//! gathers JSON, `sliding` is the state over a frame of rows that moves.
use crate::expr::{Expr, ExprType};
use datum::TypeKind;

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
    /// The counts of several groups, each of which is not NULL, as one count; no statement names it.
    AddedCounts,
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
    /// How the aggregate of several groups is made of those of each, which are the values of `part`; `None` where it cannot be,
    /// or not with the same digits.
    pub fn of_parts(&self, part: Expr) -> Option<AggregateCall> {
        use AggregateFunction::{AddedCounts, Count, Max, Min, Sum};
        let function = match self.function {
            _ if self.distinct => return None,
            Count => AddedCounts,
            Sum if matches!(self.ty.column.kind, TypeKind::Double { .. }) => return None,
            Sum | Min | Max => self.function,
            _ => return None,
        };
        Some(AggregateCall { function, arguments: vec![part], ..self.clone() })
    }

    /// Whether an accumulator may come to hold more memory than it begins with.
    pub fn grows(&self) -> bool {
        use AggregateFunction::{GroupConcat, JsonArray, JsonObject, Max, Min};
        self.distinct
            || match self.function {
                GroupConcat | JsonArray | JsonObject => true,
                Min | Max => self.ty.column.kind.is_string() || self.ty.column.kind == TypeKind::Json,
                _ => false,
            }
    }

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
