//! Pages that lose their frames and stay in memory packed.

use super::page_logs::{change, look, opened_with};
use super::*;
use crate::{PackedStats, Packing};
use env::{BoxFuture, Clock, ProcessorTimes, Processors};

const COST: usize = PAGE_BYTES + 64;
const PAGES: std::ops::Range<u64> = 10..150;

fn options(frames: usize, packing: Packing) -> PoolOptions {
    PoolOptions { packing, memory_bytes_max: frames * COST, ..PoolOptions::new(frames * COST, |_| Ok(())) }
}

async fn opened(env: &Env, options: PoolOptions) -> Arc<BufferPool> {
    let store: Arc<dyn PageStore> = Arc::new(InPlaceStore::create(env, "", PageSize::K4).await.unwrap());
    let wal = Arc::new(Wal::create(env, WalOptions::default()).await.unwrap());
    BufferPool::open(env, store, wal, options)
}

/// 140 clean pages, and memory for 80 frames, half of which packed pages have.
async fn half_packed(env: &Env) -> Arc<BufferPool> {
    let pool = opened(env, options(80, Packing::Sixteenths(8))).await;
    assert_eq!(pool.frame_count(), 40);
    fill(&pool, PAGES).await;
    pool.flush_all().await.unwrap();
    pool
}

#[test]
fn packed_pages_need_no_read() {
    run(61, |env| async move {
        let pool = half_packed(&env).await;
        for page in PAGES.chain(PAGES) {
            check(&pool, page).await;
        }
        let PackedStats { pages, bytes, budget_bytes, unpacked, dropped, .. } = pool.packed_stats();
        assert_eq!((pool.stats().pages_read, dropped), (0, 0));
        assert!(pages >= 100 && unpacked >= 200, "{pages} pages, {unpacked} came back");
        assert!(bytes <= budget_bytes && budget_bytes as usize <= 40 * COST, "{bytes} of {budget_bytes}");
        // A range's pages come from both.
        let packed: Vec<u64> = PAGES.filter(|page| pool.packed.has(PageId(*page))).take(4).collect();
        packed.iter().take(2).for_each(|page| pool.packed.discard(PageId(*page)));
        pool.prefetch(packed.iter().map(|page| PageId(*page)));
        env.clock.sleep(100_000).await;
        assert!(packed.iter().all(|page| pool.read(PageId(*page)).unwrap()[100] == *page as u8));
        assert_eq!(pool.stats().pages_read, 2);
    });
}

#[test]
fn a_page_that_is_made_anew_forgets_what_was_packed() {
    run(62, |env| async move {
        let pool = half_packed(&env).await;
        let page = PAGES.map(PageId).find(|page| pool.packed.has(*page)).expect("most are packed");
        drop(pool.run(|| pool.create(page)).await.unwrap());
        assert!(!pool.packed.has(page));
        pool.run(|| stamp(&pool, page, true, 77)).await.unwrap();
        pool.flush_all().await.unwrap();
        for _ in 0..5 {
            for other in PAGES.filter(|other| *other != page.0) {
                check(&pool, other).await;
            }
        }
        assert!(pool.is_absent(page));
        assert_eq!(pool.run(|| Ok(pool.read(page)?[100])).await.unwrap(), 77);
    });
}

#[test]
fn dirty_pages_return_with_their_changes_made_once() {
    run(63, |env| async move {
        let packing = Packing::Sixteenths(8);
        let pool = opened_with(&env, PoolOptions { page_log_bytes: 1 << 20, ..options(80, packing) }).await;
        let (written, start) = (pool.pages_written(), pool.wal().end_lsn());
        for round in 1..=5 {
            for page in PAGES {
                pool.run(|| change(&pool, PageId(page), round)).await.unwrap();
            }
        }
        let logs = pool.page_logs().stats();
        assert!(logs.left > 400 && logs.returned > 300, "{logs:?}");
        assert_eq!((pool.pages_written(), pool.stats().pages_read), (written, 0));
        assert_eq!(pool.min_rec_lsn(), start);
        // One half is read from the disk and gets its log, the other has its changes already.
        for page in PAGES.filter(|page| page % 2 == 0) {
            pool.packed.discard(PageId(page));
        }
        for page in PAGES {
            assert_eq!(look(&pool, page).await, (5, 5), "page {page}");
        }
        assert!(pool.stats().pages_read > 30);
        pool.flush_all().await.unwrap();
        let absent = pool.page_logs().absent_pages();
        for page in absent {
            pool.write_absent(page).await.unwrap();
        }
        pool.flush_all().await.unwrap();
        assert_eq!((pool.page_logs().stats().absent, pool.min_rec_lsn()), (0, pool.wal().end_lsn()));
        pool.packed.set_budget(0, 0);
        for page in PAGES {
            assert_eq!(look(&pool, page).await, (5, 5), "page {page}, from the disk");
        }
    });
}

#[test]
fn the_hot_list_names_packed_pages_too() {
    run(64, |env| async move {
        let list = Some("hot".into());
        let pool = opened(&env, PoolOptions { hot_list: list, ..options(80, Packing::Sixteenths(8)) }).await;
        fill(&pool, PAGES).await;
        pool.flush_all().await.unwrap();
        pool.warm_up(false);
        pool.save_hot_list().await;
        let listed = crate::hot_list::read(&*env.disk, "hot").await.unwrap();
        assert!((60..=80).contains(&listed.len()), "{} pages for 80 frames", listed.len());
        assert!(listed.iter().any(|hot| pool.packed.has(hot.page)));
    });
}

/// Users work while the memory changes and its parts change.
#[test]
fn the_memory_is_shared_anew_under_load() {
    for seed in 65..70 {
        run(seed, |env| async move {
            let all = PoolOptions { memory_bytes_max: 600 * COST, ..options(200, Packing::Sixteenths(4)) };
            let pool = opened_with(&env, PoolOptions { page_log_bytes: 40_000, ..all }).await;
            let left = Arc::new(AtomicUsize::new(6));
            for task in 0..6u64 {
                let (pool, left) = (pool.clone(), left.clone());
                let work = async move {
                    for round in 0..400u64 {
                        let page = PageId(10 + (task * 23 + round * 7919) % 140);
                        pool.run(|| change(&pool, page, 1)).await.unwrap();
                        if round % 10 == task {
                            pool.wal().wait_durable(pool.wal().end_lsn()).await.unwrap();
                        }
                    }
                    left.fetch_sub(1, Ordering::SeqCst);
                };
                env.spawner.spawn("user", Box::pin(work));
            }
            let mut frames = [200, 64, 100, 40].iter().cycle();
            while left.load(Ordering::SeqCst) > 0 {
                pool.pacer.set_parts((env.random.u64() % 16) as u8);
                pool.share_memory();
                env.clock.sleep(env.random.u64() % 3_000).await;
                let memory = frames.next().unwrap() * COST;
                pool.resize(memory);
                while pool.resize_status().completed_unix_us.is_none() {
                    env.clock.sleep(1_000).await;
                }
                let (packed, frames) = (pool.packed_stats().budget_bytes as usize, pool.frame_count());
                let is_least = frames == crate::pool::FRAMES_MIN;
                assert!(is_least || packed + frames * COST <= memory, "{packed} and {frames} of {memory}");
            }
            let mut changes = 0;
            for page in PAGES {
                changes += look(&pool, page).await.0;
            }
            assert_eq!(changes, 6 * 400, "each change was made once");
        });
    }
}

/// A machine on which everything takes a hundred times as long as simulated, and whose processors may be busy.
struct Slow {
    clock: Arc<dyn Clock>,
    is_busy: Arc<std::sync::atomic::AtomicBool>,
}

const SLOWNESS: u64 = 100;

impl Clock for Slow {
    fn now_us(&self) -> u64 {
        self.clock.now_us() * SLOWNESS
    }

    fn unix_us(&self) -> u64 {
        self.clock.unix_us()
    }

    fn sleep(&self, us: u64) -> BoxFuture<'static, ()> {
        self.clock.sleep(us / SLOWNESS)
    }
}

impl Processors for Slow {
    fn times(&self) -> ProcessorTimes {
        let own_us = if self.is_busy.load(Ordering::Relaxed) { self.now_us() } else { 0 };
        ProcessorTimes { idle_us: None, own_us, present: 1, usable: 1 }
    }
}

#[test]
fn packing_begins_where_reads_are_slow_and_ends_when_processors_are_short() {
    run(70, |env| async move {
        let is_busy = Arc::<std::sync::atomic::AtomicBool>::default();
        let slow = Arc::new(Slow { clock: env.clock.clone(), is_busy: is_busy.clone() });
        let env = Env { clock: slow.clone(), processors: slow, ..env };
        const FRAMES: usize = 2048;
        const LOGS: u64 = 1 << 20;
        let logs = PoolOptions { page_log_bytes: LOGS as usize, ..options(FRAMES, Packing::WhenWorthwhile) };
        let pool = opened_with(&env, logs).await;
        let pages = 10..10 + 3 * FRAMES as u64;
        fill(&pool, pages.clone()).await;
        pool.flush_all().await.unwrap();
        assert_eq!(pool.packed_stats().budget_bytes, 0);
        for round in 0..40_000u64 {
            check(&pool, 10 + round * 7919 % (pages.end - 10)).await;
        }
        let stats = pool.packed_stats();
        assert!(pool.frame_count() < FRAMES && stats.unpacked > 1_000, "{stats:?}");
        // What no log takes; frames and the rest are what was asked for.
        let unused = LOGS - pool.page_logs().stats().bytes;
        assert!(stats.borrowed_bytes > 0 && stats.borrowed_bytes == unused, "{stats:?}, {unused} unused");
        assert!(stats.own_bytes() as usize + pool.frame_count() * COST <= FRAMES * COST, "{stats:?}");
        is_busy.store(true, Ordering::Relaxed);
        for round in 0..40_000u64 {
            pool.packed.discard(PageId(10 + round * 7907 % (pages.end - 10)));
            check(&pool, 10 + round * 7919 % (pages.end - 10)).await;
        }
        assert_eq!((pool.frame_count(), pool.packed_stats().pages), (FRAMES, 0));
    });
}
