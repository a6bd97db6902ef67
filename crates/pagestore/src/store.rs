//! `PageStore`: pages by id, written in torn-safe batches. Where a page lies is the store's own business.

use crate::{ChangePoint, CorruptPage, PageBatch, PageId, PageSize, StoreCopy, StoreError};
use env::{BoxFuture, IoBuf};

/// The checkpoint record fits in this, with room for the store's own fields in a 4K block.
pub const SUPERBLOCK_BYTES_MAX: usize = 2048;

/// What a store can tell about itself at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Batches that went through a doublewrite file, and their pages.
    pub doublewrite_batches: u64,
    pub doublewrite_pages: u64,
}

/// Pages as they lay on disk.
pub struct CopiedImages {
    /// In the order in which they were asked for, none of them half written.
    pub images: Vec<IoBuf>,
    /// Which of them are neither intact nor empty.
    pub damaged: Vec<PageId>,
}

/// A place for pages. One operation at a time may touch a given page: the buffer pool sees to that.
pub trait PageStore: Send + Sync {
    fn page_size(&self) -> PageSize;

    /// Pages with an id below this can be written.
    fn page_count(&self) -> u64;

    /// Reads one page into a buffer of exactly one page and verifies it.
    fn read(&self, page: PageId, buffer: IoBuf) -> BoxFuture<'_, (IoBuf, Result<(), StoreError>)>;

    /// Reads pages with as few disk operations as their places allow; answers what lies there, in the order of the list.
    /// `None` for what cannot be read. Nothing is verified, and only `read` tells what is wrong.
    fn read_many<'a>(&'a self, pages: &'a [PageId]) -> BoxFuture<'a, Vec<Option<IoBuf>>>;

    /// Whether what was read is an intact image of the page, by checksum and id, and the newest one, as far as the store knows. By
    /// whoever has read the page, before others may.
    fn verify(&self, page: PageId, image: &[u8]) -> Result<(), CorruptPage>;

    /// Resolves when all pages of the batch are durable. After a crash in between, each page is found in its
    /// old or its new version, never torn. A failed batch leaves that guarantee intact.
    fn write_batch(&self, batch: PageBatch) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Grows the store to at least `page_count` pages. A full disk is an error that changes nothing.
    fn extend(&self, page_count: u64) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The newest record that `write_superblock` completed; `None` in a new store.
    fn read_superblock(&self) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>>;

    /// Replaces the checkpoint record, atomically and durably. At most `SUPERBLOCK_BYTES_MAX` bytes.
    fn write_superblock<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Copies the next pages, at most `count`, to a copy that was begun with the page size of this store. Answers how many:
    /// 0 when the copy has all pages that there are now. None of them is half written.
    fn copy_pages<'a>(
        &'a self,
        copy: &'a mut StoreCopy,
        count: u64,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Makes the copy a store with this checkpoint record.
    fn finish_copy<'a>(&'a self, copy: StoreCopy, record: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The images of some pages as they lie on disk now.
    fn copy_images<'a>(&'a self, pages: &'a [PageId]) -> BoxFuture<'a, Result<CopiedImages, StoreError>>;

    /// Whether the newest version of the page has this LSN; `None` if that is not known for certain.
    fn is_newest(&self, _page: PageId, _lsn: u64) -> Option<bool> {
        None
    }

    /// Pages that are written from now on are known to have changed since this moment, in later lives too.
    fn begin_change_point(&self) -> BoxFuture<'_, Result<ChangePoint, StoreError>>;

    /// All pages that were written since a point, and perhaps some others, in order; `None` if that is not known (any more).
    fn changed_since(&self, point: ChangePoint) -> Option<Vec<PageId>>;

    /// The log from the checkpoint on says that the page may have been written since. By recovery, of each such page.
    fn note_changed(&self, page: PageId);

    /// No page that was written so far has this epoch or a later one.
    fn first_free_epoch(&self) -> u32;

    /// Leaves behind what the next opening can know about the pages; nothing is lost without it. After the last write.
    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The highest LSN of all pages that were ever written, as far as the store knows: the log was durable up to there, so
    /// one that ends before has lost something. 0: unknown.
    fn newest_lsn(&self) -> u64 {
        0
    }

    /// What it has done.
    fn store_stats(&self) -> StoreStats {
        StoreStats::default()
    }
}
