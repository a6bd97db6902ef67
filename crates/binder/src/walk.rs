//! Walks over bound expressions.
//!
//! While a block is bound, two kinds of values have no place yet: results of aggregates and of subqueries. They
//! stand in the tree as slots with numbers far above any real one, until `replace` gives them a frame position.
use expression::{Expr, ExprKind};

pub use expression::{for_each_operand, for_each_operand_mut, positions_read as positions};

/// Slot numbers from here on stand for the block's n-th aggregate.
pub const AGGREGATE_BASE: usize = 1 << 40;
/// Slot numbers from here on stand for the block's n-th subquery.
pub const SUBQUERY_BASE: usize = 1 << 41;

/// Slot numbers from here on mark positions of a projected row while sort keys are rewritten.
pub const PROJECTED_BASE: usize = 1 << 42;
/// Slot numbers from here on stand for the block's n-th window function.
pub const WINDOW_BASE: usize = 1 << 43;

/// Slot numbers from here on stand for the block's n-th GROUPING().
pub const GROUPING_BASE: usize = 1 << 44;

pub fn grouping_number(expr: &Expr) -> Option<usize> {
    match expr.kind {
        ExprKind::Slot(slot) if slot >= GROUPING_BASE => Some(slot - GROUPING_BASE),
        _ => None,
    }
}

pub fn aggregate_number(expr: &Expr) -> Option<usize> {
    match expr.kind {
        ExprKind::Slot(slot) if (AGGREGATE_BASE..SUBQUERY_BASE).contains(&slot) => {
            Some(slot - AGGREGATE_BASE)
        }
        _ => None,
    }
}

pub fn subquery_number(expr: &Expr) -> Option<usize> {
    match expr.kind {
        ExprKind::Slot(slot) if (SUBQUERY_BASE..PROJECTED_BASE).contains(&slot) => Some(slot - SUBQUERY_BASE),
        _ => None,
    }
}

pub fn window_number(expr: &Expr) -> Option<usize> {
    match expr.kind {
        ExprKind::Slot(slot) if (WINDOW_BASE..GROUPING_BASE).contains(&slot) => Some(slot - WINDOW_BASE),
        _ => None,
    }
}

/// Whether `test` holds for the expression or anything in it.
pub fn any(expr: &Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    if test(expr) {
        return true;
    }
    let mut found = false;
    for_each_operand(expr, &mut |operand| found = found || any(operand, test));
    found
}

/// Rebuilds from the top: where `replacement` gives an expression, it takes the place of the whole subtree.
pub fn replace(expr: &mut Expr, replacement: &mut dyn FnMut(&Expr) -> Option<Expr>) {
    match replacement(expr) {
        Some(mut new) => {
            new.ty.name = new.ty.name.or_else(|| expr.ty.name.clone());
            *expr = new;
        }
        None => for_each_operand_mut(expr, &mut |operand| replace(operand, replacement)),
    }
}

pub fn has_aggregate(expr: &Expr) -> bool {
    any(expr, &|part| aggregate_number(part).is_some())
}

pub fn has_subquery(expr: &Expr) -> bool {
    any(expr, &|part| subquery_number(part).is_some())
}

pub fn has_window(expr: &Expr) -> bool {
    any(expr, &|part| window_number(part).is_some())
}

/// Nothing in it depends on a row: literals, parameters, slots and functions of them.
pub fn is_row_independent(expr: &Expr) -> bool {
    !any(expr, &|part| {
        matches!(part.kind, ExprKind::Column(_) | ExprKind::SetUserVariable(..))
            || aggregate_number(part).is_some()
            || subquery_number(part).is_some()
            || window_number(part).is_some()
            || grouping_number(part).is_some()
            || is_volatile(part)
    })
}

/// RAND() and the like, user variables, which the statement itself may set, and what means something in a CASE only.
pub fn is_volatile(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(function, arguments) => function.is_volatile(arguments),
        ExprKind::UserVariable(_) | ExprKind::SetUserVariable(..) | ExprKind::CaseOperand => true,
        _ => false,
    }
}

/// The operands of nested ANDs.
pub fn split_conjuncts(expr: Expr) -> Vec<Expr> {
    match expr.kind {
        ExprKind::And(operands) => operands.into_iter().flat_map(split_conjuncts).collect(),
        _ => vec![expr],
    }
}
