//! The limits that a user may set.

use super::{PAGE_BYTES, fill, run, stamp};
use crate::{BufferPool, PoolOptions};
use env::Env;
use pagestore::{InPlaceStore, PageId, PageSize, PageStore};
use std::sync::Arc;
use wal::{Wal, WalOptions};

const FRAMES: usize = 2000;

async fn open(env: &Env) -> Arc<BufferPool> {
    let store: Arc<dyn PageStore> = Arc::new(InPlaceStore::create(env, "", PageSize::K4).await.unwrap());
    let wal = Arc::new(Wal::create(env, WalOptions::default()).await.unwrap());
    let mut options = PoolOptions::new(FRAMES * (PAGE_BYTES + 64), |_| Ok(()));
    options.log_budget_bytes = 64 << 10;
    let pool = BufferPool::open(env, store, wal, options);
    fill(&pool, 10..1500).await;
    pool.flush_all().await.unwrap();
    pool
}

/// Changes one page and commits.
async fn change(pool: &BufferPool, number: u64) {
    pool.wait_for_dirty_room().await.unwrap();
    let page = PageId(10 + number * 7919 % 1490);
    pool.run(|| stamp(pool, page, false, number as u8)).await.unwrap();
    pool.note_log_bytes(4096);
    let end = pool.wal().end_lsn();
    pool.wal().wait_durable(end).await.unwrap();
}

#[test]
fn writes_stay_below_their_cap_in_any_ten_seconds() {
    run(41, |env| async move {
        const CAP: u64 = 100;
        let pool = open(&env).await;
        pool.set_write_cap(Some(CAP));
        let mut samples = std::collections::VecDeque::new();
        let start_us = env.clock.now_us();
        let mut number = 0;
        while env.clock.now_us() < start_us + 30_000_000 {
            change(&pool, number).await;
            number += 1;
            env.clock.sleep(1_000).await;
            let (now, written) = (env.clock.now_us(), pool.stats().pages_written);
            samples.push_back((now, written));
            while samples.front().is_some_and(|(then, _)| now - then > 10_000_000) {
                samples.pop_front();
            }
            let in_window = written - samples[0].1;
            assert!(in_window as f64 <= CAP as f64 * 10.5, "{in_window} pages in ten seconds");
        }
        let written = pool.stats().pages_written;
        pool.set_write_cap(None);
        pool.flush_all().await.unwrap();
        assert!(written > 1490 + 25 * CAP, "the cap is used: {written}");
    });
}

#[test]
fn dirty_pages_stay_below_their_share() {
    run(42, |env| async move {
        let pool = open(&env).await;
        // Little log, so age alone is no reason to write.
        pool.set_log_budget(1 << 30);
        for number in 0..1000 {
            change(&pool, number).await;
        }
        assert!(pool.stats().pages_dirty > 800);
        pool.set_dirty_share_max(0.15);
        for number in 0..5000 {
            change(&pool, number).await;
            let dirty = pool.stats().pages_dirty;
            assert!(dirty <= FRAMES as u64 * 16 / 100, "{dirty} pages are dirty");
        }
        pool.set_dirty_share_max(0.9);
        for number in 0..1000 {
            change(&pool, number).await;
        }
        assert!(pool.stats().pages_dirty > FRAMES as u64 * 16 / 100);
    });
}
