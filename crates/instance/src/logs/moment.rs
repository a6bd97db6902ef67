//! Times as logs write them: `2026-01-31T12:34:56.123456Z`.
use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970, now.
pub fn unix_micros() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

/// The moment in UTC.
pub fn timestamp_text(unix_us: i64) -> String {
    let micros = unix_us.max(0) as u64;
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (year, month, day) = civil_from_days(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
}

/// Days since 1970 to the calendar, by eras of 400 years that begin in March, so that the leap day is the last.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_calendar_dates() {
        let check = |seconds: i64, expected| assert_eq!(timestamp_text(seconds * 1_000_000), expected);
        check(0, "1970-01-01T00:00:00.000000Z");
        check(951_782_400, "2000-02-29T00:00:00.000000Z");
        check(1_709_251_199, "2024-02-29T23:59:59.000000Z");
        check(1_767_225_599, "2025-12-31T23:59:59.000000Z");
    }
}
