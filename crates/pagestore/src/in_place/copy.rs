//! A copy of the store in another directory, made while pages are written.
//!
//! Each page of the copy is intact: a run of pages is read in the store's turn, so no batch is half written meanwhile. Pages
//! of one copy come from different moments; the log from the checkpoint on, up to the copy's end, makes them one.
//!
//! Invariant: the copy is no store before `finish` has written its superblock, which is the last thing that is written; an
//! opening takes what was cut off for a creation that was cut off. Called by the engine's backup.

use super::versions::{self, VERSIONS_FILE};
use super::{DATA_FILE, InPlaceStore, path_of, superblock};
use crate::fill::fill_with_zeros;
use crate::{
    CopiedImages, CorruptPage, FIRST_FREE_PAGE, PAGE_ID_MAX, PageFault, PageId, PageSize, PageStore,
    SUPERBLOCK_BYTES_MAX, StoreError,
};
use env::{Disk, File, IoBuf, OpenOptions};
use std::sync::Arc;

/// The copy under way.
pub struct StoreCopy {
    disk: Arc<dyn Disk>,
    directory: String,
    data: Arc<dyn File>,
    page_size: PageSize,
    /// The next page that is to come.
    next: PageId,
    /// Pages that are neither intact nor empty here; they are copied as they are.
    damaged: Vec<PageId>,
}

impl StoreCopy {
    /// Begins a copy in a directory of another disk, which is created.
    pub async fn create(
        disk: Arc<dyn Disk>,
        directory: &str,
        page_size: PageSize,
    ) -> Result<StoreCopy, StoreError> {
        disk.create_dir(directory).await?;
        let data = disk.open(&path_of(directory, DATA_FILE), OpenOptions::create().direct()).await?;
        data.set_len(0).await?;
        let (_, result) = data.write_at(0, IoBuf::zeroed(2 * superblock::SLOT_BYTES)).await;
        result?;
        Ok(StoreCopy {
            disk,
            directory: directory.into(),
            data,
            page_size,
            next: FIRST_FREE_PAGE,
            damaged: Vec::new(),
        })
    }

    /// The page that comes next.
    pub fn next_page(&self) -> PageId {
        self.next
    }

    /// Pages that were damaged before they were copied.
    pub fn damaged(&self) -> &[PageId] {
        &self.damaged
    }

    /// Puts images that lie side by side into their place. What nobody has filled before them is filled with zeros.
    pub async fn place(&mut self, first: PageId, images: IoBuf) -> Result<(), StoreError> {
        let size = self.page_size.bytes() as u64;
        let end = first.0 + images.len() as u64 / size;
        if first < FIRST_FREE_PAGE || end > PAGE_ID_MAX {
            return Err(CorruptPage { page: first, fault: PageFault::WrongPage }.into());
        }
        debug_assert_eq!(images.len() as u64 % size, 0, "whole pages are placed");
        self.fill_to(first.0).await?;
        let (_, result) = self.data.write_at(first.0 * size, images).await;
        result?;
        self.next = self.next.max(PageId(end));
        Ok(())
    }

    async fn fill_to(&mut self, page_count: u64) -> Result<(), StoreError> {
        let size = self.page_size.bytes() as u64;
        if page_count > self.next.0 {
            fill_with_zeros(&self.data, self.next.0 * size..page_count * size).await?;
            self.next = PageId(page_count);
        }
        Ok(())
    }

    /// Makes it a store of so many pages at least, whose pages have epochs before `first_epoch`, with this checkpoint record.
    pub async fn finish(
        mut self,
        page_count: u64,
        first_epoch: u32,
        record: &[u8],
    ) -> Result<(), StoreError> {
        if page_count > PAGE_ID_MAX || record.len() > SUPERBLOCK_BYTES_MAX {
            let page = PageId(page_count.min(PAGE_ID_MAX));
            return Err(CorruptPage { page, fault: PageFault::BeyondEnd }.into());
        }
        self.fill_to(page_count).await?;
        debug_assert!(self.next.0 >= page_count, "a copy has the pages that it tells of");
        let StoreCopy { disk, directory, data, page_size, next, .. } = self;
        data.sync_all().await?;
        let tags = disk.open(&path_of(&directory, VERSIONS_FILE), OpenOptions::create().direct()).await?;
        versions::write_empty(&tags, first_epoch).await?;
        disk.sync_dir(&directory).await?;
        let empty = superblock::format(&data, page_size, next.0).await?;
        superblock::write(&data, page_size, &empty.next(record)).await
    }

    async fn write(&mut self, images: IoBuf) -> Result<(), StoreError> {
        let size = self.page_size.bytes() as u64;
        let count = images.len() as u64 / size;
        debug_assert_eq!(images.len() as u64 % size, 0, "whole pages are copied");
        debug_assert!(self.next >= FIRST_FREE_PAGE, "the superblock's place is no page's");
        let (_, result) = self.data.write_at(self.next.0 * size, images).await;
        result?;
        self.next = PageId(self.next.0 + count);
        Ok(())
    }
}

impl InPlaceStore {
    pub(super) async fn copy_run(&self, copy: &mut StoreCopy, count: u64) -> Result<u64, StoreError> {
        assert_eq!(copy.page_size, self.page_size);
        let size = self.page_size.bytes();
        let first = copy.next;
        debug_assert!(first >= FIRST_FREE_PAGE, "the superblock's place is no page's");
        let count = count.min(self.page_count().saturating_sub(first.0));
        if count == 0 {
            return Ok(0);
        }
        let images = self.read_run(first, count).await?;
        for (index, image) in images.as_slice().chunks_exact(size).enumerate() {
            let page = PageId(first.0 + index as u64);
            let is_empty = || image.iter().all(|byte| *byte == 0);
            // What was wrong on the way is right when it is read again.
            if self.verify(page, image).is_err() && !is_empty() && !self.is_sound_again(page).await? {
                copy.damaged.push(page);
            }
        }
        copy.write(images).await?;
        Ok(count)
    }

    /// No batch is being written meanwhile.
    async fn read_run(&self, first: PageId, count: u64) -> Result<IoBuf, StoreError> {
        debug_assert!(count > 0, "a read brings something");
        let target = IoBuf::for_overwriting(count as usize * self.page_size.bytes());
        let _turn = self.turn.take().await;
        let (images, result) = self.data.read_at(self.offset(first), target).await;
        result?;
        Ok(images)
    }

    async fn is_sound_again(&self, page: PageId) -> Result<bool, StoreError> {
        let image = self.read_run(page, 1).await?;
        Ok(self.verify(page, image.as_slice()).is_ok())
    }

    pub(super) async fn finish_the_copy(&self, copy: StoreCopy, record: &[u8]) -> Result<(), StoreError> {
        copy.finish(0, self.versions.reserved(), record).await
    }

    /// See `PageStore::copy_images`.
    pub(super) async fn images_of(&self, pages: &[PageId]) -> Result<CopiedImages, StoreError> {
        let found = {
            let _turn = self.turn.take().await;
            self.read_many(pages).await
        };
        let (mut images, mut damaged) = (Vec::with_capacity(pages.len()), Vec::new());
        for (page, image) in pages.iter().zip(found) {
            let image = match image {
                Some(image) => image,
                // Only this says what is wrong.
                None => self.read_run(*page, 1).await?,
            };
            let is_empty = || image.as_slice().iter().all(|byte| *byte == 0);
            // What was wrong on the way is right when it is read again.
            if self.verify(*page, image.as_slice()).is_ok() || is_empty() {
                images.push(image);
                continue;
            }
            let again = self.read_run(*page, 1).await?;
            if self.verify(*page, again.as_slice()).is_err() {
                damaged.push(*page);
            }
            images.push(again);
        }
        debug_assert_eq!(images.len(), pages.len(), "each page that was asked for has an image");
        debug_assert!(damaged.len() <= pages.len(), "damaged pages are some of these");
        Ok(CopiedImages { images, damaged })
    }
}
