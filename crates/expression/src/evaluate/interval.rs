//! INTERVAL arithmetic and the parts and differences of moments by unit.
use datum::{ColumnType, DateTime, SqlError, Time, TypeKind, Value, error_code};

use super::comparison::moment_context;
use crate::context::EvalContext;
use crate::expr::Expr;
use crate::interval::IntervalUnit;
use crate::text::out_of_range;

/// An interval: whole months and an exact span.
struct Span {
    months: i64,
    micros: i64,
}

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// `operands` are the date and the amount; the node's type says what the result is.
pub(super) fn date_add(
    node: &Expr,
    operands: (&Expr, &Expr),
    unit: IntervalUnit,
    subtract: bool,
    row: &[Value],
    context: &EvalContext,
) -> Result<Value, SqlError> {
    let (column, (date, amount)) = (&node.ty.column, operands);
    let (moment, amount_value) = (date.eval_ref(row, context)?, amount.eval_ref(row, context)?);
    if moment.is_null() || amount_value.is_null() {
        return Ok(Value::Null);
    }
    if let (TypeKind::Time { .. }, Value::Time(time)) = (&column.kind, &*moment) {
        let Some(span) = span_of(&amount_value, &amount.ty.column, unit, subtract, context) else {
            context.warn(out_of_range("TIME", node, context));
            return Ok(Value::Null);
        };
        let sum = time.to_micros().checked_add(span.micros).and_then(Time::from_micros);
        return Ok(sum.map_or_else(
            || {
                context.warn(out_of_range("TIME", node, context));
                Value::Null
            },
            Value::Time,
        ));
    }
    let moments = moment_context(context, matches!(*moment, Value::Time(_)));
    let parsed = match moment.to_datetime(&date.ty.column, &moments) {
        Ok(parsed) => parsed.value,
        Err(_) => {
            let text = datum::shown(&moment.to_text(&date.ty.column));
            let incorrect = match *moment {
                Value::Json(_) => error_code::ER_INVALID_JSON_VALUE_FOR_CAST.with(&[&"DATETIME", &"", &1]),
                _ => error_code::ER_INCORRECT_VALUE.with(&[&"datetime", &text]),
            };
            context.warn(incorrect);
            return Ok(Value::Null);
        }
    };
    if parsed.date().month() == 0 || parsed.date().day() == 0 {
        if matches!(*moment, Value::Bytes(_)) {
            let text = datum::shown(&moment.to_text(&date.ty.column));
            context.warn(error_code::ER_INCORRECT_VALUE.with(&[&"datetime", &text]));
        }
        return Ok(Value::Null);
    }
    let Some(span) = span_of(&amount_value, &amount.ty.column, unit, subtract, context) else {
        return Ok(overflow(context));
    };
    let sum = if span.months != 0 { parsed.add_months(span.months) } else { parsed.add_micros(span.micros) };
    let Some(sum) = sum else {
        if span.months != 0 {
            context.warn(out_of_range("DATE", node, context));
            return Ok(Value::Null);
        }
        return Ok(overflow(context));
    };
    Ok(match column.kind {
        TypeKind::Date => Value::Date(sum.date()),
        TypeKind::DateTime { .. } => Value::DateTime(sum),
        _ => Value::Bytes(as_text(sum, &moment.to_text(&date.ty.column), unit)),
    })
}

/// Text shows a time when it had one or the unit adds one, and a fraction when there is one.
fn as_text(moment: DateTime, before: &[u8], unit: IntervalUnit) -> Vec<u8> {
    let mut out = Vec::new();
    let had_time =
        before.trim_ascii().iter().any(|byte| matches!(byte, b':' | b' ' | b'T')) || before.len() > 10;
    if had_time || unit.has_time() {
        moment.write_text(if moment.micros() > 0 { 6 } else { 0 }, &mut out);
    } else {
        moment.date().write_text(&mut out);
    }
    out
}

/// NULL with warning 1441.
fn overflow(context: &EvalContext) -> Value {
    context.warn(error_code::ER_DATETIME_FUNCTION_OVERFLOW.with(&[&"datetime"]));
    Value::Null
}

/// The units of a composite interval, largest first, each as its number of microseconds.
fn composite(unit: IntervalUnit) -> Option<&'static [i64]> {
    use IntervalUnit as U;
    Some(match unit {
        U::SecondMicrosecond => &[SECOND, 1],
        U::MinuteMicrosecond => &[MINUTE, SECOND, 1],
        U::MinuteSecond => &[MINUTE, SECOND],
        U::HourMicrosecond => &[HOUR, MINUTE, SECOND, 1],
        U::HourSecond => &[HOUR, MINUTE, SECOND],
        U::HourMinute => &[HOUR, MINUTE],
        U::DayMicrosecond => &[DAY, HOUR, MINUTE, SECOND, 1],
        U::DaySecond => &[DAY, HOUR, MINUTE, SECOND],
        U::DayMinute => &[DAY, HOUR, MINUTE],
        U::DayHour => &[DAY, HOUR],
        _ => return None,
    })
}

fn span_of(
    amount: &Value,
    column: &ColumnType,
    unit: IntervalUnit,
    subtract: bool,
    context: &EvalContext,
) -> Option<Span> {
    let mut warn = |warning| context.warn(warning);
    let sign = if subtract { -1 } else { 1 };
    if let Some(scales) = composite(unit) {
        let (negative, parts) = numbers(&amount.to_text(column));
        let total = composite_micros(&parts, scales, unit.has_microseconds())?;
        return Some(Span { months: 0, micros: if negative { -sign * total } else { sign * total } });
    }
    if unit == IntervalUnit::YearMonth {
        let (negative, parts) = numbers(&amount.to_text(column));
        let [years, months] = match parts.as_slice() {
            [(months, _)] => [0, *months],
            [(years, _), (months, _), ..] => [*years, *months],
            [] => [0, 0],
        };
        let total = years.checked_mul(12)?.checked_add(months)?;
        return Some(Span { months: if negative { -sign * total } else { sign * total }, micros: 0 });
    }
    if unit == IntervalUnit::Second {
        let seconds = amount.to_decimal(column, &mut warn)?;
        let micros = seconds.multiply(&datum::Decimal::from_i64(SECOND)).ok()?.round(0).ok()?.to_i64()?;
        return Some(Span { months: 0, micros: micros.checked_mul(sign)? });
    }
    let count = i64::try_from(amount.to_integer(column, &mut warn)?).ok()?.checked_mul(sign)?;
    let scaled = |scale: i64| Some(Span { months: 0, micros: count.checked_mul(scale)? });
    let months = |scale: i64| Some(Span { months: count.checked_mul(scale)?, micros: 0 });
    match unit {
        IntervalUnit::Microsecond => scaled(1),
        IntervalUnit::Minute => scaled(MINUTE),
        IntervalUnit::Hour => scaled(HOUR),
        IntervalUnit::Day => scaled(DAY),
        IntervalUnit::Week => scaled(7 * DAY),
        IntervalUnit::Month => months(1),
        IntervalUnit::Quarter => months(3),
        _ => months(12),
    }
}

/// The numbers in a text such as '-1:30', each with its count of digits, and whether a minus stands first.
fn numbers(text: &[u8]) -> (bool, Vec<(i64, usize)>) {
    let trimmed = text.trim_ascii_start();
    let negative = trimmed.first() == Some(&b'-');
    let runs = trimmed.split(|byte| !byte.is_ascii_digit()).filter(|run| !run.is_empty());
    let value = |run: &[u8]| {
        run.iter()
            .fold(0i64, |number, digit| number.saturating_mul(10).saturating_add(i64::from(digit - b'0')))
    };
    (negative, runs.map(|run| (value(run), run.len())).collect())
}

/// Fewer numbers than units are the smallest units. Microseconds are a fraction: '1.5' is 500,000 of them.
fn composite_micros(parts: &[(i64, usize)], scales: &[i64], fraction: bool) -> Option<i64> {
    if parts.len() > scales.len() {
        return None;
    }
    let skipped = scales.len() - parts.len();
    let mut total: i64 = 0;
    for ((number, digits), scale) in parts.iter().zip(&scales[skipped..]) {
        let number = if *scale == 1 && fraction && *digits < 6 {
            number * 10i64.pow(6 - *digits as u32)
        } else {
            *number
        };
        total = total.checked_add(number.checked_mul(*scale)?)?;
    }
    Some(total)
}

/// EXTRACT: the parts of composite units stand side by side in one number.
pub(crate) fn part_of(unit: IntervalUnit, moment: DateTime, time: Time) -> i64 {
    use IntervalUnit as U;
    let date = moment.date();
    let sign = if time.is_negative() { -1 } else { 1 };
    let (hours, minutes, seconds) =
        (i64::from(time.hours()), i64::from(time.minutes()), i64::from(time.seconds()));
    let micros = i64::from(time.micros());
    let day = i64::from(date.day());
    let number = match unit {
        U::Year => return i64::from(date.year()),
        U::Quarter => return i64::from(date.month().div_ceil(3)),
        U::Month => return i64::from(date.month()),
        U::Week => return i64::from(date.week(0).1),
        U::Day => return day,
        U::YearMonth => return i64::from(date.year()) * 100 + i64::from(date.month()),
        U::Hour => hours,
        U::Minute => minutes,
        U::Second => seconds,
        U::Microsecond => micros,
        U::HourMinute => hours * 100 + minutes,
        U::HourSecond => hours * 10_000 + minutes * 100 + seconds,
        U::HourMicrosecond => (hours * 10_000 + minutes * 100 + seconds) * SECOND + micros,
        U::MinuteSecond => minutes * 100 + seconds,
        U::MinuteMicrosecond => (minutes * 100 + seconds) * SECOND + micros,
        U::SecondMicrosecond => seconds * SECOND + micros,
        U::DayHour => day * 100 + hours,
        U::DayMinute => day * 10_000 + hours * 100 + minutes,
        U::DaySecond => day * 1_000_000 + hours * 10_000 + minutes * 100 + seconds,
        U::DayMicrosecond => (day * 1_000_000 + hours * 10_000 + minutes * 100 + seconds) * SECOND + micros,
    };
    sign * number
}

/// TIMESTAMPDIFF: how many whole units lie between.
pub(crate) fn difference_in(unit: IntervalUnit, from: DateTime, to: DateTime) -> i64 {
    let micros = to.linear_micros() - from.linear_micros();
    match unit {
        IntervalUnit::Microsecond => micros,
        IntervalUnit::Second => micros / SECOND,
        IntervalUnit::Minute => micros / MINUTE,
        IntervalUnit::Hour => micros / HOUR,
        IntervalUnit::Day => micros / DAY,
        IntervalUnit::Week => micros / (7 * DAY),
        IntervalUnit::Quarter => months_between(from, to) / 3,
        IntervalUnit::Year => months_between(from, to) / 12,
        _ => months_between(from, to),
    }
}

fn months_between(from: DateTime, to: DateTime) -> i64 {
    if to < from {
        return -months_between(to, from);
    }
    let months = |moment: DateTime| i64::from(moment.date().year()) * 12 + i64::from(moment.date().month());
    let within = |moment: DateTime| (moment.date().day(), moment.micros_of_day());
    months(to) - months(from) - i64::from(within(to) < within(from))
}
