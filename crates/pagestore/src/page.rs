//! The names of pages and trees, and the page sizes that a store can be created with.

use std::fmt;

/// Page ids fit in 40 bits, so that they can share a word with other things.
pub const PAGE_ID_MAX: u64 = (1 << 40) - 1;

/// Pages below this one belong to the store itself (the superblock slots).
pub const FIRST_FREE_PAGE: PageId = PageId(2);

/// A page, wherever it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageId(pub u64);

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A tree. Never reused, so that locks and log records that name an old tree cannot meet a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TreeId(pub u64);

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Chosen when the store is created, never changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PageSize {
    K4,
    /// The largest size whose read still costs about one device operation on ordinary disks.
    #[default]
    K8,
    K16,
}

impl PageSize {
    pub const fn bytes(self) -> usize {
        match self {
            Self::K4 => 4096,
            Self::K8 => 8192,
            Self::K16 => 16384,
        }
    }

    /// `None` for a size that no store has.
    pub const fn from_bytes(bytes: u64) -> Option<Self> {
        match bytes {
            4096 => Some(Self::K4),
            8192 => Some(Self::K8),
            16384 => Some(Self::K16),
            _ => None,
        }
    }
}
