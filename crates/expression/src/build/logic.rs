//! AND, OR, XOR, NOT and the IS tests.
use datum::{SqlError, TypeKind, error_code};

use super::alternatives::with_lists;
use super::{BindContext, Wanted, boolean};
use crate::expr::{Expr, ExprKind};
use crate::operator::{ComparisonOperator, TruthTest};

/// Documents are no truth values, though they may stand for them.
fn warn_of_documents<'e>(bind: &BindContext, operands: impl IntoIterator<Item = &'e Expr>) {
    for _ in operands.into_iter().filter(|operand| operand.ty.column.kind == TypeKind::Json) {
        bind.warn(error_code::ER_WARN_IMPLICIT_COMPARISON_FOR_JSON.plain());
    }
}

fn any_nullable(operands: &[Expr]) -> bool {
    operands.iter().any(|operand| operand.ty.column.nullable)
}

impl BindContext {
    /// Nested conjunctions are flattened, so that the planner sees all of them side by side.
    pub fn and(&self, operands: Vec<Expr>) -> Result<Expr, SqlError> {
        warn_of_documents(self, &operands);
        let mut flat = Vec::with_capacity(operands.len());
        for mut operand in operands {
            self.expect_number(&mut operand, Wanted::Integer)?;
            match operand.kind {
                ExprKind::And(inner) => flat.extend(inner),
                _ => flat.push(operand),
            }
        }
        let nullable = any_nullable(&flat);
        Ok(boolean(ExprKind::And(flat), nullable))
    }

    pub fn or(&self, operands: Vec<Expr>) -> Result<Expr, SqlError> {
        warn_of_documents(self, &operands);
        let mut flat = Vec::with_capacity(operands.len());
        for mut operand in operands {
            self.expect_number(&mut operand, Wanted::Integer)?;
            match operand.kind {
                ExprKind::Or(inner) => flat.extend(inner),
                _ => flat.push(operand),
            }
        }
        let mut flat = with_lists(flat);
        if flat.len() == 1 {
            return Ok(flat.remove(0));
        }
        let nullable = any_nullable(&flat);
        Ok(boolean(ExprKind::Or(flat), nullable))
    }

    pub fn xor(&self, mut left: Expr, mut right: Expr) -> Result<Expr, SqlError> {
        self.expect_number(&mut left, Wanted::Integer)?;
        self.expect_number(&mut right, Wanted::Integer)?;
        warn_of_documents(self, [&left, &right]);
        let nullable = left.ty.column.nullable || right.ty.column.nullable;
        Ok(boolean(ExprKind::Xor(Box::new(left), Box::new(right)), nullable))
    }

    pub fn not(&self, mut operand: Expr) -> Result<Expr, SqlError> {
        self.expect_number(&mut operand, Wanted::Integer)?;
        warn_of_documents(self, [&operand]);
        Ok(match negated(operand) {
            Ok(condition) => condition,
            Err(operand) => {
                let nullable = operand.ty.column.nullable;
                boolean(ExprKind::Not(Box::new(operand)), nullable)
            }
        })
    }

    pub fn truth_test(&self, test: TruthTest, mut operand: Expr) -> Result<Expr, SqlError> {
        if matches!(test, TruthTest::Null | TruthTest::NotNull) {
            self.told_text_marker(&mut operand);
        } else {
            self.expect_number(&mut operand, Wanted::Integer)?;
            warn_of_documents(self, [&operand]);
        }
        Ok(boolean(ExprKind::TruthTest(test, Box::new(operand)), false))
    }
}

/// The condition that is true where this one is false and unknown where it is unknown, without NOT, so that ranges of indexes can
/// be read for it; the expression itself where there is none.
fn negated(condition: Expr) -> Result<Expr, Expr> {
    if !is_negatable(&condition) {
        return Err(condition);
    }
    let all = |operands: Vec<Expr>| {
        operands.into_iter().map(|operand| negated(operand).expect("negatable")).collect()
    };
    let kind = match condition.kind {
        ExprKind::Compare(operator, mode, left, right) => {
            ExprKind::Compare(opposite(operator).expect("negatable"), mode, left, right)
        }
        ExprKind::And(operands) => ExprKind::Or(all(operands)),
        ExprKind::Or(operands) => ExprKind::And(all(operands)),
        other => other,
    };
    Ok(Expr { kind, ..condition })
}

fn is_negatable(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Compare(operator, ..) => opposite(*operator).is_some(),
        ExprKind::And(operands) | ExprKind::Or(operands) => operands.iter().all(is_negatable),
        _ => false,
    }
}

fn opposite(operator: ComparisonOperator) -> Option<ComparisonOperator> {
    use ComparisonOperator::*;
    Some(match operator {
        Equal => NotEqual,
        NotEqual => Equal,
        Less => GreaterOrEqual,
        GreaterOrEqual => Less,
        Greater => LessOrEqual,
        LessOrEqual => Greater,
        NullSafeEqual => return None,
    })
}
