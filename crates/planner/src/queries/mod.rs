//! Queries from their syntax to their plans: FROM, WITH, SELECT blocks, groups, windows, set operations.

pub(crate) mod common_table;
pub(crate) mod dependence;
pub(crate) mod derived;
pub(crate) mod distinct_order;
pub(crate) mod expanded;
pub(crate) mod from;
pub(crate) mod grouping;
pub(crate) mod json_table;
pub(crate) mod partial_groups;
pub(crate) mod query;
pub(crate) mod select;
pub(crate) mod select_build;
pub(crate) mod select_grouped;
pub(crate) mod select_items;
pub(crate) mod select_subquery;
pub(crate) mod set_operation;
pub(crate) mod temporary;
pub(crate) mod window;
pub(crate) mod zero_dates;
