//! CAST and implicit conversions of a value to a type.
use std::borrow::Cow;

use collation::{Charset, CollationId};
use datum::{ColumnType, Decimal, Json, SqlError, TypeKind, Value, error_code, shown, truncated};

use super::cast_moment::{Allowed, to_moment};
use super::comparison::moment_context;
use crate::context::EvalContext;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};
use crate::text::name_place;

/// `node` is the conversion, whose type is the target.
pub(super) fn cast(
    node: &Expr,
    operand: &Expr,
    row: &[Value],
    context: &EvalContext,
) -> Result<Value, SqlError> {
    let target = &node.ty.column;
    let value = operand.eval_ref(row, context)?;
    if value.is_null() {
        return Ok(Value::Null);
    }
    let source = &operand.ty.column;
    let value = match &*value {
        Value::Timestamp(_) => Cow::Owned(value.in_session_zone(&context.settings.time_zone)),
        _ => value,
    };
    let plain_text = ColumnType::varbinary(0);
    let (value, source) = match &*value {
        // What COALESCE gives of documents is a number by its text.
        Value::Json(_) if target.kind.is_numeric() && crate::build::is_silent(operand) => {
            (Cow::Owned(Value::Bytes(value.to_text(source).into_owned())), &plain_text)
        }
        _ => (value, source),
    };
    let is_stored_text = target.kind.is_integer() && node.ty.coercibility == Coercibility::Ignorable;
    let is_silent = is_stored_text || crate::build::is_silent(operand);
    let mut warn = |warning| {
        if !is_silent {
            context.warn(warning);
        }
    };
    match &target.kind {
        kind if kind.is_integer() => {
            check_bigint(&value, operand, context)?;
            let number = value.to_integer(source, &mut warn);
            let is_exact = matches!(*value, Value::Decimal(_));
            let is_unsigned = target.unsigned || (source.unsigned && is_exact);
            if is_exact && !is_unsigned && number.is_some_and(|number| number > i128::from(i64::MAX)) {
                context.warn(truncated("DECIMAL", &value.to_text(source)));
            }
            let is_text = matches!(*value, Value::Bytes(_)) && !source.is_hex_literal();
            if target.unsigned && is_text && number.is_some_and(i128::is_negative) {
                let told = "Cast to unsigned converted negative integer to its positive complement";
                context.warn(error_code::ER_UNKNOWN_ERROR.with(&[&told]));
            }
            let number = number.map_or(Value::Null, |number| to_integer(number, &value, is_unsigned));
            Ok(match number {
                Value::UInt(bits) if !target.unsigned => Value::Int(bits as i64),
                number => number,
            })
        }
        TypeKind::Double { .. } if node.ty.coercibility == Coercibility::Ignorable => {
            Ok(kept_double(&value, context))
        }
        TypeKind::Double { .. } => Ok(value.to_f64(source, &mut warn).map_or(Value::Null, Value::Double)),
        TypeKind::Float { .. } => {
            let Some(number) = value.to_f64(source, &mut warn) else { return Ok(Value::Null) };
            let single = number as f32;
            if single.is_infinite() {
                let error = error_code::ER_DATA_OUT_OF_RANGE.with(&[&"DOUBLE", &""]);
                return Err(name_place(error, node, context));
            }
            Ok(Value::Float(single))
        }
        TypeKind::Decimal { precision, scale } => {
            let number = decimal_of(operand, &value, context);
            Ok(number.map_or(Value::Null, |number| {
                Value::Decimal(fit_number(&number, *precision, *scale, context))
            }))
        }
        TypeKind::Date | TypeKind::DateTime { .. } | TypeKind::Time { .. } => {
            let allowed = match node.ty.coercibility {
                Coercibility::Ignorable => Allowed::Parts,
                Coercibility::SystemConstant => Allowed::SmallNumbers,
                Coercibility::NoCollation => Allowed::Calendar,
                _ => Allowed::Mode,
            };
            Ok(to_moment((&value, operand), target, allowed, context))
        }
        TypeKind::Year => Ok(match &*value {
            Value::Date(date) => warned_year(i128::from(date.year()), &value, source, context),
            // That of a marker is a number.
            Value::DateTime(datetime) if !context.is_marker(operand) => {
                warned_year(i128::from(datetime.date().year()), &value, source, context)
            }
            Value::Time(_) => {
                let today = moment_context(context, true).today;
                to_year(i128::from(today.year()))
            }
            Value::Bytes(text) if !source.is_hex_literal() && !context.is_marker(operand) => {
                year_of_text(text, context)
            }
            other => {
                let number = other.to_integer(source, &mut warn);
                number.map_or(Value::Null, |number| warned_year(number, &value, source, context))
            }
        }),
        TypeKind::Json => to_json(&value, &operand.ty),
        kind if kind.is_string() => Ok(to_text(&value, source, target, context)),
        TypeKind::Null => Ok(Value::Null),
        _ => Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"this conversion"])),
    }
}

/// 2 to the power of 63.
const BIGINT_BOUND: f64 = 9_223_372_036_854_775_808.0;

/// Error 1690 for a computed DOUBLE beyond BIGINT, which is no integer, while stored ones stop at its bounds.
pub(super) fn check_bigint(value: &Value, operand: &Expr, context: &EvalContext) -> Result<(), SqlError> {
    match *value {
        Value::Double(real)
            if !(-BIGINT_BOUND..BIGINT_BOUND).contains(&real) && is_computed(operand, context) =>
        {
            let error = error_code::ER_DATA_OUT_OF_RANGE.with(&[&"BIGINT", &""]);
            Err(name_place(error, operand, context))
        }
        _ => Ok(()),
    }
}

/// Whether a number is a result of arithmetic or a function, which the value of a marker is not.
fn is_computed(expr: &Expr, context: &EvalContext) -> bool {
    match &expr.kind {
        ExprKind::Cast(operand) => !context.is_marker(operand),
        ExprKind::Arithmetic(..) | ExprKind::Negate(_) | ExprKind::Call(..) => true,
        _ => false,
    }
}

/// The value as an exact number. Of a text of a column or a program's variable in which there is none another warning tells as
/// well, and alone where it is a TEXT or a function's text, of which nothing is told that only begins with a number.
pub(super) fn decimal_of(operand: &Expr, value: &Value, context: &EvalContext) -> Option<Decimal> {
    let column = &operand.ty.column;
    let is_stored = match operand.kind {
        ExprKind::Column(_) => true,
        ExprKind::Parameter(_) => operand.ty.coercibility == Coercibility::Implicit,
        _ => false,
    };
    let mut is_told = false;
    if column.kind.is_string()
        && (is_stored || is_made_text(operand))
        && let Value::Bytes(text) = value
    {
        if Decimal::parse_prefix(text).consumed == 0 {
            let warning = error_code::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD;
            context.warn(warning.with(&[&"DECIMAL", &0, &"", &-1]));
        }
        is_told = !is_stored || column.is_stored_object() || column.kind.is_large_object();
    }
    value.to_decimal(column, &mut |warning| {
        if !is_told {
            context.warn(warning);
        }
    })
}

/// The number that a DOUBLE column would keep of a text.
fn kept_double(value: &Value, context: &EvalContext) -> Value {
    let mut is_whole = !matches!(value, Value::Bytes(text) if text.is_empty());
    let text = ColumnType::varchar(0, collation::CollationId::UTF8MB4_0900_AI_CI);
    let number = value.to_f64(&text, &mut |_| is_whole = false);
    if !is_whole {
        let warning = error_code::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD;
        context.warn(warning.with(&[&"DOUBLE", &shown(&value.to_text(&text)), &"", &1]));
    }
    number.map_or(Value::Null, Value::Double)
}

/// Whether a text comes from a function or variable that is none of the choices, which give their value's own number.
fn is_made_text(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(..) | ExprKind::UserVariable(_) | ExprKind::SetUserVariable(..) => true,
        ExprKind::Relabel(_) => expr.ty.coercibility == Coercibility::Explicit,
        ExprKind::Cast(operand) => operand.ty.column.kind.is_string(),
        _ => false,
    }
}

/// Rounded to the scale; too large a number becomes the largest of the type, with warning 1264.
fn fit_number(number: &Decimal, precision: u8, scale: u8, context: &EvalContext) -> Decimal {
    let largest = Decimal::max_of(precision, scale);
    match number.rescale(scale) {
        Ok(fitted) if fitted.absolute().compare(&largest).is_le() => fitted,
        _ => {
            context.warn(error_code::ER_WARN_DATA_OUT_OF_RANGE.with(&[&"", &1]));
            if number.is_negative() { largest.negated() } else { largest }
        }
    }
}

/// Integers keep their 64 bits (-1 AS UNSIGNED is the largest number); other numbers stop at the signed bounds.
fn to_integer(number: i128, value: &Value, is_unsigned: bool) -> Value {
    let is_floating = matches!(value, Value::Double(_) | Value::Float(_));
    if is_unsigned && !(is_floating && number > i128::from(i64::MAX)) {
        return Value::UInt(number as u64);
    }
    match value {
        Value::Int(_) | Value::UInt(_) | Value::Bytes(_) | Value::Bit(_) => Value::Int(number as i64),
        _ if is_unsigned => Value::UInt(i64::MAX as u64),
        _ => Value::Int(i64::try_from(number).unwrap_or(i64::MAX)),
    }
}

/// The year of a number; NULL with warning 1292 where there is none.
fn warned_year(number: i128, value: &Value, source: &ColumnType, context: &EvalContext) -> Value {
    let year = to_year(number);
    if year.is_null() {
        context.warn(truncated("YEAR", &value.to_text(source)));
    }
    year
}

/// The year of the digits that a text begins with, of which 0 is 2000.
fn year_of_text(text: &[u8], context: &EvalContext) -> Value {
    let digits = text.trim_ascii_start();
    let digits = digits.strip_prefix(b"+").unwrap_or(digits);
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&digits[..count]).ok().and_then(|digits| digits.parse::<u32>().ok());
    let Some(number) = number.filter(|_| count > 0) else {
        context.warn(error_code::ER_WRONG_VALUE.with(&[&"YEAR", &shown(text)]));
        return Value::Null;
    };
    let year = if number == 0 { Value::Year(2000) } else { to_year(i128::from(number)) };
    if year.is_null() || digits.len() > count {
        context.warn(truncated("YEAR", text));
    }
    year
}

fn to_year(number: i128) -> Value {
    match number {
        0 | 1901..=2155 => Value::Year(number as u16),
        1..=69 => Value::Year(number as u16 + 2000),
        70..=99 => Value::Year(number as u16 + 1900),
        _ => Value::Null,
    }
}

/// Text in the target's character set. Bytes that are no text of it warn and end it; under strict mode it is NULL.
fn to_text(value: &Value, source: &ColumnType, target: &ColumnType, context: &EvalContext) -> Value {
    let text = value.to_text(source);
    let from = match value {
        Value::Bytes(_) | Value::Enum(_) | Value::Set(_) => source.collation.charset(),
        Value::Json(_) => Charset::Utf8mb4,
        Value::Bit(_) => Charset::Binary,
        _ => Charset::Ascii,
    };
    let to = target.collation.charset();
    let converted = if from == to || (from == Charset::Ascii && to.is_unicode()) {
        text.into_owned()
    } else {
        from.convert_to(to, &text).bytes
    };
    let is_checked = from == Charset::Binary && to != Charset::Binary;
    let valid = if is_checked { to.valid_prefix_length(&converted) } else { converted.len() };
    if valid < converted.len() {
        let rest: String = converted[valid..].iter().take(6).map(|byte| format!("{byte:02X}")).collect();
        context
            .session
            .warn(error_code::ER_INVALID_CHARACTER_STRING.with(&[&to.name(), &rest]).into_warning());
        if context.settings.sql_mode.is_strict() {
            return Value::Null;
        }
    }
    let mut converted = converted;
    converted.truncate(valid);
    Value::Bytes(converted)
}

/// A text in the length of the node's type: longer ones are cut with warning 1292, binary ones filled up with zero
/// bytes and CHAR columns with spaces. One that could not be sent is NULL, with warning 1301.
pub(super) fn fit_text(
    node: &Expr,
    operand: &Expr,
    row: &[Value],
    context: &EvalContext,
) -> Result<Value, SqlError> {
    let Value::Bytes(mut text) = operand.eval(row, context)? else { return Ok(Value::Null) };
    let charset = node.ty.collation().charset();
    let length = node.ty.column.length as usize;
    let limit = context.settings.max_allowed_packet;
    if length as u64 > limit {
        let name = if charset == Charset::Binary { "cast_as_binary" } else { "cast_as_char" };
        context.warn(error_code::ER_WARN_ALLOWED_PACKET_OVERFLOWED.with(&[&name, &limit]));
        return Ok(Value::Null);
    }
    if charset == Charset::Binary && text.len() <= length {
        text.resize(length, 0);
    } else if node.ty.column.kind == TypeKind::Char {
        let missing = length.saturating_sub(charset.character_count(&text));
        text.resize(text.len() + missing, b' ');
    } else if charset.character_count(&text) > length {
        let type_name = if charset == Charset::Binary { "BINARY" } else { "CHAR" };
        context.warn(truncated(&format!("{type_name}({length})"), &text));
        text.truncate(charset.byte_offset(&text, length));
    }
    Ok(Value::Bytes(text))
}

/// Text is parsed, ENUM and SET are strings, other values become JSON values.
fn to_json(value: &Value, source: &ExprType) -> Result<Value, SqlError> {
    let is_text = source.column.collation != CollationId::BINARY;
    let document = match value {
        Value::Json(_) => return Ok(value.clone()),
        Value::Int(number) if source.is_truth => Json::Bool(*number != 0),
        Value::Bytes(_) if is_text => {
            let text = datum::json_of_text(value, &source.column);
            datum::parse_json(text.as_bytes()).map_err(|invalid| invalid.in_function(1, "cast_as_json"))?
        }
        _ => datum::json_of(value, &source.column),
    };
    Ok(Value::Json(datum::json_text(&document).into_boxed_str()))
}
