//! A store that cannot read several pages at once: who waits for a page that a read ahead did not bring reads it alone.

use super::{check, fill, open_with, run};
use env::{BoxFuture, IoBuf};
use pagestore::{
    ChangePoint, CopiedImages, CorruptPage, InPlaceStore, PageBatch, PageId, PageSize, PageStore, StoreCopy,
    StoreError,
};
use std::sync::Arc;

struct OneAtATime(InPlaceStore);

impl PageStore for OneAtATime {
    fn page_size(&self) -> PageSize {
        self.0.page_size()
    }

    fn page_count(&self) -> u64 {
        self.0.page_count()
    }

    fn read(&self, page: PageId, buffer: IoBuf) -> BoxFuture<'_, (IoBuf, Result<(), StoreError>)> {
        self.0.read(page, buffer)
    }

    fn read_many<'a>(&'a self, pages: &'a [PageId]) -> BoxFuture<'a, Vec<Option<IoBuf>>> {
        Box::pin(async move {
            env::yield_now().await;
            pages.iter().map(|_| None).collect()
        })
    }

    fn verify(&self, page: PageId, image: &[u8]) -> Result<(), CorruptPage> {
        self.0.verify(page, image)
    }

    fn write_batch(&self, batch: PageBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.write_batch(batch)
    }

    fn copy_pages<'a>(
        &'a self,
        copy: &'a mut StoreCopy,
        count: u64,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.0.copy_pages(copy, count)
    }

    fn finish_copy<'a>(&'a self, copy: StoreCopy, record: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.finish_copy(copy, record)
    }

    fn extend(&self, page_count: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.extend(page_count)
    }

    fn read_superblock(&self) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        self.0.read_superblock()
    }

    fn write_superblock<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.write_superblock(bytes)
    }

    fn copy_images<'a>(&'a self, pages: &'a [PageId]) -> BoxFuture<'a, Result<CopiedImages, StoreError>> {
        self.0.copy_images(pages)
    }

    fn begin_change_point(&self) -> BoxFuture<'_, Result<ChangePoint, StoreError>> {
        self.0.begin_change_point()
    }

    fn changed_since(&self, point: ChangePoint) -> Option<Vec<PageId>> {
        self.0.changed_since(point)
    }

    fn note_changed(&self, page: PageId) {
        self.0.note_changed(page);
    }

    fn first_free_epoch(&self) -> u32 {
        self.0.first_free_epoch()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.close()
    }
}

#[test]
fn a_page_that_was_not_read_ahead_is_read_by_who_waits_for_it() {
    run(21, |env| async move {
        let store = InPlaceStore::create(&env, "", PageSize::K4).await.unwrap();
        let pool = open_with(&env, Arc::new(OneAtATime(store)), 32).await;
        fill(&pool, 10..200).await;
        pool.prefetch((10..14).map(PageId));
        for page in 10..14 {
            check(&pool, page).await;
        }
        assert!(pool.stats().pages_prefetched > 0);
    });
}
