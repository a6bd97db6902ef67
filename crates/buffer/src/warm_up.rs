//! Bringing back what was in memory before a restart: the pages of the hot list, in the order of their places on disk.
//!
//! Pages that lie close together are read together, neighbours with one operation. Users go first: while any of them
//! waits for a page, few of these reads are in flight, and no page is evicted for one. A page that somebody wants
//! meanwhile is read by whoever comes first, and only once.

use crate::frame::Place;
use crate::hot_list::{HotPage, read};
use crate::load::{Loader, Role};
use crate::pool::BufferPool;
use crate::prefetch::{Purpose, load_run};
use env::sync::WaitQueue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Reads in flight while nobody else reads, and while somebody does.
const READS_IDLE_MAX: usize = 8;
const READS_BUSY_MAX: usize = 2;
/// Pages that are read together lie within so many.
const READ_PAGES_MAX: u64 = 32;
/// Pages so far from each other are still read together; the store decides what is one operation.
const GAP_PAGES_MAX: u64 = 3;

/// Where bringing pages back stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WarmUp {
    pub pages_total: u64,
    pub pages_done: u64,
    /// When it ended, in microseconds since 1970; `None` before.
    pub completed_unix_us: Option<u64>,
    pub has_begun: bool,
}

/// What the reads share.
struct Reads {
    pool: Arc<BufferPool>,
    in_flight: AtomicUsize,
    /// No frame is free any more.
    is_full: AtomicBool,
    done: WaitQueue,
}

/// One of the reads in flight.
struct ReadPermit(Arc<Reads>);

impl Drop for ReadPermit {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.0.done.wake_all();
    }
}

impl BufferPool {
    /// Reads the list of the last run and begins to bring its pages back; `wanted` false: only forgets it. From now on
    /// the list is kept for the next run.
    pub fn warm_up(&self, wanted: bool) {
        let (Some(pool), Some(path)) = (self.weak.upgrade(), self.options.hot_list.clone()) else { return };
        if !wanted {
            self.hot_list.begin();
            return;
        }
        self.hot_list.warm_up.lock().has_begun = true;
        let work = async move {
            let pages = read(&*pool.env.disk, &path).await.unwrap_or_default();
            bring_back(&pool, pages).await;
            let now_us = pool.env.clock.unix_us();
            pool.hot_list.warm_up.lock().completed_unix_us = Some(now_us);
            pool.hot_list.begin();
        };
        self.env.spawner.spawn("warm-up", Box::pin(work));
    }

    pub fn warm_up_status(&self) -> WarmUp {
        *self.hot_list.warm_up.lock()
    }
}

async fn bring_back(pool: &Arc<BufferPool>, mut pages: Vec<HotPage>) {
    pages.retain(|hot| hot.page.0 < pool.store().page_count());
    pages.sort_unstable();
    pages.dedup_by_key(|hot| hot.page);
    pool.hot_list.warm_up.lock().pages_total = pages.len() as u64;
    let reads = Arc::new(Reads {
        pool: pool.clone(),
        in_flight: AtomicUsize::new(0),
        is_full: AtomicBool::new(false),
        done: WaitQueue::new(),
    });
    let mut rest = &pages[..];
    while !rest.is_empty() && !reads.is_full.load(Ordering::Relaxed) && !pool.is_stopped() {
        wait_for_turn(&reads).await;
        let (run, others) = rest.split_at(run_length(rest));
        rest = others;
        start_read(&reads, run);
        pool.hot_list.warm_up.lock().pages_done += run.len() as u64;
    }
    loop {
        let waiter = reads.done.register();
        if reads.in_flight.load(Ordering::Acquire) == 0 {
            return;
        }
        waiter.await;
    }
}

async fn wait_for_turn(reads: &Reads) {
    loop {
        let waiter = reads.done.register();
        let is_busy = reads.pool.loads.slots.taken() > 0;
        let most = if is_busy { READS_BUSY_MAX } else { READS_IDLE_MAX };
        if reads.in_flight.load(Ordering::Acquire) < most {
            return;
        }
        waiter.await;
    }
}

/// How many of the first pages come in one read.
fn run_length(pages: &[HotPage]) -> usize {
    let first = pages[0].page.0;
    let joins = |pair: &[HotPage]| {
        pair[1].page.0 - pair[0].page.0 <= GAP_PAGES_MAX + 1 && pair[1].page.0 - first < READ_PAGES_MAX
    };
    1 + pages.windows(2).take_while(|pair| joins(pair)).count()
}

fn start_read(reads: &Arc<Reads>, run: &[HotPage]) {
    let pool = &reads.pool;
    let claim = |hot: &HotPage| match pool.choose_role(hot.page) {
        Role::Load(mut loader) => {
            loader.place = if hot.is_main { Place::Main } else { Place::Cold };
            Some(loader)
        }
        Role::Wait(_) | Role::LookAgain => None,
    };
    let loaders: Vec<Loader> = run.iter().filter(|hot| pool.is_absent(hot.page)).filter_map(claim).collect();
    if loaders.is_empty() {
        return;
    }
    reads.in_flight.fetch_add(1, Ordering::AcqRel);
    let permit = ReadPermit(reads.clone());
    let read = async move {
        let pool = permit.0.pool.clone();
        if !load_run(&pool, loaders, Purpose::WarmUp).await {
            permit.0.is_full.store(true, Ordering::Relaxed);
        }
    };
    pool.env.spawner.spawn("warm-up-read", Box::pin(read));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagestore::PageId;

    #[test]
    fn neighbours_come_in_one_read() {
        let length = |ids: &[u64]| {
            let pages: Vec<HotPage> =
                ids.iter().map(|id| HotPage { page: PageId(*id), is_main: true }).collect();
            run_length(&pages)
        };
        assert_eq!(length(&[5]), 1);
        assert_eq!(length(&[5, 6, 10, 15]), 3);
        assert_eq!(length(&(0..100).collect::<Vec<u64>>()), 32);
    }
}
