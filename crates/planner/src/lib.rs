//! Names to columns, expressions to types, tables to access paths: from syntax tree to physical plan.
//!
//! `plan_statement` is a pure function of the tree, the catalog view and the context: it reads no data and takes no
//! locks. The session holds metadata locks on the tables it resolves.
#![forbid(unsafe_code)]

mod catalog_view;
mod context;

mod statement;

mod query;
mod select;
mod set_operation;

mod common_table;
mod dependence;
mod derived;
mod distinct_order;
mod from;
mod grouping;
mod select_build;
mod select_grouped;
mod select_items;
mod select_subquery;
mod window;

mod json_table;

mod merge;

mod duplicate_reads;
mod insert;
mod insert_target;
mod load;
mod update;
mod value_subqueries;

mod bind;
mod block;
mod bound;
mod condition;
mod decorrelate;
mod defaults;
mod error_codes;
mod expanded;
mod generated;
mod names;
mod needs;
mod planner;
mod push;
mod row_expression;
mod target_reads;
mod view;
mod view_change;
mod view_definition;
mod walk;

mod access;
mod access_candidates;
mod access_node;
mod access_order;
mod access_reads;
mod access_rows;
mod array_index;
mod assigned;
mod dive;
mod entry_filter;
mod equal_columns;
mod hash_side;
pub mod hints;
mod index_merge;
mod join_cost;
mod join_left;
mod join_list;
mod join_order;
mod join_parts;
mod join_search;
mod join_source;
mod join_test;
mod loose_scan;
mod moved_rows;
mod or_parts;
mod price;
mod range;
mod selectivity;
mod semijoin;
mod switches;
mod trace;
mod trace_text;
mod unnest;
mod unread_joins;

pub use catalog_view::{
    CatalogView, IndexStatistics, Leaves, ResolvedTable, StoredFunction, TableStatistics,
};
pub use context::{Literals, PlannerContext, SessionValues};
pub use expanded::expanded_query;
pub use load::{LoadTarget, load_targets};
pub use moved_rows::heed_trigger_values;
pub use price::price as plan_price;
pub use row_expression::{bind_default_expression, bind_row_expression, row_rules};
pub use statement::{is_plannable, plan_expressions, plan_statement};
pub use switches::{Switch, Switches};
pub use trace::{Trace, TraceSettings};
pub use view_definition::{ViewQuery, for_each_table, has_outer_join, plan_view, view_columns};
