//! Joins: their lists, the order of their tables, and how each table is connected to those before it.

pub(crate) mod build;
pub(crate) mod bushy;
pub(crate) mod costs;
pub(crate) mod equal_columns;
pub(crate) mod hash_side;
pub(crate) mod join_cost;
pub(crate) mod join_left;
pub(crate) mod join_list;
pub(crate) mod join_order;
pub(crate) mod join_orders;
pub(crate) mod join_parts;
pub(crate) mod join_search;
pub(crate) mod join_source;
pub(crate) mod join_test;
pub(crate) mod or_arms;
pub(crate) mod or_parts;
pub(crate) mod unread_joins;
pub(crate) mod widths;
