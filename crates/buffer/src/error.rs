//! Why a page operation stopped, and what cannot be resolved by waiting.

use pagestore::{CorruptPage, PageId, StoreError};
use std::fmt;
use wal::{AppendError, Priority, WalError};

/// Why synchronous page code could not go on. It holds no latch any more; whoever called it awaits
/// `BufferPool::resolve` (or lets `BufferPool::run` do so) and calls it again from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The page is not in memory.
    Miss(PageId),
    /// The page has changes that were made while it was not in memory (`late`): they come first.
    Late(PageId),
    /// The page is to be created, but somebody is still loading what is on disk under its id.
    Loading(PageId),
    /// No frame is free at the moment.
    NoFrame,
    /// The store must grow so that this page exists.
    Extend(PageId),
    /// The log has no room for a group of `bytes` at the moment.
    LogFull { bytes: u32, priority: Priority },
    /// The structure changed meanwhile: try again at once.
    Restart,
    /// The bytes of a page contradict the format. Waiting does not help.
    Corrupt(CorruptPage),
}

/// A failure that a retry does not cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BufferError {
    /// Reading, writing or growing the store failed.
    Store(StoreError),
    /// The log is full for good, or has failed.
    Log(AppendError),
    Corrupt(CorruptPage),
    /// The pool was stopped.
    Stopped,
}

impl BufferError {
    /// The disk is full: nothing was changed, and the operation may be tried again later.
    pub fn is_no_space(&self) -> bool {
        match self {
            Self::Store(error) => error.is_no_space(),
            Self::Log(error) => matches!(error, AppendError::NoSpace),
            Self::Corrupt(_) | Self::Stopped => false,
        }
    }

    pub fn is_corruption(&self) -> bool {
        match self {
            Self::Store(error) => error.is_corruption(),
            Self::Log(_) | Self::Stopped => false,
            Self::Corrupt(_) => true,
        }
    }
}

impl From<CorruptPage> for Stop {
    fn from(corrupt: CorruptPage) -> Self {
        Self::Corrupt(corrupt)
    }
}

impl From<CorruptPage> for BufferError {
    fn from(corrupt: CorruptPage) -> Self {
        Self::Corrupt(corrupt)
    }
}

impl From<StoreError> for BufferError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Corrupt(corrupt) => Self::Corrupt(corrupt),
            other => Self::Store(other),
        }
    }
}

impl From<AppendError> for BufferError {
    fn from(error: AppendError) -> Self {
        Self::Log(error)
    }
}

impl From<WalError> for BufferError {
    fn from(error: WalError) -> Self {
        Self::Log(AppendError::Failed(error))
    }
}

impl fmt::Display for BufferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Log(error) => error.fmt(f),
            Self::Corrupt(corrupt) => corrupt.fmt(f),
            Self::Stopped => write!(f, "the buffer pool is stopped"),
        }
    }
}

impl std::error::Error for BufferError {}
