//! `x > (SELECT SUM(y) FROM t WHERE t.k = outer.k)` as a join with `(SELECT k, SUM(y) FROM t GROUP BY k)`: the subquery is
//! evaluated once for all keys. The same in select lists and ORDER BY.
//!
//! Invariant: each row finds the group that it would have aggregated, or none, and then has the values of aggregates over no
//! rows. What the subquery computes of them is computed in the block around it. Called for each block before it is built; the
//! cheaper of both plans is taken.
use crate::planner::Planner;
use crate::rewrites::followed::push_followed;
use crate::rewrites::merge::SOURCES_MAX;
use crate::rewrites::semijoin::tells_apart;
use binder::Switch;
use binder::block::{PendingSubquery, QuerySource, Source, SourceColumn, SourceKind, SubqueryPlan};
use binder::bound::{BoundBlock, BoundSelect, JoinTree, Logical, SelectItem};
use binder::walk::{aggregate_number, any, has_subquery, is_volatile, replace, subquery_number};
use datum::CompareMode;
use expression::{AggregateFunction, ComparisonOperator, Expr, ExprKind};
use plan::{ApplyKind, Node};

/// A plan that costs less is not compared with others.
const CHEAP: f64 = 500.0;

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
        let is_wanted = self.context.switches.has(Switch::SubqueryToDerived);
        let cost = crate::price::price(&plain);
        if cost < CHEAP && !is_wanted {
            return plain;
        }
        let Ok(joined) = self.build_merged(select) else { return plain };
        if is_wanted || crate::price::price(&joined) < cost { joined } else { plain }
    }

    /// The block with correlated aggregates joined as groups; `None` when it has none.
    pub fn decorrelated(&self, select: &BoundBlock) -> Option<BoundBlock> {
        if select.is_correlated || select.tree.is_none() || select.block.subqueries.is_empty() {
            return None;
        }
        let mut select = select.clone();
        let mut has_changed = false;
        for number in 0..select.block.subqueries.len() {
            has_changed |=
                is_asked_behind_joins(&mut select, number) && self.join_groups(&mut select, number);
        }
        has_changed.then_some(select)
    }

    fn join_groups(&self, select: &mut BoundBlock, number: usize) -> bool {
        let pending = &select.block.subqueries[number];
        let Some((mut inner, keys)) = grouped(pending) else { return false };
        let Some(aggregates) = aggregates_of(&inner) else { return false };
        let asks = |condition: &Expr| any(condition, &|part| subquery_number(part) == Some(number));
        let is_locked = inner.block.sources.iter().any(|source| source.lock.is_some());
        // Rows of groups that nobody asks for are not locked for a select list.
        if select.block.sources.len() >= SOURCES_MAX || is_locked && !select.bound.conditions.iter().any(asks)
        {
            return false;
        }
        let result = inner.bound.items.remove(0).expr;
        inner.bound.groups = Some(keys.iter().map(|key| key.inner.clone()).collect());
        let selected =
            aggregates.iter().map(|aggregate| &aggregate.expr).chain(keys.iter().map(|key| &key.inner));
        let item = |expr: &Expr| SelectItem { expr: expr.clone(), name: String::new(), is_alias: true };
        inner.bound.items = selected.map(item).collect();
        let column = |item: &SelectItem| SourceColumn {
            name: String::new(),
            column_type: item.expr.ty.column.clone(),
            hidden: false,
            invisible: true,
        };
        let columns = inner.bound.items.iter().map(column).collect();
        let source = select.block.sources.len();
        let query = QuerySource {
            query: Logical::Select(Box::new(inner)),
            correlation: Vec::new(),
            slots: Vec::new(),
            merges: false,
        };
        select.block.sources.push(Source {
            optional: true,
            ..Source::made(format!("<derived{}>", number + 2), columns, SourceKind::Query(Box::new(query)))
        });
        let mut on = Vec::with_capacity(keys.len());
        for (at, key) in keys.into_iter().enumerate() {
            let column = Box::new(select.block.column_expr(source, aggregates.len() + at));
            let kind = ExprKind::Compare(ComparisonOperator::Equal, key.mode, Box::new(key.outer), column);
            on.push(Expr { kind, ty: key.condition.ty });
        }
        let Some(value) = self.value_of_group(select, source, result, &aggregates) else { return false };
        for expr in behind_joins(select) {
            replace(expr, &mut |part| {
                (subquery_number(part) == Some(number))
                    .then(|| Expr { kind: value.kind.clone(), ty: part.ty.clone() })
            });
        }
        select.block.subqueries[number].placed = true;
        let known = select.bound.conditions.clone();
        let left = Box::new(select.tree.take().expect("asked by the caller"));
        let tree = JoinTree::Left { left, right: Box::new(JoinTree::Source(source)), on };
        push_followed(&mut select.block, &tree, &known, 1 << source);
        select.tree = Some(tree);
        true
    }

    /// The subquery's result with the columns of the group in place of the aggregates, COUNT's 0 where there is no group.
    fn value_of_group(
        &self,
        select: &mut BoundBlock,
        source: usize,
        mut result: Expr,
        aggregates: &[GroupValue],
    ) -> Option<Expr> {
        let mut values = Vec::with_capacity(aggregates.len());
        for (column, aggregate) in aggregates.iter().enumerate() {
            let value = select.block.column_expr(source, column);
            let value = match aggregate.counts {
                true => self.context.bind.call("coalesce", vec![value, Expr::int(0)]).ok()?,
                false => value,
            };
            values.push((aggregate.number, value.kind));
        }
        replace(&mut result, &mut |part| {
            let number = aggregate_number(part)?;
            let (_, kind) = values.iter().find(|(known, _)| *known == number)?;
            Some(Expr { kind: kind.clone(), ty: part.ty.clone() })
        });
        Some(result)
    }
}

/// What is evaluated once all tables are joined: conditions and, unless rows are grouped, what is selected.
fn behind_joins(select: &mut BoundBlock) -> Vec<&mut Expr> {
    let block = &select.block;
    let is_plain =
        select.bound.groups.is_none() && block.aggregates.is_empty() && block.window_calls.is_empty();
    let BoundSelect { items, conditions, having, order_by, .. } = &mut select.bound;
    let mut exprs: Vec<&mut Expr> = conditions.iter_mut().collect();
    if is_plain {
        exprs.extend(items.iter_mut().map(|item| &mut item.expr));
        exprs.extend(having);
        exprs.extend(order_by.iter_mut().map(|key| &mut key.expr));
    }
    exprs
}

/// Whether the subquery's value is asked for there, and nowhere else.
fn is_asked_behind_joins(select: &mut BoundBlock, number: usize) -> bool {
    let count_in = |expr: &mut Expr, count: &mut usize| {
        replace(expr, &mut |part| {
            *count += usize::from(subquery_number(part) == Some(number));
            None
        });
    };
    let (mut behind, mut all) = (0, 0);
    behind_joins(select).into_iter().for_each(|expr| count_in(expr, &mut behind));
    select.for_each_expr(&mut |expr| count_in(expr, &mut all));
    behind > 0 && behind == all
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

/// An aggregate of the subquery.
struct GroupValue {
    number: usize,
    expr: Expr,
    counts: bool,
}

/// The aggregates that the only item is made of; `None` where it reads anything else, or one that has another value over no
/// rows than NULL or 0.
fn aggregates_of(inner: &BoundBlock) -> Option<Vec<GroupValue>> {
    use AggregateFunction::{Avg, Count, Max, Min, Sum};
    let mut item = inner.bound.items[0].expr.clone();
    let mut found: Vec<GroupValue> = Vec::new();
    let mut is_known = true;
    replace(&mut item, &mut |part| {
        let number = aggregate_number(part)?;
        let function = inner.block.aggregates[number].function;
        is_known &= matches!(function, Avg | Count | Max | Min | Sum);
        if !found.iter().any(|aggregate| aggregate.number == number) {
            found.push(GroupValue { number, expr: part.clone(), counts: function == Count });
        }
        Some(Expr::null())
    });
    let reads_more = any(&item, &|part| matches!(part.kind, ExprKind::Column(_))) || has_subquery(&item);
    (is_known && !reads_more).then_some(found)
}
