//! Tests of the pool as a whole, on the simulated machine.

mod alone;
mod caps;
mod neighbours;
mod packed;
mod page_logs;
mod redo;
mod resize;
mod scrub;
mod warm_up;

use crate::{Access, BufferError, BufferPool, PoolOptions, Stop};
use env::sim::{Fault, SimOptions, World};
use env::{Env, IoOp};
use pagestore::{InPlaceStore, PageFault, PageId, PageKind, PageSize, PageStore, TreeId, header};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use wal::{Wal, WalGroup, WalOptions};

const PAGE_BYTES: usize = PageSize::K4.bytes();

async fn open(env: &Env, frames: usize) -> Arc<BufferPool> {
    open_with(env, Arc::new(InPlaceStore::create(env, "", PageSize::K4).await.unwrap()), frames).await
}

async fn open_with(env: &Env, store: Arc<dyn PageStore>, frames: usize) -> Arc<BufferPool> {
    let wal = Arc::new(Wal::create(env, WalOptions::default()).await.unwrap());
    let options = PoolOptions::new(frames * (PAGE_BYTES + 64), |_| Ok(()));
    BufferPool::open(env, store, wal, options)
}

/// Writes one byte into a page through a log group, as a mini-transaction would.
fn stamp(pool: &BufferPool, page: PageId, create: bool, byte: u8) -> Result<(), Stop> {
    let mut guard = if create { pool.create(page)? } else { pool.write(page)? };
    guard.mark_dirty(pool.wal().end_lsn());
    let mut group = WalGroup::new();
    group.push(1, 0, &[byte]);
    let lsns = pool.wal().append(&group).unwrap();
    let bytes = guard.bytes_mut();
    if create {
        header::format(bytes, page, PageKind::Overflow, TreeId(1));
    }
    bytes[100] = byte;
    header::set_lsn(bytes, lsns.end.0);
    guard.confirm();
    Ok(())
}

async fn fill(pool: &BufferPool, pages: std::ops::Range<u64>) {
    for page in pages {
        pool.run(|| stamp(pool, PageId(page), true, page as u8)).await.unwrap();
    }
}

async fn check(pool: &BufferPool, page: u64) {
    let byte = pool.run(|| Ok(pool.read(PageId(page))?[100])).await.unwrap();
    assert_eq!(byte, page as u8);
}

pub(super) fn run<F: Future<Output = ()>>(seed: u64, test: impl FnOnce(Env) -> F) {
    let world = World::new(seed, SimOptions::default());
    world.block_on(test(world.env())).unwrap();
}

#[test]
fn pages_survive_eviction() {
    run(1, |env| async move {
        let pool = open(&env, 32).await;
        fill(&pool, 10..200).await;
        for page in 10..200 {
            check(&pool, page).await;
        }
        let stats = pool.stats();
        assert!(stats.pages_evicted >= 158 + 150 && stats.pages_read >= 150, "{stats:?}");
        pool.flush_all().await.unwrap();
        assert_eq!((pool.stats().pages_dirty, pool.min_rec_lsn()), (0, pool.wal().end_lsn()));
    });
}

#[test]
fn a_created_page_that_is_not_confirmed_leaves_no_trace() {
    run(2, |env| async move {
        let pool = open(&env, 32).await;
        let free = pool.stats().frames_free;
        let mut guard = pool.create(PageId(50)).unwrap();
        guard.mark_dirty(pool.wal().end_lsn());
        drop(guard);
        assert_eq!(pool.read(PageId(50)).err(), Some(Stop::Miss(PageId(50))));
        assert_eq!((pool.stats().frames_free, pool.stats().pages_dirty), (free, 0));
        let beyond = PageId(pool.store().page_count());
        assert_eq!(pool.create(beyond).err(), Some(Stop::Extend(beyond)));
    });
}

#[test]
fn a_pin_keeps_its_page() {
    run(3, |env| async move {
        let pool = open(&env, 32).await;
        fill(&pool, 10..200).await;
        let pin = pool.resolve(Stop::Miss(PageId(10))).await.unwrap();
        for page in 11..200 {
            check(&pool, page).await;
        }
        let reads = pool.stats().pages_read;
        check(&pool, 10).await;
        assert_eq!(pool.stats().pages_read, reads);
        drop(pin);
        for page in 11..200 {
            check(&pool, page).await;
        }
        assert_eq!(pool.read(PageId(10)).err(), Some(Stop::Miss(PageId(10))));
    });
}

#[test]
fn one_read_serves_all_who_wait() {
    run(4, |env| async move {
        let pool = open(&env, 32).await;
        fill(&pool, 10..100).await;
        let reads = pool.stats().pages_read;
        let mut waiting = Vec::new();
        for _ in 0..20 {
            waiting.push(Box::pin(pool.resolve(Stop::Miss(PageId(10)))));
        }
        // The first becomes the loader and is dropped; the load goes on for the others.
        let mut first = waiting.remove(0);
        std::future::poll_fn(|context| {
            assert!(first.as_mut().poll(context).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        drop(first);
        for wait in waiting {
            assert!(wait.await.unwrap().holds_page());
        }
        assert_eq!(pool.stats().pages_read, reads + 1);
    });
}

#[test]
fn scans_do_not_push_used_pages_out() {
    run(5, |env| async move {
        let pool = open(&env, 64).await;
        fill(&pool, 100..400).await;
        pool.flush_all().await.unwrap();
        for _ in 0..3 {
            for page in 100..120 {
                check(&pool, page).await;
            }
        }
        for page in 120..400 {
            pool.run(|| pool.read_as(PageId(page), Access::Scan).map(drop)).await.unwrap();
            // The used pages stay in use now and then.
            check(&pool, 100 + page % 20).await;
        }
        let resident = (100..120).filter(|page| pool.read(PageId(*page)).is_ok()).count();
        assert!(resident >= 18, "{resident} of 20 used pages are left");
    });
}

#[test]
fn a_scan_of_many_pools_leaves_a_hot_half_in_memory() {
    run(11, |env| async move {
        const FRAMES: u64 = 400;
        let pool = open(&env, FRAMES as usize).await;
        fill(&pool, 10..10 + 9 * FRAMES).await;
        pool.flush_all().await.unwrap();
        let hot = |number: u64| PageId(10 + number * 7919 % (FRAMES / 2));
        for number in 0..20 * FRAMES {
            pool.run(|| pool.read(hot(number)).map(drop)).await.unwrap();
        }
        // A scan of eight times the pool, with read-ahead, and one use of the hot set for each of its pages.
        let first = 10 + FRAMES;
        let mut hits = 0;
        for number in 0..8 * FRAMES {
            if number % 16 == 0 {
                pool.prefetch((first + number..first + number + 32).map(PageId));
            }
            pool.run(|| pool.read_as(PageId(first + number), Access::Scan).map(drop)).await.unwrap();
            hits += u64::from(pool.read(hot(number)).is_ok());
            if pool.is_absent(hot(number)) {
                pool.run(|| pool.read(hot(number)).map(drop)).await.unwrap();
            }
        }
        let share = 100 * hits / (8 * FRAMES);
        assert!(share >= 95, "{share} % of the uses of the hot set found their page");
        assert!(pool.stats().pages_read > 8 * FRAMES, "the scan was read from disk");
    });
}

#[test]
fn prefetched_pages_need_no_wait() {
    run(6, |env| async move {
        let pool = open(&env, 64).await;
        fill(&pool, 100..400).await;
        pool.flush_all().await.unwrap();
        pool.prefetch((100..108).map(PageId));
        env.clock.sleep(100_000).await;
        for page in 100..108 {
            assert_eq!(pool.read(PageId(page)).unwrap()[100], page as u8);
        }
        assert_eq!(pool.stats().pages_prefetched, 8);
    });
}

#[test]
fn near_pages_come_in_one_read_with_what_lies_between() {
    run(8, |env| async move {
        let pool = open(&env, 2048).await;
        fill(&pool, 100..6100).await;
        pool.flush_all().await.unwrap();
        let pages = [150, 105, 101, 104, 900].map(PageId);
        let absent = pages.iter().filter(|page| pool.is_absent(**page)).count();
        assert_eq!(pool.prefetch_near(&pages), absent);
        env.clock.sleep(100_000).await;
        for page in [101, 102, 103, 104, 105, 150, 900] {
            assert_eq!(pool.read(PageId(page)).unwrap()[100], page as u8);
        }
        assert_eq!(pool.prefetch_near(&pages), 0);
    });
}

#[test]
fn a_damaged_page_is_an_error_for_all_who_want_it() {
    run(7, |env| async move {
        let pool = open(&env, 64).await;
        let error = pool.run(|| pool.read(PageId(30)).map(drop)).await.unwrap_err();
        let BufferError::Corrupt(corrupt) = error else { panic!("{error}") };
        assert_eq!((corrupt.page, corrupt.fault), (PageId(30), PageFault::Checksum));
        let error = pool.run(|| pool.read(PageId(u64::MAX)).map(drop)).await.unwrap_err();
        assert!(error.is_corruption());
        // The frame that was meant for it is free again.
        assert_eq!(pool.stats().frames_free, 64);
    });
}

#[test]
fn a_failed_write_back_stops_the_pool_and_keeps_pages_dirty() {
    let fault = Fault::input_output_error(IoOp::Sync, "pages.db", 0);
    let world = World::new(8, SimOptions::default());
    let env = world.env();
    let test = async {
        let pool = open(&env, 64).await;
        fill(&pool, 100..120).await;
        world.set_faults(&[fault]);
        assert!(matches!(pool.flush_all().await, Err(BufferError::Store(_))));
        assert_eq!(pool.stats().pages_dirty, 20);
        assert!(pool.failure().is_some());
        assert!(pool.min_rec_lsn() < pool.wal().end_lsn());
    };
    world.block_on(test).unwrap();
}

#[test]
fn write_back_keeps_up_with_the_log() {
    run(9, |env| async move {
        let store: Arc<dyn PageStore> = Arc::new(InPlaceStore::create(&env, "", PageSize::K4).await.unwrap());
        let wal = Arc::new(Wal::create(&env, WalOptions::default()).await.unwrap());
        let mut options = PoolOptions::new(2000 * (PAGE_BYTES + 64), |_| Ok(()));
        options.log_budget_bytes = 1 << 20;
        let pool = BufferPool::open(&env, store, wal, options);
        fill(&pool, 10..1000).await;
        let mut oldest_age = 0;
        for round in 0..40_000u64 {
            let page = PageId(10 + round * 7919 % 990);
            pool.run(|| {
                let mut guard = pool.write(page)?;
                guard.mark_dirty(pool.wal().end_lsn());
                let mut group = WalGroup::new();
                group.push(1, 0, &[1; 200]);
                let lsns = pool.wal().append(&group).unwrap();
                header::set_lsn(guard.bytes_mut(), lsns.end.0);
                pool.note_log_bytes(lsns.end.0 - lsns.start.0);
                Ok(())
            })
            .await
            .unwrap();
            if round % 100 == 0 {
                let end = pool.wal().end_lsn();
                pool.wal().wait_durable(end).await.unwrap();
                oldest_age = oldest_age.max(end.0 - pool.min_rec_lsn().0);
            }
        }
        let stats = pool.stats();
        assert!(oldest_age < 5 << 18, "the oldest dirty page was {oldest_age} bytes of log old");
        // About one write for each page and budget: 9 MB of log are about nine times 990 pages.
        assert!((3_000..20_000).contains(&stats.pages_written), "{stats:?}");
        assert!(stats.pages_written / stats.write_batches > 20, "batches are worth their syncs: {stats:?}");
    });
}

#[test]
fn hot_pages_are_written_while_frames_are_scarce() {
    run(10, |env| async move {
        let store: Arc<dyn PageStore> = Arc::new(InPlaceStore::create(&env, "", PageSize::K4).await.unwrap());
        let wal = Arc::new(Wal::create(&env, WalOptions::default()).await.unwrap());
        let mut options = PoolOptions::new(64 * (PAGE_BYTES + 64), |_| Ok(()));
        options.log_budget_bytes = 64 << 10;
        let pool = BufferPool::open(&env, store, wal, options);
        fill(&pool, 10..240).await;
        let mut oldest_age = 0;
        for round in 0..20_000u64 {
            // One page is always in use, the others only pass through.
            for page in [PageId(10), PageId(11 + round * 7919 % 229)] {
                pool.run(|| stamp(&pool, page, false, page.0 as u8)).await.unwrap();
            }
            if round % 10 == 0 {
                let end = pool.wal().end_lsn();
                pool.wal().wait_durable(end).await.unwrap();
                oldest_age = oldest_age.max(end.0 - pool.min_rec_lsn().0);
            }
        }
        assert!(oldest_age < 256 << 10, "the oldest dirty page was {oldest_age} bytes of log old");
        let queued = pool.dirty_entries();
        assert!(queued < 20_000, "{queued} entries for 64 frames");
    });
}

#[test]
fn dropped_waits_leak_neither_pins_nor_frames() {
    run(12, |env| async move {
        let pool = open(&env, 40).await;
        fill(&pool, 10..300).await;
        let left = Arc::new(AtomicUsize::new(100));
        for task in 0..100u64 {
            let (pool, left) = (pool.clone(), left.clone());
            let work = async move {
                for round in 0..60u64 {
                    let page = PageId(10 + (task * 31 + round * 17) % 290);
                    let create = PageId(300 + (task + round) % 20);
                    let mut patience = (task + round) % 5;
                    let mut load = std::pin::pin!(pool.run(|| {
                        // Two pages at once, and a creation that is given up.
                        let guard = pool.read(page)?;
                        let other = pool.read(PageId(10 + (page.0 + 7) % 290))?;
                        drop((guard, other));
                        pool.create(create).map(drop)
                    }));
                    std::future::poll_fn(|context| {
                        if patience == 0 {
                            return Poll::Ready(());
                        }
                        patience -= 1;
                        load.as_mut().poll(context).map(drop)
                    })
                    .await;
                }
                left.fetch_sub(1, Ordering::SeqCst);
            };
            env.spawner.spawn("dropper", Box::pin(work));
        }
        while left.load(Ordering::SeqCst) > 0 {
            env.clock.sleep(1000).await;
        }
        env.clock.sleep(1_000_000).await;
        assert!(pool.memory().headers().iter().all(|frame| frame.pins.load(Ordering::SeqCst) == 0));
        for page in 10..300 {
            check(&pool, page).await;
        }
        pool.flush_all().await.unwrap();
        let held = pool.memory().headers().iter().filter(|frame| frame.page().is_some()).count() as u64;
        assert_eq!(held + pool.stats().frames_free, 40, "each frame is in use or free");
    });
}

#[test]
fn who_waits_for_pages_to_be_written_is_told_of_the_stop() {
    run(30, |env| async move {
        let pool = open(&env, 600).await;
        for page in 10..510 {
            pool.run(|| stamp(&pool, PageId(page), true, 0)).await.unwrap();
        }
        let mut flush = std::pin::pin!(pool.flush_all());
        let first =
            std::future::poll_fn(|context| std::task::Poll::Ready(flush.as_mut().poll(context))).await;
        assert!(first.is_pending());
        pool.stop();
        assert_eq!(flush.await, Err(BufferError::Stopped));
    });
}
