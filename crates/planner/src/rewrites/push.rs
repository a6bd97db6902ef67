//! Conditions and limits of a block go into the queries in its FROM that are not merged.
//!
//! Invariant: the block gives the same rows (`pushed` tells which conditions may go in). Called for each block after `merge`, before it is built.
use crate::planner::Planner;
use crate::rewrites::followed::push_followed;
use crate::rewrites::pushed::{is_movable, plain_sources, push};
use binder::Switch;
use binder::block::{Block, Position, Source, SourceKind};
use binder::bound::{BoundBlock, JoinTree, Logical};
use binder::walk::replace;
use datum::Value;
use expression::{Expr, ExprKind};
use parser::hints::TableSwitch;

impl Planner<'_> {
    /// Hands conditions of the block on to the queries in its FROM.
    pub fn push_conditions(&self, select: &mut BoundBlock) {
        let is_on = self.context.switches.has(Switch::DerivedConditionPushdown);
        let BoundBlock { block, bound, tree, .. } = select;
        let hint = |source: &Source| block.hints.switch(TableSwitch::DerivedConditionPushdown, &source.alias);
        let allowed: Vec<bool> = block.sources.iter().map(|source| hint(source).unwrap_or(is_on)).collect();
        let allowed = (0..allowed.len()).filter(|at| allowed[*at]).fold(0, |set, at| set | 1u64 << at);
        if let Some(tree) = tree {
            let present = plain_sources(tree) & allowed;
            bound.conditions.retain(|condition| !push_into_source(block, condition, present));
            push_from_joins(block, tree, allowed);
            push_followed(block, tree, &bound.conditions, allowed);
        }
        push_limit(select);
    }
}

/// Conditions of ON that hold for the rows of one query of the joined side.
fn push_from_joins(block: &mut Block, tree: &mut JoinTree, allowed: u64) {
    match tree {
        JoinTree::Source(_) => {}
        JoinTree::Inner { left, right, on, .. } => {
            let present = (plain_sources(left) | plain_sources(right)) & allowed;
            on.retain(|condition| !push_into_source(block, condition, present));
            push_from_joins(block, left, allowed);
            push_from_joins(block, right, allowed);
        }
        JoinTree::Left { left, right, on } | JoinTree::Semi { left, right, on, .. } => {
            // On the other side it would take rows away.
            let present = plain_sources(right) & allowed;
            on.retain(|condition| !push_into_source(block, condition, present));
            push_from_joins(block, left, allowed);
            push_from_joins(block, right, allowed);
        }
    }
}

/// Hands a condition on to the query of the only source that it reads, if that is one of those `present` in each row; false
/// when it stays.
fn push_into_source(block: &mut Block, condition: &Expr, present: u64) -> bool {
    let set = block.sources_of(condition);
    if set.count_ones() != 1 || set & !present != 0 || !is_movable(condition) {
        return false;
    }
    let source = set.trailing_zeros() as usize;
    let mut condition = condition.clone();
    replace(&mut condition, &mut |part| {
        let Position::Column { column, .. } = block.frame[part.as_column()?] else { return None };
        Some(Expr { kind: ExprKind::Column(column), ty: part.ty.clone() })
    });
    let SourceKind::Query(query) = &mut block.sources[source].kind else { return false };
    push(&mut query.query, &condition)
}

/// A block that takes so many rows of its only query as they come needs no more of them.
fn push_limit(select: &mut BoundBlock) {
    let BoundBlock { block, bound, tree, .. } = select;
    let Some(JoinTree::Source(source)) = tree else { return };
    let takes_all = bound.conditions.is_empty()
        && bound.having.is_empty()
        && bound.order_by.is_empty()
        && bound.groups.is_none()
        && block.aggregates.is_empty()
        && block.window_calls.is_empty()
        && !bound.distinct
        && !bound.count_found_rows;
    let (Some(limit), SourceKind::Query(query), true) =
        (&bound.limit, &mut block.sources[*source].kind, takes_all)
    else {
        return;
    };
    if let Some(rows) = rows_wanted(limit) {
        cut(&mut query.query, &rows);
    }
}

/// Rows that a limit reads, its offset included, if that can be told.
fn rows_wanted((count, offset): &(Expr, Option<Expr>)) -> Option<Expr> {
    let Some(offset) = offset else { return Some(count.clone()) };
    match (&count.kind, &offset.kind) {
        (ExprKind::Literal(Value::Int(count)), ExprKind::Literal(Value::Int(offset))) => {
            Some(Expr::int(count.checked_add(*offset)?))
        }
        _ => None,
    }
}

/// No more rows than so many are wanted of the query, whichever.
fn cut(query: &mut Logical, rows: &Expr) {
    match query {
        // The sort that its own limit is for has been told.
        Logical::Limit { .. } | Logical::Values { .. } | Logical::Recursive(_) => {}
        Logical::Union(inputs) => {
            inputs.iter_mut().for_each(|input| cut(input, rows));
            limit(query, rows);
        }
        Logical::Select(select) => {
            if select.bound.limit.is_none() && !select.bound.count_found_rows {
                select.bound.limit = Some((rows.clone(), None));
            }
        }
        Logical::Sort { limit: known @ None, .. } => {
            *known = Some((rows.clone(), None));
            limit(query, rows);
        }
        _ => limit(query, rows),
    }
}

fn limit(query: &mut Logical, rows: &Expr) {
    let input = std::mem::replace(query, Logical::Union(Vec::new()));
    *query = input.limited(Some((rows.clone(), None)));
}
