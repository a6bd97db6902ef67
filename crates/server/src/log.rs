//! The error log: messages for the administrator, one line each, as text or JSON, to standard error or a file.
//!
//! Invariant: control characters of untrusted text are escaped, so one message is one line. Called wherever an
//! event is handled, never where it is only passed on. Messages are few, so they are written where they arise.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use instance::logs::{ErrorRow, Ring, timestamp_text, unix_micros};

/// Where messages go; standard error without one.
static FILE: Mutex<Option<(File, PathBuf)>> = Mutex::new(None);
/// `log_error_verbosity`. Until it is known everything is written: what a start says is for whoever waits for it.
static VERBOSITY: AtomicU64 = AtomicU64::new(3);
static IS_JSON: AtomicBool = AtomicBool::new(false);
/// The messages that were written last: `performance_schema.error_log`.
static LAST: Ring<ErrorRow> = Ring::new();

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// What an administrator must know: always written, as MySQL does it.
    System,
    Error,
    Warning,
    Note,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::System => "System",
            Level::Error => "Error",
            Level::Warning => "Warning",
            Level::Note => "Note",
        }
    }

    /// The verbosity from which it is written, and MySQL's number for it in JSON.
    fn priority(self) -> u64 {
        match self {
            Level::System => 0,
            Level::Error => 1,
            Level::Warning => 2,
            Level::Note => 3,
        }
    }
}

/// Sends messages to a file from now on.
pub(crate) fn open_file(path: &Path) -> Result<(), String> {
    let file = open(path).map_err(|error| format!("cannot open the log file {}: {error}", path.display()))?;
    let mut present = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    // A second server in one process keeps the first one's file.
    present.get_or_insert((file, path.to_owned()));
    Ok(())
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Opens the file by its name again, for whoever has renamed it: FLUSH ERROR LOGS, SIGHUP.
pub(crate) fn reopen() {
    let failure = {
        let mut present = FILE.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((file, path)) = present.as_mut() else { return };
        match open(path) {
            Ok(opened) => {
                *file = opened;
                None
            }
            Err(failure) => Some(format!("cannot open the log file {} again: {failure}", path.display())),
        }
    };
    if let Some(message) = failure {
        error(&message);
    }
}

pub(crate) fn last_messages() -> &'static Ring<ErrorRow> {
    &LAST
}

pub(crate) fn set_verbosity(level: u64) {
    VERBOSITY.store(level, Relaxed);
}

pub(crate) fn set_json(is_json: bool) {
    IS_JSON.store(is_json, Relaxed);
}

/// Of starts and stops.
pub(crate) fn system(message: &str) {
    write(Level::System, message);
}

pub(crate) fn note(message: &str) {
    write(Level::Note, message);
}

pub(crate) fn warning(message: &str) {
    write(Level::Warning, message);
}

pub(crate) fn error(message: &str) {
    write(Level::Error, message);
}

/// Of the parts that know levels only.
pub(crate) fn at(level: instance::LogLevel, message: &str) {
    let level = match level {
        instance::LogLevel::System => Level::System,
        instance::LogLevel::Error => Level::Error,
        instance::LogLevel::Warning => Level::Warning,
        instance::LogLevel::Note => Level::Note,
    };
    write(level, message);
}

fn write(level: Level, message: &str) {
    if level.priority() > VERBOSITY.load(Relaxed) {
        return;
    }
    let now = unix_micros();
    let row = ErrorRow { unix_us: now, priority: level.priority() as u16 + 1, message: message.to_owned() };
    LAST.push(row);
    let line = line(level, message, now, IS_JSON.load(Relaxed));
    let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    // There is nowhere left to report that the log cannot be written.
    let _ = match file.as_mut() {
        Some((file, _)) => file.write_all(line.as_bytes()),
        None => std::io::stderr().write_all(line.as_bytes()),
    };
}

fn line(level: Level, message: &str, unix_us: i64, is_json: bool) -> String {
    let time = timestamp_text(unix_us);
    let mut line = match is_json {
        true => format!(
            "{{ \"prio\" : {}, \"subsystem\" : \"Server\", \"ts\" : {}, \"time\" : \"{time}\", \"label\" : \"{}\", \"msg\" : \"",
            level.priority(),
            unix_us / 1000,
            level.name()
        ),
        false => format!("{time} [{}] ", level.name()),
    };
    for character in message.chars() {
        match character {
            '"' | '\\' if is_json => line.extend(['\\', character]),
            control if control.is_control() && is_json => {
                line.push_str(&format!("\\u{:04x}", control as u32));
            }
            control if control.is_control() => line.extend(control.escape_default()),
            other => line.push(other),
        }
    }
    line.push_str(if is_json { "\" }\n" } else { "\n" });
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_in_both_forms() {
        let message = "a \"b\"\nc";
        assert_eq!(line(Level::Note, message, 0, false), "1970-01-01T00:00:00.000000Z [Note] a \"b\"\\nc\n");
        assert_eq!(
            line(Level::Warning, message, 0, true),
            "{ \"prio\" : 2, \"subsystem\" : \"Server\", \"ts\" : 0, \"time\" : \"1970-01-01T00:00:00.000000Z\", \
             \"label\" : \"Warning\", \"msg\" : \"a \\\"b\\\"\\u000ac\" }\n"
        );
    }
}
