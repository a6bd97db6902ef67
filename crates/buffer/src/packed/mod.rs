//! Packed pages: pages that have lost their frames and stay in memory compressed, in memory that frames have given up.
//!
//! Where the disk is slow to answer and processors have time, half a page of memory is better spent on another page than on
//! a whole one (decision 0024). `pacer` decides how much of the pool's memory they have; beside it they borrow what the logs of
//! dirty pages may take and do not, and each look of the pacer asks anew how much that is.
//!
//! Invariants: a page is packed when its frame is taken, under its exclusive latch and before its word says `Disk`; whoever
//! takes the word from `Disk` owns what is packed of it and takes it away. So a packed page is what the page was when it left,
//! and nobody can have changed it since. Each may be dropped at any time: disk and log have the page too. Nothing here is
//! known to the log, to checkpoints or to recovery.
//!
//! Lock order: a page's latch, then one shard, a leaf lock. `eviction` packs, `load` and `prefetch` unpack.

mod codec;
mod pacer;
mod shard;
mod shelves;

pub(crate) use pacer::Pacer;
pub use pacer::Packing;

use crate::stats::bump;
use env::sync::Mutex;
use pagestore::PageId;
use shard::Shard;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Each leaves parts of some slabs unused, and is locked while two pages are copied, after one was compressed without a lock.
const SHARDS: usize = 16;
/// A page that stays longer than these parts of a page is not worth its memory: numerator, denominator.
const LONGEST: (usize, usize) = (3, 4);

/// See the module's documentation.
pub(crate) struct PackedPages {
    shards: Box<[Mutex<Shard>]>,
    page_bytes: usize,
    /// Of the pool's memory, and of what others lend.
    own_bytes: AtomicU64,
    borrowed_bytes: AtomicU64,
    /// 0 spares everybody else a lock.
    pages: AtomicU64,
    bytes: AtomicU64,
    tried: AtomicU64,
    packed: AtomicU64,
    unpacked: AtomicU64,
    dropped: AtomicU64,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PackedStats {
    /// Memory that packed pages may take.
    pub budget_bytes: u64,
    /// What of it is not the pool's, but the logs' of dirty pages, which do not use it.
    pub borrowed_bytes: u64,
    /// What they take.
    pub bytes: u64,
    /// Pages that are packed now.
    pub pages: u64,
    /// Pages that were compressed to be kept.
    pub tried: u64,
    /// Those that became short enough.
    pub packed: u64,
    /// Those that came back, each of which spared a read.
    pub unpacked: u64,
    /// Those that were dropped for others.
    pub dropped: u64,
}

impl PackedStats {
    /// What of the budget is the pool's memory.
    pub fn own_bytes(&self) -> u64 {
        self.budget_bytes - self.borrowed_bytes
    }
}

impl PackedPages {
    pub(crate) fn new(page_bytes: usize) -> PackedPages {
        PackedPages {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::new(page_bytes))).collect(),
            page_bytes,
            own_bytes: AtomicU64::new(0),
            borrowed_bytes: AtomicU64::new(0),
            pages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            tried: AtomicU64::new(0),
            packed: AtomicU64::new(0),
            unpacked: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    fn shard(&self, page: PageId) -> &Mutex<Shard> {
        &self.shards[page.0 as usize % SHARDS]
    }

    pub(crate) fn stats(&self) -> PackedStats {
        let borrowed_bytes = self.borrowed_bytes.load(Relaxed);
        PackedStats {
            budget_bytes: self.own_bytes.load(Relaxed) + borrowed_bytes,
            borrowed_bytes,
            bytes: self.bytes.load(Relaxed),
            pages: self.pages.load(Relaxed),
            tried: self.tried.load(Relaxed),
            packed: self.packed.load(Relaxed),
            unpacked: self.unpacked.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
        }
    }

    /// Another budget from now on, of the pool's memory and of what others lend; what exceeds it is dropped before this returns.
    pub(crate) fn set_budget(&self, own_bytes: u64, borrowed_bytes: u64) {
        self.own_bytes.store(own_bytes, Relaxed);
        self.borrowed_bytes.store(borrowed_bytes, Relaxed);
        self.shards.iter().for_each(|shard| self.trim(&mut shard.lock()));
    }

    /// Keeps the page, which the caller has latched exclusively and takes out of its frame, if it becomes short enough.
    pub(crate) fn put(&self, page: PageId, image: &[u8]) {
        assert_eq!(image.len(), self.page_bytes, "pages are packed whole");
        bump(&self.tried);
        let longest = self.page_bytes / LONGEST.1 * LONGEST.0;
        codec::pack(image, longest, |bytes| {
            bump(&self.packed);
            let mut shard = self.shard(page).lock();
            assert!(!shard.has(page), "a page with a frame is not packed");
            self.counted(&mut shard, |shard| shard.put(page, bytes));
            self.trim(&mut shard);
        });
    }

    /// Puts the page into an empty frame, and forgets it. False: it is not here. The caller has taken its word from `Disk`.
    pub(crate) fn take(&self, page: PageId, frame: &mut [u8]) -> bool {
        assert_eq!(frame.len(), self.page_bytes, "pages are unpacked whole");
        let is_whole = codec::unpack(frame, |bytes| self.remove(page, |shard| shard.take(page, bytes)));
        if is_whole {
            bump(&self.unpacked);
        } else {
            // Also if there was no memory to restore it: it is what the page was only until that changes.
            self.discard(page);
        }
        is_whole
    }

    /// The page comes into memory in another way.
    pub(crate) fn discard(&self, page: PageId) {
        self.remove(page, |shard| shard.remove(page));
    }

    pub(crate) fn has(&self, page: PageId) -> bool {
        self.pages.load(Relaxed) > 0 && self.shard(page).lock().has(page)
    }

    /// The pages that came last, up to `count`, in no order.
    pub(crate) fn newest(&self, count: usize) -> Vec<PageId> {
        let of_shard = count.div_ceil(SHARDS);
        let mut newest = Vec::new();
        for shard in &self.shards {
            newest.extend(shard.lock().newest_first().take(of_shard));
        }
        newest.truncate(count);
        newest
    }

    /// Nobody's lock is taken where nothing is packed.
    fn remove(&self, page: PageId, remove: impl FnOnce(&mut Shard) -> bool) -> bool {
        self.pages.load(Relaxed) > 0 && self.counted(&mut self.shard(page).lock(), remove)
    }

    /// Counts what a change of a shard adds and takes.
    fn counted<T>(&self, shard: &mut Shard, change: impl FnOnce(&mut Shard) -> T) -> T {
        let (pages, bytes) = (shard.page_count(), shard.bytes());
        let result = change(shard);
        self.pages.fetch_add((shard.page_count() as u64).wrapping_sub(pages as u64), Relaxed);
        self.bytes.fetch_add((shard.bytes() as u64).wrapping_sub(bytes as u64), Relaxed);
        result
    }

    /// Drops the oldest until the shard is within its part of the budget.
    fn trim(&self, shard: &mut Shard) {
        let budget_bytes = self.own_bytes.load(Relaxed) + self.borrowed_bytes.load(Relaxed);
        let most = budget_bytes as usize / SHARDS;
        while shard.bytes() > most && self.counted(shard, Shard::drop_oldest) {
            bump(&self.dropped);
        }
        debug_assert!(
            shard.bytes() <= most || shard.page_count() == 0,
            "a shard keeps to its part of the budget"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::Random;
    use env::sim::SeededRandom;
    use std::collections::BTreeMap;

    const PAGE: usize = 4096;

    fn image(seed: u64) -> Vec<u8> {
        let random = SeededRandom::new(seed);
        (0..PAGE).map(|_| (random.u64() % 8) as u8).collect()
    }

    #[test]
    fn the_oldest_go_first_and_what_is_counted_is_there() {
        let packed = PackedPages::new(PAGE);
        packed.put(PageId(64), &image(0));
        assert_eq!(packed.stats().pages, 0, "without a budget nothing stays");
        packed.set_budget(SHARDS as u64 * 30_000, SHARDS as u64 * 20_000);
        // All in one shard.
        (1..=100).for_each(|number| packed.put(PageId(number * 64), &image(number)));
        let stats = packed.stats();
        assert!((22..=24).contains(&stats.pages), "{stats:?}");
        assert_eq!((stats.tried, stats.packed, stats.dropped), (101, 101, 101 - stats.pages));
        let mut frame = vec![0; PAGE];
        assert!(!packed.take(PageId(64), &mut frame) && packed.has(PageId(6400)));
        assert!(packed.take(PageId(6400), &mut frame) && frame == image(100));
        assert!(!packed.has(PageId(6400)) && !packed.take(PageId(6400), &mut frame));
        packed.set_budget(0, 0);
        assert_eq!((packed.stats().pages, packed.stats().bytes), (0, 0));
    }

    #[test]
    fn pages_are_what_they_were_last() {
        let random = SeededRandom::new(9);
        let packed = PackedPages::new(PAGE);
        packed.set_budget(300 * 2000, 0);
        let mut model: BTreeMap<PageId, u64> = BTreeMap::new();
        let mut frame = vec![0; PAGE];
        for round in 0..5_000u64 {
            let page = PageId(random.u64() % 400);
            match random.u64() % 5 {
                0 => packed.discard(page),
                1 | 2 if packed.has(page) => {
                    assert!(packed.take(page, &mut frame) && frame == image(model[&page]));
                }
                _ if !packed.has(page) => {
                    packed.put(page, &image(round));
                    model.insert(page, round);
                }
                _ => {}
            }
            let stats = packed.stats();
            assert!(stats.bytes <= stats.budget_bytes);
        }
        let shards = || packed.shards.iter().map(|shard| shard.lock());
        let stats = packed.stats();
        assert_eq!(stats.pages, shards().map(|shard| shard.page_count() as u64).sum());
        assert_eq!(stats.bytes, shards().map(|shard| shard.bytes() as u64).sum());
        let newest = packed.newest(100);
        assert!((64..=100).contains(&newest.len()) && newest.iter().all(|page| packed.has(*page)));
    }
}
