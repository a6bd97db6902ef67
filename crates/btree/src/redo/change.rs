//! `Change`: one page-local log record, and its encoding. All numbers are little-endian.
//!
//! | kind | payload after the page id (5 bytes)                                             |
//! |------|---------------------------------------------------------------------------------|
//! | 1    | image: length of the front (2), front, tail; zeros in between                   |
//! | 2    | insert: slot (2), suffix length (2), suffix, value                              |
//! | 3    | splice a value: slot (2), bytes kept at start (2) and end (2), bytes in between |
//! | 4    | delete: slot (2)                                                                |
//! | 5    | reshape: entries kept (2), prefix length (2)                                    |
//! | 6    | space map bits: 1 in use or 0 free (1), bit numbers (4 each)                    |
//! | 7    | space map: number of regions (4)                                                |
//! | 8    | the log of a page, said again (`page_log`)                                      |

use crate::node::{NODE_HEADER_BYTES, Node, SLOT_BYTES};
use pagestore::{PageId, PageKind, header};
use std::fmt;

pub(super) const PAGE_ID_BYTES: usize = 5;

/// What happens to a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
    /// The page becomes this; its old content does not matter.
    Image {
        front: &'a [u8],
        tail: &'a [u8],
    },
    Insert {
        slot: u16,
        suffix: &'a [u8],
        value: &'a [u8],
    },
    /// The bytes of a value between the kept start and end are replaced.
    Splice {
        slot: u16,
        keep_start: u16,
        keep_end: u16,
        middle: &'a [u8],
    },
    Delete {
        slot: u16,
    },
    Reshape {
        keep: u16,
        prefix_len: u16,
    },
    SpaceBits {
        used: bool,
        bits: BitList<'a>,
    },
    SpaceRegions {
        count: u32,
    },
}

/// Bit numbers, encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitList<'a>(&'a [u8]);

/// The payload is not a change of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a log record is not a page change of its kind")
    }
}

impl std::error::Error for Malformed {}

impl<'a> BitList<'a> {
    /// `bytes` are 4-byte numbers in a row.
    pub(crate) fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        bytes.len().is_multiple_of(4).then_some(Self(bytes))
    }

    pub fn iter(self) -> impl Iterator<Item = u32> + use<'a> {
        self.0.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes))
    }
}

impl<'a> Change<'a> {
    /// The image of a page, without the free space of a node or the zeros at the end of any other page.
    pub(crate) fn image_of(page: &'a [u8]) -> Self {
        let (front, tail) = match header::kind(page) {
            Some(PageKind::Node) => {
                let node = Node::new(page);
                let gap = NODE_HEADER_BYTES + node.count() * SLOT_BYTES;
                (&page[..gap], &page[node.heap_start()..])
            }
            _ => {
                let end = page.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                (&page[..end], &page[page.len()..])
            }
        };
        debug_assert!(front.len() + tail.len() <= page.len(), "the two parts of an image do not overlap");
        Self::Image { front, tail }
    }

    pub fn kind(&self) -> u8 {
        match self {
            Self::Image { .. } => 1,
            Self::Insert { .. } => 2,
            Self::Splice { .. } => 3,
            Self::Delete { .. } => 4,
            Self::Reshape { .. } => 5,
            Self::SpaceBits { .. } => 6,
            Self::SpaceRegions { .. } => 7,
        }
    }

    /// Whether the page's old content does not matter.
    pub fn is_image(&self) -> bool {
        matches!(self, Self::Image { .. })
    }

    /// Appends the payload.
    pub fn encode(&self, page: PageId, bytes: &mut Vec<u8>) {
        assert!(page.0 <= pagestore::PAGE_ID_MAX, "page ids have 40 bits");
        bytes.extend_from_slice(&page.0.to_le_bytes()[..PAGE_ID_BYTES]);
        let mut put = |numbers: &[u16]| {
            for number in numbers {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        };
        match *self {
            Self::Image { front, tail } => {
                put(&[u16::try_from(front.len()).expect("pages are smaller than 64 KB")]);
                bytes.extend_from_slice(front);
                bytes.extend_from_slice(tail);
            }
            Self::Insert { slot, suffix, value } => {
                put(&[slot, u16::try_from(suffix.len()).expect("keys are smaller than pages")]);
                bytes.extend_from_slice(suffix);
                bytes.extend_from_slice(value);
            }
            Self::Splice { slot, keep_start, keep_end, middle } => {
                put(&[slot, keep_start, keep_end]);
                bytes.extend_from_slice(middle);
            }
            Self::Delete { slot } => put(&[slot]),
            Self::Reshape { keep, prefix_len } => put(&[keep, prefix_len]),
            Self::SpaceBits { used, bits } => {
                bytes.push(u8::from(used));
                bytes.extend_from_slice(bits.0);
            }
            Self::SpaceRegions { count } => bytes.extend_from_slice(&count.to_le_bytes()),
        }
    }

    /// Decodes the payload of a record with a kind below `PAGE_KINDS_END`.
    pub fn decode(kind: u8, payload: &'a [u8]) -> Result<(PageId, Self), Malformed> {
        Self::try_decode(kind, payload).ok_or(Malformed)
    }

    fn try_decode(kind: u8, payload: &'a [u8]) -> Option<(PageId, Self)> {
        let (id, body) = payload.split_at_checked(PAGE_ID_BYTES)?;
        Some((page_id(id), Self::decode_body(kind, body)?))
    }

    /// The same without the page id.
    pub(super) fn decode_body(kind: u8, body: &'a [u8]) -> Option<Self> {
        let mut rest = body;
        let mut number = || {
            let (bytes, after) = rest.split_first_chunk::<2>()?;
            rest = after;
            Some(u16::from_le_bytes(*bytes))
        };
        let change = match kind {
            1 => {
                let front_len = number()?;
                let (front, tail) = rest.split_at_checked(usize::from(front_len))?;
                Self::Image { front, tail }
            }
            2 => {
                let (slot, suffix_len) = (number()?, number()?);
                let (suffix, value) = rest.split_at_checked(usize::from(suffix_len))?;
                Self::Insert { slot, suffix, value }
            }
            3 => {
                let (slot, keep_start, keep_end) = (number()?, number()?, number()?);
                Self::Splice { slot, keep_start, keep_end, middle: rest }
            }
            4 => Self::Delete { slot: number()? },
            5 => Self::Reshape { keep: number()?, prefix_len: number()? },
            6 => {
                let (used, bits) = rest.split_first()?;
                Self::SpaceBits { used: *used != 0, bits: BitList::from_bytes(bits)? }
            }
            7 => Self::SpaceRegions { count: u32::from_le_bytes(rest.try_into().ok()?) },
            _ => return None,
        };
        Some(change)
    }
}

/// Of five bytes.
pub(super) fn page_id(bytes: &[u8]) -> PageId {
    let mut page = [0; 8];
    page[..PAGE_ID_BYTES].copy_from_slice(bytes);
    PageId(u64::from_le_bytes(page))
}
