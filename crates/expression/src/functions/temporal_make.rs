//! Dates and times made from numbers and from each other: MAKEDATE, DATEDIFF, ADDTIME, TIMEDIFF, PERIOD_ADD.
use datum::{ColumnType, Date, DateTime, SqlError, Time, TypeKind, Value};

use super::infer::{
    cast_allowed_datetime, cast_datetime, cast_decimal, cast_integer, cast_time, integer_type,
};
use crate::build::{BindContext, Reading, is_long_moment};
use crate::expr::{Coercibility, Expr, ExprType};
use crate::function::Volatility::Pure;
use crate::function::{Arguments, Function};

type Infer = fn(&BindContext, &'static str, &mut [Expr]) -> Result<ExprType, SqlError>;
type Evaluate = fn(&Arguments<'_>) -> Result<Value, SqlError>;

const fn entry(name: &'static str, counts: (u8, u8), infer: Infer, evaluate: Evaluate) -> Function {
    Function { name, arguments_min: counts.0, arguments_max: counts.1, volatility: Pure, infer, evaluate }
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry("makedate", (2, 2), infer_date_of_integers, makedate),
    entry("from_days", (1, 1), infer_date_of_integers, from_days),
    entry("maketime", (3, 3), infer_maketime, maketime),
    entry("sec_to_time", (1, 1), infer_sec_to_time, sec_to_time),
    entry("datediff", (2, 2), infer_datediff, datediff),
    entry("timediff", (2, 2), infer_timediff, timediff),
    entry("addtime", (2, 2), infer_addtime, addtime),
    entry("subtime", (2, 2), infer_addtime, subtime),
    entry("timestamp", (1, 2), infer_timestamp, timestamp),
    entry("period_add", (2, 2), infer_integers, period_add),
    entry("period_diff", (2, 2), infer_integers, period_diff),
];

fn numeric(kind: TypeKind) -> ExprType {
    ExprType::new(ColumnType::new(kind), Coercibility::Numeric)
}

fn infer_integers(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    arguments.iter_mut().try_for_each(|argument| cast_integer(bind, argument))?;
    Ok(integer_type())
}

fn infer_date_of_integers(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    infer_integers(bind, name, arguments)?;
    Ok(numeric(TypeKind::Date))
}

fn infer_maketime(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_integer(bind, &mut arguments[0])?;
    cast_integer(bind, &mut arguments[1])?;
    let fsp = second_digits(&arguments[2]);
    cast_decimal(bind, &mut arguments[2], 20, fsp)?;
    Ok(numeric(TypeKind::Time { fsp }))
}

fn infer_sec_to_time(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let fsp = second_digits(&arguments[0]);
    cast_decimal(bind, &mut arguments[0], 30, fsp)?;
    Ok(numeric(TypeKind::Time { fsp }))
}

/// The fractional digits a number of seconds can have.
fn second_digits(expr: &Expr) -> u8 {
    match expr.ty.column.kind {
        TypeKind::Decimal { scale, .. } => scale.min(6),
        TypeKind::Tiny | TypeKind::Short | TypeKind::Int24 | TypeKind::Long | TypeKind::LongLong => 0,
        _ => 6,
    }
}

fn infer_datediff(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_datetime(bind, &mut arguments[0])?;
    cast_datetime(bind, &mut arguments[1])?;
    Ok(integer_type())
}

fn is_moment(expr: &Expr) -> bool {
    matches!(expr.ty.column.kind, TypeKind::Date | TypeKind::DateTime { .. } | TypeKind::Timestamp { .. })
}

/// A text literal that is a date with a time.
fn is_moment_literal(bind: &BindContext, expr: &Expr) -> bool {
    let Some(Value::Bytes(text)) = bind.peek(expr) else { return false };
    let is_one = is_long_moment(&text);
    bind.relies_on(expr, Reading::LongMoment { is_one });
    is_one
}

/// Both are moments or both are times; text is taken as what the other is.
fn infer_timediff(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let moments = arguments.iter().any(is_moment);
    let cast = if moments { cast_datetime } else { cast_time };
    let fsp = cast(bind, &mut arguments[0])?.max(cast(bind, &mut arguments[1])?);
    Ok(numeric(TypeKind::Time { fsp }))
}

fn infer_addtime(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let moment = is_moment(&arguments[0]) || is_moment_literal(bind, &arguments[0]);
    let cast = if moment { cast_datetime } else { cast_time };
    let fsp = cast(bind, &mut arguments[0])?.max(cast_time(bind, &mut arguments[1])?);
    Ok(numeric(if moment { TypeKind::DateTime { fsp } } else { TypeKind::Time { fsp } }))
}

fn infer_timestamp(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let mut fsp = cast_allowed_datetime(bind, &mut arguments[0])?;
    if let Some(time) = arguments.get_mut(1) {
        fsp = fsp.max(cast_time(bind, time)?);
    }
    Ok(numeric(TypeKind::DateTime { fsp }))
}

/// Two-digit years are of 1970 to 2069; a day below 1 or past 9999 gives NULL.
fn makedate(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(year), Some(day)) = (arguments.integer(0)?, arguments.integer(1)?) else {
        return Ok(Value::Null);
    };
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        other => other,
    };
    let first = u16::try_from(year).ok().and_then(|year| Date::new(year, 1, 1));
    let date = first.filter(|_| day > 0).and_then(|first| first.add_days(day - 1));
    Ok(date.map_or(Value::Null, Value::Date))
}

/// Numbers before year 1 give the zero date, as MySQL does.
fn from_days(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(number) = arguments.integer(0)? else { return Ok(Value::Null) };
    Ok(Value::Date(Date::from_day_number(number).unwrap_or(Date::ZERO)))
}

/// The microseconds of a number of seconds that binding has made a DECIMAL.
fn micros_of(arguments: &Arguments<'_>, index: usize) -> Result<Option<i64>, SqlError> {
    Ok(match &*arguments.value(index)? {
        Value::Decimal(seconds) => {
            let micros =
                seconds.multiply(&datum::Decimal::from_i64(1_000_000)).and_then(|micros| micros.round(0));
            Some(micros.ok().and_then(|micros| micros.to_i64()).unwrap_or(i64::MAX / 4))
        }
        _ => None,
    })
}

fn maketime(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(hours), Some(minutes), Some(micros)) =
        (arguments.integer(0)?, arguments.integer(1)?, micros_of(arguments, 2)?)
    else {
        return Ok(Value::Null);
    };
    if !(0..60).contains(&minutes) || !(0..60_000_000).contains(&micros) {
        return Ok(Value::Null);
    }
    let magnitude = hours.unsigned_abs().min(10_000) as i64 * 3_600_000_000 + minutes * 60_000_000 + micros;
    Ok(Value::Time(Time::clipped(if hours < 0 { -magnitude } else { magnitude }).0))
}

fn sec_to_time(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(micros_of(arguments, 0)?.map_or(Value::Null, |micros| Value::Time(Time::clipped(micros).0)))
}

fn datediff(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(left), Some(right)) = (arguments.real_datetime(0)?, arguments.real_datetime(1)?) else {
        return Ok(Value::Null);
    };
    Ok(Value::Int(left.date().day_number() - right.date().day_number()))
}

/// Microseconds of either a moment or a time, so that differences are exact.
fn linear(arguments: &Arguments<'_>, index: usize) -> Result<Option<i64>, SqlError> {
    Ok(match &*arguments.value(index)? {
        Value::DateTime(moment) => Some(moment.linear_micros()),
        Value::Time(time) => Some(time.to_micros()),
        _ => None,
    })
}

fn timediff(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(left), Some(right)) = (linear(arguments, 0)?, linear(arguments, 1)?) else {
        return Ok(Value::Null);
    };
    Ok(Value::Time(Time::clipped(left - right).0))
}

fn addtime(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    add(arguments, 1)
}

fn subtime(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    add(arguments, -1)
}

fn add(arguments: &Arguments<'_>, sign: i64) -> Result<Value, SqlError> {
    let Some(span) = arguments.time(1)? else { return Ok(Value::Null) };
    let micros = sign * span.to_micros();
    Ok(match &*arguments.value(0)? {
        Value::DateTime(moment) => moment.add_micros(micros).map_or(Value::Null, Value::DateTime),
        Value::Time(time) => Value::Time(Time::clipped(time.to_micros() + micros).0),
        _ => Value::Null,
    })
}

fn timestamp(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(moment) = arguments.datetime(0)? else { return Ok(Value::Null) };
    let moment: Option<DateTime> = if arguments.len() == 2 {
        arguments.time(1)?.and_then(|time| moment.add_micros(time.to_micros()))
    } else {
        Some(moment)
    };
    Ok(moment.map_or(Value::Null, Value::DateTime))
}

/// Months since year 0 of a period YYMM or YYYYMM.
fn months_of(period: i64) -> Option<i64> {
    let (year, month) = (period / 100, period % 100);
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        other => other,
    };
    ((1..=12).contains(&month) && (0..=9999).contains(&year)).then_some(year * 12 + month - 1)
}

fn incorrect(name: &str) -> SqlError {
    datum::error_code::ER_WRONG_ARGUMENTS.with(&[&name])
}

fn period_add(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(period), Some(months)) = (arguments.integer(0)?, arguments.integer(1)?) else {
        return Ok(Value::Null);
    };
    let total = months_of(period).and_then(|start| start.checked_add(months)).filter(|total| *total >= 0);
    let period = total.and_then(|total| (total / 12).checked_mul(100)?.checked_add(total % 12 + 1));
    Ok(Value::Int(period.ok_or_else(|| incorrect("period_add"))?))
}

fn period_diff(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(left), Some(right)) = (arguments.integer(0)?, arguments.integer(1)?) else {
        return Ok(Value::Null);
    };
    match (months_of(left), months_of(right)) {
        (Some(left), Some(right)) => Ok(Value::Int(left - right)),
        _ => Err(incorrect("period_diff")),
    }
}
