//! The logs that sessions write: general log, slow log and audit log, as files and as tables.
//!
//! Invariant: who writes a record never waits for a disk. Records go to a bounded queue of the program's ([`LogWriter`]);
//! what finds no room there is lost and counted ([docs/decisions/0040](../../../docs/decisions/0040-logs-lose-rather-than-wait.md)).
//! Whether a log is on is one atomic look.
mod audit;
mod control;
mod general;
mod moment;
mod rows;
mod settings;
mod slow;

pub use audit::AuditRecord;
pub use general::GeneralRecord;
pub use moment::{timestamp_text, unix_micros};
pub use rows::{ErrorRow, GeneralRow, Ring, RingFigures, SlowRow};
pub use settings::{LogSettings, log_output_text};
pub use slow::{SlowExtra, SlowRecord};

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

/// A log with a file of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFile {
    General,
    Slow,
    Audit,
}

/// Where records go; the program supplies it.
pub trait LogWriter: Send + Sync {
    /// Queues a record; gives up and counts when the queue is full.
    fn append(&self, log: LogFile, record: Vec<u8>);
    /// From now on records go to this file. It is opened at once, so that a path that cannot be written is an error here.
    fn open(&self, log: LogFile, path: PathBuf) -> std::io::Result<()>;
    /// Opens the file by its name again: FLUSH LOGS after somebody has renamed it.
    fn reopen(&self, log: LogFile);
    /// The same for the error log.
    fn reopen_error_log(&self);
    /// Which messages of the error log are written: `log_error_verbosity`.
    fn set_error_verbosity(&self, level: u64);
    /// The form of the error log: lines of JSON, or text.
    fn set_error_json(&self, is_json: bool);
    /// The last messages of the error log.
    fn errors(&self) -> &Ring<ErrorRow>;
    /// The directory that relative names are in.
    fn directory(&self) -> PathBuf;
    /// Records that were given up.
    fn lost(&self) -> u64;
}

/// The logs of a server.
#[derive(Default)]
pub struct ServerLogs {
    pub settings: LogSettings,
    writer: OnceLock<Arc<dyn LogWriter>>,
    pub general_rows: Ring<GeneralRow>,
    pub slow_rows: Ring<SlowRow>,
}

impl ServerLogs {
    /// Once, at start.
    pub fn set_writer(&self, writer: Arc<dyn LogWriter>) {
        let _ = self.writer.set(writer);
    }

    pub fn writer(&self) -> Option<&Arc<dyn LogWriter>> {
        self.writer.get()
    }

    fn append(&self, log: LogFile, record: Vec<u8>) {
        if let Some(writer) = self.writer.get() {
            writer.append(log, record);
        }
    }

    pub fn write_general(&self, record: &GeneralRecord<'_>) {
        if self.settings.to_file.load(Relaxed) {
            self.append(LogFile::General, record.text());
        }
        if self.settings.to_table.load(Relaxed) {
            self.general_rows.push(record.row());
        }
    }

    pub fn write_slow(&self, record: &SlowRecord<'_>) {
        if self.settings.to_file.load(Relaxed) {
            self.append(LogFile::Slow, record.text());
        }
        if self.settings.to_table.load(Relaxed) {
            self.slow_rows.push(record.row());
        }
    }

    pub fn write_audit(&self, record: &AuditRecord<'_>) {
        self.append(LogFile::Audit, record.text());
    }

    pub fn lost(&self) -> u64 {
        self.writer.get().map_or(0, |writer| writer.lost())
    }
}
