//! Bound expressions and their evaluation: operators, calls and aggregates. The functions stand in the crate `functions`.
//!
//! Binding builds `Expr` trees through the constructors of `build`, which infer result types and insert the
//! conversions MySQL makes silently; the executor evaluates them against rows with an `EvalContext`.
#![forbid(unsafe_code)]

pub mod call;
mod case_operands;
mod constant_set;
mod context;
mod deferred;
mod expr;
mod function;
mod interval;
mod operands;
mod operator;
mod parameter_moments;
mod text;

mod aggregate;
mod build;
mod collations;
mod evaluate;

pub use aggregate::{Accumulator, AggregateCall, AggregateFunction, AggregateOrder, SlidingAggregate};
pub use build::{BindContext, KnownValues, Markers, Merging, ReadParameter, Reading};
pub use call::{
    Functions, JsonBehaviour, NoFunctions, array_cast, array_keys, document_order, name_stored_call,
    stored_call,
};
pub use constant_set::{LIST_LONG, ListId, is_computed_of_constants};
pub use context::{AnswerFuture, EvalContext, SessionServices, StatementSettings};
pub use deferred::{Deferred, SessionRequest};
pub use evaluate::moment_context;
pub use expr::{Coercibility, Expr, ExprKind, ExprType, RowList};
pub use function::{Arguments, Function, Volatility};
pub use interval::IntervalUnit;
pub use operands::{for_each_operand, for_each_operand_mut, positions_read};
pub use operator::{ArithmeticOperator, BitOperator, ComparisonOperator, TruthTest};
