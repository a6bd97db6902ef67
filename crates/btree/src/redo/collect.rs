//! Collecting what pages lack: one reading of the log gives the changes of as many pages as memory allows.
//!
//! Invariants: the pages taken lie side by side in the order of their ids, from the first that is wanted on; of the
//! others that have changes only the ids are kept, and they come with a later reading. What is kept stays within the
//! budget, give or take one page with its changes; a page with a very long log is read and its log folded into an
//! image.

use super::page_log;
use crate::redo::{Change, Malformed, PAGE_KINDS_END};
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
type Ids = HashSet<PageId, FixedState>;

/// Takes page changes out of log groups.
pub struct Collector {
    store: Arc<dyn PageStore>,
    check: PageCheck,
    budget_bytes: usize,
    /// What has been taken by earlier readings.
    taken_through: Option<PageId>,
    /// The last page that this reading takes; `None`: all.
    through: Option<PageId>,
    pages: Pages,
    bytes: usize,
    later: Ids,
    too_long: Vec<PageId>,
    given_up: Vec<CorruptPage>,
}

/// What a reading of the log has brought.
pub struct Collected {
    /// The changes of some pages.
    pub now: Pages,
    /// The pages beyond them that have changes, if this was the first reading.
    pub later: Ids,
    /// The last page for which this reading counts; `None`: it was the last one.
    pub through: Option<PageId>,
    /// Pages that could not be brought up to date.
    pub given_up: Vec<CorruptPage>,
}

impl Collector {
    /// Wants the pages behind `taken_through`.
    pub fn new(
        store: Arc<dyn PageStore>,
        check: PageCheck,
        budget_bytes: usize,
        taken_through: Option<PageId>,
    ) -> Self {
        Self {
            store,
            check,
            budget_bytes,
            taken_through,
            through: None,
            pages: Pages::default(),
            bytes: 0,
            later: Ids::default(),
            too_long: Vec::new(),
            given_up: Vec::new(),
        }
    }

    /// Takes the changes of a group; records of other kinds are nothing to it. The groups come in the order of the log.
    pub async fn add(&mut self, group: &LogGroup<'_>) -> Result<(), CollectError> {
        for (_, record) in group.records().filter(|(_, record)| record.kind < PAGE_KINDS_END) {
            let (page, change) = Change::decode(record.kind, record.payload)?;
            if Some(page) <= self.taken_through {
                continue;
            }
            if self.through.is_some_and(|through| page > through) {
                if self.taken_through.is_none() {
                    self.later.insert(page);
                }
                continue;
            }
            if change.is_image() {
                self.given_up.retain(|corrupt| corrupt.page != page);
            }
            let bytes = &mut self.bytes;
            let log = self.pages.entry(page).or_insert_with(|| {
                *bytes += PAGE_BYTES;
                PageLog::default()
            });
            let before = log.bytes.capacity();
            page_log::push(log, group.end, record.kind, record.payload);
            *bytes += log.bytes.capacity() - before;
            if log.bytes.len() > FOLD_PAGES * self.store.page_size().bytes() {
                self.too_long.push(page);
            }
        }
        while let Some(page) = self.too_long.pop() {
            self.fold(page).await?;
        }
        if self.bytes > self.budget_bytes {
            self.leave_some_for_later();
        }
        Ok(())
    }

    pub fn finish(self) -> Collected {
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
        self.bytes = self.bytes - log.bytes.capacity() + folded.bytes.capacity();
        *log = folded;
        self.given_up.extend(fault.map(|fault| CorruptPage { page, fault }));
        Ok(())
    }

    /// Gives the last pages up until there is room again; one page stays in any case.
    fn leave_some_for_later(&mut self) {
        let mut ids: Vec<PageId> = self.pages.keys().copied().collect();
        ids.sort_unstable();
        let mut kept = 0;
        let mut fits = |page: &PageId| {
            kept += PAGE_BYTES + self.pages[page].bytes.capacity();
            kept <= self.budget_bytes / 100 * KEPT_PERCENT
        };
        let count = ids.iter().take_while(|page| fits(page)).count().max(1);
        for page in ids.drain(count..) {
            let log = self.pages.remove(&page).expect("it was just listed");
            self.bytes -= PAGE_BYTES + log.bytes.capacity();
            self.later.insert(page);
        }
        self.through = ids.pop();
        self.given_up.retain(|corrupt| Some(corrupt.page) <= self.through);
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
