//! The hash table of a join: keys and rows in one piece of memory, each row beside its key, so that a look-up touches
//! two places: the bucket and the row.
//!
//! Invariant: the rows of a key are found in the order in which they came. Called by `hash_join`.
use foldhash::fast::RandomState;
use std::hash::BuildHasher;

/// Stands for no row.
const NONE: u32 = u32::MAX;
/// Buckets of a table that has just begun.
const BUCKETS_MIN: usize = 64;
/// Rows begin at multiples of this, and are named by the quotient.
const ALIGNMENT: usize = 4;
/// Four numbers before the key and the values of a row: the next row of its key; of a key's first row, the key's last row;
/// the lengths of the key (rows behind the first have none) and of the values.
const HEAD_BYTES: usize = 16;
const NEXT: usize = 0;
const LAST: usize = 4;
const KEY_LENGTH: usize = 8;
const ROW_LENGTH: usize = 12;

pub struct JoinTable {
    hasher: RandomState,
    bytes: Vec<u8>,
    /// By hash: the first row of a key, in the bucket of its hash or behind it. A power of two of them, a quarter free.
    buckets: Vec<Bucket>,
    key_count: usize,
}

#[derive(Clone, Copy)]
struct Bucket {
    /// A part of the key's hash that does not choose the bucket.
    tag: u32,
    first: u32,
}

const FREE: Bucket = Bucket { tag: 0, first: NONE };

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match(u32);

impl JoinTable {
    pub fn new() -> JoinTable {
        JoinTable { hasher: RandomState::default(), bytes: Vec::new(), buckets: Vec::new(), key_count: 0 }
    }

    pub fn clear(&mut self) {
        *self = JoinTable::new();
    }

    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.buckets.len() * size_of::<Bucket>()
    }

    /// So many rows fit; the table is full behind them.
    pub fn is_full(&self) -> bool {
        self.bytes.len() / ALIGNMENT >= NONE as usize / 2
    }

    pub fn insert(&mut self, key: &[u8], row: &[u8]) {
        let number = u32::try_from(self.bytes.len() / ALIGNMENT).expect("a full table gets no rows");
        let hash = self.hasher.hash_one(key);
        let first = self.find(hash, key);
        let shown = if first.is_some() { &[] } else { key };
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("it is smaller than 4 GiB");
        for number in [NONE, number, length(shown), length(row)] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.bytes.extend_from_slice(shown);
        self.bytes.extend_from_slice(row);
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
        match first {
            Some(first) => {
                let last = self.number(first, LAST);
                self.set_number(first, LAST, number);
                self.set_number(last, NEXT, number);
            }
            None => self.link(hash, number),
        }
    }

    /// Puts the first row of a new key into a bucket.
    fn link(&mut self, hash: u64, number: u32) {
        if self.key_count >= self.buckets.len() / 4 * 3 {
            self.grow();
        }
        self.key_count += 1;
        self.put(hash, number);
    }

    fn put(&mut self, hash: u64, number: u32) {
        let mask = self.buckets.len() - 1;
        let mut place = hash as usize & mask;
        while self.buckets[place].first != NONE {
            place = (place + 1) & mask;
        }
        self.buckets[place] = Bucket { tag: tag_of(hash), first: number };
    }

    fn grow(&mut self) {
        let count = (self.buckets.len() * 2).max(BUCKETS_MIN);
        let before = std::mem::replace(&mut self.buckets, vec![FREE; count]);
        for bucket in before.into_iter().filter(|bucket| bucket.first != NONE) {
            let hash = self.hasher.hash_one(self.key(bucket.first));
            self.put(hash, bucket.first);
        }
    }

    fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        if self.buckets.is_empty() {
            return None;
        }
        let (mask, tag) = (self.buckets.len() - 1, tag_of(hash));
        let mut place = hash as usize & mask;
        loop {
            let bucket = self.buckets[place];
            if bucket.first == NONE {
                return None;
            }
            if bucket.tag == tag && self.key(bucket.first) == key {
                return Some(bucket.first);
            }
            place = (place + 1) & mask;
        }
    }

    /// The first row with the key.
    pub fn first(&self, key: &[u8]) -> Option<Match> {
        self.find(self.hasher.hash_one(key), key).map(Match)
    }

    /// The next row with the same key.
    pub fn next(&self, found: Match) -> Option<Match> {
        let next = self.number(found.0, NEXT);
        (next != NONE).then_some(Match(next))
    }

    pub fn row(&self, found: Match) -> &[u8] {
        let key_length = self.number(found.0, KEY_LENGTH) as usize;
        let row_length = self.number(found.0, ROW_LENGTH) as usize;
        let start = found.0 as usize * ALIGNMENT + HEAD_BYTES + key_length;
        &self.bytes[start..start + row_length]
    }

    /// The key of a key's first row.
    fn key(&self, first: u32) -> &[u8] {
        let start = first as usize * ALIGNMENT + HEAD_BYTES;
        &self.bytes[start..start + self.number(first, KEY_LENGTH) as usize]
    }

    /// A number before a row.
    fn number(&self, row: u32, offset: usize) -> u32 {
        let start = row as usize * ALIGNMENT + offset;
        self.bytes[start..].first_chunk().map_or(NONE, |bytes| u32::from_le_bytes(*bytes))
    }

    fn set_number(&mut self, row: u32, offset: usize, number: u32) {
        let start = row as usize * ALIGNMENT + offset;
        self.bytes[start..start + size_of::<u32>()].copy_from_slice(&number.to_le_bytes());
    }
}

fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32
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
