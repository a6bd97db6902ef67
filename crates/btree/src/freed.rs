//! The pages that mini-transactions have freed and the page store still holds images of.
//!
//! The store may forget an image only when no recovery needs it: when the free lies behind the durable checkpoint. So
//! frees are collected in generations: `seal` closes one at the log's end, and it is ripe once the checkpoint has come
//! that far. A page may be used again meanwhile; therefore it is looked up in the space map when its turn comes, and
//! cannot be allocated from that look until the store knows (`Space::take_freed`).
//!
//! Invariant: a free page is in `sealed` only if the group that freed it last ends at or before `sealed_at`. Notes are
//! made while the page's map page is latched, so whoever latches that sees all of them.

use pagestore::PageId;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use wal::Lsn;

const WORD_BITS: u64 = u64::BITS as u64;

/// A set of pages, small where they are neighbours.
#[derive(Default)]
struct PageSet {
    /// By page id / 64.
    words: BTreeMap<u64, u64>,
    count: u64,
}

impl PageSet {
    fn insert(&mut self, page: PageId) {
        let word = self.words.entry(page.0 / WORD_BITS).or_default();
        let bit = 1 << (page.0 % WORD_BITS);
        self.count += u64::from(*word & bit == 0);
        *word |= bit;
    }

    fn remove(&mut self, page: PageId) {
        let key = page.0 / WORD_BITS;
        let Some(word) = self.words.get_mut(&key) else { return };
        let bit = 1 << (page.0 % WORD_BITS);
        self.count -= u64::from(*word & bit != 0);
        *word &= !bit;
        if *word == 0 {
            self.words.remove(&key);
        }
    }

    fn first(&self) -> Option<PageId> {
        let (key, word) = self.words.first_key_value()?;
        Some(PageId(key * WORD_BITS + u64::from(word.trailing_zeros())))
    }

    fn in_range(&self, pages: RangeInclusive<u64>) -> impl Iterator<Item = PageId> {
        let keys = pages.start() / WORD_BITS..=pages.end() / WORD_BITS;
        let all = self.words.range(keys).flat_map(|(key, word)| {
            let set = (0..WORD_BITS).filter(move |bit| word & (1 << bit) != 0);
            set.map(move |bit| PageId(key * WORD_BITS + bit))
        });
        all.filter(move |page| pages.contains(&page.0))
    }
}

#[derive(Default)]
struct Generations {
    /// Freed since the last seal.
    current: PageSet,
    /// Freed before the log ended at `sealed_at`.
    sealed: PageSet,
    sealed_at: Lsn,
    /// The store is being told about these.
    leaving: PageSet,
}

/// See the module's documentation. A leaf lock, taken under page latches.
#[derive(Default)]
pub(crate) struct FreedPages {
    generations: Mutex<Generations>,
}

impl FreedPages {
    /// The group that frees these pages is in the log, and their map pages are still latched.
    pub(crate) fn note(&self, pages: &[PageId]) {
        let mut generations = self.generations.lock();
        for page in pages {
            generations.sealed.remove(*page);
            generations.current.insert(*page);
        }
    }

    /// Closes the present generation, unless an earlier one still waits.
    pub(crate) fn seal(&self, log_end: impl FnOnce() -> Lsn) {
        let mut generations = self.generations.lock();
        if generations.sealed.count == 0 {
            generations.sealed = std::mem::take(&mut generations.current);
            // What is noted by now was appended before.
            generations.sealed_at = log_end();
        }
    }

    /// How many pages wait.
    pub(crate) fn count(&self) -> u64 {
        let generations = self.generations.lock();
        generations.current.count + generations.sealed.count
    }

    /// The first page that is ripe with a checkpoint at `durable`.
    pub(crate) fn first_ripe(&self, durable: Lsn) -> Option<PageId> {
        let generations = self.generations.lock();
        generations.sealed.first().filter(|_| generations.sealed_at <= durable)
    }

    /// Moves up to `count` sealed pages of a range to those that are leaving, and drops those that are in use again.
    /// The caller has the map page of the range latched.
    pub(crate) fn take(
        &self,
        pages: RangeInclusive<u64>,
        count: usize,
        is_used: impl Fn(PageId) -> bool,
    ) -> Vec<PageId> {
        let mut generations = self.generations.lock();
        let mut taken: Vec<PageId> = generations.sealed.in_range(pages).take(count).collect();
        taken.iter().for_each(|page| generations.sealed.remove(*page));
        taken.retain(|page| !is_used(*page));
        taken.iter().for_each(|page| generations.leaving.insert(*page));
        taken
    }

    /// The store knows, or will not be told.
    pub(crate) fn left(&self, pages: &[PageId]) {
        let mut generations = self.generations.lock();
        pages.iter().for_each(|page| generations.leaving.remove(*page));
    }

    /// The pages of a range that cannot be allocated at the moment.
    pub(crate) fn leaving(&self, pages: RangeInclusive<u64>) -> Vec<PageId> {
        self.generations.lock().leaving.in_range(pages).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(pages: &[u64]) -> Vec<PageId> {
        pages.iter().map(|page| PageId(*page)).collect()
    }

    #[test]
    fn a_free_is_ripe_when_the_checkpoint_has_passed_it() {
        let freed = FreedPages::default();
        freed.note(&ids(&[3, 64, 65, 200]));
        assert_eq!(freed.first_ripe(Lsn(u64::MAX)), None, "nothing is sealed");
        freed.seal(|| Lsn(100));
        freed.note(&ids(&[70]));
        freed.seal(|| Lsn(200));
        assert_eq!((freed.first_ripe(Lsn(99)), freed.first_ripe(Lsn(100))), (None, Some(PageId(3))));
        // Freed again since: ripe only with the next generation.
        freed.note(&ids(&[64]));
        let taken = freed.take(0..=127, 10, |page| page == PageId(3));
        assert_eq!(taken, ids(&[65]), "page 3 is in use again");
        assert_eq!((freed.leaving(0..=64), freed.leaving(65..=65)), (vec![], ids(&[65])));
        assert_eq!(freed.take(128..=255, 10, |_| false), ids(&[200]));
        assert_eq!(freed.first_ripe(Lsn(100)), None);
        freed.left(&taken);
        assert!(freed.leaving(0..=127).is_empty());
        freed.seal(|| Lsn(300));
        assert_eq!((freed.count(), freed.first_ripe(Lsn(300))), (2, Some(PageId(64))));
    }
}
