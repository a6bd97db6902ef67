//! Bound statements to physical plans: rewrites, access paths, the order of joins, prices.
//!
//! `plan_statement` is a pure function of the tree, the catalog view and the context: it reads no data and takes no
//! locks. The session holds metadata locks on the tables it resolves. Names and types are settled before, by crate `binder`.
#![forbid(unsafe_code)]

mod build;
mod changes;
mod condition;
mod estimates;
mod joins;
mod paths;
mod planner;
mod price;
mod queries;
mod rewrites;
mod statement;
mod trace;
mod trace_text;

pub use changes::moved_rows::heed_trigger_values;
pub use estimates::{Estimates, Leaves};
pub use planner::PlannerContext;
pub use price::price as plan_price;
pub use statement::{ViewQuery, is_plannable, plan_expressions, plan_statement, plan_view};
pub use trace::{Trace, TraceSettings};
