//! The hash table of a join: keys and rows in one piece of memory.
//!
//! Invariant: the rows of a key are found in the order in which they came.
use foldhash::fast::RandomState;
use std::hash::BuildHasher;

/// Stands for no entry.
const NONE: u32 = u32::MAX;
/// Buckets of a table that has just begun.
const BUCKETS_MIN: usize = 64;

pub struct JoinTable {
    hasher: RandomState,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// The first key of each bucket; a power of two of them, at least as many as keys.
    buckets: Vec<u32>,
    key_count: usize,
}

struct Entry {
    hash: u64,
    /// Where the key begins; the row follows it.
    at: usize,
    key_length: u32,
    row_length: u32,
    /// Of a key's first entry: the next key in the bucket, and the key's last entry.
    next_key: u32,
    last: u32,
    /// The key's next row.
    next: u32,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match(u32);

impl JoinTable {
    pub fn new() -> JoinTable {
        JoinTable {
            hasher: RandomState::default(),
            bytes: Vec::new(),
            entries: Vec::new(),
            buckets: Vec::new(),
            key_count: 0,
        }
    }

    pub fn clear(&mut self) {
        *self = JoinTable::new();
    }

    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>() + self.buckets.len() * size_of::<u32>()
    }

    /// So many rows fit; the table is full behind them.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= NONE as usize
    }

    pub fn insert(&mut self, key: &[u8], row: &[u8]) {
        let hash = self.hasher.hash_one(key);
        let number = u32::try_from(self.entries.len()).expect("a full table gets no rows");
        let first = self.find(hash, key);
        self.entries.push(Entry {
            hash,
            at: self.bytes.len(),
            key_length: u32::try_from(key.len()).expect("a key is smaller than 4 GiB"),
            row_length: u32::try_from(row.len()).expect("a row is smaller than 4 GiB"),
            next_key: NONE,
            last: number,
            next: NONE,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(row);
        match first {
            Some(first) => {
                let last = std::mem::replace(&mut self.entries[first as usize].last, number);
                self.entries[last as usize].next = number;
            }
            None => self.link(number),
        }
    }

    /// Hangs the first entry of a new key into its bucket.
    fn link(&mut self, number: u32) {
        if self.key_count == self.buckets.len() {
            self.grow();
        }
        self.key_count += 1;
        let bucket = self.bucket_of(self.entries[number as usize].hash);
        self.entries[number as usize].next_key = std::mem::replace(&mut self.buckets[bucket], number);
    }

    fn grow(&mut self) {
        let count = (self.buckets.len() * 2).max(BUCKETS_MIN);
        let before = std::mem::replace(&mut self.buckets, vec![NONE; count]);
        for mut number in before {
            while number != NONE {
                let next = self.entries[number as usize].next_key;
                let bucket = self.bucket_of(self.entries[number as usize].hash);
                self.entries[number as usize].next_key = std::mem::replace(&mut self.buckets[bucket], number);
                number = next;
            }
        }
    }

    fn bucket_of(&self, hash: u64) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        if self.buckets.is_empty() {
            return None;
        }
        let mut number = self.buckets[self.bucket_of(hash)];
        while number != NONE {
            let entry = &self.entries[number as usize];
            if entry.hash == hash && &self.bytes[entry.at..entry.at + entry.key_length as usize] == key {
                return Some(number);
            }
            number = entry.next_key;
        }
        None
    }

    /// The first row with the key.
    pub fn first(&self, key: &[u8]) -> Option<Match> {
        self.find(self.hasher.hash_one(key), key).map(Match)
    }

    /// The next row with the same key.
    pub fn next(&self, found: Match) -> Option<Match> {
        let next = self.entries[found.0 as usize].next;
        (next != NONE).then_some(Match(next))
    }

    pub fn row(&self, found: Match) -> &[u8] {
        let entry = &self.entries[found.0 as usize];
        let start = entry.at + entry.key_length as usize;
        &self.bytes[start..start + entry.row_length as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_key_come_in_order() {
        let mut table = JoinTable::new();
        assert_eq!(table.first(b"x"), None);
        for number in 0..3000u32 {
            table.insert(&(number % 700).to_le_bytes(), &number.to_le_bytes());
        }
        for key in 0..800u32 {
            let mut rows = Vec::new();
            let mut found = table.first(&key.to_le_bytes());
            while let Some(row) = found {
                rows.push(u32::from_le_bytes(table.row(row).try_into().expect("four bytes")));
                found = table.next(row);
            }
            let expected: Vec<u32> = (0..3000).filter(|number| number % 700 == key).collect();
            assert_eq!(rows, expected);
        }
        assert!(table.memory_bytes() > 3000 * 8);
        table.clear();
        assert_eq!((table.first(&1u32.to_le_bytes()), table.memory_bytes()), (None, 0));
    }
}
