//! Groups: records that are replayed all or none (a mini-transaction), and the positions they got.
//!
//! | bytes | field |
//! |---|---|
//! | 4 | length of the records |
//! | 4 | crc32c of the records, mixed with the group's LSN |
//! | n | records |

use crate::Lsn;
use crate::record::{RECORD_HEADER_BYTES, encode_header};
use std::cell::Cell;

pub(crate) const GROUP_HEADER_BYTES: usize = 8;

/// Room that is made for a record at once, because most need no more.
const RECORD_BYTES_COMMON: usize = 64;

/// Collects the records of one mini-transaction. Reusable after `clear`.
#[derive(Debug, Clone, Default)]
pub struct WalGroup {
    /// The records, encoded.
    bytes: Vec<u8>,
    /// The end of each record in `bytes`.
    ends: Vec<u32>,
}

/// Where a group came to lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupLsns {
    /// Before the first byte. A page dirtied by the group has this as its recovery LSN.
    pub start: Lsn,
    /// Behind the last byte; equal to the last record's LSN.
    pub end: Lsn,
}

thread_local! {
    /// Memory of an earlier group, so that most allocate none.
    static SPARE: Cell<Option<WalGroup>> = const { Cell::new(None) };
}

/// Groups larger than this are rare, and their memory is not kept.
const SPARE_BYTES_MAX: usize = 32 << 10;

impl WalGroup {
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty group with the memory that was given back last on this thread.
    pub fn reused() -> Self {
        SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Leaves the memory to the next that is `reused`.
    pub fn give_back(mut self) {
        if (1..=SPARE_BYTES_MAX).contains(&self.bytes.capacity()) {
            self.clear();
            // The thread may be ending; then the memory is simply freed.
            let _ = SPARE.try_with(|spare| spare.set(Some(self)));
        }
    }

    /// Adds a record and returns its index.
    pub fn push(&mut self, kind: u8, txn: u64, payload: &[u8]) -> usize {
        self.push_with(kind, txn, |bytes| bytes.extend_from_slice(payload))
    }

    /// Adds a record whose payload is appended by `encode`, which must only append.
    pub fn push_with(&mut self, kind: u8, txn: u64, encode: impl FnOnce(&mut Vec<u8>)) -> usize {
        let start = self.bytes.len();
        self.bytes.reserve(RECORD_BYTES_COMMON);
        encode_header(&mut self.bytes, 0, kind, txn);
        encode(&mut self.bytes);
        let payload_len = self.bytes.len().checked_sub(start + RECORD_HEADER_BYTES);
        let payload_len =
            payload_len.and_then(|len| u32::try_from(len).ok()).expect("a payload is below 4 GiB");
        self.bytes[start..start + 4].copy_from_slice(&payload_len.to_le_bytes());
        self.ends.push(u32::try_from(self.bytes.len()).expect("a group is below 4 GiB"));
        debug_assert!(
            self.ends.iter().rev().take(2).is_sorted_by(|last, before| before < last),
            "records follow each other"
        );
        self.ends.len() - 1
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Takes the last record out again.
    pub fn pop(&mut self) {
        debug_assert!(!self.ends.is_empty(), "there is a record to take out");
        self.ends.pop();
        self.bytes.truncate(self.ends.last().map_or(0, |end| *end as usize));
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The size in the log.
    pub fn encoded_len(&self) -> usize {
        debug_assert_eq!(
            self.ends.last().map_or(0, |end| *end as usize),
            self.bytes.len(),
            "records fill a group"
        );
        GROUP_HEADER_BYTES + self.bytes.len()
    }

    /// The encoded records, as `decode_records` takes them.
    pub fn record_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes the group into its place in the log; `checksum` is that of the records.
    pub(crate) fn write_at(&self, start: Lsn, checksum: u32, place: &mut [u8]) {
        debug_assert_eq!(place.len(), self.encoded_len(), "a group's place has its length");
        let (header, records) = place.split_at_mut(GROUP_HEADER_BYTES);
        header[..4].copy_from_slice(&(records.len() as u32).to_le_bytes());
        header[4..].copy_from_slice(&group_checksum(checksum, start).to_le_bytes());
        records.copy_from_slice(&self.bytes);
    }

    /// The LSN of the record at `index` once the group lies at `lsns`.
    pub fn record_lsn(&self, lsns: GroupLsns, index: usize) -> Lsn {
        debug_assert_eq!(
            lsns.start.advance(self.encoded_len() as u64),
            lsns.end,
            "a group's LSNs span its bytes"
        );
        lsns.start.advance(GROUP_HEADER_BYTES as u64 + u64::from(self.ends[index]))
    }
}

/// The checksum depends on the place, so that bytes of another place or time are not taken for a group.
pub(crate) fn group_checksum(record_checksum: u32, start: Lsn) -> u32 {
    record_checksum ^ (start.0 as u32).rotate_left(7) ^ ((start.0 >> 32) as u32)
}
