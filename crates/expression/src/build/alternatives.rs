//! Long chains of OR as lists: `a = 1 OR a = 2 ..` is `a IN (1, 2, ..)`, and `(a = 1 AND b = 2) OR ..`, which rows in
//! an IN list stand for, is `(a, b) IN ((1, 2), ..)`.
//!
//! A list is looked up, a chain is tried one by one. Invariant: the condition says the same of each row as before.
use datum::CompareMode;

use super::boolean;
use crate::constant_set::{LIST_LONG, ListId, is_constant};
use crate::expr::{Expr, ExprKind, RowList};
use crate::operator::ComparisonOperator;

/// A chain that compares more different expressions than this with constants stays as it is.
const LISTS_MAX: usize = 4;

/// The rows that compare the same operands.
struct List {
    operands: Vec<Expr>,
    /// Alternatives of the chain.
    members: Vec<usize>,
}

/// Puts together what can be of the operands of an OR.
pub(super) fn with_lists(alternatives: Vec<Expr>) -> Vec<Expr> {
    if alternatives.len() < LIST_LONG {
        return alternatives;
    }
    let mut lists: Vec<List> = Vec::new();
    for (number, alternative) in alternatives.iter().enumerate() {
        let Some(equalities) = equalities_of(alternative) else { continue };
        let is_same = |list: &List| {
            list.operands.len() == equalities.len()
                && list.operands.iter().zip(&equalities).all(|(known, equality)| known == equality.operand)
        };
        match lists.iter().position(is_same) {
            Some(place) => lists[place].members.push(number),
            None if lists.len() < LISTS_MAX => lists.push(List {
                operands: equalities.iter().map(|equality| equality.operand.clone()).collect(),
                members: vec![number],
            }),
            None => {}
        }
    }
    lists.retain(|list| list.members.len() >= LIST_LONG);
    let mut kept: Vec<Option<Expr>> = alternatives.into_iter().map(Some).collect();
    for list in lists {
        let first = list.members[0];
        let rows = list.members.iter().map(|&number| {
            let alternative = kept[number].take().expect("each alternative is in one list at most");
            equalities_of(&alternative).expect("it was one above").iter().map(Equality::member).collect()
        });
        let rows: Vec<Vec<(CompareMode, Expr)>> = rows.collect();
        kept[first] = Some(list_of(list.operands, rows));
    }
    kept.into_iter().flatten().collect()
}

fn list_of(mut operands: Vec<Expr>, rows: Vec<Vec<(CompareMode, Expr)>>) -> Expr {
    let members = rows.iter().flatten().map(|(_, member)| member);
    let nullable = operands.iter().chain(members).any(|expr| expr.ty.column.nullable);
    let id = ListId::of(rows.len(), operands.len(), rows.iter().flatten());
    if operands.len() > 1 {
        return boolean(ExprKind::InRows(Box::new(RowList { operands, rows, id })), nullable);
    }
    let operand = Box::new(operands.remove(0));
    let list = rows.into_iter().flatten().collect();
    boolean(ExprKind::In { negated: false, operand, list, id }, nullable)
}

/// `operand = constant`.
struct Equality<'e> {
    operand: &'e Expr,
    mode: CompareMode,
    constant: &'e Expr,
}

impl Equality<'_> {
    fn member(&self) -> (CompareMode, Expr) {
        (self.mode, self.constant.clone())
    }
}

/// The equalities that the alternative asks for, if it asks for nothing else.
fn equalities_of(alternative: &Expr) -> Option<Vec<Equality<'_>>> {
    match &alternative.kind {
        ExprKind::And(operands) if operands.len() <= crate::constant_set::WIDTH_MAX => {
            operands.iter().map(equality_of).collect()
        }
        _ => equality_of(alternative).map(|equality| vec![equality]),
    }
}

fn equality_of(condition: &Expr) -> Option<Equality<'_>> {
    let ExprKind::Compare(ComparisonOperator::Equal, mode, left, right) = &condition.kind else {
        return None;
    };
    let (operand, constant) = match (is_constant(left), is_constant(right)) {
        (false, true) => (left, right),
        (true, false) => (right, left),
        _ => return None,
    };
    let fits = *mode != CompareMode::Json && is_steady(operand);
    fits.then_some(Equality { operand, mode: *mode, constant })
}

/// Whether evaluating it once for a row is as good as evaluating it again and again.
fn is_steady(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_) => true,
        ExprKind::Negate(operand) | ExprKind::Cast(operand) | ExprKind::Relabel(operand) => {
            is_steady(operand)
        }
        ExprKind::Arithmetic(_, left, right) => is_steady(left) && is_steady(right),
        _ => false,
    }
}
