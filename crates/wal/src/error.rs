//! What the log reports: refusals to take a group, and failures of the log itself.

use crate::Lsn;
use env::IoError;
use std::fmt;

/// Why a group was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendError {
    /// No room at the moment: the buffer is unwritten, or the log waits for a checkpoint. Wait
    /// (`Wal::wait_for_space`) with no latch held and try again.
    Full,
    /// The disk is full: only `Priority::Reserve` still gets room. The statement fails, the server goes on.
    NoSpace,
    /// Larger than `group_bytes_max`.
    TooLarge { bytes: usize },
    /// The log failed and takes nothing for ever.
    Failed(WalError),
}

/// A failure of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalError {
    /// A write or sync of the log failed. Nothing is retried, because after a failed sync the kernel may have
    /// dropped the bytes; the server must stop and recover.
    Failed(IoError),
    /// Reading, creating or recycling a log file failed.
    Io(IoError),
    /// Bytes that were durable are damaged or missing. Not a torn tail: starting would lose commits.
    Damaged { file: String, offset: u64, lsn: Lsn, reason: &'static str },
    /// There are no log files.
    Missing { directory: String },
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "the log has no room at the moment"),
            Self::NoSpace => write!(f, "no disk space is left for the log"),
            Self::TooLarge { bytes } => write!(f, "a log group of {bytes} bytes is too large"),
            Self::Failed(error) => write!(f, "{error}"),
        }
    }
}

impl fmt::Display for WalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "the log has failed and takes no more: {error}"),
            Self::Io(error) => write!(f, "log file: {error}"),
            Self::Damaged { file, offset, lsn, reason } => {
                write!(f, "the log is damaged in '{file}' at offset {offset} (LSN {lsn}): {reason}")
            }
            Self::Missing { directory } => write!(f, "there are no log files in '{directory}'"),
        }
    }
}

impl std::error::Error for AppendError {}
impl std::error::Error for WalError {}

impl From<IoError> for WalError {
    fn from(error: IoError) -> Self {
        Self::Io(error)
    }
}

impl From<WalError> for AppendError {
    fn from(error: WalError) -> Self {
        Self::Failed(error)
    }
}
