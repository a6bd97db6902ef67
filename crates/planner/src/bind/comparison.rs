//! Comparisons and IN lists, of single values and of rows.
use crate::planner::{Planner, not_supported};
use datum::{SqlError, error_code};
use expression::{ComparisonOperator, Expr};
use parser::ast::{self, ExprKind as Kind};

pub fn comparison_operator(operator: ast::BinaryOperator) -> Option<ComparisonOperator> {
    Some(match operator {
        ast::BinaryOperator::Equal => ComparisonOperator::Equal,
        ast::BinaryOperator::NullSafeEqual => ComparisonOperator::NullSafeEqual,
        ast::BinaryOperator::NotEqual => ComparisonOperator::NotEqual,
        ast::BinaryOperator::Less => ComparisonOperator::Less,
        ast::BinaryOperator::LessOrEqual => ComparisonOperator::LessOrEqual,
        ast::BinaryOperator::Greater => ComparisonOperator::Greater,
        ast::BinaryOperator::GreaterOrEqual => ComparisonOperator::GreaterOrEqual,
        _ => return None,
    })
}

/// The members of a row, or the expression itself as a row of one.
fn members<'e, 'p>(expr: &'e ast::Expr<'p>) -> &'e [ast::Expr<'p>] {
    match expr.kind {
        Kind::Row(members) => members,
        _ => std::slice::from_ref(expr),
    }
}

impl<'p> Planner<'p> {
    pub fn bind_comparison(
        &mut self,
        operator: ast::BinaryOperator,
        left: &ast::Expr<'p>,
        right: &ast::Expr<'p>,
    ) -> Result<Expr, SqlError> {
        let operator = comparison_operator(operator).expect("the caller asked is_comparison");
        match (&left.kind, &right.kind) {
            (Kind::Row(left), Kind::Row(right)) => self.compare_rows(operator, left, right),
            (Kind::Row(row), Kind::Subquery(_)) | (Kind::Subquery(_), Kind::Row(row)) => {
                let _ = row;
                Err(not_supported("comparison of a row with a subquery"))
            }
            (Kind::Row(row), _) | (_, Kind::Row(row)) => {
                Err(error_code::ER_OPERAND_COLUMNS.with(&[&row.len()]))
            }
            _ => {
                let (left, right) = (self.bind(left)?, self.bind(right)?);
                self.context.bind.compare(operator, left, right)
            }
        }
    }

    /// `(a, b) op (c, d)` by the definition: equality of all members, or the order of the first that differs.
    fn compare_rows(
        &mut self,
        operator: ComparisonOperator,
        left: &[ast::Expr<'p>],
        right: &[ast::Expr<'p>],
    ) -> Result<Expr, SqlError> {
        if left.len() != right.len() {
            return Err(error_code::ER_OPERAND_COLUMNS.with(&[&left.len()]));
        }
        let mut pairs = Vec::with_capacity(left.len());
        for (left, right) in left.iter().zip(right) {
            if matches!(left.kind, Kind::Row(_)) || matches!(right.kind, Kind::Row(_)) {
                return Err(not_supported("rows inside rows"));
            }
            pairs.push((self.bind(left)?, self.bind(right)?));
        }
        self.compare_bound_rows(operator, pairs)
    }

    pub fn compare_bound_rows(
        &self,
        operator: ComparisonOperator,
        pairs: Vec<(Expr, Expr)>,
    ) -> Result<Expr, SqlError> {
        use ComparisonOperator as Op;
        let bind = &self.context.bind;
        let each = |operator: Op, pairs: Vec<(Expr, Expr)>| -> Result<Vec<Expr>, SqlError> {
            pairs.into_iter().map(|(left, right)| bind.compare(operator, left, right)).collect()
        };
        match operator {
            Op::Equal | Op::NullSafeEqual => self.all_of(each(operator, pairs)?),
            Op::NotEqual => self.any_of(each(operator, pairs)?),
            Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual => {
                let strict = match operator {
                    Op::Less | Op::LessOrEqual => Op::Less,
                    _ => Op::Greater,
                };
                let last = pairs.len() - 1;
                let mut cases = Vec::with_capacity(pairs.len());
                for (position, (left, right)) in pairs.iter().enumerate() {
                    let mut terms = each(Op::Equal, pairs[..position].to_vec())?;
                    let this = if position == last { operator } else { strict };
                    terms.push(bind.compare(this, left.clone(), right.clone())?);
                    cases.push(self.all_of(terms)?);
                }
                self.any_of(cases)
            }
        }
    }

    pub fn all_of(&self, mut terms: Vec<Expr>) -> Result<Expr, SqlError> {
        if terms.len() == 1 { Ok(terms.remove(0)) } else { self.context.bind.and(terms) }
    }

    pub fn any_of(&self, mut terms: Vec<Expr>) -> Result<Expr, SqlError> {
        if terms.len() == 1 { Ok(terms.remove(0)) } else { self.context.bind.or(terms) }
    }

    pub fn bind_in_list(
        &mut self,
        negated: bool,
        operand: &ast::Expr<'p>,
        list: &[ast::Expr<'p>],
    ) -> Result<Expr, SqlError> {
        if let Kind::Row(left) = operand.kind {
            let mut cases = Vec::with_capacity(list.len());
            for member in list {
                let right = members(member);
                cases.push(self.compare_rows(ComparisonOperator::Equal, left, right)?);
            }
            let found = self.any_of(cases)?;
            return if negated { self.context.bind.not(found) } else { Ok(found) };
        }
        if let Some(row) = list.iter().find(|member| matches!(member.kind, Kind::Row(_))) {
            let _ = row;
            return Err(error_code::ER_OPERAND_COLUMNS.with(&[&1]));
        }
        let operand = self.bind(operand)?;
        let list = self.bind_all(list)?;
        self.context.bind.in_list(negated, operand, list)
    }
}
