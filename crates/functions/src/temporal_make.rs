//! Dates and times made from numbers and from each other: MAKEDATE, DATEDIFF, ADDTIME, TIMEDIFF, PERIOD_ADD.
use datum::{ColumnType, Date, DateTime, SqlError, Time, TypeKind, Value};

use expression::BindContext;
use expression::call::MomentOrTime;
use expression::call::infer::{
    cast_allowed_datetime, cast_calendar_datetime, cast_datetime, cast_integer, cast_time, digits_of,
    integer_type,
};
use expression::call::moment_text;
use expression::{Arguments, Function};
use expression::{Coercibility, Expr, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::pure("makedate", (2, 2), infer_date_of_integers, makedate),
    Function::pure("from_days", (1, 1), infer_date_of_integers, from_days),
    Function::pure("maketime", (3, 3), infer_maketime, maketime),
    Function::pure("sec_to_time", (1, 1), infer_sec_to_time, sec_to_time),
    Function::pure("datediff", (2, 2), infer_datediff, datediff),
    Function::pure("timediff", (2, 2), infer_timediff, timediff),
    Function::pure("addtime", (2, 2), infer_addtime, addtime),
    Function::pure("subtime", (2, 2), infer_addtime, subtime),
    Function::pure("timestamp", (1, 2), infer_timestamp, timestamp),
    Function::pure("period_add", (2, 2), infer_integers, period_add),
    Function::pure("period_diff", (2, 2), infer_integers, period_diff),
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
    Ok(numeric(TypeKind::Time { fsp }))
}

fn infer_sec_to_time(
    _bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let fsp = second_digits(&arguments[0]);
    Ok(numeric(TypeKind::Time { fsp }))
}

/// The fractional digits a number of seconds can have.
pub(super) fn second_digits(expr: &Expr) -> u8 {
    expr.ty.column.fixed_scale().map_or(6, |scale| scale.min(6))
}

fn infer_datediff(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_calendar_datetime(bind, &mut arguments[0])?;
    cast_calendar_datetime(bind, &mut arguments[1])?;
    Ok(integer_type())
}

fn is_moment(expr: &Expr) -> bool {
    matches!(expr.ty.column.kind, TypeKind::Date | TypeKind::DateTime { .. } | TypeKind::Timestamp { .. })
}

/// Both are moments or both are times, by what they look like.
fn infer_timediff(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let fsp = arguments.iter().map(|argument| digits_of(bind, argument, true)).max().unwrap_or(0);
    Ok(numeric(TypeKind::Time { fsp }))
}

fn infer_addtime(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let own = match arguments[0].ty.column.kind {
        TypeKind::Date => 0,
        ref kind => kind.fsp(),
    };
    let is_time = matches!(arguments[0].ty.column.kind, TypeKind::Time { .. });
    if is_moment(&arguments[0]) {
        cast_datetime(bind, &mut arguments[0])?;
        let fsp = own.max(cast_time(bind, &mut arguments[1])?);
        return Ok(numeric(TypeKind::DateTime { fsp }));
    }
    let fsp = own.max(cast_time(bind, &mut arguments[1])?);
    if is_time {
        return Ok(numeric(TypeKind::Time { fsp }));
    }
    Ok(ExprType::new(moment_text(bind.connection_collation), Coercibility::Coercible))
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

/// Day 1 is the first of the year 0, which has 365 days.
fn from_days(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    const YEAR_OF_365_DAYS: u16 = 1;
    let Some(number) = arguments.integer(0)? else { return Ok(Value::Null) };
    let date = match number {
        1..=365 => Date::new(YEAR_OF_365_DAYS, 1, 1)
            .and_then(|first| first.add_days(number - 1))
            .and_then(|date| Date::new(0, date.month(), date.day())),
        _ => Date::from_day_number(number),
    };
    Ok(date.map_or_else(|| beyond_range("DATE", "from_days", arguments), Value::Date))
}

/// NULL with warning 6527.
fn beyond_range(kind: &str, function: &str, arguments: &Arguments<'_>) -> Value {
    let list: Vec<String> = arguments.exprs.iter().map(ToString::to_string).collect();
    let call = format!("{function}({})", list.join(","));
    arguments.context.warn(datum::error_code::ER_WARN_DATETIME_OUT_OF_RANGE.with(&[&kind, &call]));
    Value::Null
}

/// Microseconds that are no time's.
const BEYOND: i64 = i64::MAX / 4;

/// The microseconds of a number of seconds, rounded to `digits` of a second's fraction; what is beyond every time stays
/// so.
pub(super) fn micros_of(
    arguments: &Arguments<'_>,
    index: usize,
    digits: u8,
) -> Result<Option<i64>, SqlError> {
    Ok(seconds_of(arguments, index)?.map(|seconds| rounded_micros(&seconds, digits)))
}

fn seconds_of(arguments: &Arguments<'_>, index: usize) -> Result<Option<datum::Decimal>, SqlError> {
    let value = arguments.value(index)?;
    let column = &arguments.exprs[index].ty.column;
    let seconds = value.to_decimal(column, &mut |warning| arguments.context.warn(warning));
    if let Some(seconds) = &seconds
        && seconds.truncate(0).to_i64().is_none()
        && !matches!(*value, Value::UInt(_))
    {
        arguments.context.warn(datum::truncated("DECIMAL", seconds.to_string().as_bytes()));
    }
    Ok(seconds)
}

fn rounded_micros(seconds: &datum::Decimal, digits: u8) -> i64 {
    let micros = seconds
        .round(i32::from(digits))
        .and_then(|seconds| seconds.multiply(&datum::Decimal::from_i64(1_000_000)))
        .and_then(|micros| micros.round(0));
    let micros = micros.ok().and_then(|micros| micros.to_i64());
    let beyond = if seconds.is_negative() { -BEYOND } else { BEYOND };
    micros.map_or(beyond, |micros| micros.clamp(-BEYOND, BEYOND))
}

fn maketime(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(hours) = arguments.integer(0)? else { return Ok(Value::Null) };
    let Some(minutes) = arguments.integer(1)? else { return Ok(Value::Null) };
    let Some(seconds) = seconds_of(arguments, 2)? else { return Ok(Value::Null) };
    let micros = rounded_micros(&seconds, arguments.ty.column.kind.fsp());
    /// Beyond so many seconds they are no time whatever the others say.
    const SECONDS_MAX: i64 = 1_000_000_000_000_000_000;
    if seconds.truncate(0).to_i64().is_none_or(|whole| whole.unsigned_abs() > SECONDS_MAX.unsigned_abs()) {
        let text = arguments.exprs[2].to_string();
        arguments.context.warn(datum::truncated("time", text.as_bytes()));
    }
    // Seconds that are rounded up to 60 are those of the next minute.
    let is_below = seconds.truncate(0).to_i64().is_some_and(|whole| whole < 60);
    if !(0..60).contains(&minutes) || micros < 0 || !is_below {
        return Ok(Value::Null);
    }
    let magnitude = hours.unsigned_abs().min(10_000) as i64 * 3_600_000_000 + minutes * 60_000_000 + micros;
    let (time, is_beyond) = within(if hours < 0 { -magnitude } else { magnitude });
    if is_beyond {
        let seconds = seconds.to_string();
        let (whole, part) = seconds.split_at(seconds.find('.').unwrap_or(seconds.len()));
        let text = format!("{:02}:{minutes:02}:{whole:0>2}{part}", hours.unsigned_abs());
        arguments.context.warn(datum::truncated("time", text.as_bytes()));
    }
    Ok(Value::Time(time))
}

fn sec_to_time(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let micros = micros_of(arguments, 0, arguments.ty.column.kind.fsp())?;
    Ok(micros.map_or(Value::Null, |micros| Value::Time(clipped(micros, arguments))))
}

fn datediff(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(left), Some(right)) = (arguments.real_date(0)?, arguments.real_date(1)?) else {
        return Ok(Value::Null);
    };
    Ok(Value::Int(left.day_number() - right.day_number()))
}

/// The time in TIME's range, with warning 1292 when it is beyond.
fn clipped(micros: i64, arguments: &Arguments<'_>) -> Time {
    let (time, is_clipped) = Time::clipped(micros);
    if is_clipped {
        arguments.context.warn(datum::truncated("time", clock_text(micros, 0).as_bytes()));
    }
    time
}

/// Any number of hours, minutes and seconds, with so many digits of their parts if they have any.
fn clock_text(micros: i64, digits: usize) -> String {
    let (sign, seconds) = (if micros < 0 { "-" } else { "" }, micros.unsigned_abs() / 1_000_000);
    let mut text = format!("{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if digits > 0 {
        text.push_str(&format!(".{:06}", micros.unsigned_abs() % 1_000_000)[..=digits]);
    }
    text
}

/// The time, or the last one that is not beyond 838:59:59, which has no parts of a second; and whether it was beyond.
fn within(micros: i64) -> (Time, bool) {
    match micros.abs() > Time::MAX.to_micros() {
        true => (if micros < 0 { Time::MIN } else { Time::MAX }, true),
        false => Time::clipped(micros),
    }
}

/// A moment and a time have no difference.
fn timediff(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(left) = arguments.formatted_moment(0)? else { return Ok(Value::Null) };
    let Some(right) = arguments.formatted_moment(1)? else { return Ok(Value::Null) };
    if matches!(left, MomentOrTime::Moment(_)) != matches!(right, MomentOrTime::Moment(_)) {
        return Ok(Value::Null);
    }
    let difference = left.linear_micros() - right.linear_micros();
    let (time, is_beyond) = within(difference);
    if is_beyond {
        let text = clock_text(difference, usize::from(arguments.ty.column.kind.fsp()));
        arguments.context.warn(datum::truncated("time", text.as_bytes()));
    }
    Ok(Value::Time(time))
}

fn addtime(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    add(arguments, 1)
}

fn subtime(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    add(arguments, -1)
}

/// Whether the first argument is written as a date is, and not with the colons of a time.
fn has_dashes(arguments: &Arguments<'_>) -> Result<bool, SqlError> {
    Ok(arguments.value(0)?.to_text(&arguments.exprs[0].ty.column).contains(&b'-'))
}

fn is_of_calendar(date: Date) -> bool {
    Date::new(date.year(), date.month(), date.day()).is_some_and(|date| date.month() != 0 && date.day() != 0)
}

fn add(arguments: &Arguments<'_>, sign: i64) -> Result<Value, SqlError> {
    let Some(start) = arguments.formatted_moment(0)? else { return Ok(Value::Null) };
    let Some(span) = arguments.time(1)? else { return Ok(Value::Null) };
    let micros = sign * span.to_micros();
    let is_text = arguments.ty.column.kind.is_string();
    let name = if sign < 0 { "subtime" } else { "addtime" };
    let mut text = Vec::new();
    let value = match start {
        MomentOrTime::Moment(moment) if !is_text && moment.date().has_zero_part() => return Ok(Value::Null),
        MomentOrTime::Moment(moment)
            if is_text && !is_of_calendar(moment.date()) && has_dashes(arguments)? =>
        {
            let text = arguments.value(0)?.to_text(&arguments.exprs[0].ty.column).into_owned();
            let name = if moment.micros_of_day() == 0 { "date" } else { "datetime" };
            arguments.context.warn(datum::truncated(name, &text));
            return Ok(Value::Null);
        }
        MomentOrTime::Moment(moment) => {
            let Some(sum) = moment.add_micros(micros) else {
                return Ok(beyond_range("DATETIME", name, arguments));
            };
            sum.write_text(if sum.micros() > 0 { 6 } else { 0 }, &mut text);
            Value::DateTime(sum)
        }
        MomentOrTime::Time(time) => {
            let (sum, is_clipped) = within(time.to_micros() + micros);
            sum.write_text(if sum.micros() > 0 { 6 } else { 0 }, &mut text);
            // Text is clipped to the range, a TIME beyond it is none.
            if is_clipped {
                let none = beyond_range("TIME", name, arguments);
                return Ok(if is_text { Value::Bytes(text) } else { none });
            }
            Value::Time(sum)
        }
    };
    Ok(if is_text { Value::Bytes(text) } else { value })
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
    if period <= 0 || !(1..=12).contains(&month) {
        return None;
    }
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        other => other,
    };
    Some(year * 12 + month - 1)
}

fn incorrect(name: &str) -> SqlError {
    datum::error_code::ER_WRONG_ARGUMENTS.with(&[&name])
}

/// The 64 bits of two numbers; the second is not asked for beside NULL.
fn two_numbers(arguments: &Arguments<'_>) -> Result<Option<(i64, i64)>, SqlError> {
    let Some(first) = arguments.bits(0)? else { return Ok(None) };
    Ok(arguments.bits(1)?.map(|second| (first as i64, second as i64)))
}

fn period_add(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some((period, months)) = two_numbers(arguments)? else { return Ok(Value::Null) };
    let start = months_of(period).ok_or_else(|| incorrect("period_add"))?;
    // Months wrap around as unsigned numbers do.
    let total = start.wrapping_add(months) as u64;
    let year = total / 12;
    let year = if year < 100 { year + if year < 70 { 2000 } else { 1900 } } else { year };
    Ok(Value::Int(year.wrapping_mul(100).wrapping_add(total % 12 + 1) as i64))
}

fn period_diff(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some((left, right)) = two_numbers(arguments)? else { return Ok(Value::Null) };
    match (months_of(left), months_of(right)) {
        (Some(left), Some(right)) => Ok(Value::Int(left - right)),
        _ => Err(incorrect("period_diff")),
    }
}
