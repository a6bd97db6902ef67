//! A store in which pages move and vanish while they are read: page code that has a stale page id must not fail for it.

use super::tests::{PAGE_BYTES, check, fill, open_with, run};
use crate::{BufferError, BufferPool};
use env::{BoxFuture, Env, IoBuf};
use pagestore::{CorruptPage, InPlaceStore, PageBatch, PageFault, PageId, PageSize, PageStore, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Several pages cannot be read at once unless the store is scattered, and single pages only from the given attempt on.
struct Vanishing {
    store: InPlaceStore,
    absences: AtomicUsize,
    scattered: AtomicBool,
}

impl PageStore for Vanishing {
    fn page_size(&self) -> PageSize {
        self.store.page_size()
    }

    fn page_count(&self) -> u64 {
        self.store.page_count()
    }

    fn read(&self, page: PageId, buffer: IoBuf) -> BoxFuture<'_, (IoBuf, Result<(), StoreError>)> {
        let left = self.absences.load(Ordering::SeqCst);
        if left == 0 {
            return self.store.read(page, buffer);
        }
        self.absences.store(left - 1, Ordering::SeqCst);
        let absent = CorruptPage { page, fault: PageFault::Absent };
        Box::pin(async move { (buffer, Err(absent.into())) })
    }

    fn read_many<'a>(&'a self, pages: &'a [PageId]) -> BoxFuture<'a, Vec<Option<IoBuf>>> {
        if self.scattered.load(Ordering::SeqCst) {
            return self.store.read_many(pages);
        }
        Box::pin(async move {
            env::yield_now().await;
            pages.iter().map(|_| None).collect()
        })
    }

    fn is_scattered(&self, _: &[PageId]) -> bool {
        self.scattered.load(Ordering::SeqCst)
    }

    fn write_batch(&self, batch: PageBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.write_batch(batch)
    }

    fn extend(&self, page_count: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.extend(page_count)
    }

    fn read_superblock(&self) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        self.store.read_superblock()
    }

    fn write_superblock<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.write_superblock(bytes)
    }
}

async fn open(env: &Env) -> (Arc<BufferPool>, Arc<Vanishing>) {
    let store = InPlaceStore::create(env, "", PageSize::K4).await.unwrap();
    let store =
        Arc::new(Vanishing { store, absences: AtomicUsize::new(0), scattered: AtomicBool::new(false) });
    let pool = open_with(env, store.clone(), 32).await;
    fill(&pool, 10..200).await;
    (pool, store)
}

#[test]
fn a_page_that_was_not_read_ahead_is_read_by_who_waits_for_it() {
    run(21, |env| async move {
        let (pool, _) = open(&env).await;
        pool.prefetch((10..14).map(PageId));
        for page in 10..14 {
            check(&pool, page).await;
        }
        assert!(pool.stats().pages_prefetched > 0);
    });
}

#[test]
fn a_vanished_page_is_looked_for_again_and_a_missing_one_is_reported() {
    run(22, |env| async move {
        let (pool, store) = open(&env).await;
        store.absences.store(2, Ordering::SeqCst);
        check(&pool, 10).await;
        store.absences.store(100, Ordering::SeqCst);
        let missing = pool.run(|| Ok(pool.read(PageId(11))?[PAGE_BYTES - 1])).await;
        let absent = CorruptPage { page: PageId(11), fault: PageFault::Absent };
        assert_eq!(missing, Err(BufferError::Corrupt(absent)));
    });
}

#[test]
fn a_short_range_of_scattered_pages_is_written_again_together() {
    run(23, |env| async move {
        let (pool, store) = open(&env).await;
        pool.flush_all().await.unwrap();
        store.scattered.store(true, Ordering::SeqCst);
        let before = pool.stats();
        assert_eq!(before.pages_dirty, 0);
        pool.prefetch((10..12).map(PageId));
        for page in 10..12 {
            check(&pool, page).await;
        }
        assert_eq!(pool.stats().pages_dirty, 2);
        // Their turn comes when the log has moved on.
        fill(&pool, 20..21).await;
        pool.flush_all().await.unwrap();
        let after = pool.stats();
        assert_eq!((after.pages_dirty, after.pages_written - before.pages_written), (0, 3));
    });
}
