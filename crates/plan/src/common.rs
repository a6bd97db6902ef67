//! Tables of WITH: evaluated once however often they are named, and the recursive ones.
use crate::node::Node;
use datum::ColumnType;
use expression::Expr;
use std::sync::Arc;

/// A reference to a table of WITH. Whoever comes first evaluates it, all others read the rows that are kept.
#[derive(Debug, Clone)]
pub struct CommonTable {
    /// References with one number share their rows.
    pub number: usize,
    pub input: Arc<Node>,
    /// Slots from outside that it reads: the kept rows are good for these values only.
    pub slots: Vec<usize>,
    pub alias: String,
    /// (column of the input, frame position).
    pub projection: Vec<(usize, usize)>,
    pub filter: Vec<Expr>,
}

/// WITH RECURSIVE: the seed's rows, then, over and over, what the branches make of the rows of the round before, until they
/// make none.
#[derive(Debug, Clone)]
pub struct Recursive {
    pub name: String,
    pub seed: Box<Node>,
    /// UNION DISTINCT: the branches' rows that are not new are dropped.
    pub distinct: bool,
    pub branches: Vec<RecursiveBranch>,
    /// Name and type of each column, as the seed decides them.
    pub columns: Vec<(String, ColumnType)>,
    /// The number of the rows that the branches read.
    pub round: usize,
}

#[derive(Debug, Clone)]
pub struct RecursiveBranch {
    pub query: Node,
    /// The types of its columns, which are stored into those of the seed.
    pub types: Vec<ColumnType>,
}

/// The recursive reference: the rows of the round before.
#[derive(Debug, Clone)]
pub struct RoundScan {
    pub round: usize,
    pub alias: String,
    pub projection: Vec<(usize, usize)>,
    pub filter: Vec<Expr>,
}
