//! The logs of dirty pages: what has changed in a page since the image that the disk has of it. A page with a short log
//! may leave memory without being written; it gets its changes again when it is loaded.
//!
//! Invariants: an entry that is `whole` and the image on disk together are the page. An entry appears when the first change
//! is made to a page that is as on disk, and goes when the page is written, or when its log becomes too long: then the
//! page has to be written. A page that is not in memory and dirty has an entry that is whole; nobody changes that but who
//! logs it again. So whoever looks at the entries first and at the frames afterwards misses no dirty page.
//!
//! Lock order: a page's latch; then one shard, a leaf lock but for the log of who logs entries again.
//!
//! `dirty` makes entries, `eviction` asks whether a page may leave, `load` brings it up to date.

mod entry;

use crate::by_age::{Aged, ByAge};
use crate::redo::PageLog;
use entry::{ENTRY_BYTES, Entry, bytes_cost};
use env::sync::Mutex;
use pagestore::PageId;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wal::Lsn;

/// The logs are in so many parts, each of them under a lock of its own.
pub const PAGE_LOG_PARTS: usize = 64;
/// A log longer than this part of a page is not worth its memory.
const PAGE_PART: usize = 8;
/// After so many times a log has been renewed, its page seems to be needed no more.
const RENEWALS_MANY: u8 = 8;
/// From this share of the budget on only shorter and shorter logs stay when their pages leave.
const ROOMY_SHARE: f64 = 0.75;

/// By the LSN since which a page is dirty.
type Shard = ByAge<Entry>;

/// See the module's documentation.
pub struct PageLogs {
    shards: Box<[Mutex<Shard>]>,
    page_log_max: usize,
    budget_bytes: AtomicU64,
    bytes: AtomicU64,
    entries: AtomicU64,
    absent: AtomicU64,
    left: AtomicU64,
    returned: AtomicU64,
    renewed: AtomicU64,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageLogStats {
    /// Dirty pages that are not in memory.
    pub absent: u64,
    /// The memory that all logs take.
    pub bytes: u64,
    /// Dirty pages that left memory without being written.
    pub left: u64,
    /// Those that were loaded again.
    pub returned: u64,
    /// Logs that were written to the log again.
    pub renewed: u64,
}

impl PageLogs {
    pub(crate) fn new(page_bytes: usize, budget_bytes: u64) -> PageLogs {
        PageLogs {
            shards: (0..PAGE_LOG_PARTS).map(|_| Mutex::default()).collect(),
            page_log_max: page_bytes / PAGE_PART,
            budget_bytes: AtomicU64::new(budget_bytes),
            bytes: AtomicU64::new(0),
            entries: AtomicU64::new(0),
            absent: AtomicU64::new(0),
            left: AtomicU64::new(0),
            returned: AtomicU64::new(0),
            renewed: AtomicU64::new(0),
        }
    }

    fn shard(&self, page: PageId) -> &Mutex<Shard> {
        &self.shards[page.0 as usize % PAGE_LOG_PARTS]
    }

    pub fn stats(&self) -> PageLogStats {
        PageLogStats {
            absent: self.absent.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            left: self.left.load(Relaxed),
            returned: self.returned.load(Relaxed),
            renewed: self.renewed.load(Relaxed),
        }
    }

    /// The most bytes that the log of one page takes.
    pub fn page_log_max(&self) -> usize {
        self.page_log_max
    }

    /// Another budget from now on; 0: no page leaves without being written any more.
    pub fn set_budget(&self, bytes: u64) {
        self.budget_bytes.store(bytes, Relaxed);
    }

    /// What the logs may take and do not.
    pub(crate) fn unused_bytes(&self) -> u64 {
        self.budget_bytes.load(Relaxed).saturating_sub(self.bytes.load(Relaxed))
    }

    /// Whether the logs take more than they may, because they might take more before.
    pub fn is_over_budget(&self) -> bool {
        self.bytes.load(Relaxed) > self.budget_bytes.load(Relaxed)
    }

    /// Pages in memory that have an entry.
    pub(crate) fn present(&self) -> u64 {
        self.entries.load(Relaxed).saturating_sub(self.absent.load(Relaxed))
    }

    /// The first change to a page since it was read, or copied to be written (`after_copy`), is about to be logged; that
    /// image has the LSN `image_lsn`. False: there is no room for an entry.
    pub(crate) fn begin(&self, page: PageId, rec_lsn: Lsn, image_lsn: Lsn, after_copy: bool) -> bool {
        debug_assert!(rec_lsn > Lsn::ZERO, "0 means clean");
        let mut shard = self.shard(page).lock();
        if shard.get(page).is_some() {
            // Copied, and not yet written: what comes now is added to it.
            return true;
        }
        if self.bytes.load(Relaxed) >= self.budget_bytes.load(Relaxed) {
            return false;
        }
        self.insert(&mut shard, Entry::new(page, rec_lsn, image_lsn, !after_copy));
        true
    }

    /// Adds a change. False: there is no entry, or there is none any more.
    pub(crate) fn add(&self, page: PageId, add: impl FnOnce(&mut PageLog)) -> bool {
        let mut shard = self.shard(page).lock();
        let Some(entry) = shard.get_mut(page) else { return false };
        let before = entry.cost();
        let begins_with_image = entry.with_log(|log| {
            add(log);
            log.begins_with_image
        });
        // An image is no change since what is on disk.
        let is_kept = entry.bytes().len() <= self.page_log_max && !begins_with_image;
        self.bytes.fetch_add(entry.cost().wrapping_sub(before), Relaxed);
        if !is_kept {
            self.remove(&mut shard, page);
        }
        is_kept
    }

    /// The page, which is latched and has this LSN, was copied to be written.
    pub(crate) fn copied(&self, page: PageId, lsn: Lsn) {
        if let Some(entry) = self.shard(page).lock().get_mut(page) {
            entry.note_copied(lsn);
        }
    }

    /// The copy is on disk. `next`: since when the page has changed again, if it has. Answers whether it has an entry now.
    pub(crate) fn written(&self, page: PageId, next: Option<Lsn>) -> bool {
        let mut shard = self.shard(page).lock();
        let Some(entry) = shard.get_mut(page) else { return false };
        let Some(next) = next else {
            self.remove(&mut shard, page);
            return false;
        };
        let before = entry.cost();
        entry.note_written();
        self.bytes.fetch_sub(before - entry.cost(), Relaxed);
        shard.set_age(page, |entry| entry.set_rec_lsn(next));
        true
    }

    /// Whether the page, which the caller has latched exclusively and is about to evict, need not be written. It counts as
    /// absent then, else it loses its entry.
    pub(crate) fn leave(&self, page: PageId) -> bool {
        let budget = self.budget_bytes.load(Relaxed).max(1) as f64;
        let room = (1.0 - self.bytes.load(Relaxed) as f64 / budget) / (1.0 - ROOMY_SHARE);
        let longest = (self.page_log_max as f64 * room.clamp(0.0, 1.0)) as usize;
        let mut shard = self.shard(page).lock();
        match shard.get_mut(page) {
            Some(entry) if entry.whole && entry.bytes().len() <= longest => {
                debug_assert!(!entry.is_absent, "a page that leaves was there");
                entry.is_absent = true;
                entry.renewals = 0;
                self.absent.fetch_add(1, Relaxed);
                self.left.fetch_add(1, Relaxed);
                true
            }
            Some(_) => {
                self.remove(&mut shard, page);
                false
            }
            None => false,
        }
    }

    /// The page is being loaded: `mark` gets since when it is dirty, then `show` what it lacks and the LSN of the image that
    /// lacks it (0: unknown). From now on it counts as present, and may lose its entry at any moment: so its frame has to be
    /// marked as dirty by then.
    pub(crate) fn arrive<T>(
        &self,
        page: PageId,
        mark: impl FnOnce(Lsn),
        show: impl FnOnce(&PageLog, Lsn) -> T,
    ) -> Option<T> {
        if self.absent.load(Relaxed) == 0 {
            return None;
        }
        let mut shard = self.shard(page).lock();
        let entry = shard.get_mut(page)?;
        assert!(entry.is_absent, "a page is loaded when it is not in memory");
        mark(entry.rec_lsn());
        entry.is_absent = false;
        self.absent.fetch_sub(1, Relaxed);
        self.returned.fetch_add(1, Relaxed);
        let image_lsn = entry.image_lsn();
        Some(entry.with_log(|log| show(log, image_lsn)))
    }

    /// The LSN of the image on disk that the log of a page out of memory continues, if that is known.
    pub(crate) fn image_lsn(&self, page: PageId) -> Option<Lsn> {
        let shard = self.shard(page).lock();
        shard.get(page).filter(|entry| entry.is_absent).map(Entry::image_lsn).filter(|lsn| *lsn > Lsn::ZERO)
    }

    pub(crate) fn has(&self, page: PageId) -> bool {
        self.shard(page).lock().get(page).is_some()
    }

    /// Whether the page is not in memory and dirty.
    pub(crate) fn is_absent(&self, page: PageId) -> bool {
        self.absent.load(Relaxed) > 0
            && self.shard(page).lock().get(page).is_some_and(|entry| entry.is_absent)
    }

    /// The page is free since a group that is in the log, and nobody can allocate it yet: it need not be brought up to date.
    pub fn freed(&self, page: PageId) {
        let mut shard = self.shard(page).lock();
        match shard.get_mut(page) {
            Some(entry) if entry.is_absent => drop(self.remove(&mut shard, page)),
            // It does not leave as it is, or its log would stay for ever.
            Some(entry) => entry.whole = false,
            None => {}
        }
    }

    /// A page in memory has to be written. Answers whether it had an entry: then the caller sees to the rest.
    pub(crate) fn forget(&self, page: PageId) -> bool {
        let mut shard = self.shard(page).lock();
        self.remove(&mut shard, page)
    }

    /// Pages in memory that are dirty since before the `limit` of their part have to be written: they lose their entries.
    pub(crate) fn forget_present_before(&self, limit: impl Fn(usize) -> Lsn) -> Vec<PageId> {
        let mut forgotten = Vec::new();
        for (part, shard) in self.shards.iter().enumerate() {
            let mut shard = shard.lock();
            let old = older_than(&shard, limit(part)).filter(|entry| !entry.is_absent);
            let pages: Vec<PageId> = old.map(Entry::page).collect();
            for page in &pages {
                self.remove(&mut shard, *page);
            }
            forgotten.extend(pages);
        }
        forgotten
    }

    /// Since when the oldest page with an entry is dirty.
    pub fn oldest(&self) -> Option<Lsn> {
        self.shards.iter().filter_map(|shard| shard.lock().oldest().map(Entry::rec_lsn)).min()
    }

    /// Whether a page with an entry is dirty since before the `limit` of its part.
    pub fn any_before(&self, limit: impl Fn(usize) -> Lsn) -> bool {
        let oldest = |shard: &Mutex<Shard>| shard.lock().oldest().map(Entry::rec_lsn);
        self.shards.iter().enumerate().any(|(part, shard)| oldest(shard).is_some_and(|lsn| lsn < limit(part)))
    }

    /// Gives the logs of absent pages of one part that are dirty since before `limit` to `renew`, up to `batch` at a time. If
    /// it answers `Ok`, the log has them again, behind what `end` said before. Breaks with its error. Answers pages whose
    /// logs take memory that others need, and that nobody has needed for long.
    pub fn renew_before<E>(
        &self,
        part: usize,
        limit: Lsn,
        mut end: impl FnMut() -> Lsn,
        mut renew: impl FnMut(&mut dyn Iterator<Item = (PageId, &[u8])>) -> Result<(), E>,
        batch: usize,
    ) -> Result<Vec<PageId>, E> {
        let mut outdated = Vec::new();
        let is_full = self.bytes.load(Relaxed) as f64 > self.budget_bytes.load(Relaxed) as f64 * ROOMY_SHARE;
        let mut shard = self.shards[part].lock();
        let old = older_than(&shard, limit).filter(|entry| entry.is_absent);
        let old: Vec<PageId> = old.map(Entry::page).collect();
        for pages in old.chunks(batch) {
            let rec_lsn = end();
            let listed = |page: &PageId| shard.get(*page).expect("it was just listed");
            renew(&mut pages.iter().map(|page| (*page, listed(page).bytes())))?;
            for page in pages {
                shard.set_age(*page, |entry| entry.set_rec_lsn(rec_lsn));
                let entry = shard.get_mut(*page).expect("it was just listed");
                entry.renewals = entry.renewals.saturating_add(1);
                if is_full && entry.renewals >= RENEWALS_MANY {
                    outdated.push(*page);
                }
                self.renewed.fetch_add(1, Relaxed);
            }
        }
        Ok(outdated)
    }

    /// All pages that are not in memory and dirty.
    pub fn absent_pages(&self) -> Vec<PageId> {
        let mut pages = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            pages.extend(shard.entries().iter().filter(|entry| entry.is_absent).map(Entry::page));
        }
        pages.sort_unstable();
        pages
    }

    /// After a crash, before a page is read: what the log says of a page stays here, if it is short and there is room, else
    /// it is given back.
    pub fn restore(&self, page: PageId, log: PageLog, rec_lsn: Lsn) -> Option<PageLog> {
        let is_short = log.bytes.len() <= self.page_log_max && !log.begins_with_image;
        let budget = self.budget_bytes.load(Relaxed) as f64 * ROOMY_SHARE;
        let bytes = self.bytes.load(Relaxed) + ENTRY_BYTES + bytes_cost(log.bytes.len());
        if !is_short || bytes as f64 > budget {
            return Some(log);
        }
        self.absent.fetch_add(1, Relaxed);
        let mut shard = self.shard(page).lock();
        assert!(shard.get(page).is_none(), "no page has a log before");
        debug_assert!(rec_lsn > Lsn::ZERO, "0 means clean");
        self.insert(&mut shard, Entry::absent(page, rec_lsn, log));
        None
    }

    fn insert(&self, shard: &mut Shard, entry: Entry) {
        self.entries.fetch_add(1, Relaxed);
        self.bytes.fetch_add(entry.cost(), Relaxed);
        shard.insert(entry);
    }

    /// Answers whether there was one.
    fn remove(&self, shard: &mut Shard, page: PageId) -> bool {
        let Some(entry) = shard.remove(page) else { return false };
        debug_assert!(self.entries.load(Relaxed) > 0, "each entry is counted");
        debug_assert!(self.bytes.load(Relaxed) >= entry.cost(), "the bytes of each entry are counted");
        debug_assert!(!entry.is_absent || self.absent.load(Relaxed) > 0, "each absent page is counted");
        self.entries.fetch_sub(1, Relaxed);
        self.absent.fetch_sub(u64::from(entry.is_absent), Relaxed);
        self.bytes.fetch_sub(entry.cost(), Relaxed);
        true
    }
}

/// Those from before `lsn`, the oldest first.
fn older_than(shard: &Shard, lsn: Lsn) -> impl Iterator<Item = &Entry> {
    shard.oldest_first().take_while(move |entry| entry.rec_lsn() < lsn)
}
