//! The pool gets another size under load.

use super::{PAGE_BYTES, check, fill, run, stamp};
use crate::{BufferPool, PoolOptions};
use env::Env;
use pagestore::{InPlaceStore, PageId, PageSize, PageStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wal::{Wal, WalOptions};

const COST: usize = PAGE_BYTES + 64;

async fn open(env: &Env, frames: usize, frames_max: usize) -> Arc<BufferPool> {
    let store: Arc<dyn PageStore> = Arc::new(InPlaceStore::create(env, "", PageSize::K4).await.unwrap());
    let wal = Arc::new(Wal::create(env, WalOptions::default()).await.unwrap());
    let options =
        PoolOptions { memory_bytes_max: frames_max * COST, ..PoolOptions::new(frames * COST, |_| Ok(())) };
    BufferPool::open(env, store, wal, options)
}

async fn resize(pool: &BufferPool, env: &Env, frames: usize) {
    pool.resize(frames * COST);
    while pool.resize_status().completed_unix_us.is_none() {
        env.clock.sleep(1_000).await;
    }
    assert_eq!(pool.frame_count(), frames);
    let behind = &pool.memory().headers()[frames..];
    assert!(behind.iter().all(|frame| frame.page().is_none() && !frame.is_dirty()));
}

fn check_frames(pool: &BufferPool) {
    let used = pool.memory().headers().iter().filter(|frame| frame.page().is_some()).count() as u64;
    assert_eq!(used + pool.stats().frames_free, pool.frame_count() as u64, "each frame is in use or free");
}

#[test]
fn hot_pages_stay_when_the_pool_shrinks() {
    run(21, |env| async move {
        let pool = open(&env, 9000, 9000).await;
        fill(&pool, 10..8000).await;
        pool.flush_all().await.unwrap();
        // Spread over all frames, and used often.
        let hot = || (0..700).map(|number| 10 + number * 11);
        for _ in 0..3 {
            for page in hot() {
                check(&pool, page).await;
            }
            for page in 8000..8200 {
                pool.run(|| stamp(&pool, PageId(page), true, page as u8)).await.unwrap();
            }
        }
        resize(&pool, &env, 1000).await;
        check_frames(&pool);
        let resident = hot().filter(|page| pool.read(PageId(*page)).is_ok()).count();
        assert!(resident >= 690, "{resident} of 700 hot pages are left");
        for page in 10..8200 {
            check(&pool, page).await;
        }
    });
}

#[test]
fn a_pinned_page_holds_the_shrinking_up_but_nobody_else() {
    run(22, |env| async move {
        let pool = open(&env, 100, 100).await;
        fill(&pool, 10..200).await;
        let mut pins = Vec::new();
        for page in 100..140 {
            pins.push(pool.resolve(crate::Stop::Miss(PageId(page))).await.unwrap());
        }
        pool.resize(40 * COST);
        for page in 10..200 {
            check(&pool, page).await;
        }
        assert_eq!(pool.resize_status().completed_unix_us, None);
        drop(pins);
        resize(&pool, &env, 40).await;
        check_frames(&pool);
    });
}

#[test]
fn sizes_change_under_load_and_nothing_is_lost() {
    for seed in 30..36 {
        run(seed, |env| async move {
            let pool = open(&env, 64, 600).await;
            fill(&pool, 10..500).await;
            let done = Arc::new(AtomicU64::new(0));
            for task in 0..8u64 {
                let (pool, done) = (pool.clone(), done.clone());
                let work = async move {
                    for round in 0..1500u64 {
                        // Half the changes go to few pages, which are therefore dirty at every moment.
                        let page = match round % 2 {
                            0 => 10 + (task * 61 + round * 7919) % 490,
                            _ => 10 + round % 5,
                        };
                        pool.run(|| stamp(&pool, PageId(page), false, page as u8)).await.unwrap();
                        check(&pool, 10 + (task * 31 + round * 17) % 490).await;
                        if round % 10 == task {
                            pool.wal().wait_durable(pool.wal().end_lsn()).await.unwrap();
                        }
                        let end = pool.wal().end_lsn();
                        assert!(pool.min_rec_lsn() <= end);
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                };
                env.spawner.spawn("user", Box::pin(work));
            }
            let mut sizes = [600, 40, 300, 64, 500, 33].iter().cycle();
            while done.load(Ordering::SeqCst) < 8 {
                resize(&pool, &env, *sizes.next().unwrap()).await;
            }
            env.clock.sleep(1_000_000).await;
            check_frames(&pool);
            for page in 10..500 {
                check(&pool, page).await;
            }
            pool.flush_all().await.unwrap();
            assert_eq!((pool.stats().pages_dirty, pool.min_rec_lsn()), (0, pool.wal().end_lsn()));
        });
    }
}

#[test]
fn the_system_gets_the_memory_back() {
    run(23, |env| async move {
        // 64 MB, of which 48 are given back.
        let pool = open(&env, 16384, 16384).await;
        fill(&pool, 10..16000).await;
        pool.flush_all().await.unwrap();
        let range = pool.memory().frame(crate::frame::FrameIndex(0)).as_ptr() as usize;
        let before = resident_bytes(range, 16384 * PAGE_BYTES);
        resize(&pool, &env, 4096).await;
        let after = resident_bytes(range, 16384 * PAGE_BYTES);
        assert!(before >= 60 << 20, "{before} bytes were in memory");
        assert!(after <= 18 << 20, "{after} bytes are still in memory");
    });
}

/// What of a range of addresses has memory behind it, as the kernel says.
fn resident_bytes(start: usize, bytes: usize) -> usize {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut is_inside, mut kilobytes) = (false, 0);
    for line in maps.lines() {
        let bounds = line.split(' ').next().and_then(|bounds| bounds.split_once('-'));
        if let Some((from, _)) = bounds
            && let Ok(from) = usize::from_str_radix(from, 16)
        {
            is_inside = (start..start + bytes).contains(&from);
        }
        if is_inside && let Some(count) = line.strip_prefix("Rss:") {
            kilobytes += count.trim().trim_end_matches(" kB").parse::<usize>().unwrap();
        }
    }
    kilobytes << 10
}
