//! Comparisons: the domain two operands meet in is decided here, once (MySQL manual, "Comparison Operators").
use datum::{ColumnType, CompareMode, SqlError, TypeKind, Value};

use super::{BindContext, boolean};
use crate::expr::{Expr, ExprKind};
use crate::operator::ComparisonOperator;

impl BindContext {
    /// The mode for a pair; texts are brought to one character set.
    pub(super) fn compare_mode(
        &self,
        operation: &str,
        left: &mut Expr,
        right: &mut Expr,
    ) -> Result<CompareMode, SqlError> {
        let mode = CompareMode::of(&left.ty.column, &right.ty.column, self.connection_collation);
        if !matches!(mode, CompareMode::Text(_)) {
            self.fold_moment(mode, left, right);
            self.fold_moment(mode, right, left);
            return Ok(mode);
        }
        let mut pair = [std::mem::replace(left, Expr::null()), std::mem::replace(right, Expr::null())];
        let outcome = self.aggregate_collations(operation, &mut pair);
        let [new_left, new_right] = pair;
        (*left, *right) = (new_left, new_right);
        Ok(CompareMode::Text(outcome?.0))
    }

    /// A text literal compared with a moment is read once, here, not for every row. One that is no moment stays:
    /// evaluation gives the warning.
    fn fold_moment(&self, mode: CompareMode, moment: &Expr, text: &mut Expr) {
        if mode != CompareMode::DateTime || !moment.ty.column.kind.has_date() {
            return;
        }
        let ExprKind::Literal(Value::Bytes(bytes)) = &text.kind else { return };
        let parsed = datum::DateTime::parse(bytes, false);
        if let Some(parsed) = parsed.filter(|parsed| !parsed.truncated && parsed.offset_seconds.is_none()) {
            let column = ColumnType::new(TypeKind::DateTime { fsp: 6 }).not_null();
            *text = Expr::literal(Value::DateTime(parsed.value), column);
        }
    }

    pub fn compare(
        &self,
        operator: ComparisonOperator,
        mut left: Expr,
        mut right: Expr,
    ) -> Result<Expr, SqlError> {
        let mode = self.compare_mode(operator.symbol(), &mut left, &mut right)?;
        let nullable = operator != ComparisonOperator::NullSafeEqual
            && (left.ty.column.nullable || right.ty.column.nullable);
        Ok(boolean(ExprKind::Compare(operator, mode, Box::new(left), Box::new(right)), nullable))
    }

    pub fn in_list(&self, negated: bool, mut operand: Expr, list: Vec<Expr>) -> Result<Expr, SqlError> {
        let mut members = Vec::with_capacity(list.len());
        let mut nullable = operand.ty.column.nullable;
        for mut member in list {
            let mode = self.compare_mode("in", &mut operand, &mut member)?;
            nullable |= member.ty.column.nullable;
            members.push((mode, member));
        }
        Ok(boolean(ExprKind::In { negated, operand: Box::new(operand), list: members }, nullable))
    }

    /// Bounds that meet the operand in different domains become two comparisons.
    pub fn between(
        &self,
        negated: bool,
        mut operand: Expr,
        mut low: Expr,
        mut high: Expr,
    ) -> Result<Expr, SqlError> {
        let low_mode = self.compare_mode("between", &mut operand, &mut low)?;
        let high_mode = self.compare_mode("between", &mut operand, &mut high)?;
        if low_mode != high_mode {
            let above = self.compare(ComparisonOperator::GreaterOrEqual, operand.clone(), low)?;
            let below = self.compare(ComparisonOperator::LessOrEqual, operand, high)?;
            let both = self.and(vec![above, below])?;
            return if negated { self.not(both) } else { Ok(both) };
        }
        let nullable = [&operand, &low, &high].iter().any(|expr| expr.ty.column.nullable);
        let kind = ExprKind::Between {
            negated,
            operand: Box::new(operand),
            low: Box::new(low),
            high: Box::new(high),
            mode: low_mode,
        };
        Ok(boolean(kind, nullable))
    }

    /// `escape` is `None` for the default backslash (no escape under NO_BACKSLASH_ESCAPES).
    pub fn like(
        &self,
        negated: bool,
        operand: Expr,
        pattern: Expr,
        escape: Option<Expr>,
    ) -> Result<Expr, SqlError> {
        let mut pair = [operand, pattern];
        for expr in &mut pair {
            crate::functions::cast_text(self, expr)?;
        }
        self.aggregate_collations("like", &mut pair)?;
        let [operand, pattern] = pair;
        let nullable = operand.ty.column.nullable || pattern.ty.column.nullable;
        let backslash: &[u8] =
            if self.sql_mode.contains(datum::SqlMode::NO_BACKSLASH_ESCAPES) { b"" } else { b"\\" };
        let mut escape = escape.unwrap_or_else(|| self.text_literal(backslash));
        crate::functions::cast_text(self, &mut escape)?;
        let kind = ExprKind::Like {
            negated,
            operand: Box::new(operand),
            pattern: Box::new(pattern),
            escape: Box::new(escape),
        };
        Ok(boolean(kind, nullable))
    }
}
