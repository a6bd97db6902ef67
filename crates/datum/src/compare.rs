//! Comparison of values: between any two types by MySQL's rules, and within one type for sorting and grouping.
//!
//! Invariant: `compare_in_type`, `hash_in_type` and the key encoding of `key` agree on what is equal and what is
//! less. Callers: comparison operators, IN, BETWEEN, CASE, MIN/MAX, ORDER BY, GROUP BY, hash joins.
use std::cmp::Ordering;
use std::hash::Hasher;

use collation::CollationId;

use crate::column_type::{ColumnType, TypeKind};
use crate::error::SqlError;
use crate::error_code::{ER_INCORRECT_VALUE, ER_TRUNCATED_WRONG_VALUE};
use crate::json::{compare_json, json_key};
use crate::moment::MomentContext;
use crate::number::{WarningSink, is_exact_integer, no_warning, shown};
use crate::sql_mode::SqlMode;
use crate::temporal::{Date, DateTime, Time};
use crate::value::Value;

/// The domain in which two operands are compared, decided once from their types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareMode {
    /// Two integers of any signedness.
    Integer,
    Decimal,
    Double,
    /// Floating point numbers that both have a fixed number of digits after the point, of which the greater: they are
    /// equal where they are less than half a unit of the last digit apart. No key has this order.
    FixedReal(u8),
    Text(CollationId),
    /// DATE, DATETIME and TIMESTAMP, and text or numbers compared with them.
    DateTime,
    /// A DATE and a text, neither of them a constant: the text's time is left out. No index answers it.
    Date,
    Time,
    Json,
}

impl CompareMode {
    /// The mode for operands of these types; `collation` is the one that won between them.
    pub fn of(left: &ColumnType, right: &ColumnType, collation: CollationId) -> CompareMode {
        // A hexadecimal literal is a number where it meets one.
        let number = TypeKind::LongLong;
        let as_number =
            |hex: &ColumnType, other: &ColumnType| hex.is_hex_literal() && other.kind.is_numeric();
        let l = if as_number(left, right) { &number } else { &left.kind };
        let r = if as_number(right, left) { &number } else { &right.kind };
        let is_texty = |kind: &TypeKind| kind.is_string() || kind.has_members() || *kind == TypeKind::Null;
        if *l == TypeKind::Json || *r == TypeKind::Json {
            return CompareMode::Json;
        }
        if l.is_temporal() || r.is_temporal() {
            let is_momentous =
                |kind: &TypeKind| kind.is_temporal() || is_texty(kind) || *kind == TypeKind::Year;
            if (l.has_date() && is_momentous(r)) || (r.has_date() && is_momentous(l)) {
                return CompareMode::DateTime;
            }
            let is_timely = |kind: &TypeKind| matches!(kind, TypeKind::Time { .. }) || is_texty(kind);
            if is_timely(l) && is_timely(r) {
                return CompareMode::Time;
            }
        }
        if is_texty(l) && is_texty(r) {
            return CompareMode::Text(collation);
        }
        // NULL compares to nothing, so it takes whatever domain the other side has.
        let (l, r) = match (l, r) {
            (TypeKind::Null, other) | (other, TypeKind::Null) => (other, other),
            pair => pair,
        };
        let is_integer = |kind: &TypeKind| is_exact_integer(kind) || kind.has_members();
        let is_exact = |kind: &TypeKind| {
            is_integer(kind) || kind.is_temporal() || matches!(kind, TypeKind::Decimal { .. })
        };
        match () {
            () if is_integer(l) && is_integer(r) => CompareMode::Integer,
            () if is_exact(l) && is_exact(r) => CompareMode::Decimal,
            () => match (left.fixed_scale(), right.fixed_scale()) {
                (Some(left), Some(right)) => CompareMode::FixedReal(left.max(right)),
                _ => CompareMode::Double,
            },
        }
    }
}

/// One operand of a comparison.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    pub value: &'a Value,
    pub column: &'a ColumnType,
}

/// Compares two operands; `None` when either is NULL or is no moment although one is needed.
#[inline]
pub fn compare(
    mode: CompareMode,
    left: Operand<'_>,
    right: Operand<'_>,
    context: &MomentContext<'_>,
    warn: WarningSink<'_>,
) -> Option<Ordering> {
    match (left.value, right.value) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Int(left), Value::Int(right)) if mode == CompareMode::Integer => Some(left.cmp(right)),
        _ => compare_converted(mode, left, right, context, warn),
    }
}

fn compare_converted(
    mode: CompareMode,
    left: Operand<'_>,
    right: Operand<'_>,
    context: &MomentContext<'_>,
    warn: WarningSink<'_>,
) -> Option<Ordering> {
    match mode {
        CompareMode::Integer => {
            let right_number = right.value.to_integer(right.column, warn)?;
            Some(left.value.to_integer(left.column, warn)?.cmp(&right_number))
        }
        CompareMode::Decimal => {
            if let (Value::Decimal(left), Value::Decimal(right)) = (left.value, right.value) {
                return Some(left.compare(right));
            }
            let left = in_zone(left, context).to_decimal(left.column, warn)?;
            Some(left.compare(&in_zone(right, context).to_decimal(right.column, warn)?))
        }
        CompareMode::Double => {
            let left = in_zone(left, context).to_f64(left.column, warn)?;
            left.partial_cmp(&in_zone(right, context).to_f64(right.column, warn)?)
        }
        CompareMode::FixedReal(scale) => {
            let left = in_zone(left, context).to_f64(left.column, warn)?;
            let right = in_zone(right, context).to_f64(right.column, warn)?;
            let is_equal = (left - right).abs() < 0.5 / 10f64.powi(i32::from(scale));
            if is_equal { Some(Ordering::Equal) } else { left.partial_cmp(&right) }
        }
        CompareMode::Text(collation) => {
            Some(collation.compare(&left.value.to_text(left.column), &right.value.to_text(right.column)))
        }
        CompareMode::DateTime => {
            let left = moment_or_zero(left, context, warn);
            Some(left.cmp(&moment_or_zero(right, context, warn)))
        }
        CompareMode::Date => {
            let left = date_or_zero(left, context, warn);
            Some(left.cmp(&date_or_zero(right, context, warn)))
        }
        CompareMode::Time => {
            let time = time_or_zero(left, context, warn);
            let other = time_or_zero(right, context, warn);
            // A time equals no text that is none, though texts that are none equal one another.
            let is_none = |operand: Operand<'_>| {
                matches!(operand.value, Value::Bytes(_) | Value::Enum(_) | Value::Set(_))
                    && operand.value.to_time(operand.column, context).is_err()
            };
            let apart = match time == other {
                true => is_none(right).cmp(&is_none(left)),
                false => Ordering::Equal,
            };
            Some(time.cmp(&other).then(apart))
        }
        CompareMode::Json => {
            let (left_value, right_value) = (in_zone(left, context), in_zone(right, context));
            Some(compare_json(
                Operand { value: &left_value, column: left.column },
                Operand { value: &right_value, column: right.column },
            ))
        }
    }
}

/// What is no moment compares as the zero date, which is before all others, with a warning.
pub(crate) fn moment_or_zero(
    operand: Operand<'_>,
    context: &MomentContext<'_>,
    warn: &mut dyn FnMut(SqlError),
) -> DateTime {
    // A year is before its first day.
    if let Value::Year(year) = operand.value {
        return Date::new_lenient(*year, 0, 0).map_or(DateTime::ZERO, Date::at_midnight);
    }
    match operand.value.to_datetime(operand.column, context) {
        Ok(parsed) if !is_forbidden(operand.value, parsed.value, context) => {
            if let Some(delimiter) = parsed.delimiter {
                warn(delimiter.warning(&operand.value.to_text(operand.column)));
            }
            parsed.value
        }
        _ => {
            let text = shown(&operand.value.to_text(operand.column));
            warn(ER_INCORRECT_VALUE.with(&[&"datetime", &text]));
            DateTime::ZERO
        }
    }
}

/// The same of the date that a text is.
pub(crate) fn date_or_zero(
    operand: Operand<'_>,
    context: &MomentContext<'_>,
    warn: &mut dyn FnMut(SqlError),
) -> DateTime {
    if !matches!(operand.value, Value::Bytes(_) | Value::Enum(_) | Value::Set(_)) {
        return moment_or_zero(operand, context, warn);
    }
    let mut tell = |warning: SqlError| match warning.is(&ER_INCORRECT_VALUE) {
        true => {
            warn(ER_TRUNCATED_WRONG_VALUE.with(&[&"date", &shown(&operand.value.to_text(operand.column))]))
        }
        false => warn(warning),
    };
    moment_or_zero(operand, context, &mut tell).date().at_midnight()
}

/// Whether a text is a date with zeros that the SQL mode forbids.
pub fn is_forbidden(value: &Value, moment: DateTime, context: &MomentContext<'_>) -> bool {
    let date = moment.date();
    matches!(value, Value::Bytes(_) | Value::Enum(_) | Value::Set(_))
        && ((date.is_zero() && context.mode.contains(SqlMode::NO_ZERO_DATE))
            || (date.has_zero_part() && context.mode.contains(SqlMode::NO_ZERO_IN_DATE)))
}

/// What is no time compares as the zero time, with a warning where it is a text.
pub(crate) fn time_or_zero(
    operand: Operand<'_>,
    context: &MomentContext<'_>,
    warn: &mut dyn FnMut(SqlError),
) -> Time {
    let parsed = operand.value.to_time(operand.column, context);
    let is_whole = parsed.as_ref().is_ok_and(|parsed| !parsed.truncated);
    if let Ok(parsed) = &parsed
        && let Some(delimiter) = parsed.delimiter
    {
        warn(delimiter.warning(&operand.value.to_text(operand.column)));
    }
    if !is_whole && matches!(operand.value, Value::Bytes(_) | Value::Enum(_) | Value::Set(_)) {
        warn(ER_TRUNCATED_WRONG_VALUE.with(&[&"time", &shown(&operand.value.to_text(operand.column))]));
    }
    parsed.map_or(Time::ZERO, |parsed| parsed.value)
}

/// Instants enter numeric comparison as the session's clock shows them.
pub(crate) fn in_zone<'a>(operand: Operand<'a>, context: &MomentContext<'_>) -> std::borrow::Cow<'a, Value> {
    match operand.value {
        Value::Timestamp(_) => std::borrow::Cow::Owned(operand.value.in_session_zone(context.zone)),
        value => std::borrow::Cow::Borrowed(value),
    }
}

/// The order of two values of one type, NULL first: what ORDER BY, MIN, MAX and keys use.
#[inline]
pub fn compare_in_type(left: &Value, right: &Value, column: &ColumnType) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::UInt(left), Value::UInt(right)) => left.cmp(right),
        (Value::Bytes(left), Value::Bytes(right)) => column.collation.compare(left, right),
        (Value::Decimal(left), Value::Decimal(right)) => left.compare(right),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right).unwrap_or(Ordering::Equal),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right).unwrap_or(Ordering::Equal),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Time(left), Value::Time(right)) => left.cmp(right),
        (Value::DateTime(left), Value::DateTime(right)) => left.cmp(right),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        (Value::Year(left), Value::Year(right)) | (Value::Enum(left), Value::Enum(right)) => left.cmp(right),
        (Value::Bit(left), Value::Bit(right)) | (Value::Set(left), Value::Set(right)) => left.cmp(right),
        (Value::Json(_), Value::Json(_)) => {
            compare_json(Operand { value: left, column }, Operand { value: right, column })
        }
        _ => compare_mixed(left, right, column),
    }
}

/// Values of one type in different representations (an integer literal in an unsigned column's place).
fn compare_mixed(left: &Value, right: &Value, column: &ColumnType) -> Ordering {
    let mut warn = no_warning;
    if let (Some(left), Some(right)) =
        (left.to_decimal(column, &mut warn), right.to_decimal(column, &mut warn))
        && !column.kind.is_string()
    {
        return left.compare(&right);
    }
    column.collation.compare(&left.to_text(column), &right.to_text(column))
}

/// Feeds a hasher so that values of one type that compare equal hash alike.
pub fn hash_in_type(value: &Value, column: &ColumnType, hasher: &mut impl Hasher) {
    match value {
        Value::Null => hasher.write_u8(0),
        // Signed and unsigned integers of equal value are equal, so both hash as the wider type.
        Value::Int(number) => hasher.write_i128(i128::from(*number)),
        Value::UInt(number) => hasher.write_i128(i128::from(*number)),
        Value::Float(number) => hash_double(f64::from(*number), hasher),
        Value::Double(number) => hash_double(*number, hasher),
        Value::Decimal(number) => number.hash_value(hasher),
        Value::Bytes(bytes) => {
            column.collation.hash(bytes, hasher);
            hasher.write_u8(0xFF);
        }
        Value::Date(date) => hasher.write_u32(date.to_packed()),
        Value::Time(time) => hasher.write_i64(time.to_micros()),
        Value::DateTime(datetime) => hasher.write_u64(datetime.to_packed()),
        Value::Timestamp(timestamp) => hasher.write_i64(timestamp.to_unix_micros()),
        Value::Year(number) | Value::Enum(number) => hasher.write_u16(*number),
        Value::Bit(bits) | Value::Set(bits) => hasher.write_u64(*bits),
        Value::Json(json) => hasher.write(&json_key(json)),
    }
}

fn hash_double(number: f64, hasher: &mut impl Hasher) {
    // -0 equals 0.
    hasher.write_u64(if number == 0.0 { 0 } else { number.to_bits() });
}
