//! Bound queries to their plans: SELECT blocks from the tables up, groups, windows, subqueries.

mod dependence;
pub(crate) mod documents;
pub(crate) mod group_count;
mod grouping;
pub(crate) mod nodes;
pub(crate) mod partial_groups;
pub(crate) mod select_build;
pub(crate) mod select_grouped;
pub(crate) mod select_subquery;
pub(crate) mod window;
