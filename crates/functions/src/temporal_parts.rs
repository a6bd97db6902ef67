//! Parts of dates and times: YEAR, MONTH, HOUR, WEEK, DAYNAME, TO_DAYS, LAST_DAY and their kin.
use datum::{ColumnType, Date, SqlError, TypeKind, Value};

use expression::BindContext;
use expression::call::infer::{
    cast_allowed_datetime, cast_calendar_datetime, cast_datetime, cast_integer, cast_part_datetime,
    cast_time, integer_type, made_text,
};
use expression::{Arguments, Function};
use expression::{Coercibility, Expr, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::pure("year", (1, 1), infer_year, year),
    Function::pure("quarter", (1, 1), infer_of_datetime, quarter),
    Function::pure("month", (1, 1), infer_of_datetime, month),
    Function::pure("day", (1, 1), infer_of_datetime, day),
    Function::pure("dayofmonth", (1, 1), infer_of_datetime, day),
    Function::pure("dayofweek", (1, 1), infer_of_datetime, day_of_week),
    Function::pure("weekday", (1, 1), infer_of_datetime, weekday),
    Function::pure("dayofyear", (1, 1), infer_of_datetime, day_of_year),
    Function::pure("week", (1, 2), infer_of_datetime, week),
    Function::pure("weekofyear", (1, 1), infer_of_datetime, week_of_year),
    Function::pure("yearweek", (1, 2), infer_of_datetime, year_week),
    Function::pure("to_days", (1, 1), infer_of_datetime, to_days),
    Function::pure("to_seconds", (1, 1), infer_of_datetime, to_seconds),
    Function::pure("dayname", (1, 1), infer_name, day_name),
    Function::pure("monthname", (1, 1), infer_name, month_name),
    Function::pure("hour", (1, 1), infer_of_time, hour),
    Function::pure("minute", (1, 1), infer_of_time, minute),
    Function::pure("second", (1, 1), infer_of_time, second),
    Function::pure("microsecond", (1, 1), infer_of_time, microsecond),
    Function::pure("time_to_sec", (1, 1), infer_of_time, time_to_sec),
    Function::pure("date", (1, 1), infer_date, date),
    Function::pure("last_day", (1, 1), infer_date, last_day),
    Function::pure("time", (1, 1), infer_time, time),
];

/// The date first; a second argument is a number.
fn infer_of_datetime(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    match name {
        "quarter" | "month" | "day" | "dayofmonth" => cast_part_datetime(bind, &mut arguments[0])?,
        _ => cast_calendar_datetime(bind, &mut arguments[0])?,
    };
    arguments.get_mut(1).map_or(Ok(()), |mode| cast_integer(bind, mode))?;
    Ok(integer_type())
}

fn infer_year(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_part_datetime(bind, &mut arguments[0])?;
    Ok(ExprType::new(ColumnType::computed_year(), Coercibility::Numeric))
}

fn infer_of_time(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_time(bind, &mut arguments[0])?;
    Ok(integer_type())
}

fn infer_name(bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    match name {
        "monthname" => cast_part_datetime(bind, &mut arguments[0])?,
        _ => cast_calendar_datetime(bind, &mut arguments[0])?,
    };
    Ok(made_text(bind, 9))
}

fn infer_date(bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let given = &mut arguments[0];
    match name {
        // As CAST, which takes numbers without a year for days of the year 2000.
        "date" if given.ty.column.kind.is_numeric() && given.ty.column.kind != TypeKind::Year => {
            let number = std::mem::replace(given, Expr::null());
            *given = bind.convert(number, ColumnType::new(TypeKind::Date))?;
        }
        "date" => _ = cast_allowed_datetime(bind, given)?,
        "last_day" => _ = cast_part_datetime(bind, given)?,
        _ => _ = cast_datetime(bind, given)?,
    };
    Ok(ExprType::new(ColumnType::new(TypeKind::Date), Coercibility::Numeric))
}

fn infer_time(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let fsp = cast_time(bind, &mut arguments[0])?;
    Ok(ExprType::new(ColumnType::new(TypeKind::Time { fsp }), Coercibility::Numeric))
}

/// A part of the date as it is written, also of dates with zero parts.
fn written(arguments: &Arguments<'_>, part: impl Fn(Date) -> i64) -> Result<Value, SqlError> {
    Ok(arguments.date(0)?.map_or(Value::Null, |date| Value::Int(part(date))))
}

/// A part that needs a place in the calendar: NULL for dates with zero parts.
fn reckoned(arguments: &Arguments<'_>, part: impl Fn(Date) -> i64) -> Result<Value, SqlError> {
    Ok(arguments.real_date(0)?.map_or(Value::Null, |date| Value::Int(part(date))))
}

fn year(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(arguments.datetime(0)?.map_or(Value::Null, |moment| Value::Year(moment.date().year())))
}

fn quarter(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    written(arguments, |date| i64::from(date.month().div_ceil(3)))
}

fn month(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    written(arguments, |date| i64::from(date.month()))
}

fn day(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    written(arguments, |date| i64::from(date.day()))
}

/// 1 is Sunday.
fn day_of_week(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    reckoned(arguments, |date| i64::from((date.weekday() + 1) % 7) + 1)
}

/// 0 is Monday.
fn weekday(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    reckoned(arguments, |date| i64::from(date.weekday()))
}

fn day_of_year(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    reckoned(arguments, Date::day_of_year)
}

/// The mode that was asked for, or the session's default; `None` for NULL.
fn week_mode(arguments: &Arguments<'_>, default: u8) -> Result<Option<u8>, SqlError> {
    if arguments.len() < 2 {
        return Ok(Some(default));
    }
    Ok(arguments.integer(1)?.map(mode_of))
}

/// A negative mode is 0, as is one beyond BIGINT.
fn mode_of(number: i64) -> u8 {
    if number < 0 || number == i64::MAX { 0 } else { (number & 7) as u8 }
}

/// With a mode that is NULL every date is of week 0.
fn zero_week(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    reckoned(arguments, |_| 0)
}

fn week(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let default = arguments.context.settings.default_week_format;
    let Some(mode) = week_mode(arguments, default)? else { return zero_week(arguments) };
    reckoned(arguments, |date| i64::from(date.week(mode).1))
}

fn week_of_year(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    reckoned(arguments, |date| i64::from(date.week(3).1))
}

fn year_week(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    // The date is read before the mode.
    let date = arguments.real_date(0)?;
    let mode = if arguments.len() > 1 { arguments.integer(1)? } else { Some(0) };
    let Some(date) = date else { return Ok(Value::Null) };
    let Some(number) = mode else { return Ok(Value::Int(0)) };
    // With a negative mode days before the first week are of week 0.
    let mode = mode_of(number);
    let (year, week) = date.week(if number < 0 { mode } else { mode | 2 });
    Ok(Value::Int(i64::from(year) * 100 + i64::from(week)))
}

fn to_days(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    reckoned(arguments, Date::day_number)
}

fn to_seconds(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let moment = arguments.real_datetime(0)?;
    Ok(moment.map_or(Value::Null, |moment| Value::Int(moment.linear_micros().div_euclid(1_000_000))))
}

fn day_name(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let date = arguments.real_date(0)?;
    Ok(date.map_or(Value::Null, |date| {
        Value::bytes(arguments.context.settings.locale.days[usize::from(date.weekday())])
    }))
}

fn month_name(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let month = arguments.datetime(0)?.map_or(0, |moment| usize::from(moment.date().month()));
    Ok(arguments.context.settings.locale.months.get(month.wrapping_sub(1)).map_or(Value::Null, Value::bytes))
}

fn of_time(arguments: &Arguments<'_>, part: impl Fn(datum::Time) -> i64) -> Result<Value, SqlError> {
    Ok(arguments.time(0)?.map_or(Value::Null, |time| Value::Int(part(time))))
}

fn hour(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    of_time(arguments, |time| i64::from(time.hours()))
}

fn minute(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    of_time(arguments, |time| i64::from(time.minutes()))
}

fn second(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    of_time(arguments, |time| i64::from(time.seconds()))
}

fn microsecond(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    of_time(arguments, |time| i64::from(time.micros()))
}

fn time_to_sec(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    of_time(arguments, |time| time.to_micros() / 1_000_000)
}

fn date(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    match arguments.exprs[0].ty.column.kind {
        TypeKind::Date => Ok(arguments.value(0)?.into_owned()),
        _ => Ok(arguments.date(0)?.map_or(Value::Null, Value::Date)),
    }
}

/// The day may be 0, the month not.
fn last_day(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(date) = arguments.datetime(0)?.map(|moment| moment.date()) else { return Ok(Value::Null) };
    if date.month() == 0 {
        let text = Value::Date(date).to_text(&arguments.ty.column).into_owned();
        arguments.context.warn(datum::truncated("date", &text));
        return Ok(Value::Null);
    }
    let last = Date::new(date.year(), date.month(), datum::days_in_month(date.year(), date.month()));
    Ok(last.map_or(Value::Null, Value::Date))
}

fn time(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(arguments.time(0)?.map_or(Value::Null, Value::Time))
}
