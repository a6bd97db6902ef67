//! What can go wrong with stored pages.

use crate::PageId;
use env::{IoError, IoOp};
use std::fmt;

/// Why the bytes of a page cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageFault {
    /// The checksum is wrong: a torn, damaged or never written page.
    Checksum,
    /// An intact page with another identity: a misdirected write or read.
    WrongPage,
    /// A page kind or version that this program does not know.
    UnknownFormat,
    /// An intact image of an earlier version: the write that should have replaced it was lost.
    Stale,
    /// It was never written.
    Absent,
    /// A page id beyond the end of the store.
    BeyondEnd,
    /// It was damaged when a change had to be made to it, and has been given up since.
    Lost,
    /// Intact bytes that contradict the rules of their page kind; says which rule.
    Structure(&'static str),
}

/// A page that must not be used, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorruptPage {
    pub page: PageId,
    pub fault: PageFault,
}

impl fmt::Display for CorruptPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {} is corrupt: ", self.page)?;
        match self.fault {
            PageFault::Checksum => write!(f, "wrong checksum"),
            PageFault::WrongPage => write!(f, "it holds another page"),
            PageFault::UnknownFormat => write!(f, "unknown page kind or version"),
            PageFault::Stale => write!(f, "it holds an older version; a write was lost"),
            PageFault::Absent => write!(f, "it was never written"),
            PageFault::Lost => write!(f, "its content was lost to an earlier damage"),
            PageFault::BeyondEnd => write!(f, "it lies beyond the end of the store"),
            PageFault::Structure(rule) => write!(f, "{rule}"),
        }
    }
}

impl std::error::Error for CorruptPage {}

/// A failed operation of a page store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// The disk failed or is full.
    Io(IoError),
    Corrupt(CorruptPage),
    /// The file is not a page store, or its superblock is lost in both slots.
    NoSuperblock {
        path: String,
    },
    /// `create` found a store in use.
    AlreadyExists {
        path: String,
    },
    /// The store was written with a format version that this program does not know.
    UnknownVersion {
        path: String,
        version: u32,
    },
    /// The directory holds the files of a page store that keeps pages in segments.
    SegmentStore {
        path: String,
    },
}

impl StoreError {
    /// The disk is full: nothing was changed, and the operation may be tried again later. A sync that fails for want
    /// of space is not of this kind: writes that seemed to be done are lost.
    pub fn is_no_space(&self) -> bool {
        matches!(self, Self::Io(error) if error.is_no_space() && error.op == IoOp::Allocate)
    }

    pub fn is_corruption(&self) -> bool {
        matches!(self, Self::Corrupt(_) | Self::NoSuperblock { .. })
    }
}

impl From<IoError> for StoreError {
    fn from(error: IoError) -> Self {
        Self::Io(error)
    }
}

impl From<CorruptPage> for StoreError {
    fn from(corrupt: CorruptPage) -> Self {
        Self::Corrupt(corrupt)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Corrupt(corrupt) => corrupt.fmt(f),
            Self::NoSuperblock { path } => write!(f, "'{path}' has no valid superblock"),
            Self::AlreadyExists { path } => write!(f, "'{path}' is a page store in use"),
            Self::UnknownVersion { path, version } => {
                write!(f, "'{path}' has unknown format version {version}")
            }
            Self::SegmentStore { path } => write!(
                f,
                "'{path}' is of a segment page store, which this version does not read; dump the data with the \
                 version that created it"
            ),
        }
    }
}

impl std::error::Error for StoreError {}
