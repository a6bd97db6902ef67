//! Queries in FROM that become part of the block around them, as MySQL does it: their tables stand in its joins, their
//! conditions among its conditions, and their columns are replaced by the expressions behind them.
//!
//! Invariant: the block gives the rows that it would give with the query's rows kept. Names are bound before, so nothing
//! that a name meant changes. Called for each block before it is built.
use crate::planner::Planner;
use binder::block::{Block, LateralSource, Position, QuerySource, SourceKind, SubqueryPlan};
use binder::bound::{BoundBlock, BoundSelect, JoinTree, Logical};
use binder::bound_exprs::{move_over, shift};
use binder::walk::{any, is_volatile, replace};
use datum::SqlError;
use expression::{Expr, ExprKind};
use plan::SortKey;

/// As many tables a block may have.
pub const SOURCES_MAX: usize = 61;

impl Planner<'_> {
    /// Makes queries in FROM part of the block where that is possible.
    pub fn merge_sources(&mut self, select: &mut BoundBlock) {
        let mut number = 0;
        // What is merged brings its own sources, which come behind.
        while number < select.block.sources.len() {
            if let SourceKind::Common(common) = &select.block.sources[number].kind
                && let Some(query) = common.query_if_alone()
            {
                let (correlation, slots) = (Vec::new(), common.slots());
                let source = QuerySource { query, correlation, slots, merges: false };
                select.block.sources[number].kind = SourceKind::Query(Box::new(source));
            }
            if can_merge(&select.block, number) {
                merge(select, number);
            }
            number += 1;
        }
    }

    /// Plans what the block reads: queries in FROM and subqueries.
    pub fn build_inner(&mut self, block: &mut Block) -> Result<(), SqlError> {
        for number in 0..block.sources.len() {
            match &mut block.sources[number].kind {
                SourceKind::Query(source) => {
                    let query = std::mem::replace(&mut source.query, Logical::Union(Vec::new()));
                    let (correlation, slots) =
                        (std::mem::take(&mut source.correlation), std::mem::take(&mut source.slots));
                    let needs = correlation.iter().fold(0, |set, (_, expr)| set | block.sources_of(expr));
                    let node = self.build_logical(query)?;
                    block.sources[number].kind = if slots.is_empty() {
                        SourceKind::Derived(Some(Box::new(node)))
                    } else {
                        SourceKind::Lateral(Some(Box::new(LateralSource { node, correlation, slots, needs })))
                    };
                }
                SourceKind::Common(common) => {
                    let common = common.clone();
                    if let Some(query) = common.take_query() {
                        common.keep_node(self.build_logical(query)?);
                    }
                }
                _ => {}
            }
        }
        // What has become a join needs no plan of its own.
        for subquery in block.subqueries.iter_mut().filter(|subquery| !subquery.placed) {
            if let SubqueryPlan::Bound(query) = &mut subquery.query {
                let query = std::mem::replace(&mut **query, Logical::Union(Vec::new()));
                let is_steady = !query.any_expr(&|expr| any(expr, &is_volatile));
                let node = Box::new(self.build_logical(query)?);
                subquery.query = SubqueryPlan::Built { node, is_steady };
            }
        }
        Ok(())
    }
}

/// Whether there is room for the query's tables, and its columns can be told apart from a row that an outer join lacks.
fn can_merge(block: &Block, number: usize) -> bool {
    let source = &block.sources[number];
    let SourceKind::Query(query) = &source.kind else { return false };
    let Logical::Select(select) = &query.query else { return false };
    if !query.merges || block.sources.len() + select.block.sources.len() > SOURCES_MAX {
        return false;
    }
    let is_read = |column: usize| block.frame.contains(&Position::Column { source: number, column });
    let mut items = select.bound.items.iter().enumerate();
    !source.optional || items.all(|(column, item)| !is_read(column) || is_null_without_row(&item.expr))
}

/// Whether the expression is NULL when all columns are.
fn is_null_without_row(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Column(_) => true,
        ExprKind::Fit(operand)
        | ExprKind::Relabel(operand)
        | ExprKind::Cast(operand)
        | ExprKind::Branch(operand)
        | ExprKind::Negate(operand) => is_null_without_row(operand),
        ExprKind::Arithmetic(_, left, right) => is_null_without_row(left) || is_null_without_row(right),
        _ => false,
    }
}

fn merge(select: &mut BoundBlock, number: usize) {
    let taken = SourceKind::Derived(None);
    let kind = std::mem::replace(&mut select.block.sources[number].kind, taken);
    let SourceKind::Query(query) = kind else { unreachable!("the caller asked") };
    let Logical::Select(mut inner) = query.query else { unreachable!("the caller asked") };
    let is_optional = select.block.sources[number].optional;
    inner.block.sources.iter_mut().for_each(|source| source.optional |= is_optional);
    absorb(&mut select.block, &mut inner);
    let BoundSelect { items, mut conditions, order_by, .. } = inner.bound;
    let values: Vec<Expr> = items.into_iter().map(|item| item.expr).collect();
    let mut inner_tree = inner.tree;
    let is_alone = matches!(select.tree, Some(JoinTree::Source(_)));
    if let Some(tree) = &mut select.tree {
        graft(tree, number, &mut inner_tree, &mut conditions);
    }
    select.bound.conditions.append(&mut conditions);
    if is_alone {
        take_order(select, order_by);
    }
    let frame = select.block.frame.clone();
    select.for_each_expr(&mut |expr| {
        replace(expr, &mut |part| {
            let Position::Column { source, column } = *frame.get(part.as_column()?)? else { return None };
            (source == number).then(|| value_of(&values[column], part))
        });
    });
    recount_needs(&mut select.block);
}

/// Takes the tables and subqueries of an inner block over; its joins and expressions are those of the outer block then.
pub fn absorb(block: &mut Block, inner: &mut BoundBlock) {
    let first_source = block.sources.len();
    let first_subquery = block.subqueries.len();
    let positions: Vec<usize> = inner
        .block
        .frame
        .iter()
        .map(|position| match *position {
            Position::Column { source, column } => block.position(first_source + source, column),
            _ => unreachable!("positions that are no columns are given when a block is built"),
        })
        .collect();
    inner.for_each_expr(&mut |expr| move_over(expr, &positions, first_subquery));
    if let Some(tree) = &mut inner.tree {
        shift(tree, first_source);
    }
    block.sources.append(&mut inner.block.sources);
    block.subqueries.append(&mut inner.block.subqueries);
    block.initialisers.append(&mut inner.block.initialisers);
    recount_needs(block);
}

/// The expression behind a column, as the column was read.
fn value_of(value: &Expr, column: &Expr) -> Expr {
    let mut value = value.clone();
    value.ty.column.nullable |= column.ty.column.nullable;
    value.ty.coercibility = column.ty.coercibility;
    value.ty.name = column.ty.name.clone();
    value
}

/// The order of a query in FROM is that of the block's rows, if that orders and groups nothing itself.
fn take_order(select: &mut BoundBlock, order_by: Vec<SortKey>) {
    let BoundBlock { block, bound, .. } = select;
    let is_free = bound.order_by.is_empty()
        && bound.groups.is_none()
        && block.aggregates.is_empty()
        && block.window_calls.is_empty()
        && !bound.distinct;
    if is_free {
        bound.order_by = order_by;
    }
}

/// Puts the inner joins in the place of the source. The conditions go where they must hold for a row of the source to be
/// there: with the nearest join that has it on a side that may be without a row, or else are left over.
fn graft(tree: &mut JoinTree, source: usize, inner: &mut Option<JoinTree>, conditions: &mut Vec<Expr>) {
    match tree {
        JoinTree::Source(own) if *own == source => {
            *tree = inner.take().expect("a source stands once in the joins");
        }
        JoinTree::Source(_) => {}
        JoinTree::Inner { left, right, on, .. } => {
            let side = if left.sources() >> source & 1 == 1 { left } else { right };
            if side.sources() >> source & 1 == 1 {
                graft(side, source, inner, conditions);
                on.append(conditions);
            }
        }
        JoinTree::Left { left, right, on } | JoinTree::Semi { left, right, on, .. } => {
            if left.sources() >> source & 1 == 1 {
                graft(left, source, inner, conditions);
            } else if right.sources() >> source & 1 == 1 {
                graft(right, source, inner, conditions);
                on.append(conditions);
            }
        }
    }
}

/// The tables that a document reads may have become others.
pub fn recount_needs(block: &mut Block) {
    for number in 0..block.sources.len() {
        if let SourceKind::JsonTable(table) = &block.sources[number].kind {
            let needs = block.sources_of(&table.document);
            if let SourceKind::JsonTable(table) = &mut block.sources[number].kind {
                table.needs = needs;
            }
        }
    }
}
