//! The doublewrite file: the last batch, durable before its pages are overwritten at home.
//!
//! One header block, then the images in order; behind the room for the largest batch a copy of the newest superblock slot
//! as the last opening found it. All numbers are little-endian.
//!
//! | offset | bytes   | field                                       |
//! |--------|---------|---------------------------------------------|
//! | 0      | 8       | magic "EVKDOUBL"                            |
//! | 8      | 8       | sequence of the batch                       |
//! | 16     | 4       | number of pages                             |
//! | 20     | 4       | crc32c of the block with this field as zero |
//! | 24     | 12 each | page id (8), crc32c of its image (4)        |
//! | 4088   | 8       | the highest LSN of all pages ever written   |
//!
//! The header names each image by checksum: an image of an earlier batch in the same place is not mistaken.

use super::superblock::SLOT_BYTES;
use crate::fill::fill_with_zeros;
use crate::{BATCH_HEADER_BYTES, BATCH_PAGES_MAX, PageBatch, PageId, PageSize, StoreError, header, sealed};
use env::{File, IoBuf, IoError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: &[u8; 8] = b"EVKDOUBL";
const CHECKSUM_OFFSET: usize = 20;
const ENTRY_OFFSET: usize = 24;
const ENTRY_BYTES: usize = 12;

const NEWEST_LSN_OFFSET: usize = BATCH_HEADER_BYTES - 8;

const _: () = assert!(ENTRY_OFFSET + BATCH_PAGES_MAX * ENTRY_BYTES <= NEWEST_LSN_OFFSET, "one header block");

/// Where the copy of the superblock slot is.
pub(super) fn slot_offset(page_size: PageSize) -> u64 {
    (BATCH_HEADER_BYTES + BATCH_PAGES_MAX * page_size.bytes()) as u64
}

/// Room for the largest batch and the slot.
pub(super) fn file_bytes(page_size: PageSize) -> u64 {
    slot_offset(page_size) + SLOT_BYTES as u64
}

pub(super) struct Doublewrite {
    file: Arc<dyn File>,
    sequence: AtomicU64,
    pub(super) newest_lsn: AtomicU64,
    /// Since the store was opened.
    pub(super) batches: AtomicU64,
    pub(super) pages: AtomicU64,
}

impl Doublewrite {
    pub(super) fn new(file: Arc<dyn File>, sequence: u64, newest_lsn: u64) -> Self {
        Self {
            file,
            sequence: AtomicU64::new(sequence),
            newest_lsn: AtomicU64::new(newest_lsn),
            batches: AtomicU64::new(0),
            pages: AtomicU64::new(0),
        }
    }

    /// Makes the batch durable here and returns it. The caller sees to it that batches take turns.
    pub(super) async fn write(&self, batch: PageBatch) -> Result<(Vec<PageId>, IoBuf), StoreError> {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        let checksums: Vec<u32> =
            (0..batch.len()).map(|index| header::checksum(batch.image(index))).collect();
        let newest_lsn = (0..batch.len()).map(|index| header::lsn(batch.image(index))).max().unwrap_or(0);
        let newest_lsn = self.newest_lsn.fetch_max(newest_lsn, Ordering::Relaxed).max(newest_lsn);
        debug_assert!(
            self.newest_lsn.load(Ordering::Relaxed) >= newest_lsn,
            "the newest LSN never goes back"
        );
        let page_size = batch.page_size();
        let (pages, mut buffer) = batch.into_parts();
        let block = &mut buffer.as_mut_slice()[..BATCH_HEADER_BYTES];
        encode(block, sequence, newest_lsn, &pages, &checksums);
        debug_assert!(
            decode(&buffer.as_slice()[..BATCH_HEADER_BYTES]).is_some_and(|found| found.sequence == sequence),
            "a header can be read before it is written"
        );
        assert!(
            buffer.len() as u64 <= slot_offset(page_size),
            "a batch ends before the copy of the superblock"
        );
        let (buffer, result) = self.file.write_at(0, buffer).await;
        result?;
        self.file.sync().await?;
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.pages.fetch_add(pages.len() as u64, Ordering::Relaxed);
        Ok((pages, buffer))
    }
}

/// The batch that an opening finds.
#[derive(Default)]
pub(super) struct Found {
    pub(super) sequence: u64,
    pub(super) newest_lsn: u64,
    /// Intact images.
    pub(super) pages: Vec<(PageId, IoBuf)>,
}

/// Reads the last batch.
pub(super) async fn read(copies: &Arc<dyn File>, page_size: PageSize) -> Result<Found, StoreError> {
    let Some(block) = read_if_present(copies, 0, BATCH_HEADER_BYTES).await? else {
        return Ok(Found::default());
    };
    let Some(Header { sequence, newest_lsn, entries }) = decode(block.as_slice()) else {
        return Ok(Found::default());
    };
    let size = page_size.bytes();
    let mut pages = Vec::with_capacity(entries.len());
    for (index, (page, checksum)) in entries.into_iter().enumerate() {
        let offset = (BATCH_HEADER_BYTES + index * size) as u64;
        let Some(copy) = read_if_present(copies, offset, size).await? else { break };
        let image = copy.as_slice();
        if header::checksum(image) == checksum && header::verify(image, page).is_ok() {
            pages.push((page, copy));
        }
    }
    Ok(Found { sequence, newest_lsn, pages })
}

/// Writes the batch once more where it is. For a batch of which nothing is at home: a crash in here may tear it.
pub(super) async fn write_again(copies: &Arc<dyn File>, page_size: PageSize) -> Result<(), IoError> {
    let Some(block) = read_if_present(copies, 0, BATCH_HEADER_BYTES).await? else { return Ok(()) };
    let Some(header) = decode(block.as_slice()) else { return Ok(()) };
    let batch = BATCH_HEADER_BYTES + header.entries.len() * page_size.bytes();
    let present = copies.len().await? as usize / BATCH_HEADER_BYTES * BATCH_HEADER_BYTES;
    let Some(bytes) = read_if_present(copies, 0, batch.min(present)).await? else { return Ok(()) };
    let (_, result) = copies.write_at(0, bytes).await;
    result?;
    copies.sync_all().await
}

/// Fills the file from `length` on, as far as it is shorter than it should be.
pub(super) async fn fill(file: &Arc<dyn File>, page_size: PageSize, length: u64) -> Result<(), IoError> {
    let end = file_bytes(page_size);
    file.allocate(end).await?;
    fill_with_zeros(file, length.min(end)..end).await?;
    file.sync_all().await
}

/// Writes the batch and the slot into a new file, which the caller puts in the old one's place.
pub(super) async fn write_anew(
    file: &Arc<dyn File>,
    page_size: PageSize,
    found: &Found,
    slot: Vec<u8>,
) -> Result<(), IoError> {
    let size = page_size.bytes();
    debug_assert!(found.pages.len() <= BATCH_PAGES_MAX, "what was found fits a header");
    debug_assert_eq!(slot.len(), SLOT_BYTES, "a copy of a slot has its size");
    file.set_len(0).await?;
    file.allocate(file_bytes(page_size)).await?;
    let mut buffer = IoBuf::zeroed(BATCH_HEADER_BYTES + found.pages.len() * size);
    let ids: Vec<PageId> = found.pages.iter().map(|(page, _)| *page).collect();
    let checksums: Vec<u32> = found.pages.iter().map(|(_, copy)| header::checksum(copy.as_slice())).collect();
    let block = &mut buffer.as_mut_slice()[..BATCH_HEADER_BYTES];
    encode(block, found.sequence, found.newest_lsn, &ids, &checksums);
    let images = buffer.as_mut_slice()[BATCH_HEADER_BYTES..].chunks_exact_mut(size);
    images.zip(&found.pages).for_each(|(image, (_, copy))| image.copy_from_slice(copy.as_slice()));
    let (buffer, result) = file.write_at(0, buffer).await;
    result?;
    debug_assert!(
        buffer.len() as u64 <= slot_offset(page_size),
        "a batch ends before the copy of the superblock"
    );
    fill_with_zeros(file, buffer.len() as u64..slot_offset(page_size)).await?;
    let (_, result) = file.write_at(slot_offset(page_size), IoBuf::copy_of(&slot)).await;
    result?;
    file.sync_all().await
}

/// `None` when the file ends before; any other failure is an error.
pub(super) async fn read_if_present(
    file: &Arc<dyn File>,
    offset: u64,
    length: usize,
) -> Result<Option<IoBuf>, IoError> {
    match file.read_at(offset, IoBuf::zeroed(length)).await {
        (buffer, Ok(())) => Ok(Some(buffer)),
        (_, Err(error)) if error.is_end_of_file() => Ok(None),
        (_, Err(error)) => Err(error),
    }
}

fn encode(block: &mut [u8], sequence: u64, newest_lsn: u64, pages: &[PageId], checksums: &[u32]) {
    assert_eq!(pages.len(), checksums.len());
    debug_assert_eq!(block.len(), BATCH_HEADER_BYTES, "a header is one block");
    assert!(pages.len() <= BATCH_PAGES_MAX, "a header names no more pages than it has room for");
    block.fill(0);
    block[..8].copy_from_slice(MAGIC);
    block[8..16].copy_from_slice(&sequence.to_le_bytes());
    block[16..20].copy_from_slice(&(pages.len() as u32).to_le_bytes());
    let entries = block[ENTRY_OFFSET..].chunks_exact_mut(ENTRY_BYTES);
    for (entry, (page, checksum)) in entries.zip(pages.iter().zip(checksums)) {
        entry[..8].copy_from_slice(&page.0.to_le_bytes());
        entry[8..].copy_from_slice(&checksum.to_le_bytes());
    }
    block[NEWEST_LSN_OFFSET..].copy_from_slice(&newest_lsn.to_le_bytes());
    sealed::seal(block, CHECKSUM_OFFSET);
}

/// What the header block says.
struct Header {
    sequence: u64,
    /// 0: unknown.
    newest_lsn: u64,
    /// Pages with the checksums of their images.
    entries: Vec<(PageId, u32)>,
}

fn decode(block: &[u8]) -> Option<Header> {
    let u32_at =
        |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let u64_at =
        |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    if &block[..8] != MAGIC || sealed::checksum(block, CHECKSUM_OFFSET).is_none() {
        return None;
    }
    let count = (u32_at(block, 16) as usize).min(BATCH_PAGES_MAX);
    let entries = block[ENTRY_OFFSET..].chunks_exact(ENTRY_BYTES).take(count);
    let entries = entries.map(|entry| (PageId(u64_at(entry, 0)), u32_at(entry, 8))).collect();
    Some(Header { sequence: u64_at(block, 8), newest_lsn: u64_at(block, NEWEST_LSN_OFFSET), entries })
}
