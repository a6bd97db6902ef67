//! What write-back for frames asks of the disk when dirty pages lie side by side.

use super::{fill, open, run, stamp};
use env::{CountedDisk, Env, IoCounters};
use pagestore::PageId;
use std::sync::Arc;

const FRAMES: usize = 1000;
const PAGES: u64 = 4000;

/// The environment with a disk whose writes to the home of pages are counted.
fn counting_home(env: Env) -> (Env, Arc<IoCounters>) {
    let (home, others) = (Arc::<IoCounters>::default(), Arc::<IoCounters>::default());
    let counted = home.clone();
    let disk = CountedDisk::new(env.disk, move |path| {
        let is_home = path.ends_with("pages.db");
        if is_home { counted.clone() } else { others.clone() }
    });
    (Env { disk: Arc::new(disk), ..env }, home)
}

#[test]
fn dirty_neighbours_share_a_write() {
    run(51, |env| async move {
        let (env, home) = counting_home(env);
        let pool = open(&env, FRAMES).await;
        fill(&pool, 10..10 + PAGES).await;
        pool.flush_all().await.unwrap();
        let before = (home.stats().writes, pool.stats().pages_written);
        for number in 0..8000 {
            // A fifth of all pages is dirty at any time, anywhere: of two neighbours often both.
            let page = PageId(10 + env.random.u64() % PAGES);
            pool.run(|| stamp(&pool, page, false, number as u8)).await.unwrap();
            let end = pool.wal().end_lsn();
            pool.wal().wait_durable(end).await.unwrap();
        }
        let (writes, pages) = (home.stats().writes - before.0, pool.stats().pages_written - before.1);
        assert!(pages > 4000, "{pages} pages are written for their frames");
        assert!(writes * 100 < pages * 90 && writes * 2 > pages, "{writes} writes for {pages} pages");
        pool.flush_all().await.unwrap();
        assert_eq!((pool.stats().pages_dirty, pool.min_rec_lsn()), (0, pool.wal().end_lsn()));
    });
}
