//! Conditions and limits of a block go into the queries in its FROM that are not merged.
//!
//! Invariant: the block gives the same rows. A condition on columns of one such query holds for its rows before they are kept:
//! in each branch of a set operation, before grouping where it reads nothing but groups, before windows where all of them
//! are partitioned by what it reads. Called for each block after `merge`, before it is built.
use crate::planner::Planner;
use crate::rewrites::followed::push_followed;
use binder::SelectItem;
use binder::Switch;
use binder::block::{Block, Position, Source, SourceKind};
use binder::bound::JoinTree;
use binder::bound::{BoundBlock, Logical};
use binder::walk::{AGGREGATE_BASE, any, has_aggregate, has_subquery, has_window, is_volatile, replace};
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

/// The sources of which a row of the tree has one in any case.
pub fn plain_sources(tree: &JoinTree) -> u64 {
    match tree {
        JoinTree::Source(source) => 1 << source,
        JoinTree::Inner { left, right, .. } => plain_sources(left) | plain_sources(right),
        JoinTree::Left { left, .. } | JoinTree::Semi { left, .. } => plain_sources(left),
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

/// It means the same wherever it stands.
pub fn is_movable(condition: &Expr) -> bool {
    let is_bound_here = |part: &Expr| matches!(part.kind, ExprKind::Slot(slot) if slot < AGGREGATE_BASE);
    !has_subquery(condition)
        && !has_aggregate(condition)
        && !has_window(condition)
        && !any(condition, &is_volatile)
        && !any(condition, &is_bound_here)
}

/// Adds a condition over the query's columns to it; false when it has no place there.
pub fn push(query: &mut Logical, condition: &Expr) -> bool {
    if !takes(query, condition) {
        return false;
    }
    add(query, condition);
    true
}

/// The same for a block whose rows it drops before they are grouped, and only there.
pub fn push_before_groups(query: &mut Logical, condition: &Expr) -> bool {
    let Logical::Select(select) = query else { return false };
    let BoundBlock { block, bound, .. } = &**select;
    let is_grouped = bound.groups.is_some() || !block.aggregates.is_empty();
    (!is_grouped || reads_groups(&bound.items, &bound.groups, condition)) && push(query, condition)
}

/// Whether the query has a place for the condition.
fn takes(query: &Logical, condition: &Expr) -> bool {
    match query {
        Logical::Select(select) => select_takes(select, condition),
        Logical::Project { input, expressions } => {
            let value = over(condition, expressions);
            is_movable(&value) && takes(input, &value)
        }
        Logical::Union(inputs) => inputs.iter().all(|input| takes(input, condition)),
        Logical::Distinct { input, .. } => takes(input, condition),
        Logical::Difference { sides, .. } => takes(&sides.0, condition) && takes(&sides.1, condition),
        Logical::Sort { input, limit: None, .. } | Logical::Initialise { input, .. } => {
            takes(input, condition)
        }
        Logical::Sort { .. } | Logical::Limit { .. } | Logical::Values { .. } | Logical::Recursive(_) => {
            false
        }
    }
}

fn select_takes(select: &BoundBlock, condition: &Expr) -> bool {
    let BoundBlock { block, bound, tree, .. } = select;
    let read = columns_of(condition);
    let items = || read.iter().map(|&column| &bound.items[column].expr);
    let is_value = |expr: &Expr| !has_subquery(expr) && !has_window(expr) && !any(expr, &is_volatile);
    let is_partition = |expr: &Expr| {
        block.windows.iter().all(|window| window.partition_by.iter().any(|key| key.kind == expr.kind))
    };
    tree.is_some()
        && bound.limit.is_none()
        && !bound.rollup
        && !bound.count_found_rows
        && block.groupings.is_empty()
        && items().all(is_value)
        && (block.window_calls.is_empty() || items().all(is_partition))
}

/// The columns of the query that a condition reads.
fn columns_of(condition: &Expr) -> Vec<usize> {
    let mut read = Vec::new();
    binder::walk::positions(condition, &mut read);
    read
}

/// A condition over the values of the expressions.
fn over(condition: &Expr, values: &[Expr]) -> Expr {
    let mut condition = condition.clone();
    replace(&mut condition, &mut |part| values.get(part.as_column()?).cloned());
    condition
}

/// Whether a condition over the items reads nothing but groups.
fn reads_groups(items: &[SelectItem], groups: &Option<Vec<Expr>>, condition: &Expr) -> bool {
    let is_group =
        |column: &usize| groups.iter().flatten().any(|group| group.kind == items[*column].expr.kind);
    columns_of(condition).iter().all(is_group)
}

fn add(query: &mut Logical, condition: &Expr) {
    match query {
        Logical::Select(select) => {
            let BoundBlock { block, bound, .. } = &mut **select;
            let is_grouped = bound.groups.is_some() || !block.aggregates.is_empty();
            let before_groups = !is_grouped || reads_groups(&bound.items, &bound.groups, condition);
            let values: Vec<Expr> = bound.items.iter().map(|item| item.expr.clone()).collect();
            let place = if before_groups { &mut bound.conditions } else { &mut bound.having };
            place.push(over(condition, &values));
        }
        Logical::Project { input, expressions } => {
            let condition = over(condition, expressions);
            add(input, &condition);
        }
        Logical::Union(inputs) => inputs.iter_mut().for_each(|input| add(input, condition)),
        Logical::Difference { sides, .. } => {
            add(&mut sides.0, condition);
            add(&mut sides.1, condition);
        }
        Logical::Distinct { input, .. } | Logical::Sort { input, .. } | Logical::Initialise { input, .. } => {
            add(input, condition);
        }
        Logical::Limit { .. } | Logical::Values { .. } | Logical::Recursive(_) => {
            unreachable!("these take no condition")
        }
    }
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
