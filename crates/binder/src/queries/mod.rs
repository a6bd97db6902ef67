//! Queries: FROM, WITH, SELECT blocks, windows, set operations.

pub(crate) mod block_window;
pub(crate) mod common_table;
pub(crate) mod derived;
pub(crate) mod distinct_order;
pub(crate) mod expanded;
pub(crate) mod from;
pub(crate) mod json_table;
pub(crate) mod merging;
pub(crate) mod query;
pub(crate) mod rollup;
pub(crate) mod select;
pub(crate) mod select_items;
pub(crate) mod set_operation;
pub(crate) mod temporary;
pub(crate) mod zero_dates;
