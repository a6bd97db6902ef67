//! Why the archive cannot be written or read, or a database cannot be restored.
use engine::EngineError;
use env::IoError;
use wal::WalError;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveError {
    /// The engine, mostly because it is closed.
    Engine(EngineError),
    /// A file of the archive or a backup; the text names it.
    Io(String),
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
        if error.is_no_space() { ArchiveError::NoSpace } else { ArchiveError::Io(error.to_string()) }
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
