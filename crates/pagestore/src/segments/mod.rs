//! The store that never writes a page where it was: batches go to the end of a segment, a word per page says where.
//!
//! docs/decisions/0006 has the reasons and the rules. Map of this folder, in the order of a page's life:
//! - `writer` places a batch as chunks (`summary`), writes them, syncs them together, and `state` puts them into force
//!   in order of sequence: words of the `map`, live counts of the segment `table`;
//! - `reader` follows the word, with `gates` against reuse of the segment meanwhile;
//! - `housekeeping` runs what writes have earned (`pace`): the `cycle` that checkpoints the map as a `tree` and ends
//!   with a `superblock`, the `cleaner`, `growth` of the `files`;
//! - `recovery` does it backwards, with `scan` and `doubt`.
//!
//! Invariant: what a word names is durable, and no segment is used again while a word, a reader, the newest checkpoint
//! or its log may need what is in it.

mod check;
mod cleaner;
mod core;
mod cycle;
mod doubt;
mod fault;
mod files;
mod gates;
mod growth;
mod housekeeping;
mod map;
mod options;
mod pace;
mod place;
mod reader;
mod recovery;
mod scan;
mod state;
mod stats;
mod summary;
mod superblock;
mod sync;
mod table;
mod tree;
mod writer;

#[cfg(test)]
mod explored;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod tests;

use crate::{PageBatch, PageId, PageSize, PageStore, StoreError, StoreStats};
pub use fault::PlantedFault;
pub use options::SegmentOptions;
pub use pace::write_amplification;
pub use stats::SegmentStats;

use env::{BoxFuture, Env, IoBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// See the module's documentation.
pub struct SegmentStore {
    core: Arc<core::Core>,
}

impl SegmentStore {
    /// Creates an empty store in the directory, which must exist. What a crash left of an earlier creation is
    /// overwritten; a store with a checkpoint record is refused.
    pub async fn create(
        env: &Env,
        directory: &str,
        page_size: PageSize,
        options: SegmentOptions,
    ) -> Result<Self, StoreError> {
        Ok(Self { core: recovery::create(env, directory, page_size, options).await? })
    }

    /// Opens an existing store; what was decided at its creation overrides the options.
    pub async fn open(env: &Env, directory: &str, options: SegmentOptions) -> Result<Self, StoreError> {
        Ok(Self { core: recovery::open(env, directory, options).await? })
    }

    pub fn stats(&self) -> SegmentStats {
        self.core.stats()
    }

    /// Waits until background work has caught up.
    pub async fn settle(&self) -> Result<(), StoreError> {
        self.core.settle().await
    }

    /// The superblock slots, for people.
    pub async fn describe_superblocks(env: &Env, directory: &str) -> Result<String, StoreError> {
        superblock::describe(&files::open_superblock(env, directory, false).await?).await
    }

    /// The chunks of a segment, for people; `None` if there is no such segment.
    pub async fn describe_segment(&self, segment: u32) -> Result<Option<String>, StoreError> {
        self.core.describe_segment(segment).await
    }

    /// Checks everything against everything; says what is wrong. Nobody may write meanwhile.
    pub async fn check(&self) -> Result<(), String> {
        self.core.check().await
    }
}

impl Drop for SegmentStore {
    fn drop(&mut self) {
        // Background work ends after its present step.
        self.core.closed.store(true, Ordering::Release);
    }
}

impl PageStore for SegmentStore {
    fn page_size(&self) -> PageSize {
        self.core.geometry.page_size
    }

    fn page_count(&self) -> u64 {
        self.core.page_count()
    }

    fn newest_lsn(&self) -> u64 {
        self.core.state.lock().newest_lsn
    }

    fn store_stats(&self) -> StoreStats {
        StoreStats { segments: Some(self.stats()), ..StoreStats::default() }
    }

    fn read(&self, page: PageId, buffer: IoBuf) -> BoxFuture<'_, (IoBuf, Result<(), StoreError>)> {
        assert_eq!(buffer.len(), self.page_size().bytes());
        Box::pin(self.core.read_page(page, buffer))
    }

    fn read_many<'a>(&'a self, pages: &'a [PageId]) -> BoxFuture<'a, Vec<Option<IoBuf>>> {
        Box::pin(self.core.read_many(pages))
    }

    fn is_scattered(&self, pages: &[PageId]) -> bool {
        2 * self.core.pieces_of(pages).len() > pages.len()
    }

    fn write_batch(&self, batch: PageBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        assert_eq!(batch.page_size(), self.page_size());
        let beyond = batch.pages().iter().find(|page| page.0 >= self.page_count());
        assert!(beyond.is_none(), "page {beyond:?} is beyond the end: extend the store first");
        Box::pin(async move {
            if batch.is_empty() {
                return Ok(());
            }
            self.core.write_pages(batch).await
        })
    }

    fn free<'a>(&'a self, pages: &'a [PageId]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.core.free_pages(pages))
    }

    fn wants_frees(&self) -> bool {
        true
    }

    fn holds(&self, page: PageId) -> bool {
        !self.core.map.load(page).is_nowhere()
    }

    fn extend(&self, page_count: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.core.extend_to(page_count))
    }

    fn read_superblock(&self) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        let record = self.core.superblock.lock().record.clone();
        Box::pin(async move { Ok(Some(record).filter(|record| !record.is_empty())) })
    }

    fn write_superblock<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        assert!(bytes.len() <= crate::SUPERBLOCK_BYTES_MAX, "a checkpoint record has at most 2 KB");
        Box::pin(self.core.put_superblock(|superblock| superblock.record = bytes.to_vec()))
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.core.check())
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.core.closed.store(true, Ordering::Release);
        Box::pin(self.core.settle())
    }
}
