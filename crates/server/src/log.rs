//! Messages for the administrator: one line each, to standard error or the file of `log-error`.
//!
//! Invariant: control characters of untrusted text are escaped, so one message is one line. Called wherever an
//! event is handled, never where it is only passed on.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

static FILE: OnceLock<File> = OnceLock::new();

/// Sends messages to a file from now on.
pub(crate) fn open_file(path: &Path) -> Result<(), String> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    let file = file.map_err(|error| format!("cannot open the log file {}: {error}", path.display()))?;
    // A second server in one process keeps the first one's file.
    let _ = FILE.set(file);
    Ok(())
}

pub(crate) fn note(message: &str) {
    write("Note", message);
}

pub(crate) fn warning(message: &str) {
    write("Warning", message);
}

pub(crate) fn error(message: &str) {
    write("Error", message);
}

fn write(level: &str, message: &str) {
    let mut line = format!("{} [{level}] ", timestamp(SystemTime::now()));
    for character in message.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line.push('\n');
    // There is nowhere left to report that the log cannot be written.
    let _ = match FILE.get() {
        Some(mut file) => file.write_all(line.as_bytes()),
        None => std::io::stderr().write_all(line.as_bytes()),
    };
}

/// `2026-01-31T12:34:56.123456Z`.
fn timestamp(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let (year, month, day) = civil_from_days(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let micros = since.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Days since 1970 to the calendar, by whole years and months: a log line may cost a microsecond.
fn civil_from_days(mut days: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timestamps_are_calendar_dates() {
        let check = |seconds, expected| {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        };
        check(0, "1970-01-01T00:00:00.000000Z");
        check(951_782_400, "2000-02-29T00:00:00.000000Z");
        check(1_709_251_199, "2024-02-29T23:59:59.000000Z");
        check(1_767_225_599, "2025-12-31T23:59:59.000000Z");
    }
}
