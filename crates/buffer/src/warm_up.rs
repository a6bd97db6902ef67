//! Bringing back what was in memory before a restart: the pages of the hot list, in runs of pages that lie close together.
//!
//! A run comes in one read, neighbours with one operation, and no page is evicted for it. Runs are read in the order of their
//! places on disk, and, out of turn, when somebody misses one of their pages: a page read alone costs several times its
//! share of a run, and its neighbours are needed too. As long as the disk answers quickly the more runs are in flight; when it
//! does not, two are left beside those that somebody waits for.
//!
//! Invariant: a run is read once, by whoever comes to it first. What a run could not bring is read like any other page.

use crate::frame::Place;
use crate::hot_list::{HotPage, read};
use crate::load::{Loader, Role};
use crate::pool::BufferPool;
use crate::prefetch::{Purpose, load_run};
use env::sync::WaitQueue;
use pagestore::PageId;
use std::ops::Range;
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

/// The pages that come back, and what their reads share.
pub(crate) struct Returning {
    /// By page.
    pages: Vec<HotPage>,
    /// By page too; together they are all pages.
    runs: Vec<Run>,
    in_flight: AtomicUsize,
    /// How many there may be, but for those that somebody waits for.
    allowed: AtomicUsize,
    /// No frame is free any more.
    is_full: AtomicBool,
    done: WaitQueue,
}

struct Run {
    /// Its place among the pages.
    pages: Range<usize>,
    /// Whether its read has begun.
    is_taken: AtomicBool,
}

/// One of the reads in flight.
struct ReadPermit(Arc<Returning>);

impl Drop for ReadPermit {
    fn drop(&mut self) {
        debug_assert!(self.0.in_flight.load(Ordering::Relaxed) > 0, "each read in flight is counted");
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
            pool.bring_back(pages).await;
            let now_us = pool.env.clock.unix_us();
            pool.hot_list.warm_up.lock().completed_unix_us = Some(now_us);
            pool.hot_list.begin();
        };
        self.env.spawner.spawn("warm-up", Box::pin(work));
    }

    pub fn warm_up_status(&self) -> WarmUp {
        *self.hot_list.warm_up.lock()
    }

    async fn bring_back(&self, mut pages: Vec<HotPage>) {
        pages.retain(|hot| hot.page.0 < self.store().page_count());
        let returning = Arc::new(Returning::new(pages));
        self.hot_list.warm_up.lock().pages_total = returning.pages.len() as u64;
        self.hot_list.set_returning(Some(returning.clone()));
        for run in &returning.runs {
            if run.is_taken.load(Ordering::Relaxed) {
                continue;
            }
            returning.wait_for_turn().await;
            if returning.is_full.load(Ordering::Relaxed) || self.is_stopped() {
                break;
            }
            self.start_read(&returning, run);
        }
        self.hot_list.set_returning(None);
        returning.wait_for_all().await;
    }

    /// Somebody misses the page: if it is one of those that come back, its run comes now.
    pub(crate) fn bring_run_of(&self, page: PageId) {
        let Some(returning) = self.hot_list.returning() else { return };
        if let Some(run) = returning.run_of(page)
            && !returning.is_full.load(Ordering::Relaxed)
        {
            self.start_read(&returning, run);
        }
    }

    fn start_read(&self, returning: &Arc<Returning>, run: &Run) {
        let Some(pool) = self.weak.upgrade() else { return };
        if run.is_taken.swap(true, Ordering::Relaxed) {
            return;
        }
        let pages = &returning.pages[run.pages.clone()];
        self.hot_list.warm_up.lock().pages_done += pages.len() as u64;
        let claim = |hot: &HotPage| match self.choose_role(hot.page) {
            Role::Load(mut loader) => {
                loader.place = if hot.is_main { Place::Main } else { Place::Cold };
                Some(loader)
            }
            Role::Wait(_) | Role::LookAgain => None,
        };
        let loaders: Vec<Loader> =
            pages.iter().filter(|hot| self.is_absent(hot.page)).filter_map(claim).collect();
        if loaders.is_empty() {
            return;
        }
        returning.in_flight.fetch_add(1, Ordering::AcqRel);
        let permit = ReadPermit(returning.clone());
        let read = async move {
            let Returning { allowed, is_full, .. } = &*permit.0;
            let start_us = pool.env.clock.now_us();
            if !load_run(&pool, loaders, Purpose::WarmUp).await {
                is_full.store(true, Ordering::Relaxed);
            }
            let took_us = pool.env.clock.now_us().saturating_sub(start_us);
            // Reads that end together may both be counted or not: it is a pace.
            allowed.store(next_allowed(allowed.load(Ordering::Relaxed), took_us), Ordering::Relaxed);
        };
        self.env.spawner.spawn("warm-up-read", Box::pin(read));
    }
}

impl Returning {
    fn new(mut pages: Vec<HotPage>) -> Self {
        pages.sort_unstable();
        pages.dedup_by_key(|hot| hot.page);
        let mut runs = Vec::new();
        let mut first = 0;
        while first < pages.len() {
            let end = first + run_length(&pages[first..]);
            runs.push(Run { pages: first..end, is_taken: AtomicBool::new(false) });
            first = end;
        }
        debug_assert_eq!(runs.last().map_or(0, |run| run.pages.end), pages.len(), "runs are all pages");
        Self {
            pages,
            runs,
            in_flight: AtomicUsize::new(0),
            allowed: AtomicUsize::new(READS_MIN),
            is_full: AtomicBool::new(false),
            done: WaitQueue::new(),
        }
    }

    fn run_of(&self, page: PageId) -> Option<&Run> {
        let place = self.pages.binary_search_by_key(&page, |hot| hot.page).ok()?;
        self.runs.get(self.runs.partition_point(|run| run.pages.end <= place))
    }

    async fn wait_for_turn(&self) {
        loop {
            let waiter = self.done.register();
            if self.in_flight.load(Ordering::Acquire) < self.allowed.load(Ordering::Relaxed) {
                return;
            }
            waiter.await;
        }
    }

    async fn wait_for_all(&self) {
        loop {
            let waiter = self.done.register();
            if self.in_flight.load(Ordering::Acquire) == 0 {
                return;
            }
            waiter.await;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn each_page_has_its_run() {
        let pages = [9, 5, 1000, 6, 6, 40, 41].map(|id| HotPage { page: PageId(id), is_main: true });
        let returning = Returning::new(pages.to_vec());
        let ids =
            |run: &Run| returning.pages[run.pages.clone()].iter().map(|hot| hot.page.0).collect::<Vec<u64>>();
        assert_eq!(returning.runs.iter().flat_map(ids).collect::<Vec<u64>>(), [5, 6, 9, 40, 41, 1000]);
        for id in [5, 6, 9, 40, 41, 1000] {
            assert!(ids(returning.run_of(PageId(id)).unwrap()).contains(&id));
        }
        assert!([0, 7, 42, 2000].into_iter().all(|id| returning.run_of(PageId(id)).is_none()));
    }
}
