//! Types of `+ - * / DIV %`, of negation and of the bit operators (MySQL manual, "Arithmetic Operators").
use datum::{ColumnType, Decimal, PRECISION_MAX, SCALE_MAX, SqlError, SqlMode, TypeKind, Value};

use super::{BindContext, numeric};
use crate::expr::{Expr, ExprKind};
use crate::operator::{ArithmeticOperator, BitOperator};

/// The domain an operand takes part in arithmetic with.
#[derive(Clone, Copy, PartialEq)]
enum Domain {
    Integer { unsigned: bool, digits: u8 },
    Decimal { precision: u8, scale: u8 },
    Double,
}

fn domain(column: &ColumnType) -> Domain {
    use TypeKind as K;
    let integer = |digits| Domain::Integer { unsigned: column.unsigned, digits };
    let moment = |digits, fsp| match fsp {
        0 => Domain::Integer { unsigned: false, digits },
        fsp => Domain::Decimal { precision: digits + fsp, scale: fsp },
    };
    match column.kind {
        K::Tiny => integer(3),
        K::Short => integer(5),
        K::Int24 => integer(8),
        K::Long => integer(10),
        K::LongLong | K::Null => integer(if column.unsigned { 20 } else { 19 }),
        K::Year | K::Bit(_) => Domain::Integer { unsigned: true, digits: 20 },
        K::Decimal { precision, scale } => Domain::Decimal { precision, scale },
        K::VarBinary if column.is_hex_literal() => Domain::Integer { unsigned: true, digits: 20 },
        K::Date => moment(8, 0),
        K::Time { fsp } => moment(7, fsp),
        K::DateTime { fsp } | K::Timestamp { fsp } => moment(14, fsp),
        _ => Domain::Double,
    }
}

/// Precision and scale of an exact domain.
fn exact(domain: Domain) -> (u8, u8) {
    match domain {
        Domain::Integer { digits, .. } => (digits, 0),
        Domain::Decimal { precision, scale } => (precision, scale),
        Domain::Double => (PRECISION_MAX, SCALE_MAX),
    }
}

fn decimal(integer_digits: u8, scale: u8) -> ColumnType {
    let scale = scale.min(SCALE_MAX);
    ColumnType::decimal((integer_digits.saturating_add(scale)).clamp(1, PRECISION_MAX), scale)
}

fn integer(unsigned: bool) -> ColumnType {
    if unsigned { ColumnType::bigint_unsigned() } else { ColumnType::bigint() }
}

impl BindContext {
    pub fn arithmetic(
        &self,
        operator: ArithmeticOperator,
        left: Expr,
        right: Expr,
    ) -> Result<Expr, SqlError> {
        let (l, r) = (domain(&left.ty.column), domain(&right.ty.column));
        let column = match (operator, l, r) {
            (ArithmeticOperator::IntegerDivide, ..) => {
                let is_unsigned = |domain| matches!(domain, Domain::Integer { unsigned: true, .. });
                let flagged = left.ty.column.unsigned || right.ty.column.unsigned;
                integer(flagged || is_unsigned(l) || is_unsigned(r))
            }
            (_, Domain::Double, _) | (_, _, Domain::Double) => ColumnType::double(),
            (ArithmeticOperator::Divide, ..) => {
                let ((p1, s1), (_, s2)) = (exact(l), exact(r));
                let scale = s1.saturating_add(self.division_precision_increment).min(SCALE_MAX);
                decimal((p1 - s1).saturating_add(s2), scale)
            }
            (ArithmeticOperator::Modulo, Domain::Integer { unsigned, .. }, Domain::Integer { .. }) => {
                integer(unsigned)
            }
            (_, Domain::Integer { unsigned: a, .. }, Domain::Integer { unsigned: b, .. }) => {
                let signed = operator == ArithmeticOperator::Subtract
                    && self.sql_mode.contains(SqlMode::NO_UNSIGNED_SUBTRACTION);
                integer((a || b) && !signed)
            }
            (ArithmeticOperator::Multiply, ..) => {
                let ((p1, s1), (p2, s2)) = (exact(l), exact(r));
                decimal((p1 - s1).saturating_add(p2 - s2), s1 + s2)
            }
            _ => {
                let ((p1, s1), (p2, s2)) = (exact(l), exact(r));
                decimal((p1 - s1).max(p2 - s2) + 1, s1.max(s2))
            }
        };
        let divides = !matches!(
            operator,
            ArithmeticOperator::Add | ArithmeticOperator::Subtract | ArithmeticOperator::Multiply
        );
        let nullable = left.ty.column.nullable || right.ty.column.nullable || divides;
        let column = ColumnType { nullable: false, ..column };
        Ok(numeric(ExprKind::Arithmetic(operator, Box::new(left), Box::new(right)), column, nullable))
    }

    /// Negated number literals are folded, so that the smallest BIGINT can be written.
    pub fn negate(&self, operand: Expr) -> Result<Expr, SqlError> {
        match &operand.kind {
            ExprKind::Literal(Value::Int(number)) if *number != i64::MIN => return Ok(Expr::int(-number)),
            ExprKind::Literal(Value::UInt(number)) if *number == i64::MIN.unsigned_abs() => {
                return Ok(Expr::int(i64::MIN));
            }
            ExprKind::Literal(Value::UInt(number)) => {
                let number = Decimal::from_u64(*number).negated();
                return Ok(Expr::literal(Value::Decimal(number), ColumnType::decimal(20, 0).not_null()));
            }
            ExprKind::Literal(Value::Decimal(number)) => {
                return Ok(Expr::literal(Value::Decimal(number.negated()), operand.ty.column));
            }
            ExprKind::Literal(Value::Double(number)) => {
                return Ok(Expr::literal(Value::Double(-number), operand.ty.column));
            }
            _ => {}
        }
        // The negative of a number beyond BIGINT is a BIGINT or a DECIMAL, as its value is.
        if matches!(self.peek(&operand), Some(Value::UInt(_))) {
            self.decide_by(&operand);
        }
        let column = match domain(&operand.ty.column) {
            Domain::Integer { .. } => ColumnType::bigint(),
            Domain::Decimal { precision, scale } => ColumnType::decimal(precision, scale),
            Domain::Double => ColumnType::double(),
        };
        let nullable = operand.ty.column.nullable;
        Ok(numeric(ExprKind::Negate(Box::new(operand)), column.not_null(), nullable))
    }

    pub fn bit(&self, operator: BitOperator, left: Expr, right: Expr) -> Result<Expr, SqlError> {
        let nullable = left.ty.column.nullable || right.ty.column.nullable;
        let kind = ExprKind::Bit(operator, Box::new(left), Box::new(right));
        Ok(numeric(kind, ColumnType::bigint_unsigned().not_null(), nullable))
    }

    pub fn bit_not(&self, operand: Expr) -> Result<Expr, SqlError> {
        let nullable = operand.ty.column.nullable;
        Ok(numeric(ExprKind::BitNot(Box::new(operand)), ColumnType::bigint_unsigned().not_null(), nullable))
    }
}
