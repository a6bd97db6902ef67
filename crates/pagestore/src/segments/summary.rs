//! The summary: the first block of every chunk, which says what the chunk holds. All numbers are little-endian.
//!
//! | offset | bytes   | field                                                                     |
//! |--------|---------|---------------------------------------------------------------------------|
//! | 0      | 8       | magic "EVKCHUNK"                                                          |
//! | 8      | 4       | format version, 1                                                         |
//! | 12     | 4       | crc32c of the block with this field as zero                               |
//! | 16     | 8       | identity of the store, random                                             |
//! | 24     | 8       | sequence of the chunk                                                     |
//! | 32     | 8       | every chunk through this sequence was durable when this one was written   |
//! | 40     | 8       | generation: the sequence of the first chunk in this use of the segment    |
//! | 48     | 4       | number of the segment                                                     |
//! | 52     | 4       | offset of the chunk in the segment, in blocks of 4096                     |
//! | 56     | 4       | incarnation: counts the openings of the store                             |
//! | 60     | 2       | number of entries, at most 251; 252 in a chunk of an earlier build        |
//! | 62     | 1       | stream: 0 fresh pages, 1 relocated pages, 2 map blocks                    |
//! | 63     | 1       | zero                                                                      |
//! | 64     | 16 each | entries                                                                   |
//! | 4088   | 8       | the highest LSN of all pages written so far; 0, or a 252nd entry: unknown |
//!
//! Entry, first word: bits 0..40 the page id (map block: level << 32 | index), bits 40..46 the length in units of
//! 512 bytes, bits 46..48 the kind (0 set, 1 free, 2 replace, 3 map block), bits 48..56 the upper bits of the address
//! that was copied from. Second word: bits 0..32 the checksum of the image (for pages the one in their header), bits
//! 32..64 the lower bits of the address that was copied from. The images follow the summary in order of the entries.

use super::place::{ADDRESS_MAX, BLOCK_BYTES, Geometry, Place, UNIT_BYTES};
use crc_fast::{CrcAlgorithm, Digest};

const MAGIC: &[u8; 8] = b"EVKCHUNK";
const VERSION: u32 = 1;
const ENTRY_OFFSET: usize = 64;
const ENTRY_BYTES: usize = 16;
const NEWEST_LSN_OFFSET: usize = BLOCK_BYTES - 8;
/// A chunk of an earlier build has at most this many entries.
const ENTRIES_READ_MAX: usize = (BLOCK_BYTES - ENTRY_OFFSET) / ENTRY_BYTES;
/// A chunk has at most this many entries.
pub(super) const ENTRIES_MAX: usize = (NEWEST_LSN_OFFSET - ENTRY_OFFSET) / ENTRY_BYTES;

/// What a segment holds. Streams never share a segment: their contents die at different times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stream {
    Fresh = 0,
    Relocated = 1,
    Map = 2,
}

impl Stream {
    pub(super) const ALL: [Self; 3] = [Self::Fresh, Self::Relocated, Self::Map];
}

/// What an entry does to the word of its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Set,
    Free,
    /// Only if the word still names this address.
    Replace {
        from: u64,
    },
    MapBlock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) subject: u64,
    pub(super) effect: Effect,
    pub(super) bytes: u64,
    pub(super) checksum: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) store: u64,
    pub(super) sequence: u64,
    pub(super) durable_through: u64,
    pub(super) generation: u64,
    pub(super) segment: u32,
    /// In bytes.
    pub(super) offset: u64,
    pub(super) incarnation: u32,
    pub(super) stream: Stream,
    /// 0: unknown.
    pub(super) newest_lsn: u64,
    pub(super) entries: Vec<Entry>,
}

impl Summary {
    /// The whole chunk.
    pub(super) fn chunk_bytes(&self) -> u64 {
        let images: u64 = self.entries.iter().map(|entry| entry.bytes).sum();
        BLOCK_BYTES as u64 + images.next_multiple_of(BLOCK_BYTES as u64)
    }

    /// The entries with the places of their images.
    pub(super) fn places(&self, geometry: Geometry) -> impl Iterator<Item = (Entry, Place)> {
        let mut offset = self.offset + BLOCK_BYTES as u64;
        self.entries.iter().map(move |entry| {
            let place = match entry.effect {
                Effect::Free => Place::NOWHERE,
                _ => geometry.place(self.segment, offset, entry.bytes),
            };
            offset += entry.bytes;
            (*entry, place)
        })
    }

    pub(super) fn encode(&self, block: &mut [u8]) {
        assert!(self.entries.len() <= ENTRIES_MAX && block.len() == BLOCK_BYTES);
        block.fill(0);
        block[..8].copy_from_slice(MAGIC);
        block[8..12].copy_from_slice(&VERSION.to_le_bytes());
        block[16..24].copy_from_slice(&self.store.to_le_bytes());
        block[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        block[32..40].copy_from_slice(&self.durable_through.to_le_bytes());
        block[40..48].copy_from_slice(&self.generation.to_le_bytes());
        block[48..52].copy_from_slice(&self.segment.to_le_bytes());
        block[52..56].copy_from_slice(&((self.offset / BLOCK_BYTES as u64) as u32).to_le_bytes());
        block[56..60].copy_from_slice(&self.incarnation.to_le_bytes());
        block[60..62].copy_from_slice(&(self.entries.len() as u16).to_le_bytes());
        block[62] = self.stream as u8;
        let slots = block[ENTRY_OFFSET..].chunks_exact_mut(ENTRY_BYTES);
        for (slot, entry) in slots.zip(&self.entries) {
            let (first, second) = encode_entry(entry);
            slot[..8].copy_from_slice(&first.to_le_bytes());
            slot[8..].copy_from_slice(&second.to_le_bytes());
        }
        block[NEWEST_LSN_OFFSET..].copy_from_slice(&self.newest_lsn.to_le_bytes());
        let crc = crc_fast::crc32_iscsi(block);
        block[12..16].copy_from_slice(&crc.to_le_bytes());
    }

    /// `None` for anything but an intact summary of a known version.
    pub(super) fn decode(block: &[u8]) -> Option<Self> {
        let u32_at = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"));
        if block.len() != BLOCK_BYTES || &block[..8] != MAGIC || u32_at(8) != VERSION {
            return None;
        }
        // The checksum of the block with its own field as zero, without a copy of the block.
        let mut crc = Digest::new(CrcAlgorithm::Crc32Iscsi);
        for part in [&block[..12], &[0; 4], &block[16..]] {
            crc.update(part);
        }
        if crc.finalize() as u32 != u32_at(12) {
            return None;
        }
        let count = usize::from(u16::from_le_bytes(block[60..62].try_into().expect("two bytes")));
        let stream = *Stream::ALL.get(usize::from(block[62]))?;
        if count > ENTRIES_READ_MAX {
            return None;
        }
        let slots = block[ENTRY_OFFSET..].chunks_exact(ENTRY_BYTES).take(count);
        let entries = slots.map(|slot| {
            let (first, second) = slot.split_at(8);
            decode_entry(
                u64::from_le_bytes(first.try_into().expect("eight bytes")),
                u64::from_le_bytes(second.try_into().expect("eight bytes")),
            )
        });
        Some(Self {
            store: u64_at(16),
            sequence: u64_at(24),
            durable_through: u64_at(32),
            generation: u64_at(40),
            segment: u32_at(48),
            offset: u64::from(u32_at(52)) * BLOCK_BYTES as u64,
            incarnation: u32_at(56),
            stream,
            newest_lsn: if count > ENTRIES_MAX { 0 } else { u64_at(NEWEST_LSN_OFFSET) },
            entries: entries.collect(),
        })
    }
}

fn encode_entry(entry: &Entry) -> (u64, u64) {
    let (kind, from) = match entry.effect {
        Effect::Set => (0, 0),
        Effect::Free => (1, 0),
        Effect::Replace { from } => (2, from),
        Effect::MapBlock => (3, 0),
    };
    assert!(entry.subject <= ADDRESS_MAX && from <= ADDRESS_MAX);
    let first = entry.subject | (entry.bytes / UNIT_BYTES) << 40 | kind << 46 | (from >> 32) << 48;
    (first, u64::from(entry.checksum) | from << 32)
}

fn decode_entry(first: u64, second: u64) -> Entry {
    let from = (first >> 48 & 0xff) << 32 | second >> 32;
    let effect = match first >> 46 & 3 {
        0 => Effect::Set,
        1 => Effect::Free,
        2 => Effect::Replace { from },
        _ => Effect::MapBlock,
    };
    let bytes = (first >> 40 & 0x3f) * UNIT_BYTES;
    Entry { subject: first & ADDRESS_MAX, effect, bytes, checksum: second as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_comes_back_and_damage_is_noticed() {
        let effects = [Effect::Set, Effect::Free, Effect::Replace { from: ADDRESS_MAX }, Effect::MapBlock];
        let entries = effects.map(|effect| Entry {
            subject: ADDRESS_MAX - 3,
            effect,
            bytes: if effect == Effect::Free { 0 } else { 8192 },
            checksum: 0xfeed_beef,
        });
        let summary = Summary {
            store: u64::MAX - 1,
            sequence: 77,
            durable_through: 70,
            generation: 75,
            segment: 9,
            offset: 12288,
            incarnation: 3,
            stream: Stream::Relocated,
            newest_lsn: 1 << 60,
            entries: entries.to_vec(),
        };
        let mut block = vec![0; BLOCK_BYTES];
        summary.encode(&mut block);
        assert_eq!(Summary::decode(&block), Some(summary));
        for bit in (0..BLOCK_BYTES * 8).step_by(41) {
            block[bit / 8] ^= 1 << (bit % 8);
            assert!(Summary::decode(&block).is_none(), "bit {bit}");
            block[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_full_summary_of_an_earlier_build_is_read() {
        let entry = Entry { subject: 5, effect: Effect::Set, bytes: 8192, checksum: 0xfeed_beef };
        let mut summary = Summary {
            store: 1,
            sequence: 77,
            durable_through: 70,
            generation: 75,
            segment: 9,
            offset: 12288,
            incarnation: 3,
            stream: Stream::Fresh,
            newest_lsn: 0,
            entries: vec![entry; ENTRIES_MAX],
        };
        let mut block = vec![0; BLOCK_BYTES];
        summary.encode(&mut block);
        assert_eq!(Summary::decode(&block), Some(summary.clone()));
        // As that build wrote it: one entry more, where the LSN is now.
        summary.entries.push(entry);
        block[60..62].copy_from_slice(&(ENTRIES_READ_MAX as u16).to_le_bytes());
        let (first, second) = encode_entry(&entry);
        block[BLOCK_BYTES - 16..BLOCK_BYTES - 8].copy_from_slice(&first.to_le_bytes());
        block[BLOCK_BYTES - 8..].copy_from_slice(&second.to_le_bytes());
        block[12..16].fill(0);
        let crc = crc_fast::crc32_iscsi(&block);
        block[12..16].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(Summary::decode(&block), Some(summary));
    }
}
