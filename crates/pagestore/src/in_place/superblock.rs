//! The two superblock slots at the start of the data file, written in turn. All numbers are little-endian.
//!
//! Slot 0 is at offset 0, slot 1 at 4096; sequence `n` goes to slot `n % 2`.
//!
//! | offset | bytes | field                                              |
//! |--------|-------|----------------------------------------------------|
//! | 0      | 8     | magic "EVKPAGES"                                   |
//! | 8      | 4     | format version, 2; 1: pages have no epochs, and    |
//! |        |       | there is no file of `versions`                     |
//! | 12     | 4     | page size in bytes                                 |
//! | 16     | 8     | sequence                                           |
//! | 24     | 4     | length of the record                               |
//! | 28     | 4     | crc32c of the block with this field as zero        |
//! | 32     | 2048  | the caller's checkpoint record, zero-padded        |
//! | 2080   | 8     | pages with an id below this can be written;        |
//! |        |       | 0: as many as the file holds (older stores)        |

use crate::{PageSize, SUPERBLOCK_BYTES_MAX, StoreError, sealed};
use env::{File, IoBuf};
use std::sync::Arc;

pub(super) const SLOT_BYTES: usize = 4096;
const MAGIC: &[u8; 8] = b"EVKPAGES";
const VERSION: u32 = 2;
const OLDEST_VERSION: u32 = 1;
const CHECKSUM_OFFSET: usize = 28;
const RECORD_OFFSET: usize = 32;
const PAGE_COUNT_OFFSET: usize = RECORD_OFFSET + SUPERBLOCK_BYTES_MAX;

const _: () = assert!(PAGE_COUNT_OFFSET + 8 <= SLOT_BYTES, "the record fits into a slot");

/// The newest durable superblock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SuperblockState {
    pub(super) sequence: u64,
    pub(super) record: Vec<u8>,
    /// The growth up to here was filled and synced; 0: unknown.
    pub(super) page_count: u64,
}

impl SuperblockState {
    pub(super) fn next(&self, record: &[u8]) -> Self {
        assert!(record.len() <= SUPERBLOCK_BYTES_MAX, "a checkpoint record has at most 2 KB");
        Self { sequence: self.sequence + 1, record: record.to_vec(), page_count: self.page_count }
    }

    /// The same with more pages.
    pub(super) fn grown(&self, page_count: u64) -> Self {
        Self { page_count, ..self.next(&self.record) }
    }
}

/// Writes both slots of a new store, so that a later write never meets a slot of unknown content.
pub(super) async fn format(
    data: &Arc<dyn File>,
    page_size: PageSize,
    page_count: u64,
) -> Result<SuperblockState, StoreError> {
    let first = SuperblockState { sequence: 0, record: Vec::new(), page_count };
    let second = first.next(&[]);
    write(data, page_size, &first).await?;
    write(data, page_size, &second).await?;
    Ok(second)
}

/// Writes the slot of this sequence and makes it durable. The other slot stays as it is.
pub(super) async fn write(
    data: &Arc<dyn File>,
    page_size: PageSize,
    state: &SuperblockState,
) -> Result<(), StoreError> {
    let block = IoBuf::copy_of(&encode(page_size, state));
    let (_, result) = data.write_at((state.sequence % 2) * SLOT_BYTES as u64, block).await;
    result?;
    data.sync().await?;
    Ok(())
}

/// Makes the newest superblock, which may never have become durable, durable for certain. Answers the one that is newest
/// now.
///
/// As a rule its slot is written again: the other slot has the one before it, and this one has a copy elsewhere, should
/// a crash tear the slot. Without a valid other slot, whose overwriting was cut off then, this superblock was durable
/// before; the next one goes there, and this one is not touched.
pub(super) async fn write_again(
    data: &Arc<dyn File>,
    page_size: PageSize,
    newest: SuperblockState,
) -> Result<SuperblockState, StoreError> {
    let other = (newest.sequence + 1) % 2 * SLOT_BYTES as u64;
    let (block, result) = data.read_at(other, IoBuf::zeroed(SLOT_BYTES)).await;
    result?;
    let state = match decode(block.as_slice()) {
        Slot::Valid(..) => newest,
        Slot::UnknownVersion(_) | Slot::Invalid => newest.next(&newest.record),
    };
    write(data, page_size, &state).await?;
    Ok(state)
}

/// The slot of this superblock, for a copy of it elsewhere.
pub(super) fn slot(page_size: PageSize, state: &SuperblockState) -> Vec<u8> {
    encode(page_size, state)
}

/// The newer of a superblock and what a copy of a slot holds.
pub(super) fn newer(state: SuperblockState, copy: &[u8]) -> SuperblockState {
    match decode(copy) {
        Slot::Valid(_, found) if found.sequence > state.sequence => found,
        _ => state,
    }
}

/// Reads both slots and returns the newest valid one.
pub(super) async fn load(data: &Arc<dyn File>) -> Result<(PageSize, SuperblockState), StoreError> {
    let mut newest: Option<(PageSize, SuperblockState)> = None;
    let mut unknown_version = None;
    for slot in 0..2 {
        let (block, result) = data.read_at(slot * SLOT_BYTES as u64, IoBuf::zeroed(SLOT_BYTES)).await;
        match result {
            Ok(()) => {}
            Err(error) if error.is_end_of_file() => continue,
            Err(error) => return Err(error.into()),
        }
        match decode(block.as_slice()) {
            Slot::Valid(size, state)
                if newest.as_ref().is_none_or(|(_, best)| best.sequence < state.sequence) =>
            {
                newest = Some((size, state));
            }
            Slot::UnknownVersion(version) => unknown_version = Some(version),
            Slot::Valid(..) | Slot::Invalid => {}
        }
    }
    let path = data.path().to_owned();
    match (unknown_version, newest) {
        (Some(version), _) => Err(StoreError::UnknownVersion { path, version }),
        (None, Some(found)) => Ok(found),
        (None, None) => Err(StoreError::NoSuperblock { path }),
    }
}

/// Both slots, for people.
pub(super) async fn describe(data: &Arc<dyn File>) -> Result<String, StoreError> {
    let mut text = String::new();
    for slot in 0..2 {
        let offset = slot * SLOT_BYTES as u64;
        let (block, result) = data.read_at(offset, IoBuf::zeroed(SLOT_BYTES)).await;
        result?;
        let described = match decode(block.as_slice()) {
            Slot::Valid(page_size, state) => format!(
                "number {}, {} pages of {} bytes, checkpoint record of {} bytes",
                state.sequence,
                state.page_count,
                page_size.bytes(),
                state.record.len()
            ),
            Slot::UnknownVersion(version) => format!("unknown format version {version}"),
            Slot::Invalid => "not valid".to_owned(),
        };
        text.push_str(&format!("{} at {offset}: {described}\n", data.path()));
    }
    Ok(text)
}

enum Slot {
    Valid(PageSize, SuperblockState),
    UnknownVersion(u32),
    Invalid,
}

fn encode(page_size: PageSize, state: &SuperblockState) -> Vec<u8> {
    assert!(state.record.len() <= SUPERBLOCK_BYTES_MAX, "a checkpoint record has at most 2 KB");
    let mut block = vec![0; SLOT_BYTES];
    block[..8].copy_from_slice(MAGIC);
    block[8..12].copy_from_slice(&VERSION.to_le_bytes());
    block[12..16].copy_from_slice(&(page_size.bytes() as u32).to_le_bytes());
    block[16..24].copy_from_slice(&state.sequence.to_le_bytes());
    block[24..28].copy_from_slice(&(state.record.len() as u32).to_le_bytes());
    block[RECORD_OFFSET..RECORD_OFFSET + state.record.len()].copy_from_slice(&state.record);
    block[PAGE_COUNT_OFFSET..PAGE_COUNT_OFFSET + 8].copy_from_slice(&state.page_count.to_le_bytes());
    sealed::seal(&mut block, CHECKSUM_OFFSET);
    block
}

fn decode(block: &[u8]) -> Slot {
    assert_eq!(block.len(), SLOT_BYTES);
    let u32_at = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"));
    if &block[..8] != MAGIC || sealed::checksum(block, CHECKSUM_OFFSET).is_none() {
        return Slot::Invalid;
    }
    if !(OLDEST_VERSION..=VERSION).contains(&u32_at(8)) {
        return Slot::UnknownVersion(u32_at(8));
    }
    let length = u32_at(24) as usize;
    let Some(page_size) = PageSize::from_bytes(u64::from(u32_at(12))) else { return Slot::Invalid };
    if length > SUPERBLOCK_BYTES_MAX {
        return Slot::Invalid;
    }
    let u64_at = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"));
    let state = SuperblockState {
        sequence: u64_at(16),
        record: block[RECORD_OFFSET..RECORD_OFFSET + length].to_vec(),
        page_count: u64_at(PAGE_COUNT_OFFSET),
    };
    Slot::Valid(page_size, state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_comes_back_and_damage_is_noticed() {
        let state = SuperblockState { sequence: 9, record: vec![5; 2048], page_count: 1 << 33 };
        let block = encode(PageSize::K16, &state);
        assert!(matches!(decode(&block), Slot::Valid(PageSize::K16, found) if found == state));
        for byte in (0..SLOT_BYTES).step_by(13) {
            let mut damaged = block.clone();
            damaged[byte] ^= 0x10;
            assert!(matches!(decode(&damaged), Slot::Invalid), "byte {byte}");
        }
    }

    #[test]
    fn older_slots_are_read_and_newer_ones_are_not() {
        let state = SuperblockState { sequence: 9, record: vec![5; 20], page_count: 300 };
        for version in 0..4u32 {
            let mut block = encode(PageSize::K8, &state);
            block[8..12].copy_from_slice(&version.to_le_bytes());
            sealed::seal(&mut block, CHECKSUM_OFFSET);
            match decode(&block) {
                Slot::Valid(PageSize::K8, found) => assert!(found == state && matches!(version, 1 | 2)),
                Slot::UnknownVersion(found) => assert!(found == version && matches!(version, 0 | 3)),
                _ => panic!("version {version}"),
            }
        }
    }
}
