//! Packed pages: pages that have lost their frames and stay in memory compressed, in memory that frames have given up.
//!
//! Where the disk is slow to answer and processors have time, half a page of memory is better spent on another page than on
//! a whole one (decision 0024). `pacer` decides how much of the pool's memory they have.
//!
//! Invariants: a page is packed when its frame is taken, under its exclusive latch and before its word says `Disk`; whoever
//! takes the word from `Disk` owns what is packed of it and takes it away. So a packed page is what the page was when it left,
//! and nobody can have changed it since. Each may be dropped at any time: disk and log have the page too. Nothing here is
//! known to the log, to checkpoints or to recovery.
//!
//! Lock order: a page's latch, then one shard, a leaf lock. `eviction` packs, `load` and `prefetch` unpack.

mod codec;
mod pacer;

pub(crate) use pacer::Pacer;
pub use pacer::Packing;

use crate::stats::bump;
use env::sync::Mutex;
use foldhash::fast::FixedState;
use pagestore::PageId;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SHARDS: usize = 64;
/// What a page takes besides its bytes: its places in the table and in the queue.
const ENTRY_BYTES: u64 = 88;
/// A page that stays longer than these parts of a page is not worth its memory: numerator, denominator.
const LONGEST: (usize, usize) = (3, 4);
/// The queue of a shard may name so many pages that are gone.
const STALE_MAX: usize = 64;

/// See the module's documentation.
pub(crate) struct PackedPages {
    shards: Box<[Mutex<Shard>]>,
    page_bytes: usize,
    budget_bytes: AtomicU64,
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

#[derive(Default)]
struct Shard {
    pages: HashMap<PageId, Packed, FixedState>,
    /// In the order in which they came, with those that are gone since.
    queue: VecDeque<(PageId, u64)>,
    bytes: u64,
    births: u64,
}

struct Packed {
    bytes: Box<[u8]>,
    /// Tells it from what was packed of the page before.
    birth: u64,
}

impl Packed {
    /// The allocator rounds the bytes up.
    fn cost(&self) -> u64 {
        ENTRY_BYTES + (self.bytes.len() + self.bytes.len() / 16) as u64
    }
}

impl PackedPages {
    pub(crate) fn new(page_bytes: usize) -> PackedPages {
        PackedPages {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            page_bytes,
            budget_bytes: AtomicU64::new(0),
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
        PackedStats {
            budget_bytes: self.budget_bytes.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            pages: self.pages.load(Relaxed),
            tried: self.tried.load(Relaxed),
            packed: self.packed.load(Relaxed),
            unpacked: self.unpacked.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
        }
    }

    /// Another budget from now on; what exceeds it is dropped before this returns.
    pub(crate) fn set_budget(&self, bytes: u64) {
        self.budget_bytes.store(bytes, Relaxed);
        self.shards.iter().for_each(|shard| self.trim(&mut shard.lock()));
    }

    /// Keeps the page, which the caller has latched exclusively and takes out of its frame, if it becomes short enough.
    pub(crate) fn put(&self, page: PageId, image: &[u8]) {
        bump(&self.tried);
        let longest = self.page_bytes / LONGEST.1 * LONGEST.0;
        let Some(bytes) = codec::pack(image, longest) else { return };
        bump(&self.packed);
        let mut shard = self.shard(page).lock();
        shard.births += 1;
        let packed = Packed { bytes, birth: shard.births };
        shard.queue.push_back((page, packed.birth));
        shard.bytes += packed.cost();
        self.bytes.fetch_add(packed.cost(), Relaxed);
        self.pages.fetch_add(1, Relaxed);
        let before = shard.pages.insert(page, packed);
        assert!(before.is_none(), "a page with a frame is not packed");
        self.trim(&mut shard);
    }

    /// Puts the page into an empty frame, and forgets it. False: it is not here. The caller has taken its word from `Disk`.
    pub(crate) fn take(&self, page: PageId, frame: &mut [u8]) -> bool {
        let Some(packed) = self.remove(page) else { return false };
        let is_whole = codec::unpack(&packed.bytes, frame);
        if is_whole {
            bump(&self.unpacked);
        }
        is_whole
    }

    /// The page comes into memory in another way.
    pub(crate) fn discard(&self, page: PageId) {
        drop(self.remove(page));
    }

    pub(crate) fn has(&self, page: PageId) -> bool {
        self.pages.load(Relaxed) > 0 && self.shard(page).lock().pages.contains_key(&page)
    }

    /// The pages that came last, up to `count`, in no order.
    pub(crate) fn newest(&self, count: usize) -> Vec<PageId> {
        let of_shard = count.div_ceil(SHARDS);
        let mut newest = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            let present = shard.queue.iter().rev().filter(|entry| shard.is_current(entry));
            newest.extend(present.take(of_shard).map(|(page, _)| *page));
        }
        newest.truncate(count);
        newest
    }

    fn remove(&self, page: PageId) -> Option<Packed> {
        if self.pages.load(Relaxed) == 0 {
            return None;
        }
        let mut shard = self.shard(page).lock();
        let packed = shard.pages.remove(&page)?;
        self.uncount(&mut shard, &packed);
        shard.forget_stale();
        Some(packed)
    }

    fn uncount(&self, shard: &mut Shard, packed: &Packed) {
        shard.bytes -= packed.cost();
        self.bytes.fetch_sub(packed.cost(), Relaxed);
        self.pages.fetch_sub(1, Relaxed);
    }

    /// Drops the oldest until the shard is within its part of the budget.
    fn trim(&self, shard: &mut Shard) {
        let most = self.budget_bytes.load(Relaxed) / SHARDS as u64;
        while shard.bytes > most
            && let Some(oldest) = shard.queue.pop_front()
        {
            if shard.is_current(&oldest)
                && let Some(packed) = shard.pages.remove(&oldest.0)
            {
                self.uncount(shard, &packed);
                bump(&self.dropped);
            }
        }
    }
}

impl Shard {
    fn is_current(&self, (page, birth): &(PageId, u64)) -> bool {
        self.pages.get(page).is_some_and(|packed| packed.birth == *birth)
    }

    /// Keeps the queue at most twice as long as it has to be.
    fn forget_stale(&mut self) {
        if self.queue.len() > 2 * self.pages.len() + STALE_MAX {
            let pages = &self.pages;
            self.queue.retain(|(page, birth)| pages.get(page).is_some_and(|packed| packed.birth == *birth));
        }
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
        let cost = |pages: u64| 64 * pages * 2000;
        packed.set_budget(cost(8));
        // All in one shard.
        (1..=100).for_each(|number| packed.put(PageId(number * 64), &image(number)));
        let stats = packed.stats();
        assert!((7..=9).contains(&stats.pages), "{stats:?}");
        assert_eq!((stats.tried, stats.packed, stats.dropped), (101, 101, 101 - stats.pages));
        let mut frame = vec![0; PAGE];
        assert!(!packed.take(PageId(64), &mut frame) && packed.has(PageId(6400)));
        assert!(packed.take(PageId(6400), &mut frame) && frame == image(100));
        assert!(!packed.has(PageId(6400)) && !packed.take(PageId(6400), &mut frame));
        packed.set_budget(0);
        assert_eq!((packed.stats().pages, packed.stats().bytes), (0, 0));
    }

    #[test]
    fn pages_are_what_they_were_last() {
        let random = SeededRandom::new(9);
        let packed = PackedPages::new(PAGE);
        packed.set_budget(300 * 2000);
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
        for shard in &packed.shards {
            let shard = shard.lock();
            assert!(shard.queue.len() <= 2 * shard.pages.len() + STALE_MAX);
            assert_eq!(shard.bytes, shard.pages.values().map(Packed::cost).sum::<u64>());
        }
        let newest = packed.newest(100);
        assert!((64..=100).contains(&newest.len()) && newest.iter().all(|page| packed.has(*page)));
    }
}
