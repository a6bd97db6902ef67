//! Grouping and aggregate functions.
use crate::node::Node;
use expression::{AggregateCall, Expr};

/// Output frame: the group expressions, the aggregates, with ROLLUP the number of group expressions that are not rolled up, and
/// the carried expressions.
#[derive(Debug, Clone)]
pub struct Aggregate {
    pub input: Box<Node>,
    pub groups: Vec<Expr>,
    pub aggregates: Vec<AggregateColumn>,
    /// Expressions that take their value from the first row of a group (ONLY_FULL_GROUP_BY off, ANY_VALUE, or
    /// columns that depend on the group's key).
    pub carried: Vec<Expr>,
    /// The input comes ordered by the groups, so that one group at a time is kept.
    pub ordered: bool,
    /// No GROUP BY: exactly one output row, also from no input.
    pub single: bool,
    /// WITH ROLLUP: super-aggregate rows for every prefix of the groups (needs ordered input).
    pub rollup: bool,
}

#[derive(Debug, Clone)]
pub struct AggregateColumn {
    pub call: AggregateCall,
}
