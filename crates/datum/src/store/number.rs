//! Storing into numeric columns: integers, FLOAT, DOUBLE, DECIMAL, YEAR and BIT.
use super::{ConversionProblem, Outcome};
use crate::column_type::{ColumnType, TypeKind};
use crate::decimal::{Decimal, PRECISION_MAX};
use crate::json::{Json, read_json};
use crate::number::{double_prefix, hex_number, integer_value, no_warning, shown};
use crate::value::Value;

/// A number read from a text, and what was wrong with the text.
struct TextNumber {
    value: Decimal,
    problem: Option<ConversionProblem>,
}

/// Reads a text as an exact number; `garbage` is the problem of text after the number.
fn text_number(text: &[u8], type_name: &'static str, garbage: ConversionProblem) -> TextNumber {
    let parsed = Decimal::parse_prefix(text);
    let problem = match () {
        () if parsed.consumed == 0 => Some(ConversionProblem::Incorrect { type_name, text: shown(text) }),
        () if !text[parsed.consumed..].iter().all(u8::is_ascii_whitespace) => Some(garbage),
        () => None,
    };
    TextNumber { value: parsed.value, problem }
}

/// x'..' and b'..' as a number for a numeric column, and whether it is another one: beyond eight bytes, or beyond the
/// largest signed number in a column that has a sign, even a DOUBLE or DECIMAL, the largest is taken.
pub(super) fn hex_for_number(bytes: &[u8], to: &ColumnType) -> (u64, bool) {
    let limit = if to.unsigned { u64::MAX } else { i64::MAX as u64 };
    match bytes.len() <= size_of::<u64>() {
        true => {
            let number = hex_number(bytes, &mut no_warning);
            (number.min(limit), number > limit)
        }
        false => (limit, true),
    }
}

/// What a JSON document is said to be cast to for a numeric column.
pub(super) fn json_cast_name(kind: &TypeKind) -> Option<&'static str> {
    match kind {
        kind if kind.is_integer() => Some("INTEGER"),
        TypeKind::Year | TypeKind::Bit(_) => Some("INTEGER"),
        kind if kind.is_floating() => Some("DOUBLE"),
        TypeKind::Decimal { .. } => Some("DECIMAL"),
        _ => None,
    }
}

/// Numbers, truth values, and strings that are nothing but a number.
pub(super) fn is_json_number(document: &str) -> bool {
    match read_json(document) {
        Json::Bool(_) | Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => true,
        Json::String(text) => {
            let text = text.as_bytes();
            let consumed = double_prefix(text).consumed;
            consumed > 0 && text[consumed..].iter().all(u8::is_ascii_whitespace)
        }
        // Moments and bytes are converted as ever.
        Json::Date(_) | Json::Time(_) | Json::DateTime(_) | Json::Opaque(..) => true,
        Json::Null | Json::Array(_) | Json::Object(_) => false,
    }
}

/// The value as an integer as integer columns round it: text and DECIMAL half up, DOUBLE half to even.
fn rounded_integer(value: &Value, from: &ColumnType) -> (i128, Option<ConversionProblem>) {
    let mut warn = no_warning;
    match value {
        Value::Bytes(bytes) if from.is_hex_literal() => {
            (i128::from(hex_number(bytes, &mut no_warning)), None)
        }
        Value::Bytes(text) => {
            let number = text_number(text, "integer", ConversionProblem::Truncated);
            (saturating_integer(&number.value), number.problem)
        }
        Value::Decimal(number) => (saturating_integer(number), None),
        Value::Double(number) => (number.round_ties_even() as i128, None),
        Value::Float(number) => (f64::from(*number).round_ties_even() as i128, None),
        Value::Time(_) | Value::DateTime(_) => (value.to_integer(from, &mut warn).unwrap_or(0), None),
        other => (other.to_integer(from, &mut warn).unwrap_or(0), None),
    }
}

fn saturating_integer(number: &Decimal) -> i128 {
    let limit = if number.is_negative() { i128::MIN } else { i128::MAX };
    number.rounded_integer().unwrap_or(limit)
}

pub(super) fn to_integer_column(value: &Value, from: &ColumnType, to: &ColumnType) -> Outcome {
    let (number, problem) = rounded_integer(value, from);
    let (low, high) = to.integer_bounds().expect("called for integer columns");
    let clamped = number.clamp(low, high);
    let problem = if clamped == number { problem } else { Some(ConversionProblem::OutOfRange) };
    Outcome { value: integer_value(clamped, to.unsigned), problem }
}

pub(super) fn to_float_column(value: &Value, from: &ColumnType, to: &ColumnType) -> Outcome {
    let is_float = matches!(to.kind, TypeKind::Float { .. });
    let (number, mut problem) = match value {
        Value::Bytes(text) => {
            let prefix = double_prefix(text);
            let is_clean = prefix.consumed > 0 && text[prefix.consumed..].iter().all(u8::is_ascii_whitespace);
            let type_name = if is_float { "FLOAT" } else { "DOUBLE" };
            let incorrect = || ConversionProblem::Incorrect { type_name, text: shown(text) };
            (prefix.value, (!is_clean).then(incorrect))
        }
        other => (other.to_f64(from, &mut no_warning).unwrap_or(0.0), None),
    };
    let (rounded, limit) = match to.kind {
        TypeKind::Float { digits: Some((precision, scale)) }
        | TypeKind::Double { digits: Some((precision, scale)) } => {
            let unit = 10f64.powi(i32::from(scale));
            let limit = (10f64.powi(i32::from(precision)) - 1.0) / unit;
            let scaled = number * unit;
            (if scaled.is_finite() { scaled.round_ties_even() / unit } else { number }, limit)
        }
        TypeKind::Float { .. } => (number, f64::from(f32::MAX)),
        _ => (number, f64::MAX),
    };
    let clamped = rounded.clamp(if to.unsigned { 0.0 } else { -limit }, limit);
    if clamped != rounded {
        problem = Some(ConversionProblem::OutOfRange);
    }
    let value = if is_float { Value::Float(clamped as f32) } else { Value::Double(clamped) };
    Outcome { value, problem }
}

pub(super) fn to_decimal_column(
    value: &Value,
    from: &ColumnType,
    to: &ColumnType,
    precision: u8,
    scale: u8,
) -> Outcome {
    let (number, mut problem) = match value {
        Value::Bytes(text) => {
            let incorrect = ConversionProblem::Incorrect { type_name: "decimal", text: shown(text) };
            let number = text_number(text, "decimal", incorrect);
            (number.value, number.problem)
        }
        other => (other.to_decimal(from, &mut no_warning).unwrap_or(Decimal::ZERO), None),
    };
    if to.unsigned && number.is_negative() && !number.is_zero() {
        let zero = Value::Decimal(Decimal::zero_of_scale(scale));
        return Outcome::with(zero, ConversionProblem::OutOfRange);
    }
    let limit = Decimal::max_of(precision.min(PRECISION_MAX), scale);
    match number.rescale(scale) {
        Ok(rescaled) if rescaled.absolute().compare(&limit).is_le() => {
            if problem.is_none() && rescaled.compare(&number).is_ne() {
                problem = Some(ConversionProblem::Shortened);
            }
            Outcome { value: Value::Decimal(rescaled), problem }
        }
        _ => {
            let nearest = if number.is_negative() { limit.negated() } else { limit };
            Outcome::with(Value::Decimal(nearest), problem.unwrap_or(ConversionProblem::OutOfRange))
        }
    }
}

pub(super) fn to_year_column(value: &Value, from: &ColumnType) -> Outcome {
    let (number, problem) = match value {
        Value::Year(year) => return Outcome::exact(Value::Year(*year)),
        Value::Date(date) => (i128::from(date.year()), None),
        Value::DateTime(datetime) => (i128::from(datetime.date().year()), None),
        Value::Double(number) => (year_of_real(*number), None),
        Value::Float(number) => (year_of_real(f64::from(*number)), None),
        other => rounded_integer(other, from),
    };
    let text_length = if let Value::Bytes(text) = value { Some(text.len()) } else { None };
    let year = match number {
        // The texts '0', '00' and '000' mean 2000, '0000' and the number 0 the year '0000'.
        0 if text_length.is_some_and(|length| length != 4) && problem.is_none() => 2000,
        0 => 0,
        1..=69 => 2000 + number,
        70..=99 => 1900 + number,
        1901..=2155 => number,
        _ => return Outcome::with(Value::Year(0), ConversionProblem::OutOfRange),
    };
    Outcome { value: Value::Year(year as u16), problem }
}

/// A floating number is cut, but not into the range.
fn year_of_real(number: f64) -> i128 {
    const YEAR_MAX: f64 = 2155.0;
    if (0.0..=YEAR_MAX).contains(&number) { number.trunc() as i128 } else { -1 }
}

pub(super) fn to_bit_column(value: &Value, from: &ColumnType, bits: u8) -> Outcome {
    let limit = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let number = match value {
        Value::Bytes(bytes) => {
            let significant = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
            let fits = significant.len() <= 8;
            fits.then(|| significant.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
        }
        // Whole numbers give their 64 bits, also those below zero; a DECIMAL below zero has none.
        Value::Double(number) => Some(number.trunc() as i64 as u64),
        Value::Float(number) => Some(number.trunc() as i64 as u64),
        Value::Decimal(number) if number.is_negative() => {
            return Outcome::with(Value::Bit(0), ConversionProblem::OutOfRange);
        }
        Value::Decimal(_) => match u64::try_from(rounded_integer(value, from).0) {
            Ok(number) => Some(number),
            Err(_) => return Outcome::with(Value::Bit(limit), ConversionProblem::OutOfRange),
        },
        other => Some(rounded_integer(other, from).0 as u64),
    };
    match number {
        Some(number) if number <= limit => Outcome::exact(Value::Bit(number)),
        _ => Outcome::with(Value::Bit(limit), ConversionProblem::TooLong),
    }
}
