//! Reading a node: search and access to entries.
//!
//! The bytes have passed `check` when they came from disk, so offsets are known to lie inside the page.

use super::layout::*;
use pagestore::PageId;
use std::cmp::Ordering;

/// A node's bytes, for reading.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    page: &'a [u8],
}

/// The fields of a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// The first bytes of the suffix, as `head_of` has them.
    pub(super) head: u32,
    pub(super) offset: usize,
    pub(super) suffix_len: usize,
    pub(super) value_len: usize,
}

impl Slot {
    #[inline]
    fn new(bytes: &[u8; SLOT_BYTES]) -> Slot {
        let number = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        Slot {
            head: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            offset: number(4),
            suffix_len: number(6),
            value_len: number(8),
        }
    }
}

impl<'a> Node<'a> {
    #[inline]
    pub(crate) fn new(page: &'a [u8]) -> Self {
        debug_assert!(page.len() > NODE_HEADER_BYTES, "a node has a header");
        Self { page }
    }

    #[inline]
    pub(crate) fn count(self) -> usize {
        u16_at(self.page, COUNT)
    }

    #[inline]
    pub(crate) fn level(self) -> u8 {
        self.page[LEVEL]
    }

    pub(crate) fn prefix(self) -> &'a [u8] {
        &self.page[self.page.len() - u16_at(self.page, PREFIX_LEN)..]
    }

    #[inline]
    fn slots(self) -> &'a [[u8; SLOT_BYTES]] {
        let slots = &self.page[NODE_HEADER_BYTES..NODE_HEADER_BYTES + self.count() * SLOT_BYTES];
        slots.as_chunks().0
    }

    #[inline]
    pub(super) fn slot(self, index: usize) -> Slot {
        Slot::new(&self.slots()[index])
    }

    /// All, in the order of their keys.
    pub(super) fn all_slots(self) -> impl Iterator<Item = Slot> + 'a {
        self.slots().iter().map(Slot::new)
    }

    #[inline]
    pub(crate) fn suffix(self, index: usize) -> &'a [u8] {
        self.suffix_of(&self.slot(index))
    }

    #[inline]
    pub(super) fn suffix_of(self, slot: &Slot) -> &'a [u8] {
        &self.page[slot.offset..slot.offset + slot.suffix_len]
    }

    #[inline]
    pub(crate) fn value(self, index: usize) -> &'a [u8] {
        let slot = self.slot(index);
        let start = slot.offset + slot.suffix_len;
        &self.page[start..start + slot.value_len]
    }

    /// The whole key, replacing the content of `key`.
    pub(crate) fn copy_key(self, index: usize, key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(self.prefix());
        key.extend_from_slice(self.suffix(index));
    }

    pub(crate) fn key(self, index: usize) -> Vec<u8> {
        let mut key = Vec::new();
        self.copy_key(index, &mut key);
        key
    }

    /// The slot that holds the key, or where it would be inserted.
    #[inline]
    pub(crate) fn search(self, key: &[u8]) -> Result<usize, usize> {
        let prefix = self.prefix();
        let Some(suffix) = key.strip_prefix(prefix) else {
            // Keys that the tree routes here share the prefix; others lie before or behind all entries.
            return Err(if key < prefix { 0 } else { self.count() });
        };
        let head = head_of(suffix);
        let slots = self.slots();
        let (mut low, mut high) = (0, slots.len());
        while low < high {
            let middle = (low + high) / 2;
            let slot = &slots[middle];
            let slot_head = u32::from_le_bytes([slot[0], slot[1], slot[2], slot[3]]);
            let order = slot_head.cmp(&head).then_with(|| self.suffix(middle).cmp(suffix));
            match order {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        debug_assert!(low == 0 || self.suffix(low - 1) < suffix, "all before the place are smaller");
        debug_assert!(low == slots.len() || self.suffix(low) > suffix, "all behind the place are greater");
        Err(low)
    }

    /// The number of the child (0 is the leftmost) that holds the key.
    #[inline]
    pub(crate) fn child_index(self, key: &[u8]) -> usize {
        match self.search(key) {
            Ok(slot) => slot + 1,
            Err(slot) => slot,
        }
    }

    /// The number of the child that holds the keys just before `key`.
    pub(crate) fn child_index_before(self, key: &[u8]) -> usize {
        match self.search(key) {
            Ok(slot) | Err(slot) => slot,
        }
    }

    /// A child by number, 0 to `count()`.
    #[inline]
    pub(crate) fn child(self, index: usize) -> PageId {
        debug_assert!(self.level() > 0);
        if index == 0 {
            let bytes = self.page[FIRST_CHILD..FIRST_CHILD + 8].try_into().expect("eight bytes");
            return PageId(u64::from_le_bytes(bytes));
        }
        let mut bytes = [0; 8];
        bytes[..CHILD_BYTES].copy_from_slice(self.value(index - 1));
        PageId(u64::from_le_bytes(bytes))
    }

    /// Bytes that an insert can use, after compaction if need be.
    pub(crate) fn free_bytes(self) -> usize {
        debug_assert!(
            u16_at(self.page, DEAD_BYTES) <= self.page.len() - self.heap_start(),
            "dead bytes lie in the heap"
        );
        self.gap_bytes() + u16_at(self.page, DEAD_BYTES)
    }

    pub(crate) fn heap_start(self) -> usize {
        u16_at(self.page, HEAP_START)
    }

    /// Bytes between the slots and the heap.
    pub(super) fn gap_bytes(self) -> usize {
        debug_assert!(
            self.heap_start() >= NODE_HEADER_BYTES + self.count() * SLOT_BYTES,
            "slots end before the heap"
        );
        u16_at(self.page, HEAP_START) - (NODE_HEADER_BYTES + self.count() * SLOT_BYTES)
    }

    /// What slots, entries and prefix occupy.
    pub(crate) fn used_bytes(self) -> usize {
        self.capacity() - self.free_bytes()
    }

    /// What a node without entries and prefix can take.
    pub(crate) fn capacity(self) -> usize {
        self.page.len() - NODE_HEADER_BYTES
    }

    /// The bytes that the entry occupies, with its slot.
    pub(crate) fn entry_bytes(self, index: usize) -> usize {
        let slot = self.slot(index);
        SLOT_BYTES + slot.suffix_len + slot.value_len
    }

    /// Under 40 %: worth merging with a neighbour.
    pub(crate) fn is_sparse(self) -> bool {
        self.is_sparse_without(0)
    }

    /// Whether it will be sparse when this many bytes are gone.
    pub(crate) fn is_sparse_without(self, bytes: usize) -> bool {
        debug_assert!(bytes <= self.used_bytes() - self.prefix().len(), "only bytes in use can go");
        // A long prefix does not make an empty node full.
        (self.used_bytes() - self.prefix().len() - bytes) * 10 < self.capacity() * 4
    }

    /// The slot of the last insert, if the node has not been rebuilt since.
    pub(crate) fn insert_last(self) -> Option<usize> {
        u16_at(self.page, INSERT_LAST).checked_sub(1)
    }

    /// How many inserts in a row went just to the right (positive) or left (negative) of the one before.
    pub(crate) fn insert_run(self) -> i16 {
        i16::from_le_bytes([self.page[INSERT_RUN], self.page[INSERT_RUN + 1]])
    }
}
