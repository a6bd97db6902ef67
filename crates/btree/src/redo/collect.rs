//! Collecting what pages lack: one reading of the log gives the changes of as many pages as memory allows.
//!
//! Invariants: the pages taken are those that somebody waits for, and others that lie side by side in the order of their
//! ids; of the rest that have changes only the ids are kept, and they come with a later reading. What is kept stays within
//! the budget, give or take one page with its changes; a page with a very long log is read and its log folded into an
//! image.

use super::page_log;
use crate::redo::{Change, Malformed, PAGE_KINDS_END, RENEWED_LOG};
use buffer::{PageCheck, PageLog};
use env::IoBuf;
use foldhash::fast::FixedState;
use pagestore::{CorruptPage, PageId, PageStore, StoreError};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use wal::LogGroup;

/// A page's log as long as so many pages is folded.
const FOLD_PAGES: usize = 16;
/// What is left after pages had to go, as a share of the budget: it does not happen all the time then.
const KEPT_PERCENT: usize = 75;
/// What a page takes here beside its log.
const PAGE_BYTES: usize = 64;

type Pages = HashMap<PageId, PageLog, FixedState>;
/// Some pages.
pub type PageIds = HashSet<PageId, FixedState>;

/// What a reading of the log is to bring.
#[derive(Debug, Default)]
pub struct Wish {
    /// Earlier readings have brought all pages up to this one,
    pub taken_through: Option<PageId>,
    /// and these behind it.
    pub taken: PageIds,
    /// Pages behind it that somebody waits for: they come before all others. The first reading serves nobody in particular.
    pub first: PageIds,
}

impl Wish {
    fn is_taken(&self, page: PageId) -> bool {
        Some(page) <= self.taken_through || self.taken.contains(&page)
    }
}

/// Takes page changes out of log groups.
pub struct Collector {
    store: Arc<dyn PageStore>,
    check: PageCheck,
    budget_bytes: usize,
    wish: Wish,
    /// The last page that this reading takes but for those that come first; `None`: all.
    through: Option<PageId>,
    pages: Pages,
    bytes: usize,
    later: PageIds,
    too_long: Vec<PageId>,
    given_up: Vec<CorruptPage>,
}

/// What a record says of its page.
enum Found {
    Change,
    Image,
    /// All that the image on disk lacks.
    Renewed(PageLog),
}

impl Found {
    fn decode(kind: u8, payload: &[u8]) -> Result<(PageId, Found), Malformed> {
        if kind == RENEWED_LOG {
            let (page, log) = page_log::renewed(payload)?;
            return Ok((page, Found::Renewed(log)));
        }
        let (page, change) = Change::decode(kind, payload)?;
        Ok((page, if change.is_image() { Found::Image } else { Found::Change }))
    }
}

/// What a reading of the log has brought.
pub struct Collected {
    /// The changes of some pages.
    pub now: Pages,
    /// The pages beyond them that have changes, if this was the first reading.
    pub later: PageIds,
    /// All pages up to this one have been taken, and those of `now`; `None`: it was the last reading.
    pub through: Option<PageId>,
    /// Pages that could not be brought up to date.
    pub given_up: Vec<CorruptPage>,
}

impl Collector {
    pub fn new(store: Arc<dyn PageStore>, check: PageCheck, budget_bytes: usize, wish: Wish) -> Self {
        let is_first_reading = wish.taken_through.is_none();
        assert!(!is_first_reading || wish.first.is_empty(), "nobody waits before the first reading");
        Self {
            store,
            check,
            budget_bytes,
            wish,
            through: None,
            pages: Pages::default(),
            bytes: 0,
            later: PageIds::default(),
            too_long: Vec::new(),
            given_up: Vec::new(),
        }
    }

    /// Takes the changes of a group; records of other kinds are nothing to it. The groups come in the order of the log.
    pub async fn add(&mut self, group: &LogGroup<'_>) -> Result<(), CollectError> {
        for (_, record) in group.records().filter(|(_, record)| record.kind < PAGE_KINDS_END) {
            let (page, found) = Found::decode(record.kind, record.payload)?;
            if self.wish.taken_through.is_none() {
                self.store.note_changed(page);
            }
            if self.wish.is_taken(page) {
                continue;
            }
            if self.through.is_some_and(|through| page > through) && !self.wish.first.contains(&page) {
                if self.wish.taken_through.is_none() {
                    self.later.insert(page);
                }
                continue;
            }
            if matches!(found, Found::Image) {
                self.given_up.retain(|corrupt| corrupt.page != page);
            }
            let bytes = &mut self.bytes;
            let log = self.pages.entry(page).or_insert_with(|| {
                *bytes += PAGE_BYTES;
                PageLog::default()
            });
            let before = log.bytes.capacity();
            match found {
                Found::Image | Found::Change => page_log::push(log, group.end, record.kind, record.payload),
                Found::Renewed(renewed) => *log = page_log::continued(log, renewed),
            }
            *bytes = *bytes + log.bytes.capacity() - before;
            if log.bytes.len() > FOLD_PAGES * self.store.page_size().bytes() {
                self.too_long.push(page);
            }
        }
        debug_assert!(self.bytes >= PAGE_BYTES * self.pages.len(), "each page is counted");
        while let Some(page) = self.too_long.pop() {
            self.fold(page).await?;
        }
        if self.bytes > self.budget_bytes {
            self.leave_some_for_later();
        }
        Ok(())
    }

    pub fn finish(self) -> Collected {
        debug_assert!(
            self.later.is_empty() || self.through.is_some(),
            "pages for later lie behind the last that was taken"
        );
        debug_assert!(self.too_long.is_empty(), "long logs are folded with their group");
        let Self { pages, later, through, given_up, .. } = self;
        Collected { now: pages, later, through, given_up }
    }

    async fn fold(&mut self, page: PageId) -> Result<(), CollectError> {
        let Some(log) = self.pages.get_mut(&page) else { return Ok(()) };
        let page_bytes = self.store.page_size().bytes();
        let (mut bytes, read) = if log.begins_with_image {
            (IoBuf::zeroed(page_bytes), Err(pagestore::PageFault::Absent))
        } else {
            let (buffer, read) = self.store.read(page, IoBuf::zeroed(page_bytes)).await;
            match read {
                Ok(()) => {
                    let checked = (self.check)(buffer.as_slice());
                    (buffer, checked)
                }
                Err(StoreError::Corrupt(corrupt)) => (buffer, Err(corrupt.fault)),
                Err(error) => return Err(CollectError::Store(error)),
            }
        };
        let (folded, fault) = page_log::folded(page, bytes.as_mut_slice(), read, log);
        debug_assert!(folded.begins_with_image, "a folded log needs no older image");
        self.bytes = self.bytes - log.bytes.capacity() + folded.bytes.capacity();
        *log = folded;
        self.given_up.extend(fault.map(|fault| CorruptPage { page, fault }));
        Ok(())
    }

    /// Gives the last pages up until there is room again; one page stays in any case.
    fn leave_some_for_later(&mut self) {
        let through_before = self.through;
        let first = &mut self.wish.first;
        let mut ids: Vec<PageId> = self.pages.keys().copied().collect();
        ids.sort_unstable_by_key(|page| (!first.contains(page), *page));
        let mut kept = 0;
        let mut fits = |page: &PageId| {
            kept += PAGE_BYTES + self.pages[page].bytes.capacity();
            kept <= self.budget_bytes / 100 * KEPT_PERCENT
        };
        let count = ids.iter().take_while(|page| fits(page)).count().max(1);
        for page in ids.drain(count..) {
            let log = self.pages.remove(&page).expect("it was just listed");
            self.bytes -= PAGE_BYTES + log.bytes.capacity();
            first.remove(&page);
            self.later.insert(page);
        }
        // Where all that is left comes first, nothing beyond the earlier readings is complete.
        self.through = ids.pop().filter(|page| !first.contains(page)).or(self.wish.taken_through);
        debug_assert!(!self.pages.is_empty(), "one page stays in any case");
        debug_assert!(
            through_before.is_none() || self.through <= through_before,
            "a reading takes less and less"
        );
        self.given_up.retain(|corrupt| self.pages.contains_key(&corrupt.page));
    }
}

/// Why the changes could not be collected.
#[derive(Debug)]
pub enum CollectError {
    /// A log record is not a page change of its kind.
    Malformed(Malformed),
    /// A page with a long log could not be read.
    Store(StoreError),
}

impl From<Malformed> for CollectError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl std::fmt::Display for CollectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CollectError {}
