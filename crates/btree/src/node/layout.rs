//! Offsets of the node format and the limits that follow from them.

use pagestore::{PAGE_HEADER_BYTES, PageId, PageSize};

pub(crate) const NODE_HEADER_BYTES: usize = 64;
pub(crate) const SLOT_BYTES: usize = 10;
pub(crate) const CHILD_BYTES: usize = 5;

pub(super) const COUNT: usize = 40;
pub(super) const HEAP_START: usize = 42;
pub(super) const DEAD_BYTES: usize = 44;
pub(super) const PREFIX_LEN: usize = 46;
pub(super) const LEVEL: usize = 48;
pub(super) const INSERT_LAST: usize = 50;
pub(super) const INSERT_RUN: usize = 52;
pub(super) const FIRST_CHILD: usize = 56;

const _: () = assert!(COUNT == PAGE_HEADER_BYTES, "the node's fields follow the page header");
const _: () = assert!(FIRST_CHILD + 8 == NODE_HEADER_BYTES, "the slots follow the first child");
const _: () = assert!(pagestore::PAGE_ID_MAX >> (8 * CHILD_BYTES) == 0, "a child's bytes take every page id");

/// Deeper than any tree can get: inner nodes have at least two entries, in practice hundreds.
pub(crate) const LEVEL_MAX: u8 = 40;

/// Room that a key leaves for a value: enough for the stub of a value that lies in overflow pages.
const VALUE_ROOM_MIN: usize = 48;

/// The largest entry: two of them fit into a page, so every full page can be split in two.
pub const fn entry_bytes_max(page_size: PageSize) -> usize {
    (page_size.bytes() - NODE_HEADER_BYTES) / 2
}

/// The longest key: 1958, 4006 and 8102 bytes with pages of 4, 8 and 16 KB.
pub const fn key_bytes_max(page_size: PageSize) -> usize {
    entry_bytes_max(page_size) - SLOT_BYTES - VALUE_ROOM_MIN
}

/// The longest value that a leaf takes next to a key of this length; longer ones go to overflow pages.
pub fn inline_value_max(page_size: PageSize, key_len: usize) -> usize {
    assert!(key_len <= key_bytes_max(page_size), "a key of {key_len} bytes is too long");
    debug_assert!(entry_fits(page_size, key_len, VALUE_ROOM_MIN), "each key leaves room for a stub");
    (page_size.bytes() / 4).min(entry_bytes_max(page_size) - SLOT_BYTES - key_len)
}

/// Whether a leaf takes an entry with a key and a value of these lengths.
pub fn entry_fits(page_size: PageSize, key_len: usize, value_len: usize) -> bool {
    key_len <= key_bytes_max(page_size) && SLOT_BYTES + key_len + value_len <= entry_bytes_max(page_size)
}

pub(crate) fn encode_child(child: PageId) -> [u8; CHILD_BYTES] {
    let bytes = child.0.to_le_bytes();
    assert!(child.0 <= pagestore::PAGE_ID_MAX, "page ids have 40 bits");
    debug_assert!(child != PageId(0), "the store's first page is nobody's child");
    [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]]
}

#[inline]
pub(super) fn u16_at(page: &[u8], offset: usize) -> usize {
    usize::from(u16::from_le_bytes([page[offset], page[offset + 1]]))
}

pub(super) fn set_u16(page: &mut [u8], offset: usize, value: usize) {
    let value = u16::try_from(value).expect("offsets within a page fit into 16 bits");
    page[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
}

/// The first four bytes as a number that compares like them.
#[inline]
pub(super) fn head_of(suffix: &[u8]) -> u32 {
    match suffix.first_chunk::<4>() {
        Some(bytes) => u32::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 4];
            bytes[..suffix.len()].copy_from_slice(suffix);
            u32::from_be_bytes(bytes)
        }
    }
}
