//! A way to read one table as the search for a plan weighs it, and what is asked of it. Made by `access` and its candidates;
//! read by joins, prices and the trace.
use expression::{Expr, ExprKind};
use plan::{AccessPath, KeyCondition, RangeCondition, Reads};
use schema::{IndexDef, IndexKind};

/// Finding the start of a range: a walk down the tree.
pub const COST_RANGE: f64 = 3.0;
/// Fetching the row behind a secondary index entry.
pub const COST_LOOKUP: f64 = 3.0;

/// Fewer rows are read as their entries come.
pub const ROWS_IN_ORDER_MIN: f64 = 2000.0;

/// The path that has won, or may.
#[derive(Clone, Debug)]
pub struct Choice {
    pub path: AccessPath,
    pub backward: bool,
    pub covering: bool,
    pub possible: Vec<usize>,
    /// Conditions that hold for all rows of the path, given exact bounds.
    pub implied: Vec<Expr>,
    pub reads_outer: bool,
    pub cost: f64,
    pub rows_read: f64,
    pub rows_out: f64,
    pub ordered: bool,
    /// What one run reads of the device; it is part of the price.
    pub reads: Reads,
    /// One value for each of so many first parts, of which no statistics tell how many rows share them.
    pub guessed_equal_parts: Option<usize>,
}

/// A path before it is known how many rows pass the conditions.
pub struct Candidate {
    pub choice: Choice,
    /// The index whose order the rows come in.
    pub index: Option<usize>,
    pub per_row: f64,
    /// Conditions (by number) that bound it.
    pub used: Vec<usize>,
}

/// An order that saves a sort when the first table delivers it.
#[derive(Clone, Debug)]
pub struct WantedOrder {
    pub source: usize,
    /// (column, descending).
    pub columns: Vec<(usize, bool)>,
    /// The order is for grouping, which can do without.
    pub for_groups: bool,
    /// Only about so many rows are taken.
    pub limit: Option<f64>,
}

/// The number of separate ranges a condition stands for.
pub fn starts(range: &RangeCondition) -> f64 {
    range
        .parts
        .iter()
        .map(|part| match part {
            KeyCondition::OneOf(values) => values.len() as f64,
            _ => 1.0,
        })
        .product()
}

pub fn is_single_value(part: &KeyCondition) -> bool {
    match part {
        KeyCondition::OneOf(values) => values.len() == 1,
        KeyCondition::SameAs(_) | KeyCondition::IsNull => true,
        KeyCondition::Between(_) | KeyCondition::NoneOf(_) | KeyCondition::Like { .. } => false,
    }
}

/// How many leading parts have one value in all rows of the ranges.
pub fn leading_single_values(ranges: &[RangeCondition]) -> usize {
    let [range] = ranges else { return 0 };
    range.parts.iter().take_while(|part| is_single_value(part)).count()
}

/// One value by `=` for each part of a unique index without truncated parts.
pub fn point_key(index: &IndexDef, ranges: &[RangeCondition]) -> Option<Vec<Expr>> {
    let [range] = ranges else { return None };
    if index.kind == IndexKind::Plain || index.has_prefix_parts() || range.parts.len() != index.parts.len() {
        return None;
    }
    let value = |part: &KeyCondition| match part {
        KeyCondition::OneOf(values) if values.len() == 1 => Some(values[0].clone()),
        _ => None,
    };
    let key: Vec<Expr> = range.parts.iter().map(value).collect::<Option<_>>()?;
    let volatile = key.iter().any(|expr| matches!(expr.kind, ExprKind::UserVariable(_)));
    (!volatile).then_some(key)
}
