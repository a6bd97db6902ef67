//! The layout of log files.
//!
//! The log is a stream of segments, one file each, named by its number in 16 hexadecimal digits. LSN `x` lies in
//! segment `x / segment_bytes` at offset `x % segment_bytes`. A segment is a sequence of chunks; a chunk starts
//! and ends on a block border, holds whole groups and never crosses a segment. One flush writes the groups that
//! gathered since the one before as one or more new chunks and pads the last to its block: a block that may hold
//! durable bytes is never written again, so no torn write can touch them.
//!
//! | bytes | field of the chunk header |
//! |---|---|
//! | 4 | magic |
//! | 4 | crc32c of the header from `log_id` on and the groups (not of the padding) |
//! | 8 | `log_id`: which log this is, random, so that files of another server are not taken for ours |
//! | 8 | `start`: LSN of this chunk; recycled segments hold chunks with smaller ones |
//! | 8 | `epoch`: random, new at each opening of the log |
//! | 8 | `previous_epoch`: zero, but in the first chunk of an epoch the one that it continues |
//! | 8 | `durable`: the durable LSN when the chunk was written, the witness against silent truncation |
//! | 4 | `used`: bytes of header and groups |
//! | 2 | format version |
//! | 2 | flags: `END_OF_SEGMENT` |
//! | 8 | zero |
//!
//! A chunk follows another only if it starts where that one ends and has the same epoch, or opens a new epoch
//! that names that one's. Leftovers of an earlier run beyond its torn tail therefore never join the log again,
//! even when the new chunks end exactly where they begin.

use crate::Lsn;

pub(crate) const BLOCK_BYTES: usize = 4096;
pub(crate) const CHUNK_HEADER_BYTES: usize = 64;
pub(crate) const END_OF_SEGMENT: u16 = 1;

const MAGIC: u32 = 0x4c57_4b45;
const VERSION: u16 = 1;
const CHECKED_FROM: usize = 8;

const _: () =
    assert!((BLOCK_BYTES as u64).is_multiple_of(env::DIRECT_ALIGNMENT), "chunks are written with direct I/O");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub(crate) log_id: u64,
    pub(crate) start: Lsn,
    pub(crate) epoch: u64,
    pub(crate) previous_epoch: u64,
    pub(crate) durable: Lsn,
    pub(crate) used: u32,
    pub(crate) flags: u16,
}

impl ChunkHeader {
    /// Writes the header, with the checksum over it and the groups, into the front of the chunk.
    pub(crate) fn seal(&self, chunk: &mut [u8]) {
        assert!(self.used as usize <= chunk.len() && self.used as usize >= CHUNK_HEADER_BYTES);
        assert!(self.start.0.is_multiple_of(BLOCK_BYTES as u64));
        chunk[..CHUNK_HEADER_BYTES].fill(0);
        chunk[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        chunk[8..16].copy_from_slice(&self.log_id.to_le_bytes());
        chunk[16..24].copy_from_slice(&self.start.0.to_le_bytes());
        chunk[24..32].copy_from_slice(&self.epoch.to_le_bytes());
        chunk[32..40].copy_from_slice(&self.previous_epoch.to_le_bytes());
        chunk[40..48].copy_from_slice(&self.durable.0.to_le_bytes());
        chunk[48..52].copy_from_slice(&self.used.to_le_bytes());
        chunk[52..54].copy_from_slice(&VERSION.to_le_bytes());
        chunk[54..56].copy_from_slice(&self.flags.to_le_bytes());
        let checksum = crc_fast::crc32_iscsi(&chunk[CHECKED_FROM..self.used as usize]);
        chunk[4..8].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads a header without judging the groups; None when it is none.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let field = |at: usize| -> Option<u64> {
            let bytes: [u8; 8] = bytes.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_le_bytes(bytes))
        };
        let (magic, sizes) = (field(0)? as u32, field(48)?);
        let version = (sizes >> 32) as u16;
        let header = Self {
            log_id: field(8)?,
            start: Lsn(field(16)?),
            epoch: field(24)?,
            previous_epoch: field(32)?,
            durable: Lsn(field(40)?),
            used: sizes as u32,
            flags: (sizes >> 48) as u16,
        };
        let plausible = magic == MAGIC && version == VERSION && header.used as usize >= CHUNK_HEADER_BYTES;
        plausible.then_some(header)
    }

    /// The bytes on disk: `used`, padded to whole blocks.
    pub(crate) fn padded(&self) -> u64 {
        align_up(u64::from(self.used))
    }

    /// The end of the last group.
    pub(crate) fn end(&self) -> Lsn {
        self.start.advance(u64::from(self.used))
    }

    /// Whether the bytes of the whole chunk are those that were sealed.
    pub(crate) fn verify(&self, chunk: &[u8]) -> bool {
        let Some(checked) = chunk.get(CHECKED_FROM..self.used as usize) else { return false };
        let stored = u32::from_le_bytes([chunk[4], chunk[5], chunk[6], chunk[7]]);
        crc_fast::crc32_iscsi(checked) == stored
    }

    /// Whether this chunk may come after one of `epoch`.
    pub(crate) fn follows(&self, epoch: u64) -> bool {
        self.epoch == epoch && self.previous_epoch == 0 || self.previous_epoch == epoch && epoch != 0
    }
}

pub(crate) fn align_up(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK_BYTES as u64)
}

pub(crate) fn segment_path(directory: &str, number: u64) -> String {
    format!("{directory}/{number:016x}")
}

/// The number in a segment's file name; None for other files.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    let digits = name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    digits.then(|| u64::from_str_radix(name, 16).ok()).flatten()
}

/// The segment that holds the byte before `lsn`: the one that must be kept to read on from `lsn`. A position on
/// a border belongs to the segment before it, because only that one's last chunk tells which epoch goes on.
pub(crate) fn segment_before(lsn: Lsn, segment_bytes: u64) -> u64 {
    lsn.0.saturating_sub(1) / segment_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_and_every_flipped_bit_is_noticed() {
        let header = ChunkHeader {
            log_id: 7,
            start: Lsn(8192),
            epoch: 11,
            previous_epoch: 0,
            durable: Lsn(4200),
            used: 100,
            flags: END_OF_SEGMENT,
        };
        let mut chunk = vec![0x5a; BLOCK_BYTES];
        header.seal(&mut chunk);
        assert_eq!(ChunkHeader::read(&chunk), Some(header));
        assert!(header.verify(&chunk));
        for bit in 0..100 * 8 {
            let mut damaged = chunk.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let accepted = ChunkHeader::read(&damaged).is_some_and(|read| read.verify(&damaged));
            assert!(!accepted, "bit {bit}");
        }
    }

    #[test]
    fn epochs_must_be_continuous() {
        let header = |epoch, previous_epoch| ChunkHeader {
            log_id: 1,
            start: Lsn(0),
            epoch,
            previous_epoch,
            durable: Lsn(0),
            used: 64,
            flags: 0,
        };
        assert!(header(5, 0).follows(5));
        assert!(!header(5, 0).follows(6));
        assert!(header(6, 5).follows(5));
        assert!(!header(6, 5).follows(6), "the opening of an epoch is not a later chunk of it");
        assert!(!header(6, 5).follows(4));
    }

    #[test]
    fn segment_names() {
        assert_eq!(segment_path("wal", 27), "wal/000000000000001b");
        assert_eq!(segment_number("000000000000001b"), Some(27));
        for other in ["1b", "000000000000001B", "prepare", "+00000000000001b"] {
            assert_eq!(segment_number(other), None);
        }
    }
}
