//! The tree of operators of a query.
use crate::access::{TableAccess, VirtualAccess};
use crate::aggregate::Aggregate;
use crate::common::{CommonTable, Recursive, RoundScan};
use crate::join::{HashJoin, NestedLoop};
use crate::json_table::JsonTable;
use crate::measure::Measure;
use crate::reads::Reads;
use crate::subquery::{Apply, Initialise, Lateral};
use crate::window::Window;
use expression::Expr;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct Node {
    pub kind: NodeKind,
    /// Values in the frames this node returns.
    pub width: usize,
    pub estimate: Estimate,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Rows that come out (for a table access: rows read, before its filter).
    pub rows: f64,
    /// The percentage of them that pass the node's filter.
    pub filtered: f64,
    /// What a table access reads of the device.
    pub reads: Reads,
}

#[derive(Debug, Clone)]
pub enum NodeKind {
    /// One row: the base frame.
    Dual,
    /// No row.
    Nothing,
    /// Constant rows; the expressions fill the frame from its start.
    Values {
        rows: Vec<Vec<Expr>>,
    },
    Table(Box<TableAccess>),
    Virtual(Box<VirtualAccess>),
    /// The rows of a query in FROM: run once, kept, and placed into the block's frame.
    Derived {
        input: Box<Node>,
        alias: String,
        /// (column of the input, frame position).
        projection: Vec<(usize, usize)>,
        filter: Vec<Expr>,
    },
    Lateral(Box<Lateral>),
    JsonTable(Box<JsonTable>),
    Common(Box<CommonTable>),
    Recursive(Box<Recursive>),
    Round(Box<RoundScan>),
    Filter {
        input: Box<Node>,
        /// All must be true.
        predicates: Vec<Expr>,
    },
    /// A new frame made of the expressions.
    Project {
        input: Box<Node>,
        expressions: Vec<Expr>,
    },
    Sort {
        input: Box<Node>,
        keys: Vec<SortKey>,
        /// Only so many first rows are wanted (the LIMIT above, offset included).
        limit: Option<(Expr, Option<Expr>)>,
    },
    Limit {
        input: Box<Node>,
        count: Expr,
        offset: Option<Expr>,
    },
    /// Removes rows whose keys are equal to an earlier row's.
    Distinct {
        input: Box<Node>,
        keys: Vec<Expr>,
    },
    Aggregate(Box<Aggregate>),
    Window(Box<Window>),
    NestedLoop(Box<NestedLoop>),
    HashJoin(Box<HashJoin>),
    /// The inputs' rows one after the other; a distinct union is this below `Distinct`.
    UnionAll {
        inputs: Vec<Node>,
    },
    /// EXCEPT and INTERSECT.
    SetDifference {
        left: Box<Node>,
        right: Box<Node>,
        /// INTERSECT keeps rows that are on the right, EXCEPT those that are not.
        intersect: bool,
        /// `ALL`: counted, not as sets.
        all: bool,
        left_keys: Vec<Expr>,
        right_keys: Vec<Expr>,
    },
    Apply(Box<Apply>),
    /// EXPLAIN ANALYZE: what the input did.
    Measured {
        input: Box<Node>,
        measure: Arc<Measure>,
    },
    Initialise(Box<Initialise>),
}

#[derive(Debug, Clone)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
}

impl Node {
    /// Rows behind the node's own filter.
    pub fn rows_passing(&self) -> f64 {
        self.estimate.rows * self.estimate.filtered / 100.0
    }

    pub fn new(kind: NodeKind, width: usize, rows: f64) -> Node {
        Node { kind, width, estimate: Estimate { rows, filtered: 100.0, ..Estimate::default() } }
    }
}
