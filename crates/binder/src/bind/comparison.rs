//! Comparisons and IN lists, of single values and of rows.
use crate::binder::Binder;
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

/// Whether an operand may have more than one column.
fn is_row(expr: &ast::Expr<'_>) -> bool {
    matches!(expr.kind, Kind::Row(_) | Kind::Subquery(_))
}

impl<'p> Binder<'p> {
    pub fn bind_comparison(
        &mut self,
        operator: ast::BinaryOperator,
        left: &ast::Expr<'p>,
        right: &ast::Expr<'p>,
    ) -> Result<Expr, SqlError> {
        let operator = comparison_operator(operator).expect("the caller asked is_comparison");
        if !is_row(left) && !is_row(right) {
            let (left, right) = (self.bind(left)?, self.bind(right)?);
            return self.context.bind.compare(operator, left, right);
        }
        let left = self.bind_row_operand(left)?;
        let right = self.bind_row_operand(right)?;
        self.compare_row_operands(operator, left, right)
    }

    fn compare_row_operands(
        &mut self,
        operator: ComparisonOperator,
        left: Vec<Expr>,
        right: Vec<Expr>,
    ) -> Result<Expr, SqlError> {
        if left.len() != right.len() {
            return Err(error_code::ER_OPERAND_COLUMNS.with(&[&left.len()]));
        }
        self.compare_bound_rows(operator, left.into_iter().zip(right).collect())
    }

    /// `(a, b) op (c, d)` by the definition: equality of all members, or the order of the first that differs.
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
        let mut operand = self.bind_row_operand(operand)?;
        if operand.len() > 1 {
            let mut cases = Vec::with_capacity(list.len());
            for member in list {
                let right = self.bind_row_operand(member)?;
                if operand.len() != right.len() {
                    return Err(error_code::ER_OPERAND_COLUMNS.with(&[&operand.len()]));
                }
                let pairs = operand.iter().cloned().zip(right);
                let bind = &self.context.bind;
                let equal: Vec<Expr> = pairs
                    .map(|(left, right)| bind.row_member(left, right, list.len() == 1))
                    .collect::<Result<_, _>>()?;
                cases.push(self.all_of(equal)?);
            }
            let found = self.any_of(cases)?;
            return if negated { self.context.bind.not(found) } else { Ok(found) };
        }
        if list.iter().any(|member| matches!(member.kind, Kind::Row(_))) {
            return Err(error_code::ER_OPERAND_COLUMNS.with(&[&1]));
        }
        let operand = operand.remove(0);
        let list = self.bind_all(list)?;
        self.context.bind.in_list(negated, operand, list)
    }
}
