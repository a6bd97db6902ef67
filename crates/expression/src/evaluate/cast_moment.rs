//! CAST and implicit conversions of a value to a date, a time or both. Callers: `cast`, and functions that need the date of a
//! moment.
use datum::{
    ColumnType, Date, DateTime, NoMoment, SqlError, SqlMode, TypeKind, Value, error_code, shown, truncated,
};

use super::comparison::moment_context;
use crate::context::EvalContext;
use crate::expr::Expr;

/// Which dates a conversion to a moment gives. Binding tells it by the coercibility of the conversion, which means nothing
/// else there.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Allowed {
    /// What the SQL mode allows.
    Mode,
    /// Any, for functions that ask for its parts (`Ignorable`); a text is no zero date where the mode forbids these.
    Parts,
    /// The same where also numbers that are too small for dates have parts (`SystemConstant`).
    SmallNumbers,
    /// The same for functions that need its place in the calendar (`NoCollation`): texts and numbers have all parts.
    Calendar,
}

/// A number that CAST takes for the month and day of a date in the year 2000, most of which the SQL mode refuses.
fn small_number(value: &Value, column: &ColumnType) -> Option<i64> {
    let is_number = matches!(
        value,
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_)
    );
    let number = value.to_decimal(column, &mut datum::no_warning).filter(|_| is_number)?;
    number.truncate(0).to_i64().filter(|number| (0..=100).contains(number))
}

/// The value as a date, time or moment; NULL, with its warning, where it is none.
pub(super) fn to_moment(
    (value, operand): (&Value, &Expr),
    target: &ColumnType,
    allowed: Allowed,
    context: &EvalContext,
) -> Value {
    let source = &operand.ty.column;
    let moments = moment_context(context, matches!(value, Value::Time(_)));
    if let Some(moment) = moment_of_marker(value, operand, target, context) {
        return moment;
    }
    if allowed == Allowed::SmallNumbers
        && let Some(moment) = moment_of_small_number(value, source)
        && !(context.is_marker(operand) && moment.date().day() == 0)
    {
        let moment = Value::DateTime(moment);
        return moment;
    }
    let small = if allowed == Allowed::Mode { small_number(value, source) } else { None };
    let converted = match (&target.kind, small) {
        (TypeKind::Time { fsp }, _) => value
            .to_time(source, &moments)
            .map(|parsed| (Value::Time(parsed.value.rounded(*fsp)), parsed.truncated, parsed.delimiter)),
        (TypeKind::Date, Some(number)) => {
            let date = Date::new_lenient(2000, (number / 100) as u8, (number % 100) as u8);
            date.map(|date| (Value::Date(date), false, None)).ok_or(NoMoment::Invalid)
        }
        (TypeKind::Date, None) => value.to_datetime(source, &moments).map(|parsed| {
            let date = match context.is_marker(operand) {
                true => parsed.value.date(),
                false => date_of(parsed.value, value, context),
            };
            let date = Value::Date(date);
            (date, parsed.truncated, parsed.delimiter)
        }),
        _ => value.to_datetime(source, &moments).map(|parsed| {
            let rounded = parsed.value.rounded(target.kind.fsp());
            (rounded.map_or(Value::Null, Value::DateTime), parsed.truncated, parsed.delimiter)
        }),
    };
    let name = match target.kind {
        TypeKind::Time { .. } => "time",
        TypeKind::Date => "date",
        _ => "datetime",
    };
    match converted {
        // A moment of zeros that a marker has become is one.
        Ok((moment, ..))
            if is_refused(&moment, value, allowed, context)
                && !(matches!(value, Value::DateTime(_)) && context.is_marker(operand)) =>
        {
            context.warn(no_moment(name, &value.to_text(source)));
            Value::Null
        }
        Ok((moment, was_truncated, delimiter)) => {
            if let Some(delimiter) = delimiter
                && !context.is_marker(operand)
            {
                context.warn(delimiter.warning(&value.to_text(source)));
            }
            if was_truncated {
                context.warn(truncated(name, &value.to_text(source)));
            }
            moment
        }
        Err(NoMoment::Null) => Value::Null,
        Err(NoMoment::Invalid) if matches!(value, Value::Json(_)) => {
            let name = name.to_uppercase();
            context.warn(error_code::ER_INVALID_JSON_VALUE_FOR_CAST.with(&[&name, &"", &1]));
            Value::Null
        }
        Err(NoMoment::Invalid) => {
            context.warn(match number_told(value) {
                Some(number) if name == "date" => no_moment("datetime", number.to_string().as_bytes()),
                _ => no_moment(name, &value.to_text(source)),
            });
            Value::Null
        }
    }
}

/// The whole number that MySQL tells of, where a number is no date.
fn number_told(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        _ => None,
    }
}

/// The DATETIME of a marker's text, whose date need not exist.
fn moment_of_marker(
    value: &Value,
    operand: &Expr,
    target: &ColumnType,
    context: &EvalContext,
) -> Option<Value> {
    let (TypeKind::DateTime { fsp }, Value::Bytes(text)) = (&target.kind, value) else { return None };
    let parsed = DateTime::parse(text, true).filter(|_| context.is_marker(operand))?;
    let is_whole = !parsed.truncated && parsed.offset_seconds.is_none();
    if is_whole { parsed.value.rounded(*fsp).map(Value::DateTime) } else { None }
}

/// The numbers up to 100, which have no year, are days of the year 2000 where parts of dates are asked for.
fn moment_of_small_number(value: &Value, source: &ColumnType) -> Option<DateTime> {
    if !matches!(value, Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_)) {
        return None;
    }
    let number = value.to_decimal(source, &mut datum::no_warning)?;
    let days = u8::try_from(number.truncate(0).to_i64()?).ok().filter(|days| *days <= 100)?;
    let date = Date::new_lenient(2000, days / 100, days % 100).filter(|_| !number.is_negative())?;
    Some(date.at_midnight())
}

/// The date of a moment. A time that is no time of a day is counted from this moment, as MySQL counts it here.
pub fn date_of(moment: DateTime, given: &Value, context: &EvalContext) -> Date {
    let settings = &context.settings;
    let now = || settings.time_zone.to_local(settings.now_utc_micros);
    match given {
        Value::Time(time) if time.is_negative() || time.hours() >= 24 => {
            let then = now().and_then(|now| now.add_micros(time.to_micros()));
            then.unwrap_or(moment).date()
        }
        _ => moment.date(),
    }
}

/// Warning 1292 in the wording MySQL has for the type.
fn no_moment(name: &str, text: &[u8]) -> SqlError {
    match name {
        "datetime" => error_code::ER_INCORRECT_VALUE.with(&[&name, &shown(text)]),
        _ => truncated(name, text),
    }
}

/// Zero dates and dates with zero parts are no result where the SQL mode or the function forbids them.
fn is_refused(moment: &Value, given: &Value, allowed: Allowed, context: &EvalContext) -> bool {
    let date = match moment {
        Value::Date(date) => *date,
        Value::DateTime(datetime) => datetime.date(),
        _ => return false,
    };
    let mode = context.settings.sql_mode;
    let is_zero = date.is_zero() && mode.contains(SqlMode::NO_ZERO_DATE);
    let is_text = matches!(given, Value::Bytes(_) | Value::Enum(_) | Value::Set(_));
    let is_moment = matches!(given, Value::Date(_) | Value::DateTime(_) | Value::Time(_));
    match allowed {
        Allowed::Mode => is_zero || (date.has_zero_part() && mode.contains(SqlMode::NO_ZERO_IN_DATE)),
        Allowed::Parts | Allowed::SmallNumbers => is_zero && is_text,
        Allowed::Calendar => (is_zero && is_text) || (date.has_zero_part() && !is_moment),
    }
}
