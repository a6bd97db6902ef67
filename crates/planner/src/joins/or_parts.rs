//! What an OR over several tables demands of each of them: `(t.a = 1 AND u.b = 2) OR (t.a = 3 AND u.b = 4)` lets no row of `t`
//! through but those with `t.a = 1 OR t.a = 3`.
//!
//! Invariant: the OR itself stays and is tested once its tables are joined, so that what is added here only drops rows
//! early; what both leave is not counted twice (`selectivity`). Called by `join_order` for each list of joins.
use binder::block::{Block, Position};
use binder::walk::{any, is_volatile};
use expression::{Expr, ExprKind};

/// Conditions nested deeper are not looked into.
const DEPTH_MAX: usize = 8;

/// Adds what the ORs among the conditions demand of each of the sources alone.
pub fn add_parts(block: &Block, conditions: &mut Vec<Expr>, sources: u64) {
    let mut added = Vec::new();
    for condition in conditions.iter() {
        added.extend(parts_of(block, condition, sources));
    }
    for part in added {
        if !conditions.iter().any(|known| known.kind == part.kind) {
            conditions.push(part);
        }
    }
}

/// What a condition over several sources demands of each of them, if it is an OR.
pub fn parts_of(block: &Block, condition: &Expr, sources: u64) -> Vec<Expr> {
    if !matches!(condition.kind, ExprKind::Or(_)) {
        return Vec::new();
    }
    let set = block.sources_of(condition);
    if set.count_ones() < 2 || any(condition, &|part| is_volatile(part) || reads_computed(block, part)) {
        return Vec::new();
    }
    let own = (0..block.sources.len()).map(|source| 1u64 << source).filter(|own| set & sources & own != 0);
    own.filter_map(|own| part_of(block, condition, own, 0)).collect()
}

/// A condition on the source alone that holds wherever the whole one does.
fn part_of(block: &Block, condition: &Expr, own: u64, depth: usize) -> Option<Expr> {
    let set = block.sources_of(condition);
    if set == own {
        return Some(condition.clone());
    }
    if set & own == 0 || depth > DEPTH_MAX {
        return None;
    }
    let part = |operand: &Expr| part_of(block, operand, own, depth + 1);
    match &condition.kind {
        ExprKind::And(operands) => {
            let mut parts: Vec<Expr> = operands.iter().filter_map(part).collect();
            match parts.len() {
                0 | 1 => parts.pop(),
                _ => Some(Expr { kind: ExprKind::And(parts), ty: condition.ty.clone() }),
            }
        }
        ExprKind::Or(operands) => {
            let parts: Vec<Expr> = operands.iter().map(part).collect::<Option<_>>()?;
            Some(Expr { kind: ExprKind::Or(parts), ty: condition.ty.clone() })
        }
        _ => None,
    }
}

/// The value of a subquery or of a window, which is not there when a table is read.
fn reads_computed(block: &Block, part: &Expr) -> bool {
    let computed = |position: usize| !matches!(block.frame.get(position), Some(Position::Column { .. }));
    part.as_column().is_some_and(computed) || binder::walk::subquery_number(part).is_some()
}
