//! Outer joins that change nothing: `a LEFT JOIN b ON b.key = a.x` gives each row of `a` once whether it has a partner or not,
//! so where nobody reads a column of `b`, `b` is not read at all.
//!
//! Invariant: the block gives the same rows. At most one row of the table can match, since a whole unique key is given by other
//! tables or constants, and no row of it is to be locked. Called for each block after `merge` and `unnest`, before it is
//! built; views that join more than a query wants are what it is for.
use crate::planner::Planner;
use binder::block::{Block, Position, SourceKind};
use binder::bound::{BoundBlock, JoinTree};
use binder::walk::{any, has_subquery, is_volatile, positions};
use expression::Expr;
use plan::AccessPath;

impl Planner<'_> {
    /// Takes the tables out of the joins that are joined for nothing.
    pub fn drop_unread_joins(&self, select: &mut BoundBlock) {
        let mut read = None;
        while let Some(mut tree) = select.tree.take() {
            let has_candidate =
                any_left(&tree, &mut |source, on| self.is_single_match(&select.block, source, on));
            if !has_candidate {
                select.tree = Some(tree);
                return;
            }
            let read = read.get_or_insert_with(|| sources_read(select));
            let dropped = self.drop_one(&select.block, &mut tree, *read, 0);
            select.tree = Some(tree);
            if !dropped {
                return;
            }
        }
    }

    /// Drops one table; `read` are the sources that are read outside of the tree, and `above` by the joins above.
    fn drop_one(&self, block: &Block, tree: &mut JoinTree, read: u64, above: u64) -> bool {
        let (left, right, on, is_left) = match tree {
            JoinTree::Source(_) => return false,
            JoinTree::Left { left, right, on } => (left, right, on, true),
            JoinTree::Inner { left, right, on, .. } | JoinTree::Semi { left, right, on, .. } => {
                (left, right, on, false)
            }
        };
        if let (true, JoinTree::Source(source)) = (is_left, &**right)
            && (read | above) >> source & 1 == 0
            && self.is_single_match(block, *source, on)
        {
            let kept = std::mem::replace(&mut **left, JoinTree::Source(*source));
            *tree = kept;
            return true;
        }
        let own = on.iter().fold(0, |set, condition| set | block.sources_of(condition));
        let around = above | own;
        let (of_left, of_right) = (sources_in_conditions(block, left), sources_in_conditions(block, right));
        self.drop_one(block, left, read, around | of_right)
            || self.drop_one(block, right, read, around | of_left)
    }

    /// Whether the conditions give a whole unique key of the table, which nobody locks.
    fn is_single_match(&self, block: &Block, source: usize, on: &[Expr]) -> bool {
        let description = &block.sources[source];
        let SourceKind::Stored { table, .. } = &description.kind else { return false };
        description.lock.is_none()
            && table.indexes.iter().any(|index| index.is_unique())
            && !on.iter().any(|condition| has_subquery(condition) || any(condition, &is_volatile))
            && matches!(self.choose(block, source, on, !(1 << source), None).path, AccessPath::Point { .. })
    }
}

/// Whether the test holds for a table on the right of an outer join.
fn any_left(tree: &JoinTree, test: &mut dyn FnMut(usize, &[Expr]) -> bool) -> bool {
    match tree {
        JoinTree::Source(_) => false,
        JoinTree::Left { left, right, on } => {
            matches!(&**right, JoinTree::Source(source) if test(*source, on))
                || any_left(left, test)
                || any_left(right, test)
        }
        JoinTree::Inner { left, right, .. } | JoinTree::Semi { left, right, .. } => {
            any_left(left, test) || any_left(right, test)
        }
    }
}

fn sources_in_conditions(block: &Block, tree: &mut JoinTree) -> u64 {
    tree.conditions_mut().iter().fold(0, |set, condition| set | block.sources_of(condition))
}

/// The sources that the block reads outside of its joins' conditions; its tree is taken out.
fn sources_read(select: &mut BoundBlock) -> u64 {
    let mut read = Vec::new();
    select.for_each_expr(&mut |expr| positions(expr, &mut read));
    let source_at = |position: usize| match select.block.frame[position] {
        Position::Column { source, .. } | Position::RowKey { source } => 1u64 << source,
        Position::OnSubquery { sources } => sources,
        Position::Subquery | Position::Computed => 0,
    };
    read.into_iter().fold(0, |set, position| set | source_at(position))
}
