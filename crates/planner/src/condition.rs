//! Conditions as lists of conjuncts.
use binder::walk::{any, is_volatile, replace, split_conjuncts};
use datum::SqlError;
use expression::{BindContext, Expr, ExprKind};

/// Whether the conjunct is a constant, and which truth it has then (`None` is UNKNOWN).
pub fn constant_truth(expr: &Expr) -> Option<Option<bool>> {
    match &expr.kind {
        ExprKind::Literal(datum::Value::Null) => Some(None),
        ExprKind::Literal(datum::Value::Int(number)) => Some(Some(*number != 0)),
        ExprKind::Literal(datum::Value::UInt(number)) => Some(Some(*number != 0)),
        _ => None,
    }
}

/// What all branches of an OR demand stands beside it: `(a AND b) OR (a AND c)` is `a AND (b OR c)`.
pub fn factor_or(bind: &BindContext, conditions: Vec<Expr>) -> Result<Vec<Expr>, SqlError> {
    let mut factored = Vec::with_capacity(conditions.len());
    for condition in conditions {
        match condition.kind {
            ExprKind::Or(branches) if !branches.iter().any(|branch| any(branch, &is_volatile)) => {
                factor_branches(bind, branches, &mut factored)?;
            }
            _ => factored.push(condition),
        }
    }
    Ok(factored)
}

fn factor_branches(bind: &BindContext, branches: Vec<Expr>, out: &mut Vec<Expr>) -> Result<(), SqlError> {
    let mut branches: Vec<Vec<Expr>> = branches.into_iter().map(split_conjuncts).collect();
    let mut common = Vec::new();
    for wanted in branches[0].clone() {
        let has = |branch: &Vec<Expr>| branch.iter().any(|part| is_same(bind, part, &wanted));
        if branches.iter().all(has) {
            branches.iter_mut().for_each(|branch| {
                branch.retain(|part| part.kind != wanted.kind && !is_same(bind, part, &wanted))
            });
            common.push(wanted);
        }
    }
    out.append(&mut common);
    // What is left of a branch that demands nothing else is true.
    if branches.iter().all(|branch| !branch.is_empty()) {
        let all = |mut branch: Vec<Expr>| match branch.len() {
            1 => Ok(branch.remove(0)),
            _ => bind.and(branch),
        };
        out.push(bind.or(branches.into_iter().map(all).collect::<Result<_, _>>()?)?);
    }
    Ok(())
}

/// The same condition; literals that became parameters are the same if their values are, which then decide the plan.
fn is_same(bind: &BindContext, left: &Expr, right: &Expr) -> bool {
    if left.kind == right.kind {
        return true;
    }
    let (mut own, mut other) = (left.clone(), right.clone());
    let mut parameters = Vec::new();
    collect_parameters(&mut own, &mut parameters);
    let first = std::mem::take(&mut parameters);
    collect_parameters(&mut other, &mut parameters);
    let is_alike = |(left, right): (&Expr, &Expr)| {
        let value = bind.peek(left);
        value.is_some() && value == bind.peek(right)
    };
    let same = !first.is_empty()
        && own.kind == other.kind
        && first.len() == parameters.len()
        && first.iter().zip(&parameters).all(is_alike);
    if same {
        first.iter().chain(&parameters).for_each(|parameter| bind.decide_by(parameter));
    }
    same
}

/// Takes the parameters out, in order.
fn collect_parameters(expr: &mut Expr, out: &mut Vec<Expr>) {
    replace(expr, &mut |part| {
        let ExprKind::Parameter(_) = part.kind else { return None };
        out.push(part.clone());
        Some(Expr { kind: ExprKind::Parameter(0), ty: part.ty.clone() })
    });
}
