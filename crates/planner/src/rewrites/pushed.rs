//! A condition on columns of a query goes into it: which queries take which conditions, and where they stand there.
//!
//! Invariant: the condition holds for the query's rows before they are kept: in each branch of a set operation, before grouping
//! where it reads nothing but groups, before windows where all of them are partitioned by what it reads. Called by `push`,
//! `followed` and `asked_groups`.
use binder::bound::{BoundBlock, JoinTree, Logical, SelectItem};
use binder::walk::{AGGREGATE_BASE, any, has_aggregate, has_subquery, has_window, is_volatile, replace};
use expression::{Expr, ExprKind};

/// The sources of which a row of the tree has one in any case.
pub fn plain_sources(tree: &JoinTree) -> u64 {
    match tree {
        JoinTree::Source(source) => 1 << source,
        JoinTree::Inner { left, right, .. } => plain_sources(left) | plain_sources(right),
        JoinTree::Left { left, .. } | JoinTree::Semi { left, .. } => plain_sources(left),
    }
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
