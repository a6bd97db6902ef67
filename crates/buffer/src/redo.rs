//! Pages that are behind the log: after a crash, what the log says of a page is kept here until the page is loaded.
//!
//! Invariants: a page is in memory only with all changes that the log had for it at the crash, so page code never
//! sees one that is behind; until then nobody can change it. A page whose changes are not here yet (`Behind::Later`)
//! is not loaded before they are; that somebody waits for it is noted, so that they come soon. What a page was behind
//! by is nothing to its `rec_lsn`: as long as there are such pages, and until those that have caught up are written,
//! whoever makes checkpoints keeps the log that they needed.
//!
//! The engine fills it (`btree::redo` reads the log), `load` takes from it, `catch_up` empties it in the background.

use crate::BufferError;
use crate::pool::BufferPool;
use env::sync::{Mutex, WaitQueue};
use foldhash::fast::FixedState;
use pagestore::{CorruptPage, PageFault, PageId};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wal::Lsn;

/// Pages that are read together; neighbours are.
const RUN_PAGES: usize = 16;
/// Runs that are being read while the first of them is waited for.
const RUNS_AHEAD: usize = 48;

/// More pages than this are not asked for at one time; others come in their turn.
const WANTED_MAX: usize = 4096;

/// The changes that one page lacks, in the order of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageLog {
    /// In the encoding of whoever applies them.
    pub bytes: Vec<u8>,
    /// The first of them is a whole image: the page need not be read.
    pub begins_with_image: bool,
    /// Where the group of the last of them ends, which the next one refers to; 0: to nothing.
    pub last_end: Lsn,
}

/// Brings a page up to date. `read` says whether `bytes` are what the disk has; if not, why. Answers whether it changed
/// the page, or, if the page is given up now, what was wrong with it.
pub type ApplyPageLog = fn(PageId, &mut [u8], Result<(), PageFault>, &PageLog) -> Result<bool, PageFault>;

/// Where one page stands.
#[derive(Debug)]
enum Behind {
    /// The log has changes for it that have not been read yet.
    Later,
    Now(PageLog),
}

/// All pages that are behind.
#[derive(Default)]
pub struct PagesBehind {
    pages: Mutex<HashMap<PageId, Behind, FixedState>>,
    /// How many they are; 0 spares everybody else the lock.
    count: AtomicU64,
    /// Pages whose changes somebody waits for. A leaf lock.
    wanted: Mutex<HashSet<PageId, FixedState>>,
    /// Woken when changes were handed over, and when no more will be.
    handed_over: WaitQueue,
    is_over: AtomicBool,
    /// Those that could not be brought up to date, not told yet.
    given_up: Mutex<Vec<CorruptPage>>,
}

impl PagesBehind {
    /// After a crash, before a page is read: the changes of some pages, and the other pages that are behind.
    pub fn restore(
        &self,
        now: impl IntoIterator<Item = (PageId, PageLog)>,
        later: impl IntoIterator<Item = PageId>,
    ) {
        let mut pages = self.pages.lock();
        assert!(pages.is_empty(), "pages are behind from the start on");
        pages.extend(now.into_iter().map(|(page, log)| (page, Behind::Now(log))));
        pages.extend(later.into_iter().map(|page| (page, Behind::Later)));
        self.count.store(pages.len() as u64, Ordering::Release);
    }

    /// The changes of pages that had to wait for them.
    pub fn hand_over(&self, now: impl IntoIterator<Item = (PageId, PageLog)>) {
        let mut pages = self.pages.lock();
        for (page, log) in now {
            let before = pages.insert(page, Behind::Now(log));
            assert!(matches!(before, Some(Behind::Later)), "page {page} waits for its changes");
        }
        drop(pages);
        self.handed_over.wake_all();
    }

    /// How many pages are behind.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Whether a page waits for changes that have not been read.
    pub fn is_later(&self, page: PageId) -> bool {
        self.count() > 0 && matches!(self.pages.lock().get(&page), Some(Behind::Later))
    }

    /// Asks for the changes of a page if they have not been read; answers whether that is so.
    pub(crate) fn want(&self, page: PageId) -> bool {
        let is_later = self.is_later(page);
        if is_later {
            let mut wanted = self.wanted.lock();
            if wanted.len() < WANTED_MAX {
                wanted.insert(page);
            }
        }
        is_later
    }

    /// The pages that have been asked for since the last call and still wait for their changes.
    pub fn take_wanted(&self) -> Vec<PageId> {
        let wanted = std::mem::take(&mut *self.wanted.lock());
        wanted.into_iter().filter(|page| self.is_later(*page)).collect()
    }

    /// The page could not be brought up to date.
    pub fn give_up(&self, corrupt: CorruptPage) {
        self.given_up.lock().push(corrupt);
    }

    /// The pages that could not be brought up to date and were given up since the last call.
    pub fn take_given_up(&self) -> Vec<CorruptPage> {
        std::mem::take(&mut *self.given_up.lock())
    }

    #[inline]
    pub(crate) fn has(&self, page: PageId) -> bool {
        self.count() > 0 && self.pages.lock().contains_key(&page)
    }

    /// Whether what the disk has of the page is of use and may be read now.
    pub(crate) fn is_to_be_read(&self, page: PageId) -> bool {
        self.count() == 0
            || match self.pages.lock().get(&page) {
                None => true,
                Some(Behind::Later) => false,
                Some(Behind::Now(log)) => !log.begins_with_image,
            }
    }

    /// Whether the page can be had without its image on disk.
    pub(crate) fn begins_with_image(&self, page: PageId) -> bool {
        let begins = |behind: &Behind| matches!(behind, Behind::Now(log) if log.begins_with_image);
        self.count() > 0 && self.pages.lock().get(&page).is_some_and(begins)
    }

    /// No more changes will be handed over: whoever waits for some hears that the pool was stopped.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.handed_over.wake_all();
    }

    /// What the page lacks. From now on only the caller can bring it up to date, and cannot fail.
    pub(crate) fn take(&self, page: PageId) -> Option<PageLog> {
        if self.count() == 0 {
            return None;
        }
        let taken = self.pages.lock().remove(&page)?;
        self.count.fetch_sub(1, Ordering::AcqRel);
        match taken {
            Behind::Now(log) => Some(log),
            Behind::Later => unreachable!("page {page} is loaded before its changes are known"),
        }
    }

    fn pages_now(&self) -> Vec<PageId> {
        let pages = self.pages.lock();
        let now = pages.iter().filter(|(_, behind)| matches!(behind, Behind::Now(_)));
        let mut now: Vec<PageId> = now.map(|(page, _)| *page).collect();
        now.sort_unstable();
        now
    }
}

impl BufferPool {
    pub fn behind(&self) -> &PagesBehind {
        &self.behind
    }

    /// Waits until what the page lacks is known.
    pub(crate) async fn wait_for_log_of(&self, page: PageId) -> Result<(), BufferError> {
        while self.behind.is_later(page) {
            let waiter = self.behind.handed_over.register();
            if self.behind.is_over.load(Ordering::Acquire) {
                return Err(BufferError::Stopped);
            }
            if self.behind.want(page) {
                waiter.await;
            }
        }
        Ok(())
    }

    /// Loads all pages whose changes are known, in the order of their places, as long as `goes_on` says so. Users who
    /// need one of them need not wait for its turn.
    pub async fn catch_up(&self, goes_on: impl Fn() -> bool) -> Result<(), BufferError> {
        let pages = self.behind.pages_now();
        let mut ahead = pages.chunks(RUN_PAGES);
        for _ in 0..RUNS_AHEAD {
            self.prefetch(ahead.next().into_iter().flatten().copied());
        }
        for run in pages.chunks(RUN_PAGES) {
            self.prefetch(ahead.next().into_iter().flatten().copied());
            for page in run {
                while self.behind.has(*page) {
                    if !goes_on() {
                        return Ok(());
                    }
                    drop(self.load(*page).await?);
                }
            }
        }
        Ok(())
    }
}
