//! What an expression is made of, one level down.
//!
//! Invariant: each direct operand is visited once, in the order of the text. Called by walks of binding and planning, and by scans that want to know what a
//! condition reads.
use crate::expr::{Expr, ExprKind};

/// Visits the direct operands of a kind that is borrowed; `iter` is how its lists are.
macro_rules! visit_operands {
    ($kind:expr, $iter:ident, $visit:ident) => {
        match $kind {
            ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::Column(_)
            | ExprKind::Slot(_)
            | ExprKind::UserVariable(_)
            | ExprKind::CaseOperand => {}
            ExprKind::SetUserVariable(_, operand)
            | ExprKind::Not(operand)
            | ExprKind::TruthTest(_, operand)
            | ExprKind::Negate(operand)
            | ExprKind::BitNot(operand)
            | ExprKind::Cast(operand)
            | ExprKind::Branch(operand)
            | ExprKind::Fit(operand)
            | ExprKind::Relabel(operand) => $visit(operand),
            ExprKind::And(operands) | ExprKind::Or(operands) | ExprKind::Call(_, operands) => {
                operands.$iter().for_each($visit);
            }
            ExprKind::Xor(left, right)
            | ExprKind::Compare(_, _, left, right)
            | ExprKind::Arithmetic(_, left, right)
            | ExprKind::Bit(_, left, right) => {
                $visit(left);
                $visit(right);
            }
            ExprKind::In { operand, list, .. } => {
                $visit(operand);
                list.$iter().for_each(|(_, member)| $visit(member));
            }
            ExprKind::InRows(list) => {
                list.operands.$iter().for_each(&mut *$visit);
                list.rows.$iter().flatten().for_each(|(_, member)| $visit(member));
            }
            ExprKind::Between { operand, low, high, .. } => {
                $visit(operand);
                $visit(low);
                $visit(high);
            }
            ExprKind::Like { operand, pattern, escape, .. } => {
                $visit(operand);
                $visit(pattern);
                $visit(escape);
            }
            ExprKind::Case { operand, whens, otherwise } => {
                if let Some(operand) = operand {
                    $visit(operand);
                }
                for (when, then) in whens {
                    $visit(when);
                    $visit(then);
                }
                if let Some(otherwise) = otherwise {
                    $visit(otherwise);
                }
            }
            ExprKind::DateAdd { date, amount, .. } => {
                $visit(date);
                $visit(amount);
            }
        }
    };
}

/// Calls `visit` for each direct operand.
pub fn for_each_operand<'e>(expr: &'e Expr, visit: &mut dyn FnMut(&'e Expr)) {
    visit_operands!(&expr.kind, iter, visit);
}

/// Calls `visit` for each direct operand, which may be changed.
pub fn for_each_operand_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    visit_operands!(&mut expr.kind, iter_mut, visit);
}

/// Appends the frame positions that the expression reads.
pub fn positions_read(expr: &Expr, out: &mut Vec<usize>) {
    if let ExprKind::Column(position) = expr.kind {
        out.push(position);
    }
    for_each_operand(expr, &mut |operand| positions_read(operand, out));
}
