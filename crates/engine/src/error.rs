//! What can go wrong in the engine, as its callers need to tell it apart.

use crate::TreeId;
use pagestore::CorruptPage;

/// An error of one engine call. Unless said otherwise the transaction stays open and only the failed
/// operation had no effect; [`EngineError::rolled_back`] tells the exception.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineError {
    /// Another live record has the same key (or unique prefix); its full key is given.
    DuplicateKey {
        /// The key of the record that is there.
        existing_key: Vec<u8>,
    },
    /// The key to update does not exist (any more).
    NotFound,
    /// The transaction was chosen as a deadlock victim and has been rolled back as a whole.
    Deadlock,
    /// With snapshot isolation: a record to lock was changed by another transaction after the snapshot was taken. The
    /// transaction can only be rolled back.
    RecordChanged,
    /// A lock was not granted within the wait policy's time.
    LockWaitTimeout,
    /// A lock is held by another transaction and the policy was not to wait.
    LockNotAvailable,
    /// A read-only transaction tried to change something.
    ReadOnly,
    /// The version that the snapshot needs is gone.
    SnapshotTooOld,
    /// No space on the data or log disk; the statement is undone, reads go on.
    DiskFull,
    /// A tree that does not exist.
    NoSuchTree(TreeId),
    /// A key or value beyond the engine's limits, in bytes.
    TooLarge {
        /// What was asked for.
        bytes: usize,
        /// What is possible.
        limit: usize,
    },
    /// A page failed its checks. Other trees are not concerned.
    CorruptPage {
        /// The one that was being used.
        tree: Option<TreeId>,
        /// Which page, and what is wrong with it.
        corrupt: CorruptPage,
    },
    /// Something else that was stored failed its checks.
    Corrupt {
        /// For people.
        what: String,
    },
    /// The log or the data files failed; the engine refuses all further changes.
    Io {
        /// For people.
        what: String,
    },
    /// The database is in a page store that this version does not read.
    SegmentStore {
        /// For people.
        what: String,
    },
    /// A transaction that has created or dropped trees cannot be prepared.
    NotPreparable,
    /// The engine is shutting down.
    Closed,
}

impl EngineError {
    /// True when the whole transaction is already rolled back, not only the failed operation.
    pub fn rolled_back(&self) -> bool {
        matches!(self, EngineError::Deadlock)
    }

    /// Says which tree was being used, if it is the error of a page and does not say so yet.
    pub(crate) fn of(self, used: TreeId) -> Self {
        match self {
            Self::CorruptPage { tree: None, corrupt } => Self::CorruptPage { tree: Some(used), corrupt },
            other => other,
        }
    }

    pub(crate) fn is_corruption(&self) -> bool {
        matches!(self, Self::CorruptPage { .. } | Self::Corrupt { .. })
    }
}

impl std::fmt::Display for EngineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EngineError::DuplicateKey { .. } => write!(f, "a record with this key exists"),
            EngineError::NotFound => write!(f, "no record has this key"),
            EngineError::Deadlock => write!(f, "deadlock found; the transaction was rolled back"),
            EngineError::RecordChanged => write!(f, "the record has changed since the snapshot"),
            EngineError::LockWaitTimeout => write!(f, "lock wait timeout exceeded"),
            EngineError::LockNotAvailable => write!(f, "the lock is held by another transaction"),
            EngineError::ReadOnly => write!(f, "the transaction is read only"),
            EngineError::SnapshotTooOld => write!(f, "the snapshot is too old"),
            EngineError::DiskFull => write!(f, "no space left on the disk"),
            EngineError::NoSuchTree(tree) => write!(f, "no tree {}", tree.0),
            EngineError::TooLarge { bytes, limit } => write!(f, "{bytes} bytes exceed the limit of {limit}"),
            EngineError::CorruptPage { tree: Some(tree), corrupt } => write!(f, "tree {}: {corrupt}", tree.0),
            EngineError::CorruptPage { tree: None, corrupt } => corrupt.fmt(f),
            EngineError::Corrupt { what } => write!(f, "corrupt: {what}"),
            EngineError::Io { what } => write!(f, "input/output error: {what}"),
            EngineError::SegmentStore { what } => write!(f, "{what}"),
            EngineError::NotPreparable => {
                write!(f, "a transaction that creates or drops trees cannot be prepared")
            }
            EngineError::Closed => write!(f, "the engine is shutting down"),
        }
    }
}

impl std::error::Error for EngineError {}
