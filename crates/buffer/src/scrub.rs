//! The scrub: looks for decay in what lies on disk, so that it is told before somebody needs the page.
//!
//! Invariants: it is paid in proportion to what users read, a short run of pages for each `ARRIVALS_PER_RUN` pages that came
//! into memory, and never by the clock: an idle machine sleeps. A page that is looked at is claimed as by a loader, so
//! nobody writes it meanwhile; it does not come into memory. Pages in memory were checked when they were read.
//!
//! `eviction` counts what comes into memory; the engine fetches what was found.

use crate::load::{Loader, Role};
use crate::pool::BufferPool;
use env::IoBuf;
use env::sync::Mutex;
use pagestore::{CorruptPage, FIRST_FREE_PAGE, PageFault, PageId, StoreError};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Reads of so many pages pay for one run
const ARRIVALS_PER_RUN: u32 = 1024;
/// of so many, which is one operation on every volume.
const RUN_PAGES: u64 = 16;
/// More faults than this are not kept until they are fetched.
const FAULTS_MAX: usize = 1000;

#[derive(Default)]
pub(crate) struct Scrub {
    /// Where the next run begins.
    next_page: AtomicU64,
    is_running: AtomicBool,
    found: Mutex<Vec<StoreError>>,
    pub(crate) pages: AtomicU64,
    pub(crate) passes: AtomicU64,
    pub(crate) faults: AtomicU64,
}

impl BufferPool {
    /// What is wrong with pages on disk, as far as the scrub has found out since the last call. They may be free pages.
    pub fn take_scrub_faults(&self) -> Vec<StoreError> {
        std::mem::take(&mut *self.scrub.found.lock())
    }

    /// So many pages have come into memory: others are looked at in return.
    #[inline]
    pub(crate) fn scrub_in_return(&self, arrivals: u32) {
        if arrivals.is_multiple_of(ARRIVALS_PER_RUN) {
            self.start_scrub();
        }
    }

    #[cold]
    fn start_scrub(&self) {
        let Some(pool) = self.weak.upgrade() else { return };
        // Users who wait come first.
        let is_time = !pool.is_stopped() && self.eviction.waiters.is_empty();
        if is_time && !self.scrub.is_running.swap(true, Ordering::AcqRel) {
            let run = async move {
                pool.scrub_run().await;
                pool.scrub.is_running.store(false, Ordering::Release);
            };
            self.env.spawner.spawn("scrub", Box::pin(run));
        }
    }

    async fn scrub_run(&self) {
        let slot = self.loads.slots.take().await;
        let candidates = self.next_scrubbed().filter(|page| self.is_absent(*page) && !self.behind.has(*page));
        let claimed = candidates.filter_map(|page| match self.choose_role(page) {
            Role::Load(loader) => Some(loader),
            Role::Wait(_) | Role::LookAgain => None,
        });
        let claimed: Vec<Loader> = claimed.collect();
        let pages: Vec<PageId> = claimed.iter().map(|loader| loader.page).collect();
        let found = self.store.read_many(&pages).await;
        let mut damaged = Vec::new();
        for (page, image) in pages.iter().zip(found) {
            let is_sound = image.is_some_and(|image| self.check_image(*page, &image).is_ok());
            if !is_sound && let Some(error) = self.fault_on_disk(*page).await {
                self.scrub.faults.fetch_add(1, Ordering::Relaxed);
                damaged.push(*page);
                let mut faults = self.scrub.found.lock();
                if faults.len() < FAULTS_MAX {
                    faults.push(error);
                }
            }
        }
        self.scrub.pages.fetch_add(pages.len() as u64, Ordering::Relaxed);
        drop((claimed, slot));
        if self.repairer().is_some() {
            for page in damaged {
                // Who loads it repairs it, or tells why not.
                drop(self.load(page).await);
            }
        }
    }

    /// The pages of the next run. Only one run is made at a time.
    fn next_scrubbed(&self) -> impl Iterator<Item = PageId> {
        let scrub = &self.scrub;
        let mut first = scrub.next_page.load(Ordering::Relaxed).max(FIRST_FREE_PAGE.0);
        if first >= self.store.page_count() {
            scrub.passes.fetch_add(1, Ordering::Relaxed);
            first = FIRST_FREE_PAGE.0;
        }
        let end = (first + RUN_PAGES).min(self.store.page_count());
        debug_assert!(first >= FIRST_FREE_PAGE.0, "the superblock is no page");
        scrub.next_page.store(end, Ordering::Relaxed);
        (first..end).map(PageId)
    }

    fn check_image(&self, page: PageId, image: &IoBuf) -> Result<(), PageFault> {
        self.store.verify(page, image.as_slice()).map_err(|corrupt| corrupt.fault)?;
        (self.options.check)(image.as_slice())
    }

    /// Reads the page alone: only that tells what is wrong with it, if anything is. What was never written, and what
    /// everybody knows to be lost, is no news.
    async fn fault_on_disk(&self, page: PageId) -> Option<StoreError> {
        let (image, read) = self.store.read(page, IoBuf::zeroed(self.page_bytes())).await;
        let checked = read.and_then(|()| {
            let checked = (self.options.check)(image.as_slice());
            checked.map_err(|fault| StoreError::Corrupt(CorruptPage { page, fault }))
        });
        let error = checked.err()?;
        let is_news = match &error {
            StoreError::Corrupt(CorruptPage { fault: PageFault::Lost, .. }) => false,
            StoreError::Corrupt(_) => image.as_slice().iter().any(|byte| *byte != 0),
            _ => true,
        };
        is_news.then_some(error)
    }
}
