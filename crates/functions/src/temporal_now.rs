//! The clock: NOW and its kin (one reading a statement), SYSDATE, UNIX_TIMESTAMP, FROM_UNIXTIME, CONVERT_TZ.
use datum::{ColumnType, DateTime, Decimal, SqlError, TimeZone, TypeKind, Value, error_code};

use super::temporal_format::{format_datetime, format_width};
use super::temporal_make::{micros_of, second_digits};
use expression::BindContext;
use expression::EvalContext;
use expression::Volatility::{Statement, Volatile};
use expression::call::infer::{cast_calendar_datetime, cast_datetime, cast_text, made_text};
use expression::{Arguments, Function};
use expression::{Coercibility, Expr, ExprKind, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("now", (0, 1), Statement, infer_moment, now),
    Function::new("current_timestamp", (0, 1), Statement, infer_moment, now),
    Function::new("localtime", (0, 1), Statement, infer_moment, now),
    Function::new("localtimestamp", (0, 1), Statement, infer_moment, now),
    Function::new("utc_timestamp", (0, 1), Statement, infer_moment, utc_timestamp),
    Function::new("sysdate", (0, 1), Volatile, infer_moment, sysdate),
    Function::new("curdate", (0, 0), Statement, infer_date, curdate),
    Function::new("current_date", (0, 0), Statement, infer_date, curdate),
    Function::new("utc_date", (0, 0), Statement, infer_date, utc_date),
    Function::new("curtime", (0, 1), Statement, infer_time, curtime),
    Function::new("current_time", (0, 1), Statement, infer_time, curtime),
    Function::new("utc_time", (0, 1), Statement, infer_time, utc_time),
    Function::new("unix_timestamp", (0, 1), Statement, infer_unix_timestamp, unix_timestamp),
    Function::new("from_unixtime", (1, 2), Statement, infer_from_unixtime, from_unixtime),
    Function::new("convert_tz", (3, 3), Statement, infer_convert_tz, convert_tz),
];

/// The fractional digits asked for by a literal argument; more than 6 is error 1426.
fn fsp_argument(name: &str, arguments: &[Expr]) -> Result<u8, SqlError> {
    let asked = match arguments.first().map(|expr| &expr.kind) {
        None => 0,
        Some(ExprKind::Literal(Value::Int(number))) => *number,
        Some(ExprKind::Literal(Value::UInt(number))) => i64::try_from(*number).unwrap_or(i64::MAX),
        Some(_) => return Err(error_code::ER_WRONG_ARGUMENTS.with(&[&name])),
    };
    match u8::try_from(asked) {
        Ok(fsp) if fsp <= 6 => Ok(fsp),
        _ => Err(error_code::ER_TOO_BIG_PRECISION.with(&[&asked, &name, &6])),
    }
}

fn temporal_type(kind: TypeKind) -> ExprType {
    ExprType::new(ColumnType::new(kind).not_null(), Coercibility::Numeric)
}

fn infer_moment(
    _bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    Ok(temporal_type(TypeKind::DateTime { fsp: fsp_argument(name, arguments)? }))
}

fn infer_time(_bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(temporal_type(TypeKind::Time { fsp: fsp_argument(name, arguments)? }))
}

fn infer_date(
    _bind: &BindContext,
    _name: &'static str,
    _arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    Ok(temporal_type(TypeKind::Date))
}

fn fsp_of(arguments: &Arguments<'_>) -> u8 {
    match arguments.ty.column.kind {
        TypeKind::DateTime { fsp } | TypeKind::Time { fsp } => fsp,
        _ => 0,
    }
}

fn local_now(context: &EvalContext) -> DateTime {
    let settings = &context.settings;
    settings.time_zone.to_local(settings.now_utc_micros).unwrap_or(DateTime::ZERO)
}

fn utc_now(context: &EvalContext) -> DateTime {
    TimeZone::utc().to_local(context.settings.now_utc_micros).unwrap_or(DateTime::ZERO)
}

fn now(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::DateTime(local_now(arguments.context).truncated(fsp_of(arguments))))
}

fn utc_timestamp(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::DateTime(utc_now(arguments.context).truncated(fsp_of(arguments))))
}

/// The time at which it is evaluated, not the statement's.
fn sysdate(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let micros = since_epoch.map_or(0, |passed| i64::try_from(passed.as_micros()).unwrap_or(0));
    let local = arguments.context.settings.time_zone.to_local(micros).unwrap_or(DateTime::ZERO);
    Ok(Value::DateTime(local.truncated(fsp_of(arguments))))
}

fn curdate(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::Date(local_now(arguments.context).date()))
}

fn utc_date(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::Date(utc_now(arguments.context).date()))
}

fn curtime(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::Time(local_now(arguments.context).time().truncated(fsp_of(arguments))))
}

fn utc_time(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::Time(utc_now(arguments.context).time().truncated(fsp_of(arguments))))
}

/// A whole number of seconds, or DECIMAL when the argument has fractional digits.
fn infer_unix_timestamp(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let fsp = match arguments.first_mut() {
        None => 0,
        Some(argument) => cast_datetime(bind, argument)?,
    };
    let column = if fsp == 0 { ColumnType::bigint() } else { ColumnType::decimal(11 + fsp, fsp) };
    Ok(ExprType::new(column, Coercibility::Numeric))
}

fn unix_timestamp(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let settings = &arguments.context.settings;
    if arguments.is_empty() {
        return Ok(Value::Int(settings.now_utc_micros.div_euclid(1_000_000)));
    }
    // What is no moment, but for NULL itself, is the beginning of time.
    let local = match arguments.datetime(0)? {
        Some(local) => local,
        None if is_null_itself(arguments)? => return Ok(Value::Null),
        None => datum::DateTime::ZERO,
    };
    const SECONDS_MAX: i64 = 32_536_771_199; // 3001-01-18 23:59:59, the end of the 64-bit function's range.
    let micros = settings.time_zone.to_unix_micros(local).filter(|micros| *micros >= 0);
    let micros = micros.filter(|micros| micros / 1_000_000 <= SECONDS_MAX).unwrap_or(0);
    Ok(match arguments.ty.column.kind {
        TypeKind::Decimal { scale, .. } => {
            let exact = Decimal::new(i128::from(micros), 6);
            Value::Decimal(exact.rescale(scale).unwrap_or(exact))
        }
        _ => Value::Int(micros / 1_000_000),
    })
}

/// Whether the argument, before binding made it a moment, is NULL.
fn is_null_itself(arguments: &Arguments<'_>) -> Result<bool, SqlError> {
    let given = match &arguments.exprs[0].kind {
        ExprKind::Cast(inner) => inner,
        _ => &arguments.exprs[0],
    };
    Ok(given.eval_ref(arguments.row, arguments.context)?.is_null())
}

fn infer_from_unixtime(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let fsp = second_digits(&arguments[0]);
    if let Some(format) = arguments.get_mut(1) {
        let width = format_width(bind, format)?;
        return Ok(made_text(bind, width));
    }
    Ok(ExprType::new(ColumnType::new(TypeKind::DateTime { fsp }), Coercibility::Numeric))
}

fn from_unixtime(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let micros = micros_of(arguments, 0, second_digits(&arguments.exprs[0]))?;
    const SECONDS_MAX: i64 = 32_536_771_199;
    let valid = micros.filter(|micros| (0..(SECONDS_MAX + 1) * 1_000_000).contains(micros));
    let local = valid.and_then(|micros| arguments.context.settings.time_zone.to_local(micros));
    let Some(local) = local else { return Ok(Value::Null) };
    if arguments.len() == 1 {
        return Ok(Value::DateTime(local));
    }
    let Some(format) = arguments.text(1)?.filter(|format| !format.is_empty()) else {
        return Ok(Value::Null);
    };
    let text = format_datetime(local, &format, arguments.context.settings.locale);
    Ok(text.map_or(Value::Null, Value::Bytes))
}

fn infer_convert_tz(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let fsp = cast_calendar_datetime(bind, &mut arguments[0])?;
    cast_text(bind, &mut arguments[1])?;
    cast_text(bind, &mut arguments[2])?;
    Ok(ExprType::new(ColumnType::new(TypeKind::DateTime { fsp }), Coercibility::Numeric))
}

/// NULL for an unknown zone; a moment outside TIMESTAMP's range stays as it is.
/// 3001-01-18 23:59:59.999999, beyond which moments are not converted.
const CONVERTED_MICROS_MAX: i64 = 32_536_771_199_999_999;

fn convert_tz(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(from), Some(to)) = (arguments.text(1)?, arguments.text(2)?) else { return Ok(Value::Null) };
    let zone = |name: &[u8]| std::str::from_utf8(name).ok().and_then(TimeZone::parse);
    let (Some(from), Some(to)) = (zone(&from), zone(&to)) else { return Ok(Value::Null) };
    let Some(local) = arguments.datetime(0)? else { return Ok(Value::Null) };
    if local.date().is_zero() {
        let given = match &arguments.exprs[0].kind {
            ExprKind::Cast(given) => given,
            _ => &arguments.exprs[0],
        };
        // That of a marker is one.
        if arguments.context.is_marker(given) {
            return Ok(Value::DateTime(local));
        }
        let value = given.eval_ref(arguments.row, arguments.context)?;
        let shown = datum::shown(&value.to_text(&given.ty.column));
        arguments.context.warn(error_code::ER_INCORRECT_VALUE.with(&[&"datetime", &shown]));
        return Ok(Value::Null);
    }
    let micros = from.to_unix_micros(local).filter(|micros| *micros > 0 && *micros <= CONVERTED_MICROS_MAX);
    Ok(Value::DateTime(micros.and_then(|micros| to.to_local(micros)).unwrap_or(local)))
}
