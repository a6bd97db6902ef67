//! Bringing back what was in memory before a restart: the pages of the hot list, in the order of their places on disk.
//!
//! Pages that lie close together are read together, neighbours with one operation, and no page is evicted for one. As long as
//! the disk answers quickly the more of these reads are in flight: until it is over, users miss pages that come in order here,
//! for a small part of what they cost one by one. When it does not, two are left, and users go first. A page that
//! somebody wants meanwhile is read by whoever comes first, and only once.

use crate::frame::Place;
use crate::hot_list::{HotPage, read};
use crate::load::{Loader, Role};
use crate::pool::BufferPool;
use crate::prefetch::{Purpose, load_run};
use env::sync::WaitQueue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Reads in flight: between these, one more after each that was quick, half of them after one that was not.
const READS_MIN: usize = 2;
const READS_MAX: usize = 16;
/// A read that takes longer finds a busy disk, or busy processors.
const QUICK_READ_US: u64 = 4_000;
/// Pages that come in one read, with those between them.
const READ_PAGES_MAX: u64 = 32;
/// Pages so far from each other are neighbours; the store decides what is one operation.
const GAP_PAGES_MAX: u64 = 3;
/// Groups of neighbours in one read: lonely pages would otherwise cost a task each.
const READ_GROUPS_MAX: usize = 4;

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
    /// How many there may be.
    allowed: AtomicUsize,
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
        allowed: AtomicUsize::new(READS_MIN),
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
        if reads.in_flight.load(Ordering::Acquire) < reads.allowed.load(Ordering::Relaxed) {
            return;
        }
        waiter.await;
    }
}

/// How many reads may be in flight after one that took so long.
fn next_allowed(allowed: usize, took_us: u64) -> usize {
    let next = if took_us <= QUICK_READ_US { allowed + 1 } else { allowed / 2 };
    next.clamp(READS_MIN, READS_MAX)
}

/// How many of the first pages come in one read.
fn run_length(pages: &[HotPage]) -> usize {
    let (mut span, mut groups) = (1, 1);
    let joins = |pair: &&[HotPage]| {
        let distance = pair[1].page.0 - pair[0].page.0;
        let is_near = distance <= GAP_PAGES_MAX + 1;
        span += if is_near { distance } else { 1 };
        groups += usize::from(!is_near);
        span <= READ_PAGES_MAX && groups <= READ_GROUPS_MAX
    };
    1 + pages.windows(2).take_while(joins).count()
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
        let Reads { pool, allowed, is_full, .. } = &*permit.0;
        let start_us = pool.env.clock.now_us();
        if !load_run(pool, loaders, Purpose::WarmUp).await {
            is_full.store(true, Ordering::Relaxed);
        }
        let took_us = pool.env.clock.now_us().saturating_sub(start_us);
        // Reads that end together may both be counted or not: it is a pace.
        allowed.store(next_allowed(allowed.load(Ordering::Relaxed), took_us), Ordering::Relaxed);
    };
    pool.env.spawner.spawn("warm-up-read", Box::pin(read));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagestore::PageId;

    #[test]
    fn a_quick_disk_gets_more_reads_and_a_slow_one_fewer() {
        assert_eq!([(2, 0), (9, QUICK_READ_US), (16, 0)].map(|(now, us)| next_allowed(now, us)), [3, 10, 16]);
        assert_eq!([(16, 5_000), (9, 5_000), (3, 5_000)].map(|(now, us)| next_allowed(now, us)), [8, 4, 2]);
    }

    #[test]
    fn neighbours_come_in_one_read() {
        let length = |ids: &[u64]| {
            let pages: Vec<HotPage> =
                ids.iter().map(|id| HotPage { page: PageId(*id), is_main: true }).collect();
            run_length(&pages)
        };
        assert_eq!(length(&[5]), 1);
        assert_eq!(length(&[5, 6, 10, 15]), 4);
        assert_eq!(length(&[5, 105, 205, 206, 305, 405]), 5);
        assert_eq!(length(&(0..100).map(|page| page * 4).collect::<Vec<u64>>()), 8);
        assert_eq!(length(&(0..100).collect::<Vec<u64>>()), 32);
    }
}
