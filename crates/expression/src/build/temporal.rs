//! INTERVAL arithmetic, EXTRACT, TIMESTAMPADD and TIMESTAMPDIFF.
use datum::{ColumnType, SqlError, TypeKind, Value};

use super::BindContext;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};
use crate::interval::IntervalUnit;

impl BindContext {
    /// `date ± INTERVAL amount unit`, DATE_ADD, DATE_SUB, ADDDATE, SUBDATE. A DATE stays one unless the unit has
    /// a time part; text stays text.
    pub fn date_add(
        &self,
        mut date: Expr,
        mut amount: Expr,
        unit: IntervalUnit,
        subtract: bool,
    ) -> Result<Expr, SqlError> {
        self.expect_interval(&mut date, &mut amount, unit)?;
        let amount_digits = match amount.ty.column.kind {
            _ if unit.has_microseconds() => 6,
            _ if unit == IntervalUnit::Second => {
                amount.ty.column.fixed_scale().map_or(6, |scale| scale.min(6))
            }
            _ => 0,
        };
        let column = match date.ty.column.kind {
            TypeKind::Date if !unit.has_time() => ColumnType::new(TypeKind::Date),
            TypeKind::Date => ColumnType::new(TypeKind::DateTime { fsp: amount_digits }),
            TypeKind::DateTime { fsp } | TypeKind::Timestamp { fsp } => {
                ColumnType::new(TypeKind::DateTime { fsp: fsp.max(amount_digits) })
            }
            TypeKind::Time { fsp } if unit.is_time_only() => {
                ColumnType::new(TypeKind::Time { fsp: fsp.max(amount_digits) })
            }
            TypeKind::Time { fsp } => ColumnType::new(TypeKind::DateTime { fsp: fsp.max(amount_digits) }),
            _ => moment_text(self.connection_collation),
        };
        let coercibility =
            if column.kind.is_string() { Coercibility::Coercible } else { Coercibility::Numeric };
        let kind = ExprKind::DateAdd { date: Box::new(date), amount: Box::new(amount), unit, subtract };
        Ok(Expr { kind, ty: ExprType::new(column, coercibility) })
    }

    /// EXTRACT(unit FROM expr).
    pub fn extract(&self, unit: IntervalUnit, operand: Expr) -> Result<Expr, SqlError> {
        self.call("extract", vec![unit_literal(unit), operand])
    }

    /// TIMESTAMPADD(unit, amount, date).
    pub fn timestamp_add(&self, unit: IntervalUnit, amount: Expr, date: Expr) -> Result<Expr, SqlError> {
        self.date_add(date, amount, unit, false)
    }

    /// TIMESTAMPDIFF(unit, from, to).
    pub fn timestamp_diff(&self, unit: IntervalUnit, from: Expr, to: Expr) -> Result<Expr, SqlError> {
        self.call("timestampdiff", vec![unit_literal(unit), from, to])
    }
}

/// The text that a moment of no fixed kind is given as.
pub fn moment_text(collation: collation::CollationId) -> ColumnType {
    const LENGTH: u32 = 29;
    ColumnType { length: LENGTH, collation, ..ColumnType::new(TypeKind::Char) }
}

/// The unit travels as its number in `IntervalUnit::ALL`.
fn unit_literal(unit: IntervalUnit) -> Expr {
    Expr { kind: ExprKind::Literal(Value::Int(unit.number())), ..Expr::int(0) }
}
