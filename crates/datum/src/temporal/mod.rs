//! DATE, TIME, DATETIME and TIMESTAMP values in packed forms that compare as integers.
//!
//! Zero dates and dates with zero parts ('2020-00-00') are values; whether they are allowed is the caller's
//! decision by sql_mode. Fractions are always kept to the microsecond; the type says how many digits count.
mod calendar;
mod date;
mod interval;
mod parse;
mod time;
mod timestamp;

#[cfg(test)]
mod tests;

pub use calendar::{days_in_month, days_in_year, week_number, weekday_from_day_number};
pub use date::{Civil, Date, DateTime};
pub use interval::{Interval, Span};
pub use parse::{DateFlags, ParseFailure, ParsedDateTime, ParsedTime};
pub use time::Time;
pub use timestamp::Timestamp;

pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
