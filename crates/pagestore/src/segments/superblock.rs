//! The two superblock slots in their own small file, written in turn. All numbers are little-endian.
//!
//! Slot 0 is at offset 0, slot 1 at 8192; number `n` goes to slot `n % 2`. A slot holds the same block twice, written with
//! one write: a damaged block does not bring back the older superblock, whose segments may have been used again.
//!
//! | offset | bytes | field                                                                        |
//! |--------|-------|------------------------------------------------------------------------------|
//! | 0      | 8     | magic "EVKSEGMT"                                                             |
//! | 8      | 4     | format version, 1                                                            |
//! | 12     | 4     | crc32c of the block with this field as zero                                  |
//! | 16     | 8     | identity of the store, random                                                |
//! | 24     | 8     | number of this superblock                                                    |
//! | 32     | 4     | page size in bytes                                                           |
//! | 36     | 4     | segments per file                                                            |
//! | 40     | 8     | bytes per segment                                                            |
//! | 48     | 8     | pages with an id below this can be written                                   |
//! | 56     | 4     | number of segments that must be there                                        |
//! | 60     | 4     | incarnation: only its chunks are replayed                                    |
//! | 64     | 8     | scan-from: the checkpoint holds everything before this sequence              |
//! | 72     | 8     | every chunk through this sequence was durable                                |
//! | 80     | 8     | root of the map, as a word; 0: the map is empty                              |
//! | 88     | 4     | crc32c of the root                                                           |
//! | 92     | 4     | length of the caller's record                                                |
//! | 96     | 4 × 4 | segments that began before scan-from and may have later chunks; ff: none     |
//! | 112    | 8     | the highest LSN of all pages written so far; 0: unknown                      |
//! | 128    | 2048  | the caller's checkpoint record, zero-padded                                  |

use super::place::{BLOCK_BYTES, Geometry, Place};
use super::tree::Pointer;
use crate::fill::fill_with_zeros;
use crate::{PageSize, SUPERBLOCK_BYTES_MAX, StoreError};
use env::{File, IoBuf};
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"EVKSEGMT";
const VERSION: u32 = 1;
const COPIES: usize = 2;
const SLOT_BYTES: u64 = (COPIES * BLOCK_BYTES) as u64;
/// The length of the file.
const FILE_BYTES: u64 = 2 * SLOT_BYTES;
const STRADDLING_OFFSET: usize = 96;
/// One for each stream, and one to spare.
pub(super) const STRADDLING_MAX: usize = 4;
const NEWEST_LSN_OFFSET: usize = 112;
const RECORD_OFFSET: usize = 128;
const NO_SEGMENT: u32 = u32::MAX;

const _: () = assert!(RECORD_OFFSET + SUPERBLOCK_BYTES_MAX <= BLOCK_BYTES, "the record fits into a slot");

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Superblock {
    pub(super) geometry: Geometry,
    pub(super) store: u64,
    pub(super) number: u64,
    pub(super) page_count: u64,
    pub(super) segment_count: u32,
    pub(super) incarnation: u32,
    pub(super) scan_from: u64,
    pub(super) durable_through: u64,
    pub(super) root: Pointer,
    pub(super) straddling: Vec<u32>,
    /// 0: unknown.
    pub(super) newest_lsn: u64,
    pub(super) record: Vec<u8>,
}

/// Makes the file anew, full of zeros: a slot that is written later changes nothing but its bytes.
pub(super) async fn format(file: &Arc<dyn File>) -> Result<(), StoreError> {
    file.set_len(0).await?;
    file.allocate(FILE_BYTES).await?;
    fill_with_zeros(file, 0..FILE_BYTES).await?;
    Ok(file.sync_all().await?)
}

/// Writes the slot of this number and makes it durable. The other slot stays as it is.
pub(super) async fn write(file: &Arc<dyn File>, state: &Superblock, sync: bool) -> Result<(), StoreError> {
    let slot = IoBuf::copy_of(&encode(state).repeat(COPIES));
    let (_, result) = file.write_at(state.number % 2 * SLOT_BYTES, slot).await;
    result?;
    if sync {
        file.sync().await?;
    }
    Ok(())
}

/// Writes a slot that was found once more: perhaps a sync of it has failed, and then another sync is not enough. One
/// block after the other, damaged ones first, so that one is intact at any time.
pub(super) async fn write_again(file: &Arc<dyn File>, state: &Superblock) -> Result<(), StoreError> {
    let block = encode(state);
    let mut places = Vec::new();
    for copy in 0..COPIES {
        let offset = state.number % 2 * SLOT_BYTES + (copy * BLOCK_BYTES) as u64;
        let (found, result) = file.read_at(offset, IoBuf::zeroed(BLOCK_BYTES)).await;
        places.push((result.is_ok() && found.as_slice() == block, offset));
    }
    places.sort_unstable();
    for (_, offset) in places {
        let (_, result) = file.write_at(offset, IoBuf::copy_of(&block)).await;
        result?;
        file.sync_all().await?;
    }
    Ok(())
}

/// Clears the slot that does not hold this superblock if a write to it was cut off. What is left of that write could become
/// whole when a later one is cut off as well: where two superblocks are alike, the later one completes the earlier, of an
/// opening whose segments have been used again since. Nothing may have been written since `load` but this superblock.
pub(super) async fn forget_torn(file: &Arc<dyn File>, newest: &Superblock) -> Result<(), StoreError> {
    let offset = (newest.number + 1) % 2 * SLOT_BYTES;
    let (slot, result) = file.read_at(offset, IoBuf::zeroed(SLOT_BYTES as usize)).await;
    let is_left =
        |block: &[u8]| matches!(decode(block), Slot::Invalid) && block.iter().any(|byte| *byte != 0);
    let is_torn = match result {
        Ok(()) => slot.as_slice().chunks_exact(BLOCK_BYTES).any(is_left),
        // Whatever of it is there.
        Err(error) if error.is_end_of_file() => true,
        Err(error) => return Err(error.into()),
    };
    if is_torn {
        let (_, result) = file.write_at(offset, IoBuf::zeroed(SLOT_BYTES as usize)).await;
        result?;
        file.sync_all().await?;
    }
    Ok(())
}

/// Reads all blocks and returns the newest valid one.
pub(super) async fn load(file: &Arc<dyn File>) -> Result<Superblock, StoreError> {
    let mut newest: Option<Superblock> = None;
    let mut unknown_version = None;
    for block in 0..2 * COPIES as u64 {
        let (block, result) = file.read_at(block * BLOCK_BYTES as u64, IoBuf::zeroed(BLOCK_BYTES)).await;
        match result {
            Ok(()) => {}
            Err(error) if error.is_end_of_file() => continue,
            Err(error) => return Err(error.into()),
        }
        match decode(block.as_slice()) {
            Slot::Valid(state) if newest.as_ref().is_none_or(|best| best.number < state.number) => {
                newest = Some(*state);
            }
            Slot::UnknownVersion(version) => unknown_version = Some(version),
            Slot::Valid(_) | Slot::Invalid => {}
        }
    }
    let path = file.path().to_owned();
    match (unknown_version, newest) {
        (Some(version), _) => Err(StoreError::UnknownVersion { path, version }),
        (None, Some(found)) => Ok(found),
        (None, None) => Err(StoreError::NoSuperblock { path }),
    }
}

/// All blocks, for people.
pub(super) async fn describe(file: &Arc<dyn File>) -> Result<String, StoreError> {
    let mut text = String::new();
    for block in 0..2 * COPIES as u64 {
        let offset = block * BLOCK_BYTES as u64;
        let (bytes, result) = file.read_at(offset, IoBuf::zeroed(BLOCK_BYTES)).await;
        let described = match result.map(|()| decode(bytes.as_slice())) {
            Ok(Slot::Valid(state)) => format!(
                "number {}, store {:016x}, incarnation {}, {} segments of {} bytes, {} pages of {} bytes, scan from {}, \
                 durable through {}, map root at {}, checkpoint record of {} bytes",
                state.number,
                state.store,
                state.incarnation,
                state.segment_count,
                state.geometry.segment_bytes,
                state.page_count,
                state.geometry.page_size.bytes(),
                state.scan_from,
                state.durable_through,
                state.root.place.address(),
                state.record.len()
            ),
            Ok(Slot::UnknownVersion(version)) => format!("unknown format version {version}"),
            Ok(Slot::Invalid) => "not valid".to_owned(),
            Err(error) => error.to_string(),
        };
        text.push_str(&format!("{} at {offset}: {described}\n", file.path()));
    }
    Ok(text)
}

enum Slot {
    Valid(Box<Superblock>),
    UnknownVersion(u32),
    Invalid,
}

fn encode(state: &Superblock) -> Vec<u8> {
    assert!(state.record.len() <= SUPERBLOCK_BYTES_MAX, "a checkpoint record has at most 2 KB");
    assert!(state.straddling.len() <= STRADDLING_MAX, "each stream has one newest segment");
    let mut block = vec![0; BLOCK_BYTES];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, MAGIC);
    put(8, &VERSION.to_le_bytes());
    put(16, &state.store.to_le_bytes());
    put(24, &state.number.to_le_bytes());
    put(32, &(state.geometry.page_size.bytes() as u32).to_le_bytes());
    put(36, &state.geometry.segments_per_file.to_le_bytes());
    put(40, &state.geometry.segment_bytes.to_le_bytes());
    put(48, &state.page_count.to_le_bytes());
    put(56, &state.segment_count.to_le_bytes());
    put(60, &state.incarnation.to_le_bytes());
    put(64, &state.scan_from.to_le_bytes());
    put(72, &state.durable_through.to_le_bytes());
    put(80, &state.root.place.word().to_le_bytes());
    put(88, &state.root.checksum.to_le_bytes());
    put(92, &(state.record.len() as u32).to_le_bytes());
    for index in 0..STRADDLING_MAX {
        let segment = state.straddling.get(index).copied().unwrap_or(NO_SEGMENT);
        put(STRADDLING_OFFSET + index * 4, &segment.to_le_bytes());
    }
    put(NEWEST_LSN_OFFSET, &state.newest_lsn.to_le_bytes());
    put(RECORD_OFFSET, &state.record);
    let crc = crc_fast::crc32_iscsi(&block);
    block[12..16].copy_from_slice(&crc.to_le_bytes());
    block
}

fn decode(block: &[u8]) -> Slot {
    assert_eq!(block.len(), BLOCK_BYTES);
    let u32_at = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"));
    let u64_at = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"));
    let mut unsealed = block.to_vec();
    unsealed[12..16].fill(0);
    if &block[..8] != MAGIC || crc_fast::crc32_iscsi(&unsealed) != u32_at(12) {
        return Slot::Invalid;
    }
    if u32_at(8) != VERSION {
        return Slot::UnknownVersion(u32_at(8));
    }
    let page_size = PageSize::from_bytes(u64::from(u32_at(32)));
    let (Some(page_size), Some(root)) = (page_size, Place::from_word(u64_at(80))) else {
        return Slot::Invalid;
    };
    let geometry = Geometry { page_size, segment_bytes: u64_at(40), segments_per_file: u32_at(36) };
    let record_bytes = u32_at(92) as usize;
    if !geometry.is_sound() || record_bytes > SUPERBLOCK_BYTES_MAX {
        return Slot::Invalid;
    }
    let straddling = (0..STRADDLING_MAX).map(|index| u32_at(STRADDLING_OFFSET + index * 4));
    Slot::Valid(Box::new(Superblock {
        geometry,
        store: u64_at(16),
        number: u64_at(24),
        page_count: u64_at(48),
        segment_count: u32_at(56),
        incarnation: u32_at(60),
        scan_from: u64_at(64),
        durable_through: u64_at(72),
        root: Pointer { place: root, checksum: u32_at(88) },
        straddling: straddling.filter(|segment| *segment != NO_SEGMENT).collect(),
        newest_lsn: u64_at(NEWEST_LSN_OFFSET),
        record: block[RECORD_OFFSET..RECORD_OFFSET + record_bytes].to_vec(),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::SegmentOptions;
    use super::*;
    use env::OpenOptions;
    use env::sim::{SimOptions, World};

    #[test]
    fn a_slot_comes_back_and_damage_is_noticed() {
        let state = example();
        let block = encode(&state);
        assert!(matches!(decode(&block), Slot::Valid(found) if *found == state));
        for byte in (0..BLOCK_BYTES).step_by(13) {
            let mut damaged = block.clone();
            damaged[byte] ^= 0x10;
            assert!(matches!(decode(&damaged), Slot::Invalid), "byte {byte}");
        }
    }

    fn example() -> Superblock {
        Superblock {
            geometry: Geometry::new(PageSize::K16, &SegmentOptions::default()),
            store: 5,
            number: 9,
            page_count: 1 << 33,
            segment_count: 77,
            incarnation: 4,
            scan_from: 1 << 50,
            durable_through: (1 << 50) + 7,
            root: Pointer { place: Place::new(64, 4096), checksum: 99 },
            straddling: vec![1, 2, 3],
            newest_lsn: 1 << 44,
            record: vec![5; 2048],
        }
    }

    /// The writes of two openings are cut off, one after the other, and each brings a part of what they have in common.
    #[test]
    fn two_torn_writes_do_not_make_a_whole_one() {
        let world = World::new(3, SimOptions::default());
        let env = world.env();
        let run = async {
            let file = env.disk.open("superblock.db", OpenOptions::create()).await.unwrap();
            format(&file).await.unwrap();
            write(&file, &Superblock { number: 8, ..example() }, true).await.unwrap();
            let newest = Superblock { number: 9, ..example() };
            write(&file, &newest, true).await.unwrap();
            let next = encode(&Superblock { number: 10, ..example() });
            let put = async |offset: usize, bytes: &[u8]| {
                let (_, result) = file.write_at(offset as u64, IoBuf::copy_of(bytes)).await;
                result.unwrap();
            };
            put(0, &next).await;
            put(2560, &[7; 512]).await;
            assert_eq!(load(&file).await.unwrap(), newest);
            forget_torn(&file, &newest).await.unwrap();
            assert_eq!(load(&file).await.unwrap(), newest);
            put(2560, &next[2560..3072]).await;
            assert_eq!(
                load(&file).await.unwrap(),
                newest,
                "the first sector is from the write that was cut off"
            );
            // What is whole stays.
            write(&file, &Superblock { number: 10, ..example() }, true).await.unwrap();
            forget_torn(&file, &Superblock { number: 11, ..example() }).await.unwrap();
            assert_eq!(load(&file).await.unwrap().number, 10);
            // A file that was cut is made whole again.
            file.set_len(SLOT_BYTES).await.unwrap();
            let newest = load(&file).await.unwrap();
            forget_torn(&file, &newest).await.unwrap();
            assert_eq!((load(&file).await.unwrap(), file.len().await.unwrap()), (newest, FILE_BYTES));
        };
        world.block_on(run).unwrap();
    }
}
