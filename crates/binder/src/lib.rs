//! Names to columns, expressions to types: from syntax tree to bound statement.
//!
//! `bind_statement` is a pure function of the tree, the catalog view and the context: it reads no data, takes no locks and
//! weighs nothing. What comes out (`bound`) is a tree of blocks over frames of their own, which crate `planner` rewrites and
//! turns into a plan (decision 0036). The session holds metadata locks on the tables that it resolves.
#![forbid(unsafe_code)]

mod bind;
mod binder;
pub mod block;
pub mod bound;
pub mod bound_exprs;
mod bound_statement;
mod catalog_view;
mod changes;
mod context;
mod error_codes;
pub mod hints;
mod names;
mod needs;
mod queries;
mod row_expression;
mod same_name;
mod scopes;
mod source;
mod statement;
mod switches;
mod views;
pub mod walk;
mod without_session;

pub use binder::not_supported;
pub use bound_statement::{
    BoundDelete, BoundDuplicates, BoundInsert, BoundKind, BoundRowSubquery, BoundRows, BoundSource,
    BoundStatement, BoundUpdate, BoundUpdateTarget,
};
pub use catalog_view::{CatalogView, IndexStatistics, ResolvedTable, StoredFunction, TableStatistics};
pub use changes::load::{LoadTarget, load_targets};
pub use changes::stored_table;
pub use context::{BinderContext, Literals, SessionValues};
pub use queries::block_window::starts_with;
pub use queries::expanded::expanded_query;
pub use row_expression::{bind_default_expression, bind_generated, bind_row_expression, row_rules};
pub use same_name::same_name;
pub use statement::{bind_expressions, bind_statement};
pub use switches::{Switch, Switches};
pub use views::view_definition::{BoundView, bind_view_query, for_each_table, has_outer_join, view_columns};
pub use without_session::bind_generated_columns;
