//! The expressions of bound queries: visited, tested, and moved into the frame of another block.
//!
//! Invariant: nothing that reads a block's frame is left out. Called by rewrites, and where a view that is changed brings its
//! tables into a statement's block.
use crate::block::{SourceKind, SubqueryPlan};
use crate::bound::{BoundBlock, BoundInitialiser, JoinTree, Logical};
use crate::walk::{SUBQUERY_BASE, replace, subquery_number};
use expression::{AggregateCall, Expr, ExprKind};
use plan::{Distance, Frame, FrameBound, WindowFunction};

impl Logical {
    /// Whether `test` holds for an expression anywhere in the query; for VALUES and recursive tables it is taken to hold.
    pub fn any_expr(&self, test: &dyn Fn(&Expr) -> bool) -> bool {
        let in_limit = |limit: &Option<(Expr, Option<Expr>)>| {
            limit.as_ref().is_some_and(|(count, offset)| test(count) || offset.as_ref().is_some_and(test))
        };
        let in_initialisers =
            |list: &[BoundInitialiser]| list.iter().any(|initialiser| initialiser.query.any_expr(test));
        match self {
            Logical::Values { .. } | Logical::Recursive(_) => true,
            Logical::Project { input, expressions } => expressions.iter().any(test) || input.any_expr(test),
            Logical::Union(inputs) => inputs.iter().any(|input| input.any_expr(test)),
            Logical::Distinct { input, .. } => input.any_expr(test),
            Logical::Difference { sides, .. } => sides.0.any_expr(test) || sides.1.any_expr(test),
            Logical::Sort { input, keys, limit } => {
                keys.iter().any(|key| test(&key.expr)) || in_limit(limit) || input.any_expr(test)
            }
            Logical::Limit { input, count, offset } => {
                test(count) || offset.as_ref().is_some_and(test) || input.any_expr(test)
            }
            Logical::Initialise { input, initialisers } => {
                in_initialisers(initialisers) || input.any_expr(test)
            }
            Logical::Select(select) => {
                let mut select = select.clone();
                let mut is_found =
                    in_limit(&select.bound.limit) || in_initialisers(&select.block.initialisers);
                select.for_each_expr(&mut |expr| is_found |= test(expr));
                let in_subquery = |query: &SubqueryPlan| match query {
                    SubqueryPlan::Bound(query) => query.any_expr(test),
                    SubqueryPlan::Built { .. } => true,
                };
                let in_source = |kind: &SourceKind| match kind {
                    SourceKind::Query(source) => source.query.any_expr(test),
                    SourceKind::Common(common) => common.query().is_none_or(|query| query.any_expr(test)),
                    SourceKind::Derived(_) | SourceKind::Lateral(_) => true,
                    SourceKind::Stored { .. }
                    | SourceKind::Virtual(_)
                    | SourceKind::Round(_)
                    | SourceKind::JsonTable(_) => false,
                };
                is_found
                    || select.block.subqueries.iter().any(|subquery| in_subquery(&subquery.query))
                    || select.block.sources.iter().any(|source| in_source(&source.kind))
            }
        }
    }
}

fn source_exprs(kind: &mut SourceKind, visit: &mut dyn FnMut(&mut Expr)) {
    match kind {
        SourceKind::Query(query) => query.correlation.iter_mut().for_each(|(_, expr)| visit(expr)),
        SourceKind::JsonTable(table) => visit(&mut table.document),
        _ => {}
    }
}

impl BoundBlock {
    /// Every expression over the block's frame.
    pub fn for_each_expr(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        let BoundBlock { block, bound, tree, .. } = self;
        bound.exprs_mut().into_iter().for_each(&mut *visit);
        bound.conditions.iter_mut().for_each(&mut *visit);
        bound.groups.iter_mut().flatten().for_each(&mut *visit);
        tree.iter_mut().flat_map(JoinTree::conditions_mut).for_each(&mut *visit);
        block.aggregates.iter_mut().flat_map(call_exprs).for_each(&mut *visit);
        block.groupings.iter_mut().flatten().for_each(&mut *visit);
        for window in &mut block.windows {
            window.partition_by.iter_mut().for_each(&mut *visit);
            window.order_by.iter_mut().for_each(|key| visit(&mut key.expr));
        }
        for call in &mut block.window_calls {
            function_exprs(&mut call.function, &mut call.frame).into_iter().for_each(&mut *visit);
        }
        for subquery in &mut block.subqueries {
            subquery.left.iter_mut().chain(&mut subquery.correlation).for_each(|(_, expr)| visit(expr));
        }
        for source in &mut block.sources {
            source_exprs(&mut source.kind, visit);
        }
    }
}

pub fn call_exprs(call: &mut AggregateCall) -> impl Iterator<Item = &mut Expr> {
    call.arguments.iter_mut().chain(call.order_by.iter_mut().map(|item| &mut item.expr))
}

/// Every expression of a window function and its frame.
pub fn function_exprs<'f>(function: &'f mut WindowFunction, frame: &'f mut Frame) -> Vec<&'f mut Expr> {
    let mut exprs: Vec<&mut Expr> = match function {
        WindowFunction::NthTile(tiles) => vec![tiles],
        WindowFunction::Neighbour { value, distance, default, .. } => {
            [value, distance].into_iter().chain(default).collect()
        }
        WindowFunction::FirstValue(value) | WindowFunction::LastValue(value) => vec![value],
        WindowFunction::NthValue { value, number } => vec![value, number],
        WindowFunction::Aggregate(call) => call.arguments.iter_mut().collect(),
        _ => Vec::new(),
    };
    for bound in [&mut frame.start, &mut frame.end] {
        if let FrameBound::Preceding(distance) | FrameBound::Following(distance) = bound {
            match distance {
                Distance::Rows(rows) => exprs.push(rows),
                Distance::Value { amount, bound, .. } => exprs.extend([amount, bound]),
            }
        }
    }
    exprs
}

/// An expression of the inner block over the frame of the outer one, whose subqueries begin at `first_subquery`.
pub fn move_over(expr: &mut Expr, positions: &[usize], first_subquery: usize) {
    replace(expr, &mut |part| {
        if let Some(number) = subquery_number(part) {
            let kind = ExprKind::Slot(SUBQUERY_BASE + first_subquery + number);
            return Some(Expr { kind, ty: part.ty.clone() });
        }
        let position = part.as_column()?;
        Some(Expr { kind: ExprKind::Column(positions[position]), ty: part.ty.clone() })
    });
}

/// The tree where its sources come behind `first` others.
pub fn shift(tree: &mut JoinTree, first: usize) {
    match tree {
        JoinTree::Source(source) => *source += first,
        JoinTree::Inner { left, right, .. }
        | JoinTree::Left { left, right, .. }
        | JoinTree::Semi { left, right, .. } => {
            shift(left, first);
            shift(right, first);
        }
    }
}
