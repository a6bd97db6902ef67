//! Values as dates and times: the coercions of temporal context.
//!
//! Callers: comparison with temporals, CAST, temporal functions, storing into temporal columns.
use crate::column_type::{ColumnType, TypeKind};
use crate::json::json_shown;
use crate::sql_mode::SqlMode;
use crate::temporal::{Date, DateTime, MICROS_PER_SECOND, Parsed, Time};
use crate::time_zone::TimeZone;
use crate::value::Value;

/// What turning values into moments depends on.
#[derive(Clone, Copy, Debug)]
pub struct MomentContext<'a> {
    pub zone: &'a TimeZone,
    pub mode: SqlMode,
    /// The date that a TIME gets when it becomes a DATETIME.
    pub today: Date,
}

/// Why a value is no moment; the caller words the warning or error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMoment {
    Null,
    Invalid,
}

/// No moment with an offset is shorter: `1-1-1 1:1:1+00:00`.
const OFFSET_TEXT_LENGTH_MIN: usize = 17;

impl MomentContext<'_> {
    fn is_lenient(&self) -> bool {
        self.mode.contains(SqlMode::ALLOW_INVALID_DATES)
    }

    /// The time of a whole moment with an offset, as the session's clock shows it.
    fn time_with_offset(&self, text: &[u8]) -> Option<Parsed<Time>> {
        if text.len() < OFFSET_TEXT_LENGTH_MIN {
            return None;
        }
        let parsed =
            DateTime::parse(text, self.is_lenient()).filter(|parsed| parsed.offset_seconds.is_some())?;
        let moment = self.in_session_zone(parsed)?;
        Some(Parsed {
            value: moment.value.time(),
            truncated: moment.truncated,
            offset_seconds: None,
            delimiter: None,
        })
    }

    /// A literal with an offset is a moment of that zone, shown in the session's.
    fn in_session_zone(&self, parsed: Parsed<DateTime>) -> Option<Parsed<DateTime>> {
        let Some(offset) = parsed.offset_seconds else { return Some(parsed) };
        let unix_of = |civil: DateTime| TimeZone::utc().to_unix_micros(civil);
        let unix_micros = unix_of(parsed.value)? - i64::from(offset) * MICROS_PER_SECOND;
        Some(Parsed { value: self.zone.to_local(unix_micros)?, ..parsed })
    }
}

impl Value {
    /// The value as DATETIME with its full fraction; `truncated` tells that text was left over.
    pub fn to_datetime(
        &self,
        column: &ColumnType,
        context: &MomentContext<'_>,
    ) -> Result<Parsed<DateTime>, NoMoment> {
        let whole = |value| Parsed { value, truncated: false, offset_seconds: None, delimiter: None };
        let parsed = match self {
            Value::Null => return Err(NoMoment::Null),
            Value::DateTime(datetime) => Some(whole(*datetime)),
            Value::Date(date) => Some(whole(date.at_midnight())),
            Value::Timestamp(timestamp) => Some(whole(timestamp.in_zone(context.zone))),
            Value::Time(time) => context.today.at_midnight().add_micros(time.to_micros()).map(whole),
            Value::Bytes(_) | Value::Enum(_) | Value::Set(_) | Value::Bit(_) => {
                let text = self.to_text(column);
                DateTime::parse(&text, context.is_lenient())
                    .and_then(|parsed| context.in_session_zone(parsed))
            }
            Value::Json(json) => quoted(&json_shown(json))
                .and_then(|shown| DateTime::parse(shown.as_bytes(), context.is_lenient())),
            // A year is its first day.
            Value::Year(year) => Date::new(*year, 1, 1).map(|date| whole(date.at_midnight())),
            number => number_to_datetime(number, column, context.is_lenient()),
        };
        parsed.ok_or(NoMoment::Invalid)
    }

    /// The value as TIME.
    pub fn to_time(
        &self,
        column: &ColumnType,
        context: &MomentContext<'_>,
    ) -> Result<Parsed<Time>, NoMoment> {
        let whole = |value| Parsed { value, truncated: false, offset_seconds: None, delimiter: None };
        let parsed = match self {
            Value::Null => return Err(NoMoment::Null),
            Value::Time(time) => Some(whole(*time)),
            Value::DateTime(datetime) => Some(whole(datetime.time())),
            Value::Date(_) | Value::Year(_) => Some(whole(Time::ZERO)),
            Value::Timestamp(timestamp) => Some(whole(timestamp.in_zone(context.zone).time())),
            Value::Bytes(_) | Value::Enum(_) | Value::Set(_) | Value::Bit(_) => {
                let text = self.to_text(column);
                context.time_with_offset(&text).or_else(|| Time::parse(&text))
            }
            Value::Json(json) => quoted(&json_shown(json)).and_then(|shown| Time::parse(shown.as_bytes())),
            number => number_to_time(number, column),
        };
        parsed.ok_or(NoMoment::Invalid)
    }

    /// The stored instant as the session's clock shows it; other values as they are.
    #[must_use]
    pub fn in_session_zone(&self, zone: &TimeZone) -> Value {
        match self {
            Value::Timestamp(timestamp) => Value::DateTime(timestamp.in_zone(zone)),
            other => other.clone(),
        }
    }
}

/// Splits a number into its integer part and microseconds, rounding at the sixth digit.
fn split_number(value: &Value, column: &ColumnType) -> Option<(i64, i64)> {
    let mut ignore = |_| {};
    let number = value.to_decimal(column, &mut ignore)?;
    let integer = number.truncate(0);
    let fraction = number.subtract(&integer).ok()?.rescale(6).ok()?;
    Some((integer.to_i64()?, i64::try_from(fraction.coefficient()?).ok()?))
}

fn number_to_datetime(value: &Value, column: &ColumnType, is_lenient: bool) -> Option<Parsed<DateTime>> {
    /// Smaller numbers are dates alone.
    const DATETIME_NUMBER_MIN: i64 = 101_000_000;
    let (integer, micros) = split_number(value, column)?;
    let base = DateTime::from_number(integer, is_lenient).filter(|_| micros >= 0)?;
    let is_date_only = integer < DATETIME_NUMBER_MIN && integer != 0;
    let value = if micros == 0 || is_date_only { base } else { base.plus_fraction(micros)? };
    // The fraction of a date says nothing, so it is left over.
    Some(Parsed { value, truncated: is_date_only && micros != 0, offset_seconds: None, delimiter: None })
}

fn number_to_time(value: &Value, column: &ColumnType) -> Option<Parsed<Time>> {
    let (integer, micros) = match value {
        // An integer is a time by its 64 bits.
        Value::UInt(number) => (*number as i64, 0),
        value => split_number(value, column)?,
    };
    let base = Time::from_number(integer)?;
    let (value, is_clipped) = Time::clipped(base.value.to_micros() + micros);
    Some(Parsed { value, truncated: base.truncated || is_clipped, offset_seconds: None, delimiter: None })
}

/// The fractional digits a value of this type has as a DATETIME or TIME.
pub fn fraction_digits(column: &ColumnType) -> u8 {
    match &column.kind {
        TypeKind::Time { fsp } | TypeKind::DateTime { fsp } | TypeKind::Timestamp { fsp } => *fsp,
        TypeKind::Decimal { scale, .. }
        | TypeKind::Float { digits: Some((_, scale)) }
        | TypeKind::Double { digits: Some((_, scale)) } => (*scale).min(6),
        kind if kind.is_integer() || matches!(kind, TypeKind::Date | TypeKind::Year | TypeKind::Null) => 0,
        _ => 6,
    }
}

/// What a document's quotes hold. Numbers in documents are no moments.
fn quoted(shown: &str) -> Option<&str> {
    shown.starts_with('"').then(|| shown.trim_matches('"'))
}
