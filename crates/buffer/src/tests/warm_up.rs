//! A restart brings back what was in memory.

use super::{PAGE_BYTES, check, fill, run, stamp};
use crate::{BufferPool, PoolOptions};
use env::Env;
use pagestore::{InPlaceStore, PageId, PageSize, PageStore};
use std::sync::Arc;
use wal::{Wal, WalOptions};

const FRAMES: usize = 1000;

fn options() -> PoolOptions {
    let options = PoolOptions::new(FRAMES * (PAGE_BYTES + 64), |_| Ok(()));
    PoolOptions { hot_list: Some("hot".into()), ..options }
}

/// A pool whose pages begin to come back.
async fn warming(env: &Env, wal: Arc<Wal>) -> Arc<BufferPool> {
    let store: Arc<dyn PageStore> = Arc::new(InPlaceStore::open(env, "").await.unwrap());
    let pool = BufferPool::open(env, store, wal, options());
    pool.warm_up(true);
    pool
}

async fn restart(env: &Env, wal: Arc<Wal>) -> Arc<BufferPool> {
    let pool = warming(env, wal).await;
    while pool.warm_up_status().completed_unix_us.is_none() {
        env.clock.sleep(1_000).await;
    }
    pool
}

/// A hot set of 600 pages, every second one of a range, and everything else once.
async fn work(env: &Env) -> Arc<BufferPool> {
    let store: Arc<dyn PageStore> = Arc::new(InPlaceStore::create(env, "", PageSize::K4).await.unwrap());
    let wal = Arc::new(Wal::create(env, WalOptions::default()).await.unwrap());
    let pool = BufferPool::open(env, store, wal, options());
    pool.warm_up(true);
    env.clock.sleep(10_000).await;
    fill(&pool, 10..5000).await;
    for round in 0..6000u64 {
        check(&pool, 100 + round * 7 % 600 * 2).await;
        check(&pool, 2000 + round % 3000).await;
    }
    pool.flush_all().await.unwrap();
    pool
}

fn resident(pool: &BufferPool) -> usize {
    (0..600).filter(|number| pool.read(PageId(100 + number * 2)).is_ok()).count()
}

#[test]
fn hot_pages_are_back_after_a_kill() {
    run(51, |env| async move {
        let pool = work(&env).await;
        assert!(resident(&pool) >= 595);
        // Killed: nothing is saved at the end.
        pool.stop();
        let again = restart(&env, pool.wal().clone()).await;
        assert!(resident(&again) >= 570, "{} of 600 hot pages are back", resident(&again));
        // Neighbours come together: far fewer reads than pages.
        let status = again.warm_up_status();
        assert_eq!(status.pages_done, status.pages_total);
        for page in 10..5000 {
            check(&again, page).await;
        }
    });
}

#[test]
fn an_orderly_end_saves_the_hottest_pages() {
    run(52, |env| async move {
        let pool = work(&env).await;
        // The list that the work had written is done by then.
        env.clock.sleep(1_000_000).await;
        pool.set_hot_percent(30);
        pool.save_hot_list().await;
        pool.stop();
        let again = restart(&env, pool.wal().clone()).await;
        assert_eq!(again.warm_up_status().pages_total, FRAMES as u64 * 30 / 100);
        // Without the order by heat there would be 180.
        assert!(resident(&again) >= 240, "{} hot pages are back", resident(&again));
    });
}

#[test]
fn a_missed_page_brings_its_neighbours_before_their_turn() {
    run(54, |env| async move {
        let pool = work(&env).await;
        pool.save_hot_list().await;
        pool.stop();
        let again = warming(&env, pool.wal().clone()).await;
        while again.warm_up_status().pages_total == 0 {
            env.clock.sleep(10).await;
        }
        let neighbours = || (1220..1282).step_by(2).filter(|id| !again.is_absent(PageId(*id))).count();
        assert_eq!(neighbours(), 0, "their turn is later");
        check(&again, 1250).await;
        assert!(neighbours() >= 12, "{} pages of its run are there", neighbours());
        let status = again.warm_up_status();
        assert!(status.completed_unix_us.is_none() && status.pages_done < status.pages_total / 2);
    });
}

#[test]
fn users_need_not_wait_for_the_rest() {
    run(53, |env| async move {
        let pool = work(&env).await;
        pool.save_hot_list().await;
        pool.stop();
        let again = warming(&env, pool.wal().clone()).await;
        // Reads and changes of listed and other pages while they come.
        for round in 0..2000u64 {
            check(&again, 10 + round * 7919 % 4990).await;
            let page = 100 + round * 13 % 600 * 2;
            again.run(|| stamp(&again, PageId(page), false, page as u8)).await.unwrap();
        }
        for page in 10..5000 {
            check(&again, page).await;
        }
        again.flush_all().await.unwrap();
    });
}
