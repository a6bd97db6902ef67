//! Joins of two inputs that share the block's frame.
use crate::node::Node;
use datum::CompareMode;
use expression::Expr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    /// An outer row without a match comes out once, the inner side's positions NULL.
    Left,
    /// An outer row with a match comes out once; the inner side's positions mean nothing then.
    Semi,
    /// An outer row comes out if it has no match.
    Anti,
}

impl JoinKind {
    /// Of the inner side it only matters whether there is a match.
    pub fn only_tests(self) -> bool {
        matches!(self, JoinKind::Semi | JoinKind::Anti)
    }
}

/// The inner side is run again for each outer row, which is its base frame.
#[derive(Debug, Clone)]
pub struct NestedLoop {
    pub outer: Box<Node>,
    pub inner: Box<Node>,
    pub kind: JoinKind,
    /// The ON condition as far as the inner side's own filters do not check it.
    pub on: Vec<Expr>,
    /// Positions of the inner side, set to NULL for an unmatched outer row of a left join.
    pub inner_positions: Vec<usize>,
}

/// The inner side is read once into a hash table by the values of `inner_keys`.
#[derive(Debug, Clone)]
pub struct HashJoin {
    pub outer: Box<Node>,
    pub inner: Box<Node>,
    pub kind: JoinKind,
    /// Pairwise equal by `=`: a NULL matches nothing.
    pub outer_keys: Vec<Expr>,
    pub inner_keys: Vec<Expr>,
    /// How each pair is compared.
    pub modes: Vec<CompareMode>,
    pub on: Vec<Expr>,
    pub inner_positions: Vec<usize>,
    /// The order of the outer rows is wanted of the joined ones.
    pub keeps_order: bool,
    /// The inner side's rows are the same in each run, so that what is in the table serves the next one, too.
    pub keeps_table: bool,
}
