//! Values as system tables show them.
use datum::{Time, Timestamp, Value};
use telemetry::{Timings, picoseconds};

/// Microseconds since 1970 as a TIMESTAMP; 0 is the zero timestamp.
pub(crate) fn timestamp(unix_us: i64) -> Value {
    Value::Timestamp(Timestamp::from_unix_micros(unix_us).unwrap_or(Timestamp::ZERO))
}

pub(crate) fn duration(micros: u64) -> Value {
    let micros = i64::try_from(micros).unwrap_or(i64::MAX);
    Value::Time(Time::clipped(micros).0)
}

/// Text, or NULL.
pub(crate) fn optional(text: Option<impl AsRef<[u8]>>) -> Value {
    text.map_or(Value::Null, |text| Value::bytes(text))
}

/// Nanoseconds in the picoseconds of `performance_schema`.
pub(crate) fn time(nanoseconds: u64) -> Value {
    Value::UInt(picoseconds(nanoseconds))
}

/// COUNT_STAR, SUM_TIMER_WAIT, MIN_TIMER_WAIT, AVG_TIMER_WAIT, MAX_TIMER_WAIT.
pub(crate) fn timings(timings: &Timings) -> Vec<Value> {
    vec![
        Value::UInt(timings.count),
        time(timings.sum_ns),
        time(timings.min_ns),
        time(timings.average_ns()),
        time(timings.max_ns),
    ]
}

/// The number of a member of an ENUM, from 1.
pub(crate) fn member(number: u16) -> Value {
    Value::Enum(number)
}

pub(crate) fn zeros(count: usize) -> impl Iterator<Item = Value> {
    std::iter::repeat_n(Value::UInt(0), count)
}

/// A DECIMAL from its text.
pub(crate) fn decimal(text: &str) -> Value {
    datum::Decimal::parse(text).map_or(Value::Null, Value::Decimal)
}

/// As FORMAT_BYTES() writes it.
pub(crate) fn bytes_text(bytes: u64) -> String {
    functions::bytes_text(bytes as f64)
}

/// As FORMAT_PICO_TIME() writes it.
pub(crate) fn time_text(nanoseconds: u64) -> String {
    functions::pico_time_text(picoseconds(nanoseconds) as f64)
}

/// A statement as `sys` shortens it.
pub(crate) fn short_statement(text: &str) -> String {
    const LENGTH: usize = 64;
    let text: Vec<char> =
        text.chars().map(|character| if character == '\n' { ' ' } else { character }).collect();
    if text.len() <= LENGTH {
        return text.into_iter().collect();
    }
    let half = LENGTH / 2 - 2;
    let (first, last) = (&text[..half], &text[text.len() - half..]);
    format!("{} ... {}", first.iter().collect::<String>(), last.iter().collect::<String>())
}
