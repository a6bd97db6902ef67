//! A list of tables while they are joined one after another. Filled by `join_order` and by those that place one item.
use crate::joins::equal_columns::EqualColumns;
use crate::joins::join_orders::DemandedOrder;
use binder::block::Block;
use expression::Expr;
use plan::Node;

/// A list while its items are placed.
pub struct Build {
    pub node: Option<Node>,
    /// Sources whose positions are filled in the frames of `node` (or of the base frame).
    pub placed: u64,
    /// The list is joined again for each row of others.
    pub is_inner: bool,
    /// Conditions not yet checked anywhere.
    pub waiting: Vec<Expr>,
    /// The same, of conditions with subqueries, whose values are found once their tables are there.
    pub late: Vec<Expr>,
    /// What is known to be equal among them.
    pub equal: EqualColumns,
    pub ordered: bool,
    /// Tables of which at most one row is read, which come first, and those that stand before the list.
    pub single: u64,
    /// What hints demand.
    pub demanded: DemandedOrder,
}

impl Build {
    /// Whether there is at most one row so far.
    pub fn is_one_row(&self) -> bool {
        self.placed & !self.single == 0
    }
}

/// Takes out the waiting conditions whose tables are all placed.
pub fn take_covered(block: &Block, build: &mut Build) -> Vec<Expr> {
    let placed = build.placed;
    let (covered, waiting) = std::mem::take(&mut build.waiting)
        .into_iter()
        .partition(|condition| block.sources_of(condition) & !placed == 0);
    build.waiting = waiting;
    covered
}
