//! `+ - * / DIV %`, negation and bit operations, with MySQL's overflow errors.
use std::borrow::Cow;

use datum::{Decimal, SqlError, SqlMode, TypeKind, Value, error_code, integer_value, truncated};

use super::cast::{check_bigint, decimal_of};
use crate::context::EvalContext;
use crate::expr::Expr;
use crate::operator::{ArithmeticOperator, BitOperator};
use crate::text::name_place;

pub(super) fn arithmetic(
    node: &Expr,
    operator: ArithmeticOperator,
    left: &Expr,
    right: &Expr,
    row: &[Value],
    context: &EvalContext,
) -> Result<Value, SqlError> {
    if node.ty.column.kind.is_integer()
        && !node.ty.column.unsigned
        && let (Some(Value::Int(l)), Some(Value::Int(r))) =
            (left.direct(row, context), right.direct(row, context))
        && let Some(result) = quick_integers(operator, *l, *r)
    {
        return Ok(Value::Int(result));
    }
    let mut l = left.eval_ref(row, context)?;
    let is_double = matches!(node.ty.column.kind, TypeKind::Double { .. });
    if l.is_null() && matches!(node.ty.column.kind, TypeKind::Decimal { .. }) {
        return Ok(Value::Null);
    }
    // Before the right side is evaluated, whose functions may ask what the text has told.
    if is_double && matches!(*l, Value::Bytes(_)) && right.direct(row, context).is_none() {
        let mut is_told = false;
        let number = l.to_f64(&left.ty.column, &mut |warning| {
            is_told = true;
            context.warn(warning);
        });
        if is_told && context.is_strict_change {
            // What the right side would do is not done.
            return Ok(Value::Null);
        }
        l = Cow::Owned(number.map_or(Value::Null, Value::Double));
    }
    let r = right.eval_ref(row, context)?;
    // Both are read as DOUBLEs, and warn, whether or not one is NULL.
    if l.is_null() || (r.is_null() && node.ty.column.kind.is_integer() && left.ty.column.kind.is_integer()) {
        if is_double {
            in_zone(&r, context).to_f64(&right.ty.column, &mut |warning| context.warn(warning));
        }
        return Ok(Value::Null);
    }
    let mut warn = |warning| context.warn(warning);
    let (left_column, right_column) = (&left.ty.column, &right.ty.column);
    let is_integer = node.ty.column.kind.is_integer();
    let by_decimals = operator == ArithmeticOperator::IntegerDivide
        && !(left_column.kind.is_integer() && right_column.kind.is_integer());
    if is_integer && !by_decimals {
        if let (Value::Int(l), Value::Int(r), false) = (&*l, &*r, node.ty.column.unsigned)
            && let Some(result) = quick_integers(operator, *l, *r)
        {
            return Ok(Value::Int(result));
        }
        let (l, r) = (in_zone(&l, context), in_zone(&r, context));
        let (Some(l), Some(r)) =
            (l.to_integer(left_column, &mut warn), r.to_integer(right_column, &mut warn))
        else {
            return Ok(Value::Null);
        };
        return integers(node, operator, l, r, context);
    }
    let (l, r) = (in_zone(&l, context), in_zone(&r, context));
    if is_double {
        let (Some(l), Some(r)) = (l.to_f64(left_column, &mut warn), r.to_f64(right_column, &mut warn)) else {
            return Ok(Value::Null);
        };
        return doubles(node, operator, l, r, context);
    }
    if let (Value::Decimal(l), Value::Decimal(r)) = (&*l, &*r) {
        return decimals(node, operator, l, r, context);
    }
    let Some(l) = decimal_of(left, &l, context) else { return Ok(Value::Null) };
    let Some(r) = decimal_of(right, &r, context) else { return Ok(Value::Null) };
    decimals(node, operator, &l, &r, context)
}

/// What fits BIGINT; `None` leaves the rest (overflow, division) to the general way.
#[inline]
fn quick_integers(operator: ArithmeticOperator, left: i64, right: i64) -> Option<i64> {
    match operator {
        ArithmeticOperator::Add => left.checked_add(right),
        ArithmeticOperator::Subtract => left.checked_sub(right),
        ArithmeticOperator::Multiply => left.checked_mul(right),
        _ => None,
    }
}

/// Instants enter arithmetic as the session's clock shows them.
#[inline]
fn in_zone<'v>(value: &'v Value, context: &EvalContext) -> Cow<'v, Value> {
    match value {
        Value::Timestamp(_) => Cow::Owned(value.in_session_zone(&context.settings.time_zone)),
        other => Cow::Borrowed(other),
    }
}

/// A zero divisor gives NULL, with warning 1365 if the SQL mode asks for it.
fn division_by_zero(context: &EvalContext) -> Value {
    if context.settings.sql_mode.contains(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
        context.warn(error_code::ER_DIVISION_BY_ZERO.plain());
    }
    Value::Null
}

#[cold]
fn overflow(kind: &str, node: &Expr, context: &EvalContext) -> SqlError {
    name_place(error_code::ER_DATA_OUT_OF_RANGE.with(&[&kind, &""]), node, context)
}

fn ranged(number: i128, is_unsigned: bool, node: &Expr, context: &EvalContext) -> Result<Value, SqlError> {
    let fits = if is_unsigned { u64::try_from(number).is_ok() } else { i64::try_from(number).is_ok() };
    if fits {
        return Ok(integer_value(number, is_unsigned));
    }
    Err(overflow(if is_unsigned { "BIGINT UNSIGNED" } else { "BIGINT" }, node, context))
}

fn integers(
    node: &Expr,
    operator: ArithmeticOperator,
    left: i128,
    right: i128,
    context: &EvalContext,
) -> Result<Value, SqlError> {
    // Operands are 64-bit numbers, so sums and differences fit in 128 bits; a product may just not.
    let number = match operator {
        ArithmeticOperator::Add => left + right,
        ArithmeticOperator::Subtract => left - right,
        ArithmeticOperator::Multiply => left.saturating_mul(right),
        _ if right == 0 => return Ok(division_by_zero(context)),
        ArithmeticOperator::Modulo => left % right,
        ArithmeticOperator::IntegerDivide | ArithmeticOperator::Divide => left / right,
    };
    // The smallest BIGINT is no quotient, as in MySQL.
    if operator == ArithmeticOperator::IntegerDivide && number == i128::from(i64::MIN) {
        return Err(overflow("BIGINT", node, context));
    }
    ranged(number, node.ty.column.unsigned, node, context)
}

fn doubles(
    node: &Expr,
    operator: ArithmeticOperator,
    left: f64,
    right: f64,
    context: &EvalContext,
) -> Result<Value, SqlError> {
    let number = match operator {
        ArithmeticOperator::Add => left + right,
        ArithmeticOperator::Subtract => left - right,
        ArithmeticOperator::Multiply => left * right,
        _ if right == 0.0 => return Ok(division_by_zero(context)),
        ArithmeticOperator::Divide => left / right,
        ArithmeticOperator::Modulo => left % right,
        ArithmeticOperator::IntegerDivide => (left / right).trunc(),
    };
    if number.is_finite() { Ok(Value::Double(number)) } else { Err(overflow("DOUBLE", node, context)) }
}

fn decimals(
    node: &Expr,
    operator: ArithmeticOperator,
    left: &Decimal,
    right: &Decimal,
    context: &EvalContext,
) -> Result<Value, SqlError> {
    let increment = context.settings.division_precision_increment;
    let result = match operator {
        ArithmeticOperator::Add => left.add(right).map(Some),
        ArithmeticOperator::Subtract => left.subtract(right).map(Some),
        ArithmeticOperator::Multiply => left.multiply(right).map(Some),
        ArithmeticOperator::Modulo => Ok(left.remainder(right)),
        ArithmeticOperator::Divide | ArithmeticOperator::IntegerDivide => left.divide(right, increment),
    };
    let result = result.map_err(|_| overflow("DECIMAL", node, context))?;
    let Some(result) = result else { return Ok(division_by_zero(context)) };
    // Only what is subtracted of DECIMALs without a sign can be below zero.
    if node.ty.column.unsigned
        && operator == ArithmeticOperator::Subtract
        && result.is_negative()
        && !context.settings.sql_mode.contains(SqlMode::NO_UNSIGNED_SUBTRACTION)
    {
        return Err(overflow("DECIMAL UNSIGNED", node, context));
    }
    match node.ty.column.kind {
        TypeKind::Decimal { scale, .. } => {
            // A quotient keeps its inner digits only until it is a result; a shorter scale rounds it here. Sums keep the
            // digits of constants that have more than a type can have.
            let is_kept = scale == datum::SCALE_MAX
                && result.scale() > scale
                && matches!(
                    operator,
                    ArithmeticOperator::Add | ArithmeticOperator::Subtract | ArithmeticOperator::Modulo
                );
            let shown = if is_kept || result.scale() == scale { Ok(result) } else { result.rescale(scale) };
            shown.map(Value::Decimal).map_err(|_| overflow("DECIMAL", node, context))
        }
        _ => {
            let is_unsigned = node.ty.column.unsigned;
            let whole = result.truncate(0);
            let value =
                if is_unsigned { whole.to_u64().map(Value::UInt) } else { whole.to_i64().map(Value::Int) };
            value.ok_or_else(|| {
                overflow(if is_unsigned { "BIGINT UNSIGNED" } else { "BIGINT" }, node, context)
            })
        }
    }
}

pub(super) fn negate(
    node: &Expr,
    operand: &Expr,
    row: &[Value],
    context: &EvalContext,
) -> Result<Value, SqlError> {
    let value = operand.eval_ref(row, context)?;
    if value.is_null() {
        return Ok(Value::Null);
    }
    let value = in_zone(&value, context);
    let mut warn = |warning| context.warn(warning);
    let column = &operand.ty.column;
    match node.ty.column.kind {
        TypeKind::Double { .. } => {
            Ok(value.to_f64(column, &mut warn).map_or(Value::Null, |number| Value::Double(-number)))
        }
        TypeKind::Decimal { .. } => Ok(value
            .to_decimal(column, &mut warn)
            .map_or(Value::Null, |number| Value::Decimal(number.negated()))),
        _ => value
            .to_integer(column, &mut warn)
            .map_or(Ok(Value::Null), |number| ranged(-number, false, node, context)),
    }
}

/// The 64 bits of an operand; negative numbers keep their two's complement.
fn bits(expr: &Expr, row: &[Value], context: &EvalContext) -> Result<Option<u64>, SqlError> {
    let value = expr.eval_ref(row, context)?;
    let value = in_zone(&value, context);
    check_bigint(&value, expr, context)?;
    let is_quiet = expr.ty.column.is_stored_object();
    let mut warn = |warning| {
        if !is_quiet {
            context.warn(warning);
        }
    };
    let Some(number) = value.to_integer(&expr.ty.column, &mut warn) else { return Ok(None) };
    // Signed and floating numbers stop at the largest BIGINT, others keep their 64 bits.
    let stops = match *value {
        Value::Decimal(_) => !expr.ty.column.unsigned,
        Value::Double(_) | Value::Float(_) => true,
        _ => false,
    };
    let is_clipped = stops && number > i128::from(i64::MAX);
    if is_clipped && matches!(*value, Value::Decimal(_)) {
        context.warn(truncated("DECIMAL", &value.to_text(&expr.ty.column)));
    }
    Ok(Some(if is_clipped { i64::MAX as u64 } else { number as u64 }))
}

pub(super) fn bit(
    node: &Expr,
    operator: BitOperator,
    left: &Expr,
    right: &Expr,
    row: &[Value],
    context: &EvalContext,
) -> Result<Value, SqlError> {
    if node.ty.column.kind.is_string() {
        return bit_strings(operator, left, right, row, context);
    }
    let Some(left) = bits(left, row, context)? else { return Ok(Value::Null) };
    let Some(right) = bits(right, row, context)? else { return Ok(Value::Null) };
    let shift = |by: u64| u32::try_from(by).ok().filter(|by| *by < 64);
    Ok(Value::UInt(match operator {
        BitOperator::And => left & right,
        BitOperator::Or => left | right,
        BitOperator::Xor => left ^ right,
        BitOperator::ShiftLeft => shift(right).map_or(0, |by| left << by),
        BitOperator::ShiftRight => shift(right).map_or(0, |by| left >> by),
    }))
}

fn bit_strings(
    operator: BitOperator,
    left: &Expr,
    right: &Expr,
    row: &[Value],
    context: &EvalContext,
) -> Result<Value, SqlError> {
    let text = left.eval_ref(row, context)?;
    let Value::Bytes(text) = &*text else { return Ok(Value::Null) };
    if matches!(operator, BitOperator::ShiftLeft | BitOperator::ShiftRight) {
        let Some(by) = bits(right, row, context)? else { return Ok(Value::Null) };
        return Ok(Value::Bytes(shifted(text, by, operator == BitOperator::ShiftLeft)));
    }
    let other = right.eval_ref(row, context)?;
    let Value::Bytes(other) = &*other else { return Ok(Value::Null) };
    if text.len() != other.len() {
        return Err(error_code::ER_INVALID_BITWISE_OPERANDS_SIZE.plain());
    }
    let combine = |(left, right): (&u8, &u8)| match operator {
        BitOperator::And => left & right,
        BitOperator::Or => left | right,
        _ => left ^ right,
    };
    Ok(Value::Bytes(text.iter().zip(other).map(combine).collect()))
}

/// The bits of a string moved by so many places; what leaves it is lost.
fn shifted(text: &[u8], by: u64, to_left: bool) -> Vec<u8> {
    let length = text.len();
    let Ok(bytes) = usize::try_from(by / 8) else { return vec![0; length] };
    let bits = (by % 8) as u32;
    let byte =
        |place: Option<usize>| u16::from(place.and_then(|place| text.get(place)).copied().unwrap_or(0));
    let moved = |place: usize| {
        let pair = if to_left {
            byte(place.checked_add(bytes)) << 8
                | byte(place.checked_add(bytes).and_then(|at| at.checked_add(1)))
        } else {
            let from = place.checked_sub(bytes);
            byte(from.and_then(|from| from.checked_sub(1))) << 8 | byte(from)
        };
        if to_left { (pair << bits >> 8) as u8 } else { (pair >> bits) as u8 }
    };
    (0..length).map(moved).collect()
}

pub(super) fn bit_not(
    node: &Expr,
    operand: &Expr,
    row: &[Value],
    context: &EvalContext,
) -> Result<Value, SqlError> {
    if node.ty.column.kind.is_string() {
        return Ok(match &*operand.eval_ref(row, context)? {
            Value::Bytes(text) => Value::Bytes(text.iter().map(|byte| !byte).collect()),
            _ => Value::Null,
        });
    }
    Ok(bits(operand, row, context)?.map_or(Value::Null, |bits| Value::UInt(!bits)))
}
