//! Conditions on a column go into a query in FROM that an equality connects with it: `x.k = u.k AND u.k < 9` lets no row of `x`
//! through but those with `k < 9`.
//!
//! Invariant: the condition stays where it is. What is added drops only rows of the query whose partners it drops. Called by
//! `push` for each block, and by `decorrelate` for the groups that it makes.
use crate::joins::equal_columns::{mode_of, pair_of, passes_on};
use crate::rewrites::pushed::{is_movable, plain_sources, push};
use binder::block::{Block, SourceKind};
use binder::bound::JoinTree;
use binder::walk::replace;
use datum::ColumnType;
use expression::{Expr, ExprKind};

/// `known`: what holds for each row of the tree; `allowed`: the sources that conditions may be pushed into.
pub fn push_followed(block: &mut Block, tree: &JoinTree, known: &[Expr], allowed: u64) {
    let is_query = |source: &usize| matches!(block.sources[*source].kind, SourceKind::Query(_));
    let queries = (0..block.sources.len()).filter(|source| allowed >> source & 1 == 1).filter(is_query);
    let queries = queries.fold(0, |set, source| set | 1u64 << source);
    if queries != 0 {
        walk(block, tree, known, (queries, plain_sources(tree)));
    }
}

/// `present`: the sources that have a row wherever `known` holds.
fn walk(block: &mut Block, tree: &JoinTree, known: &[Expr], (queries, present): (u64, u64)) {
    match tree {
        JoinTree::Source(source) => {
            if (queries & present) >> source & 1 == 1 {
                follow(block, *source, known);
            }
        }
        JoinTree::Inner { left, right, on, .. } => {
            let known = [known, on].concat();
            walk(block, left, &known, (queries, present));
            walk(block, right, &known, (queries, present));
        }
        JoinTree::Left { left, right, on } => {
            walk(block, left, known, (queries, present));
            // A row of the right side whose partners are dropped is missed by nobody.
            let known = [known, on].concat();
            walk(block, right, &known, (queries, plain_sources(right)));
        }
        JoinTree::Semi { left, .. } => walk(block, left, known, (queries, present)),
    }
}

/// Adds to the query what conditions demand of columns that are equal to its own.
fn follow(block: &mut Block, source: usize, known: &[Expr]) {
    let mut found = Vec::new();
    for (first, second) in known.iter().filter_map(pair_of) {
        for (own, other) in [(first, second), (second, first)] {
            found.extend(
                known.iter().filter_map(|condition| followed(block, source, (own, other), condition)),
            );
        }
    }
    let SourceKind::Query(query) = &mut block.sources[source].kind else { return };
    found.iter().for_each(|condition| {
        push(&mut query.query, condition);
    });
}

/// The condition on `other` as one on the query's column `own`, if it means the same there.
fn followed(block: &Block, source: usize, (own, other): (usize, usize), condition: &Expr) -> Option<Expr> {
    let at = |position: usize| block.column_behind(&Expr::column(position, ColumnType::bigint()));
    let ((own_source, column), (other_source, other_column)) = (at(own)?, at(other)?);
    if own_source != source || other_source == source {
        return None;
    }
    let own_type = &block.sources[own_source].columns[column].column_type;
    let other_type = &block.sources[other_source].columns[other_column].column_type;
    if !passes_on(own_type, other_type) || !compares(condition, other, other_type) || !is_movable(condition) {
        return None;
    }
    let mut condition = condition.clone();
    replace(&mut condition, &mut |part| {
        (part.as_column() == Some(other)).then(|| Expr::column(column, own_type.clone()))
    });
    Some(condition)
}

/// Whether the condition only compares the column at the position with constants, in the way its values are compared with each
/// other.
fn compares(condition: &Expr, position: usize, column_type: &ColumnType) -> bool {
    let mode = mode_of(column_type);
    let is_own = |expr: &Expr| expr.as_column() == Some(position);
    let is_value = |expr: &Expr| matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Parameter(_));
    match &condition.kind {
        ExprKind::Compare(_, by, left, right) => {
            *by == mode && (is_own(left) && is_value(right) || is_own(right) && is_value(left))
        }
        ExprKind::Between { operand, low, high, mode: by, .. } => {
            *by == mode && is_own(operand) && is_value(low) && is_value(high)
        }
        ExprKind::In { operand, list, .. } => {
            is_own(operand) && list.iter().all(|(by, member)| *by == mode && is_value(member))
        }
        _ => false,
    }
}
