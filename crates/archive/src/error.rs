//! Why the archive cannot be written or read, or a database cannot be restored.
use engine::EngineError;
use env::{IoError, IoErrorKind};
use wal::WalError;

/// A disk that is a folder of a store (`objects::Folder`) says so that it does not answer, or refuses; its words stand in the path's
/// place. Linux's numbers, which no disk of the machine's own has.
const ECOMM: i32 = 70;
const EREMOTEIO: i32 = 121;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveError {
    /// The engine, mostly because it is closed.
    Engine(EngineError),
    /// A file of the archive or a backup; the text names it.
    Io(String),
    /// The archive is in a store that does not answer now; the text is the store's, or of the way to it.
    Away(String),
    /// The disk of the archive is full.
    NoSpace,
    /// A file is damaged; the text says which and where.
    Damaged(String),
    /// The backup has what was committed behind the moment; the text says so.
    TooNew(String),
    /// What was asked for cannot be done with this backup and this archive; the text says why.
    Unfit(String),
}

impl std::fmt::Display for ArchiveError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ArchiveError::Engine(error) => write!(formatter, "{error}"),
            ArchiveError::NoSpace => formatter.write_str("the disk is full"),
            ArchiveError::Io(what)
            | ArchiveError::Away(what)
            | ArchiveError::Damaged(what)
            | ArchiveError::TooNew(what)
            | ArchiveError::Unfit(what) => formatter.write_str(what),
        }
    }
}

impl std::error::Error for ArchiveError {}

impl From<EngineError> for ArchiveError {
    fn from(error: EngineError) -> ArchiveError {
        ArchiveError::Engine(error)
    }
}

impl From<IoError> for ArchiveError {
    fn from(error: IoError) -> ArchiveError {
        match error.kind {
            IoErrorKind::NoSpace => ArchiveError::NoSpace,
            IoErrorKind::Os(ECOMM) => ArchiveError::Away(error.path),
            IoErrorKind::Os(EREMOTEIO) => ArchiveError::Io(error.path),
            _ => ArchiveError::Io(error.to_string()),
        }
    }
}

impl From<WalError> for ArchiveError {
    fn from(error: WalError) -> ArchiveError {
        match error {
            WalError::Io(error) | WalError::Failed(error) => error.into(),
            damaged => ArchiveError::Damaged(damaged.to_string()),
        }
    }
}
