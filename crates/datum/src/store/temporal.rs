//! Storing into DATE, TIME, DATETIME and TIMESTAMP columns.
use super::{ConversionProblem, Outcome, StoreMode};
use crate::column_type::ColumnType;
use crate::moment::NoMoment;
use crate::number::shown;
use crate::sql_mode::SqlMode;
use crate::temporal::{Date, DateTime, Parsed, Time, Timestamp};
use crate::value::Value;

fn incorrect(type_name: &'static str, value: &Value, from: &ColumnType) -> ConversionProblem {
    let text = value.to_text(from);
    let is_beyond = match type_name {
        "time" => is_clock_text(&text),
        _ => DateTime::parse(&text, true).is_some_and(|parsed| !parsed.truncated),
    };
    ConversionProblem::IncorrectMoment { type_name, text: shown(&text), is_beyond }
}

/// The note on a part that the column does not keep: 1292 in strict mode, else 1265.
fn part_dropped(
    type_name: &'static str,
    value: &Value,
    from: &ColumnType,
    mode: &StoreMode<'_>,
) -> ConversionProblem {
    match mode.is_strict {
        true => ConversionProblem::PartDropped { type_name, text: shown(&value.to_text(from)) },
        false => ConversionProblem::Shortened,
    }
}

/// Nothing but what times are written with.
fn is_clock_text(text: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-' | b' ');
    text.iter().any(u8::is_ascii_digit) && text.iter().all(is_part)
}

/// Whether sql_mode lets a date be stored. Outside of strict mode forbidden dates are stored with a warning when
/// they are zero, and replaced by the zero date when only parts are.
fn is_allowed(date: Date, mode: &StoreMode<'_>) -> bool {
    let sql_mode = mode.moments.mode;
    if date.is_zero() {
        return !sql_mode.contains(SqlMode::NO_ZERO_DATE);
    }
    !(date.has_zero_part() && sql_mode.contains(SqlMode::NO_ZERO_IN_DATE))
}

/// Reads a value as DATETIME rounded to `fsp`; `Err` carries the outcome of an unreadable one.
fn read(
    value: &Value,
    from: &ColumnType,
    fsp: u8,
    type_name: &'static str,
    mode: &StoreMode<'_>,
) -> Result<DateTime, ConversionProblem> {
    let parsed = value.to_datetime(from, &mode.moments);
    let Ok(Parsed { value: datetime, truncated: false, .. }) = parsed else {
        return Err(incorrect(type_name, value, from));
    };
    // The number 0 is read as the zero date but is none when the mode forbids zero dates, like its text.
    let rounded = if mode.moments.mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
        Some(datetime.truncated(fsp))
    } else {
        datetime.rounded(fsp)
    };
    match rounded {
        Some(rounded) if is_allowed(rounded.date(), mode) => Ok(rounded),
        _ => Err(incorrect(type_name, value, from)),
    }
}

pub(super) fn to_date_column(value: &Value, from: &ColumnType, mode: &StoreMode<'_>) -> Outcome {
    if let Value::Date(date) = value
        && is_allowed(*date, mode)
    {
        return Outcome::exact(value.clone());
    }
    match read(value, from, 0, "date", mode) {
        Ok(datetime) => {
            let stored = Value::Date(datetime.date());
            if datetime.micros_of_day() == 0 {
                return Outcome::exact(stored);
            }
            Outcome::with(stored, part_dropped("date", value, from, mode))
        }
        Err(problem) => {
            // What can be read up to the garbage is kept outside of strict mode.
            let parsed = value.to_datetime(from, &mode.moments).ok().map(|parsed| parsed.value);
            let parsed = parsed.filter(|moment| moment.rounded(0).is_some()).map(DateTime::date);
            let kept = parsed.filter(|date| is_allowed(*date, mode)).unwrap_or(Date::ZERO);
            Outcome::with(Value::Date(kept), problem)
        }
    }
}

fn kept_datetime(value: &Value, from: &ColumnType, fsp: u8, mode: &StoreMode<'_>) -> DateTime {
    let parsed = value.to_datetime(from, &mode.moments).ok().and_then(|parsed| parsed.value.rounded(fsp));
    parsed.filter(|datetime| is_allowed(datetime.date(), mode)).unwrap_or(DateTime::ZERO)
}

pub(super) fn to_datetime_column(value: &Value, from: &ColumnType, fsp: u8, mode: &StoreMode<'_>) -> Outcome {
    match read(value, from, fsp, "datetime", mode) {
        Ok(datetime) => Outcome::exact(Value::DateTime(datetime)),
        Err(problem) => Outcome::with(Value::DateTime(kept_datetime(value, from, fsp, mode)), problem),
    }
}

pub(super) fn to_timestamp_column(
    value: &Value,
    from: &ColumnType,
    fsp: u8,
    mode: &StoreMode<'_>,
) -> Outcome {
    if let Value::Timestamp(timestamp) = value {
        return instant_at_precision(*timestamp, fsp, value, from);
    }
    let mut skipped = None;
    let instant = read(value, from, fsp, "datetime", mode).and_then(|datetime| {
        let is_readable = datetime.is_zero() || !datetime.date().has_zero_part();
        skipped = mode.moments.zone.skips(datetime).then(|| shown(&value.to_text(from)));
        Timestamp::from_zone(datetime, mode.moments.zone)
            .filter(|_| is_readable)
            .ok_or_else(|| incorrect("datetime", value, from))
    });
    match (instant, skipped) {
        (Ok(instant), Some(text)) => {
            Outcome::with(Value::Timestamp(instant), ConversionProblem::SkippedByZone { text })
        }
        (Ok(instant), None) => Outcome::exact(Value::Timestamp(instant)),
        (Err(problem), _) => {
            let kept = kept_datetime(value, from, fsp, mode);
            let instant = Timestamp::from_zone(kept, mode.moments.zone).unwrap_or(Timestamp::ZERO);
            Outcome::with(Value::Timestamp(instant), problem)
        }
    }
}

/// An instant copied from another TIMESTAMP column needs no zone, only rounding.
fn instant_at_precision(timestamp: Timestamp, fsp: u8, value: &Value, from: &ColumnType) -> Outcome {
    let unit = 10i64.pow(6 - u32::from(fsp.min(6)));
    let micros = (timestamp.to_unix_micros() + unit / 2).div_euclid(unit) * unit;
    match Timestamp::from_unix_micros(micros) {
        Some(rounded) => Outcome::exact(Value::Timestamp(rounded)),
        None => Outcome::with(Value::Timestamp(Timestamp::ZERO), incorrect("datetime", value, from)),
    }
}

pub(super) fn to_time_column(value: &Value, from: &ColumnType, fsp: u8, mode: &StoreMode<'_>) -> Outcome {
    if matches!(value, Value::Bytes(text) if text.is_empty() || Time::is_given_up(text)) {
        return Outcome::exact(Value::Time(Time::ZERO));
    }
    // What does not fit BIGINT is no time, though it is one by its bits.
    let is_beyond = matches!(value, Value::UInt(number) if i64::try_from(*number).is_err());
    let parsed = match is_beyond {
        true => Err(NoMoment::Invalid),
        false => value.to_time(from, &mode.moments),
    };
    let Ok(Parsed { value: time, truncated, .. }) = parsed else {
        let nearest = number_beyond(value).unwrap_or(Time::ZERO);
        return Outcome::with(Value::Time(nearest), incorrect("time", value, from));
    };
    let stored = if mode.moments.mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
        time.truncated(fsp)
    } else {
        time.rounded(fsp)
    };
    if truncated {
        return Outcome::with(Value::Time(stored), incorrect("time", value, from));
    }
    if has_date_part(value, mode) {
        return Outcome::with(Value::Time(stored), part_dropped("time", value, from, mode));
    }
    Outcome::exact(Value::Time(stored))
}

/// The longest time in place of a number that is neither a time nor a moment.
fn number_beyond(value: &Value) -> Option<Time> {
    /// 838:59:59
    const TIME_NUMBER_MAX: i64 = 8_385_959;
    match value {
        Value::Int(number) if *number > TIME_NUMBER_MAX => Some(Time::MAX),
        Value::Int(number) if *number < -TIME_NUMBER_MAX => Some(Time::MIN),
        Value::UInt(number) if *number > TIME_NUMBER_MAX as u64 => Some(Time::MAX),
        _ => None,
    }
}

/// Whether a text or number gave a whole datetime, of which only the time is kept.
fn has_date_part(value: &Value, mode: &StoreMode<'_>) -> bool {
    match value {
        Value::Bytes(text) => {
            text.len() >= 12 && !text.starts_with(b"-") && {
                let datetime =
                    DateTime::parse(text, mode.moments.mode.contains(SqlMode::ALLOW_INVALID_DATES));
                datetime.is_some_and(|parsed| !parsed.value.date().is_zero())
            }
        }
        Value::Int(number) => *number > 10_000_000_000,
        Value::UInt(number) => *number > 10_000_000_000,
        Value::Decimal(number) => number.to_f64() > 1e10,
        Value::Double(number) => *number > 1e10,
        _ => false,
    }
}
