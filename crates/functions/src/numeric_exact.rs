//! ABS, SIGN, CEILING, FLOOR, ROUND, TRUNCATE and FORMAT: exact on integers and decimals.
use datum::{ColumnType, Decimal, Locale, SqlError, TypeKind, Value, error_code};

use expression::BindContext;
use expression::call::infer::{cast_double, cast_integer, cast_text, integer_type, made_text};
use expression::call::width::text_width;
use expression::call::{double, is_bit_string};
use expression::{Arguments, Function};
use expression::{Coercibility, Expr, ExprKind, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::pure("abs", (1, 1), infer_same, abs),
    Function::pure("sign", (1, 1), infer_sign, sign),
    Function::pure("ceiling", (1, 1), infer_whole, ceiling),
    Function::pure("ceil", (1, 1), infer_whole, ceiling),
    Function::pure("floor", (1, 1), infer_whole, floor),
    Function::pure("round", (1, 2), infer_round, round),
    Function::pure("truncate", (2, 2), infer_round, truncate),
    Function::pure("format", (2, 3), infer_format, format),
    Function::pure("bit_count", (1, 1), infer_bit_count, bit_count),
];

/// The characters of any BIGINT.
const BIGINT_WIDTH: u32 = 20;

/// Leaves integers and decimals, makes everything else DOUBLE.
fn numeric_argument(bind: &BindContext, argument: &mut Expr) -> Result<(), SqlError> {
    use TypeKind::{Decimal, Int24, Long, LongLong, Null, Short, Tiny};
    match argument.ty.column.kind {
        Tiny | Short | Int24 | Long | LongLong | Decimal { .. } | Null => Ok(()),
        TypeKind::Year | TypeKind::Bit(_) => {
            let number = std::mem::replace(argument, Expr::null());
            *argument = bind.convert(number, ColumnType::bigint_unsigned())?;
            Ok(())
        }
        _ => cast_double(bind, argument),
    }
}

fn is_integer(column: &ColumnType) -> bool {
    matches!(
        column.kind,
        TypeKind::Tiny | TypeKind::Short | TypeKind::Int24 | TypeKind::Long | TypeKind::LongLong
    )
}

fn numeric(column: ColumnType) -> ExprType {
    ExprType::new(column, Coercibility::Numeric)
}

fn bigint_like(column: &ColumnType) -> ColumnType {
    if column.unsigned { ColumnType::bigint_unsigned() } else { ColumnType::bigint() }
}

fn infer_same(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let given = arguments[0].ty.column.clone();
    let width = text_width(&arguments[0]).min(u64::from(BIGINT_WIDTH)) as u32;
    numeric_argument(bind, &mut arguments[0])?;
    let number = std::mem::replace(&mut arguments[0], Expr::null());
    arguments[0] = bind.with_all_digits(number)?;
    let column = &arguments[0].ty.column;
    Ok(numeric(match column.kind {
        TypeKind::Decimal { precision, scale } => {
            ColumnType { unsigned: column.unsigned, ..ColumnType::decimal(precision, scale) }
        }
        _ if is_integer(column) => ColumnType { length: width, ..bigint_like(column) },
        _ => {
            let is_unsigned_real = given.unsigned && given.kind.is_floating();
            let unsigned = is_unsigned_real || (given.is_hex_literal() && !given.is_bit_literal());
            ColumnType { unsigned, ..double(given.fixed_scale()) }
        }
    }))
}

fn infer_sign(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    numeric_argument(bind, &mut arguments[0])?;
    Ok(integer_type())
}

/// CEILING and FLOOR of a DECIMAL that fits are BIGINT.
fn infer_whole(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    numeric_argument(bind, &mut arguments[0])?;
    let column = &arguments[0].ty.column;
    Ok(numeric(match column.kind {
        TypeKind::Decimal { precision, scale } if precision - scale < 18 => ColumnType::bigint(),
        TypeKind::Decimal { precision, scale } => {
            ColumnType::decimal((precision - scale + u8::from(scale > 0)).min(65), 0)
        }
        _ if is_integer(column) => bigint_like(column),
        _ => ColumnType::double(),
    }))
}

/// The scale of a DECIMAL result is the constant number of digits, at most the argument's.
fn infer_round(bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    numeric_argument(bind, &mut arguments[0])?;
    let is_decimal = matches!(arguments[0].ty.column.kind, TypeKind::Decimal { .. });
    let is_plain = arguments.len() == 1;
    // Only a DECIMAL's type depends on the number of digits.
    let value = |expr: &Expr| if is_decimal { bind.decisive(expr) } else { bind.peek(expr) };
    let number = |expr: &Expr| match value(expr) {
        Some(Value::Null) => Some(0),
        Some(number) => number.to_integer(&expr.ty.column, &mut datum::no_warning),
        None => None,
    };
    let constant = match arguments.get(1) {
        None => Some(0),
        Some(Expr { kind: ExprKind::Negate(inner), .. }) => number(inner).map(|digits| -digits),
        Some(digits) => number(digits),
    };
    if let Some(digits) = arguments.get_mut(1) {
        cast_integer(bind, digits)?;
    }
    let column = &arguments[0].ty.column;
    Ok(numeric(match column.kind {
        TypeKind::Decimal { precision, scale } => {
            let kept = constant.map_or(scale, |digits| digits.clamp(0, i128::from(scale)) as u8);
            let grows = u8::from((kept < scale || is_plain) && name == "round");
            ColumnType::decimal((precision - scale + kept + grows).clamp(1, datum::PRECISION_MAX), kept)
        }
        _ if is_integer(column) => bigint_like(column),
        _ => ColumnType::double(),
    }))
}

fn infer_format(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    // A separator for three of the characters of what is given, the digits after the point, and two more.
    let given = text_width(&arguments[0]);
    let width = given + given / 3 + u64::from(datum::SCALE_MAX) + 2;
    numeric_argument(bind, &mut arguments[0])?;
    cast_integer(bind, &mut arguments[1])?;
    arguments.get_mut(2).map_or(Ok(()), |locale| cast_text(bind, locale))?;
    Ok(made_text(bind, width))
}

fn infer_bit_count(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    if !is_bit_string(&arguments[0].ty.column) {
        bind.cast_bits(&mut arguments[0])?;
    }
    Ok(integer_type())
}

/// The place is filled in by `text::name_place`.
fn out_of_range(kind: &str) -> SqlError {
    error_code::ER_DATA_OUT_OF_RANGE.with(&[&kind, &""])
}

fn abs(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(match &*arguments.value(0)? {
        Value::Int(number) => Value::Int(number.checked_abs().ok_or_else(|| out_of_range("BIGINT"))?),
        Value::Decimal(number) => Value::Decimal(number.absolute()),
        Value::Double(number) => Value::Double(number.abs()),
        other => other.clone(),
    })
}

fn sign(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let sign = match &*arguments.value(0)? {
        Value::Int(number) => number.signum(),
        Value::UInt(number) => i64::from(*number > 0),
        Value::Decimal(number) if number.is_zero() => 0,
        Value::Decimal(number) => {
            if number.is_negative() {
                -1
            } else {
                1
            }
        }
        Value::Double(number) => i64::from(*number > 0.0) - i64::from(*number < 0.0),
        _ => return Ok(Value::Null),
    };
    Ok(Value::Int(sign))
}

fn ceiling(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    whole(arguments, |number| number.ceiling().ok(), f64::ceil)
}

fn floor(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    whole(arguments, |number| number.floor().ok(), f64::floor)
}

fn whole(
    arguments: &Arguments<'_>,
    exact: impl Fn(&Decimal) -> Option<Decimal>,
    inexact: impl Fn(f64) -> f64,
) -> Result<Value, SqlError> {
    Ok(match &*arguments.value(0)? {
        Value::Decimal(number) => {
            let number = exact(number).ok_or_else(|| out_of_range("DECIMAL"))?;
            if is_integer(&arguments.ty.column) {
                Value::Int(number.to_i64().ok_or_else(|| out_of_range("BIGINT"))?)
            } else {
                Value::Decimal(number)
            }
        }
        Value::Double(number) => Value::Double(inexact(*number)),
        other => other.clone(),
    })
}

fn round(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    shorten(arguments, true)
}

fn truncate(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    shorten(arguments, false)
}

/// Rounds (half away from zero; doubles half to even, as the C library does) or cuts at a number of digits.
fn shorten(arguments: &Arguments<'_>, rounds: bool) -> Result<Value, SqlError> {
    let value = arguments.value(0)?;
    if value.is_null() {
        return Ok(Value::Null);
    }
    let digits = if arguments.len() == 2 {
        match arguments.integer(1)? {
            None => return Ok(Value::Null),
            Some(digits) => digits.clamp(-400, 400) as i32,
        }
    } else {
        0
    };
    Ok(match &*value {
        Value::Int(number) => Value::Int(shorten_integer(i128::from(*number), digits, rounds)?),
        Value::UInt(number) => {
            let kept = shorten_wide(i128::from(*number), digits, rounds);
            Value::UInt(u64::try_from(kept).map_err(|_| out_of_range("BIGINT UNSIGNED"))?)
        }
        Value::Decimal(number) => {
            let TypeKind::Decimal { scale, .. } = arguments.ty.column.kind else { return Ok(Value::Null) };
            let digits = digits.min(i32::from(scale));
            let kept = if rounds { number.round(digits) } else { Ok(number.truncate(digits)) };
            let kept = kept.and_then(|kept| kept.rescale(scale));
            Value::Decimal(kept.map_err(|_| out_of_range("DECIMAL"))?)
        }
        Value::Double(number) => Value::Double(shorten_double(*number, digits, rounds)),
        other => other.clone(),
    })
}

fn shorten_integer(number: i128, digits: i32, rounds: bool) -> Result<i64, SqlError> {
    i64::try_from(shorten_wide(number, digits, rounds)).map_err(|_| out_of_range("BIGINT"))
}

fn shorten_wide(number: i128, digits: i32, rounds: bool) -> i128 {
    if digits >= 0 {
        return number;
    }
    let Some(unit) = 10i128.checked_pow(digits.unsigned_abs()).filter(|unit| *unit <= 10i128.pow(20)) else {
        return 0;
    };
    let half = if rounds { unit / 2 * number.signum() } else { 0 };
    (number + half) / unit * unit
}

fn shorten_double(number: f64, digits: i32, rounds: bool) -> f64 {
    let scale = 10f64.powi(digits.abs());
    let scaled = if digits >= 0 { number * scale } else { number / scale };
    if !scaled.is_finite() || !scale.is_finite() {
        return if digits >= 0 { number } else { 0.0 };
    }
    let kept = if rounds { scaled.round_ties_even() } else { scaled.trunc() };
    if digits >= 0 { kept / scale } else { kept * scale }
}

/// FORMAT(number, digits) with thousands separated; locales other than en_US are refused.
fn format(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(digits) = arguments.integer(1)? else { return Ok(Value::Null) };
    let locale = format_locale(arguments)?;
    // Digits are counted in 32 bits.
    let digits = i64::from(digits as i32).clamp(0, i64::from(datum::SCALE_MAX)) as u8;
    let number = match &*arguments.value(0)? {
        Value::Null => return Ok(Value::Null),
        Value::Int(number) => Decimal::from_i64(*number),
        Value::UInt(number) => Decimal::from_u64(*number),
        Value::Decimal(number) => number.clone(),
        Value::Double(number) => {
            let rounded = shorten_double(*number, i32::from(digits), true);
            match Decimal::from_f64(rounded) {
                Some(number) => number,
                // A number beyond DECIMAL has no digits after the point.
                None => {
                    let point = if digits > 0 { "." } else { "" };
                    let plain = format!("{rounded}{point}{}", "0".repeat(usize::from(digits)));
                    return Ok(Value::bytes(in_locale(&plain, locale)));
                }
            }
        }
        _ => return Ok(Value::Null),
    };
    let rounded = number.round(i32::from(digits)).and_then(|number| number.rescale(digits));
    let mut plain = Vec::new();
    rounded.map_err(|_| out_of_range("DECIMAL"))?.write_text(&mut plain);
    Ok(Value::bytes(in_locale(&String::from_utf8_lossy(&plain), locale)))
}

/// The locale of FORMAT's third argument; an unknown one is en_US, with warning 1649.
fn format_locale(arguments: &Arguments<'_>) -> Result<&'static Locale, SqlError> {
    if arguments.len() < 3 {
        return Ok(Locale::english());
    }
    let name = arguments.text(2)?;
    let shown = name.as_deref().map_or_else(|| "null".to_owned(), datum::shown);
    Ok(name.and_then(|_| Locale::by_name(&shown)).unwrap_or_else(|| {
        arguments.context.warn(error_code::ER_UNKNOWN_LOCALE.with(&[&shown]));
        Locale::english()
    }))
}

/// The point and the groups of digits as the locale has them.
fn in_locale(plain: &str, locale: &Locale) -> String {
    let (sign, unsigned) = plain.split_at(usize::from(plain.starts_with('-')));
    let (integer, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let (last, others) = locale.groups;
    let mut text = sign.to_owned();
    for (index, digit) in integer.chars().enumerate() {
        let left = integer.len() - index;
        if index > 0 && last > 0 && left >= last && (left - last).is_multiple_of(others) {
            text.push_str(locale.separator);
        }
        text.push(digit);
    }
    if !fraction.is_empty() {
        text.push_str(locale.decimal_point);
        text.push_str(fraction);
    }
    text
}

fn bit_count(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    if let Value::Bytes(text) = &*arguments.value(0)? {
        return Ok(Value::Int(text.iter().map(|byte| i64::from(byte.count_ones())).sum()));
    }
    Ok(arguments.bits(0)?.map_or(Value::Null, |bits| Value::Int(i64::from(bits.count_ones()))))
}
