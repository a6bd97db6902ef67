//! Window functions: values found from the rows of a partition around each row.
use crate::node::{Node, SortKey};
use datum::CompareMode;
use expression::{AggregateCall, Expr};

/// The functions of all windows with one partitioning and one order.
#[derive(Debug, Clone)]
pub struct Window {
    /// Its rows come sorted by `partition_by`, then by `order_by`.
    pub input: Box<Node>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    pub columns: Vec<WindowColumn>,
}

#[derive(Debug, Clone)]
pub struct WindowColumn {
    pub function: WindowFunction,
    pub frame: Frame,
    /// The frame position that receives the value.
    pub position: usize,
}

/// What is found for each row. The expressions are over the input's frame.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumulativeDistribution,
    /// NTILE: the number of tiles does not depend on the row.
    NthTile(Expr),
    /// LAG and LEAD.
    Neighbour {
        lead: bool,
        value: Expr,
        /// How many rows away; does not depend on the row.
        distance: Expr,
        /// What stands for a row outside of the partition.
        default: Option<Expr>,
    },
    FirstValue(Expr),
    LastValue(Expr),
    NthValue {
        value: Expr,
        /// Counted from 1; does not depend on the row.
        number: Expr,
    },
    Aggregate(AggregateCall),
}

/// The rows around the current one that a function sees.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// ROWS: the bounds count rows; else they are ends of peer groups, or distances in the order's value.
    pub counts_rows: bool,
    pub start: FrameBound,
    pub end: FrameBound,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Distance),
    CurrentRow,
    Following(Distance),
    UnboundedFollowing,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Distance {
    /// So many rows; does not depend on the row.
    Rows(Expr),
    /// The value of the order that far away from the current row's.
    Value {
        /// The distance itself, which may be neither NULL nor negative.
        amount: Expr,
        /// The current row's value moved by it.
        bound: Expr,
        /// How the bound is compared with the values of other rows.
        mode: CompareMode,
    },
}

impl Window {
    /// What the input is sorted by.
    pub fn sort_keys(&self) -> Vec<SortKey> {
        window_keys(&self.partition_by, &self.order_by)
    }
}

/// What messages call a window without a name.
pub const UNNAMED_WINDOW: &str = "<unnamed window>";

/// The order that a window wants: partitions first.
pub fn window_keys(partition_by: &[Expr], order_by: &[SortKey]) -> Vec<SortKey> {
    let partition = partition_by.iter().map(|expr| SortKey { expr: expr.clone(), descending: false });
    partition.chain(order_by.iter().cloned()).collect()
}
