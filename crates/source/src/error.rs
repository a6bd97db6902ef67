//! Why the binary log cannot be written or read.
use binlog::BinlogError;
use engine::EngineError;
use env::IoError;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceError {
    /// The engine, mostly because it is closed.
    Engine(EngineError),
    /// A file; the text names it.
    Io(String),
    /// The disk is full.
    NoSpace,
    /// A file or the note of the position is damaged; the text says how.
    Damaged(String),
    /// No such file in the index.
    UnknownFile(String),
    /// The position is no place where an event begins, or behind the end.
    WrongPosition(u64),
    /// What the reader lacks was purged.
    Purged,
}

impl SourceError {
    /// The server ends, and may come back.
    pub fn is_closed(&self) -> bool {
        matches!(self, SourceError::Engine(EngineError::Closed))
    }
}

impl std::fmt::Display for SourceError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SourceError::Engine(error) => write!(formatter, "{error}"),
            SourceError::Io(what) | SourceError::Damaged(what) => formatter.write_str(what),
            SourceError::NoSpace => formatter.write_str("no space left for the binary log"),
            SourceError::UnknownFile(name) => write!(formatter, "no binary log file is called '{name}'"),
            SourceError::WrongPosition(position) => {
                write!(formatter, "no event of the binary log begins at byte {position}")
            }
            SourceError::Purged => formatter.write_str(
                "Cannot replicate because the source purged required binary logs. Replicate the missing transactions from \
                 elsewhere, or provision a new replica from backup.",
            ),
        }
    }
}

impl std::error::Error for SourceError {}

impl From<EngineError> for SourceError {
    fn from(error: EngineError) -> SourceError {
        SourceError::Engine(error)
    }
}

impl From<IoError> for SourceError {
    fn from(error: IoError) -> SourceError {
        if error.is_no_space() { SourceError::NoSpace } else { SourceError::Io(error.to_string()) }
    }
}

impl From<BinlogError> for SourceError {
    fn from(error: BinlogError) -> SourceError {
        SourceError::Damaged(error.to_string())
    }
}
