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

/// Why an amount is no interval.
enum NoSpan {
    /// It has more parts than the unit, or no negative.
    Malformed,
    TooLarge,
}

/// `operands` are the date and the amount; the node's type says what the result is.
pub(super) fn date_add(
    node: &Expr,
    operands: (&Expr, &Expr),
    unit: IntervalUnit,
    subtract: bool,
    row: &[Value],
    context: &EvalContext,
) -> Result<Value, SqlError> {
    let (date, amount) = operands;
    let moment = date.eval_ref(row, context)?;
    if moment.is_null() {
        return Ok(Value::Null);
    }
    let time = match (&node.ty.column.kind, &*moment) {
        (TypeKind::Time { .. }, Value::Time(time)) => Some(*time),
        _ => None,
    };
    let start = match time {
        Some(_) => DateTime::ZERO,
        None => match start_of(&moment, date, context) {
            Some(start) => start,
            None => return Ok(Value::Null),
        },
    };
    let amount_value = amount.eval_ref(row, context)?;
    if amount_value.is_null() {
        return Ok(Value::Null);
    }
    let span = span_of(&amount_value, &amount.ty.column, unit, subtract, context);
    Ok(match time {
        Some(time) => time_plus(time, span, node, context),
        None => moment_plus(start, span, &moment.to_text(&date.ty.column), (node, unit), context),
    })
}

/// The moment that is added to; `None`, with a warning, for what is none or has no place in the calendar.
fn start_of(moment: &Value, date: &Expr, context: &EvalContext) -> Option<DateTime> {
    let moments = moment_context(context, matches!(moment, Value::Time(_)));
    let column = &date.ty.column;
    match moment.to_datetime(column, &moments) {
        Ok(parsed)
            if (parsed.value.date().month() != 0 && parsed.value.date().day() != 0)
                || (context.is_marker(date) && !moment_is_text(moment)) =>
        {
            if let Some(delimiter) = parsed.delimiter
                && !context.is_marker(date)
            {
                context.warn(delimiter.warning(&moment.to_text(column)));
            }
            Some(parsed.value)
        }
        Ok(_) if matches!(moment, Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_)) => None,
        _ => {
            context.warn(match *moment {
                Value::Json(_) => error_code::ER_INVALID_JSON_VALUE_FOR_CAST.with(&[&"DATETIME", &"", &1]),
                _ => error_code::ER_INCORRECT_VALUE
                    .with(&[&"datetime", &datum::shown(&moment.to_text(column))]),
            });
            None
        }
    }
}

fn moment_is_text(moment: &Value) -> bool {
    matches!(moment, Value::Bytes(_))
}

/// A time beyond its range is NULL with warning 6527, one plus what is no interval NULL without.
fn time_plus(time: Time, span: Result<Span, NoSpan>, node: &Expr, context: &EvalContext) -> Value {
    let sum = match span {
        Err(NoSpan::Malformed) => return Value::Null,
        Err(NoSpan::TooLarge) => None,
        Ok(span) => time
            .to_micros()
            .checked_add(span.micros)
            .filter(|micros| (Time::MIN.to_micros()..=Time::MAX.to_micros()).contains(micros))
            .and_then(Time::from_micros),
    };
    sum.map_or_else(
        || {
            context.warn(out_of_range("TIME", node, context));
            Value::Null
        },
        Value::Time,
    )
}

fn moment_plus(
    start: DateTime,
    span: Result<Span, NoSpan>,
    given: &[u8],
    (node, unit): (&Expr, IntervalUnit),
    context: &EvalContext,
) -> Value {
    let kind = &node.ty.column.kind;
    let name = if *kind == TypeKind::Date { "DATE" } else { "DATETIME" };
    let sum = match span {
        Ok(span) if span.months != 0 => start.add_months(span.months),
        Ok(span) => start.add_micros(span.micros),
        Err(NoSpan::TooLarge) => None,
        Err(NoSpan::Malformed) => {
            if *kind != TypeKind::Date {
                context.warn(out_of_range(name, node, context));
            }
            return Value::Null;
        }
    };
    let Some(sum) = sum else {
        context.warn(match kind {
            TypeKind::Date => out_of_range(name, node, context),
            _ => error_code::ER_DATETIME_FUNCTION_OVERFLOW.with(&[&"datetime"]),
        });
        return Value::Null;
    };
    match kind {
        TypeKind::Date => Value::Date(sum.date()),
        TypeKind::DateTime { .. } => Value::DateTime(sum),
        _ => Value::Bytes(as_text(sum, given, unit)),
    }
}

/// Text shows a time when it had one or the unit adds one, and a fraction when there is one.
fn as_text(moment: DateTime, before: &[u8], unit: IntervalUnit) -> Vec<u8> {
    let mut out = Vec::new();
    let before = before.trim_ascii();
    let is_year = before.len() == 4;
    let had_time = is_year || before.iter().any(|byte| matches!(byte, b' ' | b'T')) || before.len() > 10;
    if had_time || unit.has_time() {
        moment.write_text(if moment.micros() > 0 { 6 } else { 0 }, &mut out);
    } else {
        moment.date().write_text(&mut out);
    }
    out
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
) -> Result<Span, NoSpan> {
    use NoSpan::{Malformed, TooLarge};
    let mut warn = |warning| context.warn(warning);
    let sign = if subtract { -1 } else { 1 };
    if let Some(scales) = composite(unit) {
        let (negative, parts) = numbers(&amount.to_text(column));
        if parts.len() > scales.len() || parts.iter().any(|(number, _)| *number == i64::MAX) {
            return Err(Malformed);
        }
        let total = composite_micros(&parts, scales, unit.has_microseconds()).ok_or(TooLarge)?;
        return Ok(Span { months: 0, micros: if negative { -sign * total } else { sign * total } });
    }
    if unit == IntervalUnit::YearMonth {
        let (negative, parts) = numbers(&amount.to_text(column));
        let [years, months] = match parts.as_slice() {
            [(months, _)] => [0, *months],
            [(years, _), (months, _), ..] => [*years, *months],
            [] => [0, 0],
        };
        let total = years.checked_mul(12).and_then(|years| years.checked_add(months)).ok_or(TooLarge)?;
        return Ok(Span { months: if negative { -sign * total } else { sign * total }, micros: 0 });
    }
    if unit == IntervalUnit::Second && column.fixed_scale() != Some(0) {
        let seconds = amount.to_decimal(column, &mut warn).ok_or(TooLarge)?;
        let is_beyond = seconds.truncate(0).to_i64().is_none_or(|whole| matches!(whole, i64::MIN | i64::MAX));
        if is_beyond {
            warn(datum::truncated("DECIMAL", seconds.to_string().as_bytes()));
            return Err(Malformed);
        }
        let micros = seconds.multiply(&datum::Decimal::from_i64(SECOND)).and_then(|micros| micros.round(0));
        let micros = micros.ok().and_then(|micros| micros.to_i64()).ok_or(TooLarge)?;
        return Ok(Span { months: 0, micros: micros.checked_mul(sign).ok_or(TooLarge)? });
    }
    let count = amount.to_integer(column, &mut warn).ok_or(TooLarge)?;
    // Unsigned numbers keep their 64 bits, others stop at the bounds.
    let count = match amount {
        Value::UInt(_) | Value::Bytes(_) => count as i64,
        _ => i64::try_from(count).unwrap_or_else(|_| {
            if matches!(amount, Value::Decimal(_)) && count < i128::from(u64::MAX) {
                warn(datum::truncated("DECIMAL", &amount.to_text(column)));
            }
            i64::MAX
        }),
    };
    let count = if count == i64::MIN { return Err(Malformed) } else { count * sign };
    // MySQL counts what it makes of weeks and quarters in 32 bits.
    let is_long =
        |scale: i64| count.checked_mul(scale).is_none_or(|count| count.unsigned_abs() > u64::from(u32::MAX));
    let scaled = |scale: i64| Ok(Span { months: 0, micros: count.checked_mul(scale).ok_or(TooLarge)? });
    let months = |scale: i64| Ok(Span { months: count.checked_mul(scale).ok_or(TooLarge)?, micros: 0 });
    match unit {
        IntervalUnit::Microsecond => scaled(1),
        IntervalUnit::Second => scaled(SECOND),
        IntervalUnit::Minute => scaled(MINUTE),
        IntervalUnit::Hour => scaled(HOUR),
        IntervalUnit::Day => scaled(DAY),
        IntervalUnit::Week if is_long(7) => Err(Malformed),
        IntervalUnit::Quarter if is_long(3) => Err(Malformed),
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
pub fn part_of(unit: IntervalUnit, moment: DateTime, time: Time) -> i64 {
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
pub fn difference_in(unit: IntervalUnit, from: DateTime, to: DateTime) -> i64 {
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
