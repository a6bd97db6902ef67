//! Records in memory that wait to be sorted. Filled by the sorter, read by its merges.
use crate::key_order::{KeyOrder, prefix_of};
use std::cmp::Ordering;
use std::ops::Range;

/// Keys and rows in one piece of memory.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    pub(super) entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
pub struct Entry {
    prefix: u64,
    /// Where the key begins; the row follows it.
    at: usize,
    key_length: u32,
    row_length: u32,
}

impl Buffer {
    pub(super) fn len_bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }

    pub(crate) fn key(&self, index: usize) -> &[u8] {
        self.key_of(&self.entries[index])
    }

    fn key_of(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.at..entry.at + entry.key_length as usize]
    }

    pub(crate) fn row(&self, index: usize) -> &[u8] {
        let entry = &self.entries[index];
        let start = entry.at + entry.key_length as usize;
        &self.bytes[start..start + entry.row_length as usize]
    }

    pub(super) fn push(&mut self, order: &KeyOrder, key: &[u8], row: &[u8]) {
        if self.entries.capacity() == 0 {
            let bytes = key.len() + row.len();
            self.bytes.reserve((bytes * FIRST_ENTRIES).min(FIRST_BYTES).max(bytes));
            self.entries.reserve(FIRST_ENTRIES);
        }
        self.entries.push(Entry {
            prefix: prefix_of(order, key),
            at: self.bytes.len(),
            key_length: u32::try_from(key.len()).expect("a key is smaller than 4 GiB"),
            row_length: u32::try_from(row.len()).expect("a row is smaller than 4 GiB"),
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(row);
    }

    /// Sorts each stretch of entries; rows with equal keys stay in the order in which they came.
    pub(super) fn sort(&mut self, range: Range<usize>, order: &KeyOrder) {
        let mut entries = std::mem::take(&mut self.entries);
        debug_assert!(range.end <= entries.len(), "a stretch lies in the buffer");
        entries[range].sort_unstable_by(|left, right| self.compare(order, left, right));
        self.entries = entries;
    }

    fn compare(&self, order: &KeyOrder, left: &Entry, right: &Entry) -> Ordering {
        let keys = || order.compare(self.key_of(left), self.key_of(right));
        left.prefix.cmp(&right.prefix).then_with(keys).then(left.at.cmp(&right.at))
    }

    /// Keeps the first `keep` rows.
    pub(super) fn cut(&mut self, keep: usize, order: &KeyOrder) {
        if self.entries.len() <= keep {
            return;
        }
        let mut entries = std::mem::take(&mut self.entries);
        if keep > 0 {
            entries.select_nth_unstable_by(keep - 1, |left, right| self.compare(order, left, right));
        }
        entries.truncate(keep);
        entries.sort_unstable_by_key(|entry| entry.at);
        let mut kept = 0;
        for entry in &mut entries {
            let length = (entry.key_length + entry.row_length) as usize;
            debug_assert!(kept <= entry.at, "rows that are kept move to the front");
            self.bytes.copy_within(entry.at..entry.at + length, kept);
            entry.at = kept;
            kept += length;
        }
        debug_assert!(kept <= self.bytes.len(), "what is kept was there");
        self.bytes.truncate(kept);
        self.entries = entries;
    }

    /// The last key in order.
    pub(super) fn greatest(&self, order: &KeyOrder) -> Option<&[u8]> {
        let last = self.entries.iter().max_by(|left, right| self.compare(order, left, right))?;
        Some(self.key_of(last))
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }
}

/// There is room for so many when the first one comes, within so many bytes.
pub const FIRST_ENTRIES: usize = 32;

pub const FIRST_BYTES: usize = 16 << 10;
