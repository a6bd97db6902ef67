//! The doublewrite file: the last batch, durable before its pages are overwritten at home.
//!
//! One header block, then the images in order. All numbers are little-endian.
//!
//! | offset | bytes   | field                                       |
//! |--------|---------|---------------------------------------------|
//! | 0      | 8       | magic "EVKDOUBL"                            |
//! | 8      | 8       | sequence of the batch                       |
//! | 16     | 4       | number of pages                             |
//! | 20     | 4       | crc32c of the block with this field as zero |
//! | 24     | 12 each | page id (8), crc32c of its image (4)        |
//!
//! The header names each image by checksum: an image of an earlier batch in the same place is not mistaken.

use crate::{BATCH_HEADER_BYTES, BATCH_PAGES_MAX, PageBatch, PageId, PageSize, StoreError, header};
use env::{File, IoBuf, IoError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: &[u8; 8] = b"EVKDOUBL";
const ENTRY_OFFSET: usize = 24;
const ENTRY_BYTES: usize = 12;

const _: () = assert!(ENTRY_OFFSET + BATCH_PAGES_MAX * ENTRY_BYTES <= BATCH_HEADER_BYTES, "one header block");

/// Room for the largest batch.
pub(super) fn file_bytes(page_size: PageSize) -> u64 {
    (BATCH_HEADER_BYTES + BATCH_PAGES_MAX * page_size.bytes()) as u64
}

pub(super) struct Doublewrite {
    file: Arc<dyn File>,
    sequence: AtomicU64,
    /// Since the store was opened.
    pub(super) batches: AtomicU64,
    pub(super) pages: AtomicU64,
}

impl Doublewrite {
    pub(super) fn new(file: Arc<dyn File>, sequence: u64) -> Self {
        Self {
            file,
            sequence: AtomicU64::new(sequence),
            batches: AtomicU64::new(0),
            pages: AtomicU64::new(0),
        }
    }

    /// Makes the batch durable here and returns it. The caller sees to it that batches take turns.
    pub(super) async fn write(&self, mut batch: PageBatch) -> Result<(Vec<PageId>, IoBuf), StoreError> {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        let checksums = batch.seal();
        let (pages, mut buffer) = batch.into_parts();
        encode(&mut buffer.as_mut_slice()[..BATCH_HEADER_BYTES], sequence, &pages, &checksums);
        let (buffer, result) = self.file.write_at(0, buffer).await;
        result?;
        self.file.sync().await?;
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.pages.fetch_add(pages.len() as u64, Ordering::Relaxed);
        Ok((pages, buffer))
    }
}

/// Restores home pages that are damaged and have an intact copy here; returns the last sequence.
/// The caller syncs the data file.
pub(super) async fn repair(
    copies: &Arc<dyn File>,
    data: &Arc<dyn File>,
    page_size: PageSize,
    data_length: u64,
) -> Result<u64, StoreError> {
    let Some(block) = read_if_present(copies, 0, BATCH_HEADER_BYTES).await? else { return Ok(0) };
    let Some((sequence, entries)) = decode(block.as_slice()) else { return Ok(0) };
    let size = page_size.bytes();
    for (index, (page, checksum)) in entries.into_iter().enumerate() {
        let Some(home_offset) = page.0.checked_mul(size as u64) else { continue };
        if home_offset + size as u64 > data_length {
            continue;
        }
        let offset = (BATCH_HEADER_BYTES + index * size) as u64;
        let Some(copy) = read_if_present(copies, offset, size).await? else { break };
        let intact =
            header::checksum(copy.as_slice()) == checksum && header::verify(copy.as_slice(), page).is_ok();
        if !intact {
            continue;
        }
        let home = read_if_present(data, home_offset, size).await?;
        if home.is_some_and(|home| header::verify(home.as_slice(), page).is_ok()) {
            continue;
        }
        let (_, result) = data.write_at(home_offset, copy).await;
        result?;
    }
    Ok(sequence)
}

/// `None` when the file ends before; any other failure is an error.
async fn read_if_present(file: &Arc<dyn File>, offset: u64, length: usize) -> Result<Option<IoBuf>, IoError> {
    match file.read_at(offset, IoBuf::zeroed(length)).await {
        (buffer, Ok(())) => Ok(Some(buffer)),
        (_, Err(error)) if error.is_end_of_file() => Ok(None),
        (_, Err(error)) => Err(error),
    }
}

fn encode(block: &mut [u8], sequence: u64, pages: &[PageId], checksums: &[u32]) {
    assert_eq!(pages.len(), checksums.len());
    block.fill(0);
    block[..8].copy_from_slice(MAGIC);
    block[8..16].copy_from_slice(&sequence.to_le_bytes());
    block[16..20].copy_from_slice(&(pages.len() as u32).to_le_bytes());
    let entries = block[ENTRY_OFFSET..].chunks_exact_mut(ENTRY_BYTES);
    for (entry, (page, checksum)) in entries.zip(pages.iter().zip(checksums)) {
        entry[..8].copy_from_slice(&page.0.to_le_bytes());
        entry[8..].copy_from_slice(&checksum.to_le_bytes());
    }
    let crc = crc32c::crc32c(block);
    block[20..24].copy_from_slice(&crc.to_le_bytes());
}

fn decode(block: &[u8]) -> Option<(u64, Vec<(PageId, u32)>)> {
    let u32_at =
        |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let u64_at =
        |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let mut unsealed = block.to_vec();
    unsealed[20..24].fill(0);
    if &block[..8] != MAGIC || crc32c::crc32c(&unsealed) != u32_at(block, 20) {
        return None;
    }
    let count = (u32_at(block, 16) as usize).min(BATCH_PAGES_MAX);
    let entries = block[ENTRY_OFFSET..].chunks_exact(ENTRY_BYTES).take(count);
    Some((u64_at(block, 8), entries.map(|entry| (PageId(u64_at(entry, 0)), u32_at(entry, 8))).collect()))
}
