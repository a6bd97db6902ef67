//! Access paths: how the rows of one table are found, what that reads and costs, and which of the ways is the cheapest.

pub(crate) mod access;
pub(crate) mod access_candidates;
pub(crate) mod access_node;
pub(crate) mod access_order;
pub(crate) mod access_reads;
pub(crate) mod access_rows;
pub(crate) mod array_index;
pub(crate) mod choice;
pub(crate) mod dive;
pub(crate) mod entry_filter;
pub(crate) mod generated;
pub(crate) mod index_merge;
pub(crate) mod index_order;
pub(crate) mod loose_scan;
pub(crate) mod range;
pub(crate) mod selectivity;
