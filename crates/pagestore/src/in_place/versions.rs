//! Which version of each page lies on disk, so that a write that the disk has lost is noticed (docs/decisions/0027).
//!
//! A page's *tag* is a hash of its LSN. In memory there is one for each page, in blocks; a part of the blocks is saved with each
//! superblock, all of them when the store is closed. Pages carry the *epoch* in which they were written, which goes up
//! with each saving, so a block says: whatever was written before my epoch is as I have it.
//!
//! Invariants: a tag enters when the page is durable at home, and leaves with the next; blocks are saved while no page is on
//! its way (the caller has the store's turn), and each later page has an epoch that is not before theirs. So a block is
//! true for ever, however old, and none need be durable: one that is lost, torn or damaged is forgotten. Epochs are reserved
//! durably before they are used, so that a block whose writing was cut off may still arrive in a later life.
//!
//! File: the head, then the blocks, 4096 bytes each; block n has the pages from n × 2036 on. Little-endian.
//!
//! | offset | bytes  | head                                        | block                                       |
//! |--------|--------|---------------------------------------------|---------------------------------------------|
//! | 0      | 8      | magic "EVKVERSH"                            | magic "EVKVERSN"                            |
//! | 8      | 4      | crc32c of the 4096 bytes with this as zero  | the same                                    |
//! | 12     | 4      | the first epoch that is not reserved        | epoch                                       |
//! | 16     | 8      | sequence of the superblock that was newest  | number of the block                         |
//! |        |        | when all was saved; 0: not all was          |                                             |
//! | 24     | 4; 2 × | crc32c of the checksums of all blocks       | tags of 15 bits, 0: unknown; above them     |
//! |        |        |                                             | whether it is certain, if all was saved     |
//!
//! Caller: the store.

use super::open_file;
use crate::{CorruptPage, PageFault, PageId, StoreError, header, sealed};
use env::sync::Mutex;
use env::{Env, File, IoBuf, IoError, OpenOptions};
use parking_lot::RwLock;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicUsize, Ordering};

pub(super) const VERSIONS_FILE: &str = "versions.db";
const HEAD_MAGIC: &[u8; 8] = b"EVKVERSH";
const BLOCK_MAGIC: &[u8; 8] = b"EVKVERSN";
const BLOCK_BYTES: usize = 4096;
const CHECKSUM_OFFSET: usize = 8;
const TAGS_OFFSET: usize = 24;
pub(super) const TAGS: usize = (BLOCK_BYTES - TAGS_OFFSET) / 2;

/// One write has so many blocks at most, and with each superblock there is one.
const BLOCKS_PER_WRITE: usize = 64;

/// Not the tag of any page.
const UNKNOWN: u16 = 0;
/// The page was read or written since the store was opened, or that was so when all was saved: no other version can be right.
const CERTAIN: u16 = 1 << 15;

/// How many epochs are reserved together.
const EPOCHS: u32 = 1 << 12;

/// Of pages that are written while no tags are kept: later than whatever a block may say.
const NEVER_OLD: u32 = u32::MAX;

pub(super) struct Versions {
    /// `None`: the disk had no room for it.
    file: Option<Arc<dyn File>>,
    epoch: AtomicU32,
    /// The first epoch that is not reserved.
    reserved: AtomicU32,
    blocks: RwLock<Vec<Arc<Block>>>,
    /// The block from which on the next part is looked for.
    next_part: AtomicUsize,
    before_writing: Mutex<BeforeWriting>,
}

/// What the file needs before a page may be written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BeforeWriting {
    Nothing,
    /// A head that reserves epochs and does not say that all is saved.
    Head,
    /// It cannot be read; what is in it must not come back.
    EmptyFile,
}

struct Block {
    /// Pages of this epoch or later may have been written since it was saved.
    since: AtomicU32,
    /// The checksum that it has in the file; 0: it is not there.
    checksum: AtomicU32,
    is_changed: AtomicBool,
    tags: [AtomicU16; TAGS],
}

impl Block {
    fn unknown() -> Arc<Self> {
        Arc::new(Self {
            since: AtomicU32::new(0),
            checksum: AtomicU32::new(0),
            is_changed: AtomicBool::new(false),
            tags: std::array::from_fn(|_| AtomicU16::new(UNKNOWN)),
        })
    }

    fn set(&self, index: usize, tag: u16) {
        debug_assert!(tag & CERTAIN == 0 && tag != UNKNOWN, "a tag has 15 bits and is never zero");
        self.tags[index].store(tag | CERTAIN, Ordering::Relaxed);
        self.is_changed.store(true, Ordering::Relaxed);
    }

    /// Pages may have been written since it was saved.
    fn doubt(&self) {
        for tag in &self.tags {
            if tag.fetch_and(!CERTAIN, Ordering::Relaxed) & CERTAIN != 0 {
                self.is_changed.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Tags of which it is not known whether their pages were written after the block was saved keep its epoch.
    fn epoch_to_save(&self, now: u32) -> u32 {
        let is_open = |tag: &AtomicU16| {
            let tag = tag.load(Ordering::Relaxed);
            tag != UNKNOWN && tag & CERTAIN == 0
        };
        if self.tags.iter().any(is_open) { self.since.load(Ordering::Relaxed) } else { now }
    }
}

impl Versions {
    /// Of a new store.
    pub(super) async fn create(env: &Env, directory: &str) -> Result<Self, StoreError> {
        let file = open_file(env, directory, VERSIONS_FILE, OpenOptions::create().direct()).await?;
        // A creation that was cut off may have left some.
        file.set_len(0).await?;
        file.sync_all().await?;
        Ok(Self::new(Some(file), 1, Vec::new(), BeforeWriting::Head))
    }

    /// What the file has, which may be missing or damaged. `sequence`: the newest superblock's.
    pub(super) async fn open(env: &Env, directory: &str, sequence: u64) -> Result<Self, StoreError> {
        let file = match open_file(env, directory, VERSIONS_FILE, OpenOptions::create().direct()).await {
            Err(error) if error.is_no_space() => {
                return Ok(Self::new(None, NEVER_OLD, Vec::new(), BeforeWriting::Nothing));
            }
            file => file?,
        };
        Ok(match read(&file).await {
            Err(_) => Self::new(Some(file), 1, Vec::new(), BeforeWriting::EmptyFile),
            Ok((head, blocks)) => {
                let newest = blocks.iter().map(|block| block.since.load(Ordering::Relaxed)).max();
                let epoch = head.as_ref().map_or(0, |head| head.reserved).max(newest.unwrap_or(0)).max(1);
                if !head.is_some_and(|head| head.sequence == sequence && head.digest == digest(&blocks)) {
                    blocks.iter().for_each(|block| block.doubt());
                }
                Self::new(Some(file), epoch, blocks, BeforeWriting::Head)
            }
        })
    }

    fn new(
        file: Option<Arc<dyn File>>,
        epoch: u32,
        blocks: Vec<Arc<Block>>,
        before_writing: BeforeWriting,
    ) -> Self {
        debug_assert!(epoch > 0, "epoch 0 is that of pages of older stores");
        Self {
            file,
            epoch: AtomicU32::new(epoch),
            reserved: AtomicU32::new(epoch),
            blocks: RwLock::new(blocks),
            next_part: AtomicUsize::new(0),
            before_writing: Mutex::new(before_writing),
        }
    }

    /// What pages that are written now carry.
    pub(super) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// No page has this epoch or a later one.
    pub(super) fn reserved(&self) -> u32 {
        self.reserved.load(Ordering::Relaxed).saturating_add(1)
    }

    /// Once a life, and once more after a close: before a page is written.
    pub(super) async fn expect_writes(&self) -> Result<(), IoError> {
        let needed = *self.before_writing.lock();
        let Some(file) = self.file.as_ref().filter(|_| needed != BeforeWriting::Nothing) else {
            return Ok(());
        };
        if needed == BeforeWriting::EmptyFile {
            file.set_len(0).await?;
        }
        let is_empty = file.len().await? == 0;
        match self.reserve(file).await {
            // What is in no file cannot be wrong, and what is not known later is no reason to stop.
            Err(error) if error.is_no_space() && is_empty => self.epoch.store(NEVER_OLD, Ordering::Relaxed),
            reserved => reserved?,
        }
        *self.before_writing.lock() = BeforeWriting::Nothing;
        Ok(())
    }

    /// The page is durable at home with this LSN.
    pub(super) fn note(&self, page: PageId, lsn: u64) {
        self.at(page, |block, index| block.set(index, tag_of(lsn)));
    }

    /// Whether the newest image has this LSN; `None` if that is not known for certain.
    pub(super) fn is_newest(&self, page: PageId, lsn: u64) -> Option<bool> {
        let tag = self.at(page, |block, index| block.tags[index].load(Ordering::Relaxed));
        (tag & CERTAIN != 0 && tag != UNKNOWN | CERTAIN).then(|| tag == tag_of(lsn) | CERTAIN)
    }

    /// Whether a sound image that was read can be the newest. It is from now on.
    pub(super) fn check(&self, page: PageId, image: &[u8]) -> Result<(), CorruptPage> {
        let found = tag_of(header::lsn(image));
        let can_be = self.at(page, |block, index| {
            let known = block.tags[index].load(Ordering::Relaxed);
            let is_newer = || header::epoch(image) >= block.since.load(Ordering::Relaxed);
            if known == found | CERTAIN {
                return true;
            }
            let can_be = known == UNKNOWN || known & CERTAIN == 0 && (known == found || is_newer());
            if can_be {
                block.set(index, found);
            }
            can_be
        });
        can_be.then_some(()).ok_or(CorruptPage { page, fault: PageFault::Stale })
    }

    /// Saves a part of what has changed by one write, while no page is on its way. What cannot be saved is not known later;
    /// that is no reason to stop. A failed sync is one, and the only error here: no later head would be durable.
    pub(super) async fn save_part(&self) -> Result<(), IoError> {
        // An opening does not wait for it.
        let has_written = *self.before_writing.lock() == BeforeWriting::Nothing;
        if has_written && let Some(part) = self.changed_part() {
            self.save(part)
                .await
                .or_else(|error| if error.is_failed_sync() { Err(error) } else { Ok(()) })?;
        }
        Ok(())
    }

    /// Saves everything and says so, while no page is on its way: the superblock of this sequence is the newest. After a
    /// failed sync no page may be written any more: it could not be taken back what this may have said.
    pub(super) async fn save_all(&self, sequence: u64) -> Result<(), IoError> {
        self.expect_writes().await?;
        let Some(file) = self.file_to_save_in() else { return Ok(()) };
        while let Some(part) = self.changed_part() {
            self.save(part).await?;
        }
        file.sync_all().await?;
        let digest = digest(&self.blocks.read());
        *self.before_writing.lock() = BeforeWriting::Head;
        let reserved = self.reserved.load(Ordering::Relaxed);
        write_head(file, &Head { reserved, sequence, digest }).await
    }

    /// None in a life whose pages are later than whatever a block may say, for want of room when it began.
    fn file_to_save_in(&self) -> Option<&Arc<dyn File>> {
        self.file.as_ref().filter(|_| self.epoch() != NEVER_OLD)
    }

    /// The next blocks from the first on that has changed.
    fn changed_part(&self) -> Option<Range<usize>> {
        let blocks = self.blocks.read();
        let from = self.next_part.load(Ordering::Relaxed).min(blocks.len());
        let is_changed = |number: &usize| blocks[*number].is_changed.load(Ordering::Relaxed);
        let first = (from..blocks.len()).chain(0..from).find(is_changed)?;
        let part = first..(first + BLOCKS_PER_WRITE).min(blocks.len());
        self.next_part.store(part.end, Ordering::Relaxed);
        Some(part)
    }

    async fn save(&self, range: Range<usize>) -> Result<(), IoError> {
        let Some(file) = self.file_to_save_in() else { return Ok(()) };
        let blocks = self.blocks.read()[range.clone()].to_vec();
        // From here on pages that are written are later than what is saved.
        let now = self.epoch().saturating_add(1);
        if now >= self.reserved.load(Ordering::Relaxed) {
            self.reserve(file).await?;
        }
        self.epoch.store(now, Ordering::Relaxed);
        debug_assert!(
            now <= self.reserved.load(Ordering::Relaxed),
            "epochs are reserved before they are used"
        );
        let mut buffer = IoBuf::zeroed(blocks.len() * BLOCK_BYTES);
        debug_assert!(!range.is_empty() && range.len() <= BLOCKS_PER_WRITE, "a part is one write");
        let mut saved = Vec::with_capacity(blocks.len());
        for ((block, number), bytes) in
            blocks.iter().zip(range.clone()).zip(buffer.as_mut_slice().chunks_exact_mut(BLOCK_BYTES))
        {
            block.is_changed.store(false, Ordering::Relaxed);
            let epoch = block.epoch_to_save(now);
            for (bytes, tag) in bytes[TAGS_OFFSET..].chunks_exact_mut(2).zip(&block.tags) {
                bytes.copy_from_slice(&tag.load(Ordering::Relaxed).to_le_bytes());
            }
            saved.push((epoch, seal(bytes, BLOCK_MAGIC, epoch, number as u64)));
        }
        let (_, result) = file.write_at(((1 + range.start) * BLOCK_BYTES) as u64, buffer).await;
        for (block, (epoch, checksum)) in blocks.iter().zip(saved) {
            match result {
                Ok(()) => {
                    block.since.store(epoch, Ordering::Relaxed);
                    block.checksum.store(checksum, Ordering::Relaxed);
                }
                Err(_) => block.is_changed.store(true, Ordering::Relaxed),
            }
        }
        result
    }

    async fn reserve(&self, file: &Arc<dyn File>) -> Result<(), IoError> {
        let reserved = self.epoch().saturating_add(EPOCHS);
        write_head(file, &Head { reserved, sequence: 0, digest: 0 }).await?;
        debug_assert!(reserved >= self.reserved.load(Ordering::Relaxed), "what is reserved stays reserved");
        self.reserved.store(reserved, Ordering::Relaxed);
        Ok(())
    }

    /// The block of a page, and where in it its tag is.
    fn at<R>(&self, page: PageId, work: impl FnOnce(&Block, usize) -> R) -> R {
        let (number, index) = (page.0 as usize / TAGS, page.0 as usize % TAGS);
        loop {
            if let Some(block) = self.blocks.read().get(number) {
                return work(block, index);
            }
            let mut blocks = self.blocks.write();
            while blocks.len() <= number {
                blocks.push(Block::unknown());
            }
        }
    }
}

fn tag_of(lsn: u64) -> u16 {
    // The upper bits of a product depend on all bits of the factor.
    ((lsn.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 49) as u16).max(1)
}

/// Of the blocks as they are in the file.
fn digest(blocks: &[Arc<Block>]) -> u32 {
    let checksums = blocks.iter().flat_map(|block| block.checksum.load(Ordering::Relaxed).to_le_bytes());
    crc_fast::crc32_iscsi(&checksums.collect::<Vec<u8>>())
}

struct Head {
    reserved: u32,
    sequence: u64,
    digest: u32,
}

/// The file of a store whose pages have epochs before `first`, without any tag.
pub(super) async fn write_empty(file: &Arc<dyn File>, first: u32) -> Result<(), IoError> {
    file.set_len(0).await?;
    write_head(file, &Head { reserved: first, sequence: 0, digest: 0 }).await
}

async fn write_head(file: &Arc<dyn File>, head: &Head) -> Result<(), IoError> {
    let mut buffer = IoBuf::zeroed(BLOCK_BYTES);
    let bytes = buffer.as_mut_slice();
    bytes[TAGS_OFFSET..TAGS_OFFSET + 4].copy_from_slice(&head.digest.to_le_bytes());
    seal(bytes, HEAD_MAGIC, head.reserved, head.sequence);
    let (_, result) = file.write_at(0, buffer).await;
    result?;
    file.sync_all().await
}

/// Damaged blocks are unknown ones.
async fn read(file: &Arc<dyn File>) -> Result<(Option<Head>, Vec<Arc<Block>>), IoError> {
    const PIECE: usize = BLOCKS_PER_WRITE * BLOCK_BYTES;
    let end = file.len().await? as usize / BLOCK_BYTES * BLOCK_BYTES;
    let (mut head, mut blocks) = (None, Vec::new());
    for start in (0..end).step_by(PIECE) {
        let (bytes, result) = file.read_at(start as u64, IoBuf::zeroed(PIECE.min(end - start))).await;
        result?;
        for (index, bytes) in bytes.as_slice().chunks_exact(BLOCK_BYTES).enumerate() {
            match start / BLOCK_BYTES + index {
                0 => head = decode_head(bytes),
                number => blocks.push(decode_block(bytes, number as u64 - 1).unwrap_or_else(Block::unknown)),
            }
        }
    }
    Ok((head, blocks))
}

fn seal(bytes: &mut [u8], magic: &[u8; 8], epoch: u32, number: u64) -> u32 {
    debug_assert_eq!(bytes.len(), BLOCK_BYTES, "a head or block is one block");
    bytes[..8].copy_from_slice(magic);
    bytes[12..16].copy_from_slice(&epoch.to_le_bytes());
    bytes[16..24].copy_from_slice(&number.to_le_bytes());
    sealed::seal(bytes, CHECKSUM_OFFSET)
}

/// Checksum, epoch and number of what is sound.
fn unseal(bytes: &[u8], magic: &[u8; 8]) -> Option<(u32, u32, u64)> {
    let epoch = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes"));
    let number = u64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes"));
    let checksum = sealed::checksum(bytes, CHECKSUM_OFFSET).filter(|_| bytes[..8] == *magic)?;
    Some((checksum, epoch, number))
}

fn decode_head(bytes: &[u8]) -> Option<Head> {
    let (_, reserved, sequence) = unseal(bytes, HEAD_MAGIC)?;
    let digest = u32::from_le_bytes(bytes[TAGS_OFFSET..TAGS_OFFSET + 4].try_into().expect("four bytes"));
    Some(Head { reserved, sequence, digest })
}

fn decode_block(bytes: &[u8], number: u64) -> Option<Arc<Block>> {
    let (checksum, epoch, found) = unseal(bytes, BLOCK_MAGIC)?;
    if found != number {
        return None;
    }
    let block = Block::unknown();
    block.since.store(epoch, Ordering::Relaxed);
    block.checksum.store(checksum, Ordering::Relaxed);
    for (tag, bytes) in block.tags.iter().zip(bytes[TAGS_OFFSET..].chunks_exact(2)) {
        tag.store(u16::from_le_bytes([bytes[0], bytes[1]]), Ordering::Relaxed);
    }
    Some(block)
}

#[cfg(test)]
mod tests;
