//! Reading: one record, ranges, whole trees, estimates for the planner, and leaves asked for ahead.

pub(crate) mod ahead;
pub(crate) mod estimate;
pub(crate) mod read;
pub(crate) mod scan;
pub(crate) mod scan_access;
mod scan_range;
pub(crate) mod whole_tree;
