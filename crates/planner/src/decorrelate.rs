//! `x > (SELECT SUM(y) FROM t WHERE t.k = outer.k)` as a join with `(SELECT k, SUM(y) FROM t GROUP BY k)`: the subquery is
//! evaluated once for all keys.
//!
//! Invariant: each row finds the group that it would have aggregated, or none, and then has the value of an aggregate over no
//! rows. Called for each block before it is built; the cheaper of both plans is taken.
use crate::block::{PendingSubquery, QuerySource, Source, SourceColumn, SourceKind, SubqueryPlan};
use crate::bound::{BoundBlock, Logical};
use crate::from::JoinTree;
use crate::merge::SOURCES_MAX;
use crate::planner::Planner;
use crate::select_items::SelectItem;
use crate::semijoin::tells_apart;
use crate::switches::Switch;
use crate::walk::{
    aggregate_number, any, for_each_operand, has_subquery, is_volatile, replace, subquery_number,
};
use datum::CompareMode;
use expression::{AggregateFunction, ComparisonOperator, Expr, ExprKind};
use plan::{ApplyKind, Node};

/// What a row and the rows of the subquery have in common.
struct Key {
    outer: Expr,
    inner: Expr,
    mode: CompareMode,
    condition: Expr,
}

impl Planner<'_> {
    /// The block's plan with its subqueries as groups that are joined, if there are such and the plan is cheaper than `plain`
    /// (or asked for).
    pub fn with_groups_joined(&mut self, select: BoundBlock, plain: Node) -> Node {
        let Ok(joined) = self.build_merged(select) else { return plain };
        let is_wanted = self.context.switches.has(Switch::SubqueryToDerived);
        if is_wanted || crate::price::price(&joined) < crate::price::price(&plain) { joined } else { plain }
    }

    /// The block with correlated aggregates in WHERE joined as groups; `None` when it has none.
    pub fn decorrelated(&self, select: &BoundBlock) -> Option<BoundBlock> {
        if select.is_correlated || select.tree.is_none() || select.block.subqueries.is_empty() {
            return None;
        }
        let mut select = select.clone();
        let mut has_changed = false;
        for place in 0..select.bound.conditions.len() {
            let mut found = None;
            find_subquery(&select.bound.conditions[place], &mut found);
            let Some(number) = found.filter(|number| is_asked_once(&select, *number)) else { continue };
            has_changed |= self.join_groups(&mut select, place, number);
        }
        has_changed.then_some(select)
    }

    fn join_groups(&self, select: &mut BoundBlock, place: usize, number: usize) -> bool {
        let pending = &select.block.subqueries[number];
        let Some((mut inner, keys)) = grouped(pending) else { return false };
        if select.block.sources.len() >= SOURCES_MAX {
            return false;
        }
        let Some(absent) = value_without_rows(&inner) else { return false };
        let value_type = inner.bound.items[0].expr.ty.clone();
        inner.bound.groups = Some(keys.iter().map(|key| key.inner.clone()).collect());
        let items = keys.iter().map(|key| SelectItem {
            expr: key.inner.clone(),
            name: String::new(),
            is_alias: true,
        });
        inner.bound.items.extend(items);
        let mut types = vec![value_type.column.clone()];
        types.extend(keys.iter().map(|key| key.inner.ty.column.clone()));
        let column =
            |column_type| SourceColumn { name: String::new(), column_type, hidden: false, invisible: true };
        let source = select.block.sources.len();
        let query = QuerySource {
            query: Logical::Select(Box::new(inner)),
            correlation: Vec::new(),
            slots: Vec::new(),
            merges: false,
        };
        select.block.sources.push(Source {
            alias: format!("<derived{}>", number + 2),
            database: String::new(),
            columns: types.into_iter().map(column).collect(),
            kind: SourceKind::Query(Box::new(query)),
            optional: true,
            lock: None,
            names_results: false,
            need: None,
            origin: Default::default(),
        });
        let mut on = Vec::with_capacity(keys.len());
        for (at, key) in keys.into_iter().enumerate() {
            let column = Box::new(select.block.column_expr(source, at + 1));
            let kind = ExprKind::Compare(ComparisonOperator::Equal, key.mode, Box::new(key.outer), column);
            on.push(Expr { kind, ty: key.condition.ty });
        }
        let column = select.block.column_expr(source, 0);
        let value = match absent {
            None => column,
            Some(zero) => match self.context.bind.call("coalesce", vec![column, zero]) {
                Ok(value) => value,
                Err(_) => return false,
            },
        };
        replace(&mut select.bound.conditions[place], &mut |part| {
            (subquery_number(part) == Some(number))
                .then(|| Expr { kind: value.kind.clone(), ty: part.ty.clone() })
        });
        select.block.subqueries[number].placed = true;
        let left = Box::new(select.tree.take().expect("asked by the caller"));
        select.tree = Some(JoinTree::Left { left, right: Box::new(JoinTree::Source(source)), on });
        true
    }
}

fn find_subquery(expr: &Expr, found: &mut Option<usize>) {
    *found = found.or(subquery_number(expr));
    for_each_operand(expr, &mut |operand| find_subquery(operand, found));
}

/// Nothing but one condition asks for the subquery's value.
fn is_asked_once(select: &BoundBlock, number: usize) -> bool {
    let mut select = select.clone();
    let mut count = 0;
    select.for_each_expr(&mut |expr| {
        replace(expr, &mut |part| {
            count += usize::from(subquery_number(part) == Some(number));
            None
        });
    });
    count == 1
}

/// The subquery's block without the conditions that connect it with the block around it, and these.
fn grouped(pending: &PendingSubquery) -> Option<(BoundBlock, Vec<Key>)> {
    let (ApplyKind::Scalar, SubqueryPlan::Bound(query), false) =
        (&pending.kind, &pending.query, pending.placed)
    else {
        return None;
    };
    let Logical::Select(select) = &**query else { return None };
    let BoundBlock { block, bound, tree, .. } = &**select;
    let is_lone_aggregate = tree.is_some()
        && bound.groups.is_none()
        && !block.aggregates.is_empty()
        && bound.having.is_empty()
        && bound.limit.is_none()
        && block.window_calls.is_empty()
        && !bound.straight
        && bound.items.len() == 1
        && !pending.correlation.is_empty();
    let is_movable = |(_, expr): &(usize, Expr)| !has_subquery(expr) && !any(expr, &is_volatile);
    if !is_lone_aggregate || !pending.correlation.iter().all(is_movable) {
        return None;
    }
    let mut inner = (**select).clone();
    let mut keys = Vec::new();
    inner.bound.conditions.retain(|condition| match key_of(condition, &pending.correlation) {
        Some(key) => {
            keys.push(key);
            false
        }
        None => true,
    });
    // What it takes otherwise would have to be known for each group.
    let slots: Vec<usize> = pending.correlation.iter().map(|(slot, _)| *slot).collect();
    let is_read = |part: &Expr| matches!(part.kind, ExprKind::Slot(slot) if slots.contains(&slot));
    let rest = Logical::Select(Box::new(inner.clone()));
    if keys.is_empty() || rest.any_expr(&|expr| any(expr, &|part| is_read(part) || is_volatile(part))) {
        return None;
    }
    inner.is_correlated = false;
    Some((inner, keys))
}

/// `inner = slot`, if rows of one group are those that an outer value is equal to.
fn key_of(condition: &Expr, correlation: &[(usize, Expr)]) -> Option<Key> {
    let ExprKind::Compare(ComparisonOperator::Equal, mode, left, right) = &condition.kind else {
        return None;
    };
    [(left, right), (right, left)].into_iter().find_map(|(inner, slot)| {
        let ExprKind::Slot(slot) = slot.kind else { return None };
        let (_, outer) = correlation.iter().find(|(known, _)| *known == slot)?;
        let is_value = |part: &Expr| matches!(part.kind, ExprKind::Slot(_));
        let is_key = inner.as_column().is_some()
            && !any(inner, &is_value)
            && tells_apart(&inner.ty.column, *mode)
            && tells_apart(&outer.ty.column, *mode);
        is_key.then(|| Key {
            outer: outer.clone(),
            inner: (**inner).clone(),
            mode: *mode,
            condition: condition.clone(),
        })
    })
}

/// What the only item is when no row is aggregated: `Some(None)` is NULL.
fn value_without_rows(inner: &BoundBlock) -> Option<Option<Expr>> {
    let item = &inner.bound.items[0].expr;
    let function = |number: usize| inner.block.aggregates[number].function;
    if let Some(number) = aggregate_number(item)
        && function(number) == AggregateFunction::Count
    {
        return Some(Some(Expr::int(0)));
    }
    is_null_without_rows(item, &|number| {
        use AggregateFunction::{Avg, Max, Min, Sum};
        matches!(function(number), Avg | Max | Min | Sum)
    })
    .then_some(None)
}

/// Whether the expression is NULL when the aggregates are.
fn is_null_without_rows(expr: &Expr, is_null: &dyn Fn(usize) -> bool) -> bool {
    if let Some(number) = aggregate_number(expr) {
        return is_null(number);
    }
    match &expr.kind {
        ExprKind::Cast(operand)
        | ExprKind::Branch(operand)
        | ExprKind::Negate(operand)
        | ExprKind::Relabel(operand) => is_null_without_rows(operand, is_null),
        ExprKind::Arithmetic(_, left, right) => {
            is_null_without_rows(left, is_null) || is_null_without_rows(right, is_null)
        }
        _ => false,
    }
}
