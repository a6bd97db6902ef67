//! Conditions as lists of conjuncts.
use expression::{Expr, ExprKind};

/// The operands of nested ANDs.
pub fn split_conjuncts(expr: Expr) -> Vec<Expr> {
    match expr.kind {
        ExprKind::And(operands) => operands.into_iter().flat_map(split_conjuncts).collect(),
        _ => vec![expr],
    }
}

/// Whether the conjunct is a constant, and which truth it has then (`None` is UNKNOWN).
pub fn constant_truth(expr: &Expr) -> Option<Option<bool>> {
    match &expr.kind {
        ExprKind::Literal(datum::Value::Null) => Some(None),
        ExprKind::Literal(datum::Value::Int(number)) => Some(Some(*number != 0)),
        ExprKind::Literal(datum::Value::UInt(number)) => Some(Some(*number != 0)),
        _ => None,
    }
}
