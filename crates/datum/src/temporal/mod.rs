//! Temporal values: MySQL's dates with their zero parts, times up to 838 hours, and instants.
//!
//! Invariant: a value is always in MySQL's range for its type; parts may be zero where MySQL allows it, and the
//! SQL mode, not the value, decides whether such a date may be stored.

mod calendar;
mod date;
mod datetime;
mod parse;
mod time;
mod timestamp;

pub use calendar::{days_in_month, days_in_year, weekday_name_index};
pub use date::Date;
pub use datetime::DateTime;
pub use parse::Parsed;
pub use time::Time;
pub use timestamp::Timestamp;

pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Microseconds rounded half up to `fsp` digits; may give a full second.
pub(crate) fn round_micros(micros: i64, fsp: u8) -> i64 {
    let unit = 10i64.pow(6 - u32::from(fsp.min(6)));
    (micros + unit / 2).div_euclid(unit) * unit
}

/// Appends `.ffffff` with `fsp` digits, nothing for 0.
pub(crate) fn write_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    if fsp > 0 {
        out.push(b'.');
        let digits = micros / 10u32.pow(6 - u32::from(fsp.min(6)));
        write_padded(u64::from(digits), usize::from(fsp.min(6)), out);
    }
}

/// Appends a number with at least `width` digits.
pub(crate) fn write_padded(number: u64, width: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut rest = number;
    let mut start = digits.len();
    while rest > 0 || digits.len() - start < width {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod parse_tests;
#[cfg(test)]
mod tests;
