//! Names to columns, expressions to types, tables to access paths: from syntax tree to physical plan.
//!
//! `plan_statement` is a pure function of the tree, the catalog view and the context: it reads no data and takes no
//! locks. The session holds metadata locks on the tables it resolves.
#![forbid(unsafe_code)]

mod bind;
mod block;
mod bound;
mod catalog_view;
mod changes;
mod condition;
mod context;
mod error_codes;
pub mod hints;
mod joins;
mod names;
mod needs;
mod paths;
mod planner;
mod price;
mod queries;
mod rewrites;
mod row_expression;
mod statement;
mod switches;
mod trace;
mod trace_text;
mod views;
mod walk;
mod without_session;

pub use catalog_view::{
    CatalogView, IndexStatistics, Leaves, ResolvedTable, StoredFunction, TableStatistics,
};
pub use changes::load::{LoadTarget, load_targets};
pub use changes::moved_rows::heed_trigger_values;
pub use context::{Literals, PlannerContext, SessionValues};
pub use price::price as plan_price;
pub use queries::expanded::expanded_query;
pub use row_expression::{bind_default_expression, bind_row_expression, row_rules};
pub use statement::{is_plannable, plan_expressions, plan_statement};
pub use switches::{Switch, Switches};
pub use trace::{Trace, TraceSettings};
pub use views::view_definition::{ViewQuery, for_each_table, has_outer_join, plan_view, view_columns};
pub use without_session::bind_generated_columns;
