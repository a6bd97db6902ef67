//! Types of `+ - * / DIV %`, of negation and of the bit operators (MySQL manual, "Arithmetic Operators").
use collation::CollationId;
use datum::{ColumnType, Decimal, PRECISION_MAX, SCALE_MAX, SqlError, SqlMode, TypeKind, Value};

use TypeKind as K;

use super::merge::{bytes_max, integer_digits};
use super::through::{is_mixed, number_of_moments};
use super::{BindContext, Wanted, numeric};
use crate::call::infer::text_column;
use crate::call::width::text_width;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};
use crate::operator::{ArithmeticOperator, BitOperator};

/// The domain an operand takes part in arithmetic with.
#[derive(Clone, Copy, PartialEq)]
enum Domain {
    Integer { unsigned: bool, digits: u8 },
    Decimal { precision: u8, scale: u8 },
    Double,
}

fn domain(column: &ColumnType) -> Domain {
    let integer = |digits| Domain::Integer { unsigned: column.unsigned, digits };
    let moment = |digits, fsp| match fsp {
        0 => Domain::Integer { unsigned: false, digits },
        fsp => Domain::Decimal { precision: digits + fsp, scale: fsp },
    };
    match column.kind {
        K::Tiny | K::Short | K::Int24 | K::Long | K::LongLong => integer(integer_digits(column)),
        K::Year | K::Bit(_) => Domain::Integer { unsigned: true, digits: integer_digits(column) },
        K::Decimal { precision, scale } => Domain::Decimal { precision, scale },
        K::VarBinary if column.is_hex_literal() => {
            Domain::Integer { unsigned: !column.is_bit_literal(), digits: digits_of_bytes(column.length) }
        }
        K::Date => moment(8, 0),
        K::Time { fsp } => moment(7, fsp),
        K::DateTime { fsp } | K::Timestamp { fsp } => moment(14, fsp),
        _ => Domain::Double,
    }
}

/// The digits of the greatest number of so many bytes.
pub(crate) fn digits_of_bytes(bytes: u32) -> u8 {
    match bytes {
        0..8 => (u64::MAX >> (64 - 8 * bytes.max(1))).ilog10() as u8 + 1,
        _ => BIGINT_DIGITS,
    }
}

/// The characters of a quotient: those before the point of what is divided, and the digits after it of what divides.
fn quotient_width(left: &Expr, right: &Expr) -> u64 {
    const DIGITS_NOT_FIXED: u64 = 31;
    let column = &left.ty.column;
    if column.kind == K::Null {
        return 0;
    }
    let more = match right.ty.column.kind {
        K::Null => 0,
        _ => right.ty.column.fixed_scale().map_or(DIGITS_NOT_FIXED, u64::from),
    };
    let fraction = match column.kind {
        K::Decimal { scale, .. } => scale,
        ref kind => kind.fsp(),
    };
    match column.is_hex_literal() {
        true => u64::from(digits_of_bytes(column.length)) + more,
        false => text_width(left).saturating_sub(u64::from(fraction)) + more,
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

/// An integer of at most so many digits.
fn integer(unsigned: bool, digits: u8) -> ColumnType {
    let length = (u32::from(digits) + u32::from(!unsigned)).min(20);
    ColumnType { unsigned, length, ..ColumnType::bigint() }
}

/// DOUBLE, with digits after the point where the operands have fixed ones.
pub fn double(scale: Option<u8>) -> ColumnType {
    let digits = scale.filter(|scale| *scale <= SCALE_MAX).map(|scale| (DOUBLE_WIDTH, scale));
    ColumnType::new(TypeKind::Double { digits })
}

/// The digits of the greatest BIGINT UNSIGNED.
const BIGINT_DIGITS: u8 = 20;
/// The digits of a moment's number, and of its seconds' fraction.
const MOMENT_DIGITS: u8 = 20;
const FRACTION_DIGITS: u8 = 6;
/// The characters that a DOUBLE takes.
const DOUBLE_WIDTH: u8 = 22;

impl BindContext {
    pub fn arithmetic(
        &self,
        operator: ArithmeticOperator,
        left: Expr,
        right: Expr,
    ) -> Result<Expr, SqlError> {
        let (left, right) = self.operands(operator, left, right)?;
        let (l, r) = (domain(&left.ty.column), domain(&right.ty.column));
        let (is_left_unsigned, is_right_unsigned) =
            (is_unsigned(&left.ty.column), is_unsigned(&right.ty.column));
        let column = match (operator, l, r) {
            (ArithmeticOperator::IntegerDivide, ..) => {
                let length = quotient_width(&left, &right).clamp(1, u64::from(BIGINT_DIGITS)) as u32;
                let unsigned = is_left_unsigned || is_right_unsigned;
                ColumnType { unsigned, length, ..ColumnType::bigint() }
            }
            (_, Domain::Double, _) | (_, _, Domain::Double) => {
                let unsigned = operator == ArithmeticOperator::Modulo && is_left_unsigned;
                ColumnType { unsigned, ..self.double_of(operator, &left.ty.column, &right.ty.column) }
            }
            (ArithmeticOperator::Divide, ..) => {
                let ((p1, s1), (_, s2)) = (exact(l), exact(r));
                let scale = s1.saturating_add(self.division_precision_increment).min(SCALE_MAX);
                decimal((p1 - s1).saturating_add(s2), scale)
            }
            (
                ArithmeticOperator::Modulo,
                Domain::Integer { unsigned, digits: a },
                Domain::Integer { digits: b, .. },
            ) => integer(unsigned, a.max(b)),
            (
                ArithmeticOperator::Multiply,
                Domain::Integer { unsigned: a, digits: p1 },
                Domain::Integer { unsigned: b, digits: p2 },
            ) => integer(a || b, p1.saturating_add(p2)),
            (_, Domain::Integer { unsigned: a, digits: p1 }, Domain::Integer { unsigned: b, digits: p2 }) => {
                let signed = operator == ArithmeticOperator::Subtract
                    && self.sql_mode.contains(SqlMode::NO_UNSIGNED_SUBTRACTION);
                integer((a || b) && !signed, p1.max(p2).saturating_add(1))
            }
            (ArithmeticOperator::Multiply, ..) => {
                let ((p1, s1), (p2, s2)) = (exact(l), exact(r));
                decimal((p1 - s1).saturating_add(p2 - s2), s1 + s2)
            }
            (ArithmeticOperator::Modulo, ..) => {
                let ((p1, s1), (p2, s2)) = (exact(l), exact(r));
                let precision = p1.max(p2).saturating_add(u8::from(is_left_unsigned)).min(PRECISION_MAX);
                ColumnType::decimal(precision, s1.max(s2).min(precision))
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
        let unsigned = match (&column.kind, operator) {
            (K::Decimal { .. }, ArithmeticOperator::Modulo) => is_left_unsigned,
            (K::Decimal { .. }, _) => is_left_unsigned && is_right_unsigned,
            _ => column.unsigned,
        };
        let column = ColumnType { nullable: false, unsigned, ..column };
        Ok(numeric(ExprKind::Arithmetic(operator, Box::new(left), Box::new(right)), column, nullable))
    }

    /// The DOUBLE of two numbers, with a fixed scale if both have one.
    fn double_of(&self, operator: ArithmeticOperator, left: &ColumnType, right: &ColumnType) -> ColumnType {
        let more = match operator {
            ArithmeticOperator::Divide => self.division_precision_increment,
            _ => 0,
        };
        let scales = left.fixed_scale().zip(right.fixed_scale());
        double(scales.map(|(left, right)| left.max(right).saturating_add(more)))
    }

    /// The operands as the operator takes them: markers with their types, choices as the numbers that are chosen.
    fn operands(
        &self,
        operator: ArithmeticOperator,
        mut left: Expr,
        mut right: Expr,
    ) -> Result<(Expr, Expr), SqlError> {
        if operator == ArithmeticOperator::IntegerDivide {
            let integer = |other: &Expr| match is_unsigned(&other.ty.column) {
                true if is_number(&other.ty.column) => ColumnType::bigint_unsigned(),
                _ => ColumnType::bigint(),
            };
            for (operand, other) in [(&left, &right), (&right, &left)] {
                self.refuse_computed(operand, other);
                if other.ty.column.kind.is_integer() {
                    self.refuse_other(operand, &integer(other));
                }
            }
            self.expect_number(&mut left, Wanted::Integer)?;
            self.expect_number(&mut right, Wanted::Integer)?;
        } else if matches!((&left.kind, &right.kind), (ExprKind::Parameter(_), ExprKind::Parameter(_))) {
            self.expect(&mut left, Wanted::Double)?;
            self.expect(&mut right, Wanted::Double)?;
        } else {
            self.expect_beside(&mut left, &right)?;
            self.expect_beside(&mut right, &left)?;
        }
        let number = match operator {
            ArithmeticOperator::IntegerDivide => ColumnType::decimal(PRECISION_MAX, SCALE_MAX),
            _ => ColumnType::double(),
        };
        Ok((self.as_number(left, number.clone())?, self.as_number(right, number)?))
    }

    /// A marker is a number of its neighbour's kind.
    fn expect_beside(&self, operand: &mut Expr, other: &Expr) -> Result<(), SqlError> {
        self.meet_computed(operand, other)?;
        let wanted = match domain(&other.ty.column) {
            _ if !is_number(&other.ty.column) => None,
            Domain::Integer { .. } if is_unsigned(&other.ty.column) => Some(Wanted::Unsigned),
            Domain::Integer { .. } => Some(Wanted::Integer),
            Domain::Decimal { .. } => Some(Wanted::Decimal),
            Domain::Double => Some(Wanted::Double),
        };
        match wanted {
            Some(wanted) if self.marker(other).is_none() => {
                let sample = match wanted {
                    Wanted::Unsigned => ColumnType::bigint_unsigned(),
                    Wanted::Integer => ColumnType::bigint(),
                    _ => other.ty.column.clone(),
                };
                if other.ty.column.kind != TypeKind::Year {
                    self.refuse_other(operand, &sample);
                }
                self.expect_number(operand, wanted)
            }
            _ => {
                let is_number = operand.ty.column.kind.is_integer();
                self.derive_beside(operand, other);
                // Beside a moment it is the number of one, with all digits of a second.
                let is_moment = other.ty.column.kind.is_temporal();
                if is_number && is_moment && self.marker(operand).is_some() && !self.markers.keeps_types() {
                    let marker = std::mem::replace(operand, Expr::null());
                    *operand = self.converted(marker, ColumnType::decimal(MOMENT_DIGITS, FRACTION_DIGITS));
                }
                Ok(())
            }
        }
    }

    /// Negated number literals are folded, so that the smallest BIGINT can be written.
    pub fn negate(&self, mut operand: Expr) -> Result<Expr, SqlError> {
        self.expect(&mut operand, Wanted::Double)?;
        let operand = match number_of_moments(&operand) {
            Some(number) => self.convert_chosen(operand, double(number.fixed_scale()))?,
            None => self.as_number(operand, ColumnType::double())?,
        };
        match &operand.kind {
            // What is negated again is a DECIMAL.
            ExprKind::Literal(Value::Int(number)) if *number < 0 => {
                let number = Decimal::from_u64(number.unsigned_abs());
                return Ok(negated_again(&operand.ty.column, number));
            }
            ExprKind::Literal(Value::Int(number)) => {
                return Ok(Expr::literal(Value::Int(-number), operand.ty.column));
            }
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
        let is_computed = !matches!(operand.kind, ExprKind::Literal(_) | ExprKind::Parameter(_));
        if is_computed
            && operand.ty.column.unsigned
            && operand.ty.column.kind.is_integer()
            && let Some(Value::UInt(number)) = self.constant_value(&operand)
            && number > i64::MIN.unsigned_abs()
        {
            return self.negate(self.converted(operand, ColumnType::decimal(20, 0)));
        }
        // The negative of a number beyond BIGINT is a BIGINT or a DECIMAL, as its value is.
        if matches!(self.peek(&operand), Some(Value::UInt(_))) {
            self.decide_by(&operand);
        }
        let column = match (domain(&operand.ty.column), &operand.kind) {
            (Domain::Integer { digits, .. }, ExprKind::Negate(inner)) if self.peek(inner).is_some() => {
                ColumnType::decimal(digits, 0)
            }
            _ if !is_number(&operand.ty.column) => double(operand.ty.column.fixed_scale()),
            (Domain::Integer { .. }, _) => {
                let width = text_width(&operand) + u64::from(is_unsigned(&operand.ty.column));
                ColumnType { length: width.min(u64::from(BIGINT_DIGITS)) as u32, ..ColumnType::bigint() }
            }
            (Domain::Decimal { precision, scale }, _) => ColumnType::decimal(precision, scale),
            (Domain::Double, _) => double(operand.ty.column.fixed_scale()),
        };
        let nullable = operand.ty.column.nullable;
        Ok(numeric(ExprKind::Negate(Box::new(operand)), column.not_null(), nullable))
    }

    /// Bit operators work on 64-bit numbers, or on all bytes of binary strings: where both operands are such strings and
    /// not both are hexadecimal literals; a shift asks its left operand only.
    pub fn bit(&self, operator: BitOperator, mut left: Expr, mut right: Expr) -> Result<Expr, SqlError> {
        let shifts = matches!(operator, BitOperator::ShiftLeft | BitOperator::ShiftRight);
        match shifts {
            true => self.expect_bits(&mut left)?,
            false => self.expect_bits_beside(&mut left, &right)?,
        }
        if shifts {
            self.expect(&mut right, Wanted::Integer)?;
            right = self.as_number(right, ColumnType::bigint())?;
        } else {
            self.expect_bits_beside(&mut right, &left)?;
        }
        let nullable = left.ty.column.nullable || right.ty.column.nullable;
        let (l, r) = (&left.ty.column, &right.ty.column);
        let is_shift = matches!(operator, BitOperator::ShiftLeft | BitOperator::ShiftRight);
        let length = match is_shift {
            true if is_bit_string(l) => Some(bytes_max(l)),
            false if is_bytes(l) && is_bytes(r) && (is_bit_string(l) || is_bit_string(r)) => {
                Some(bytes_max(l).max(bytes_max(r)))
            }
            _ => None,
        };
        let (left, right) = match length {
            Some(_) => (left, right),
            None => {
                let number = ColumnType::bigint_unsigned();
                (self.bits_of(left, number.clone())?, self.bits_of(right, number)?)
            }
        };
        let kind = ExprKind::Bit(operator, Box::new(left), Box::new(right));
        Ok(bit_result(kind, length, nullable))
    }

    /// Beside an integer a marker is one.
    fn expect_bits_beside(&self, operand: &mut Expr, other: &Expr) -> Result<(), SqlError> {
        let is_beside_integer = self.marker(other).is_none() && other.ty.column.kind.is_integer();
        match self.marker(operand) {
            Some(_) if is_beside_integer => self.expect_beside(operand, other),
            _ => self.expect_bits(operand),
        }
    }

    fn expect_bits(&self, operand: &mut Expr) -> Result<(), SqlError> {
        self.expect(operand, Wanted::Bits)?;
        if !is_binary(&operand.ty.column) {
            let own = std::mem::replace(operand, Expr::null());
            *operand = self.bits_of(own, ColumnType::bigint())?;
        }
        Ok(())
    }

    /// The bits of a choice are those of the number that is chosen.
    fn bits_of(&self, operand: Expr, number: ColumnType) -> Result<Expr, SqlError> {
        match operand.kind {
            ExprKind::Case { .. } if is_mixed(&operand) && !operand.ty.column.kind.is_temporal() => {
                self.convert_chosen(operand, number)
            }
            _ => {
                let operand =
                    self.as_whole(operand, |chosen| self.bit(BitOperator::Or, chosen, Expr::int(0)))?;
                self.as_number(operand, number)
            }
        }
    }

    /// Makes the argument of a function of bits 64 bits. As with the operators nobody is told where a TEXT is no number.
    pub fn cast_bits(&self, argument: &mut Expr) -> Result<(), SqlError> {
        if argument.ty.column.is_stored_object() && argument.ty.column.is_text() {
            let text = std::mem::replace(argument, Expr::null());
            *argument = self.bit(BitOperator::Or, text, Expr::int(0))?;
            return Ok(());
        }
        if matches!(argument.kind, ExprKind::Case { .. })
            && matches!(argument.ty.column.kind, K::Decimal { .. })
        {
            let choice = std::mem::replace(argument, Expr::null());
            *argument = self.bit(BitOperator::Or, choice, Expr::int(0))?;
            return Ok(());
        }
        crate::call::infer::cast_integer(self, argument)
    }

    pub fn bit_not(&self, mut operand: Expr) -> Result<Expr, SqlError> {
        self.expect_bits(&mut operand)?;
        let column = &operand.ty.column;
        let (nullable, length) = (column.nullable, is_bit_string(column).then(|| bytes_max(column)));
        Ok(bit_result(ExprKind::BitNot(Box::new(operand)), length, nullable))
    }
}

/// The literal that a negative literal's negative is.
fn negated_again(column: &ColumnType, number: Decimal) -> Expr {
    let digits = (column.length.saturating_sub(1)).clamp(1, 20) as u8;
    Expr::literal(Value::Decimal(number), ColumnType::decimal(digits, 0).not_null())
}

/// Whether functions of one number take it for an exact one; moments and hexadecimal literals are DOUBLEs to them.
fn is_number(column: &ColumnType) -> bool {
    column.kind.is_numeric()
}

fn is_unsigned(column: &ColumnType) -> bool {
    (column.unsigned && !column.is_bit_literal()) || matches!(column.kind, K::Year | K::Bit(_))
}

fn bit_result(kind: ExprKind, length: Option<u64>, nullable: bool) -> Expr {
    match length {
        Some(length) => {
            let column = ColumnType { nullable, ..text_column(length, CollationId::BINARY) };
            Expr { kind, ty: ExprType::new(column, Coercibility::Coercible) }
        }
        None => numeric(kind, ColumnType::bigint_unsigned().not_null(), nullable),
    }
}

/// A binary string, or NULL beside one.
fn is_bytes(column: &ColumnType) -> bool {
    is_binary(column) || column.kind == K::Null
}

fn is_binary(column: &ColumnType) -> bool {
    column.kind.is_string() && column.collation == CollationId::BINARY
}

/// A binary string that bit operators take for one by itself.
pub fn is_bit_string(column: &ColumnType) -> bool {
    is_binary(column) && !column.is_hex_literal()
}
