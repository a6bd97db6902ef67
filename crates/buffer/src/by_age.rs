//! Entries of pages, found by page and by age. Whoever owns it has a lock around it.
//!
//! There may be an entry for nearly each page that is in use, so what it takes beside its content counts. Entries lie side by
//! side in one vector; a table of places finds them by page, and links from entry to entry keep their order.
//!
//! Invariants: the table and the links name each entry once; the links are in the order of ages.
//!
//! Used by the logs of dirty pages and by packed pages.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use pagestore::PageId;
use std::hash::BuildHasher;

/// The link of the first and of the last.
const NOWHERE: u32 = u32::MAX;

/// What can be an entry.
pub(crate) trait Aged {
    /// The smallest is the oldest. Those of the same age are in the order in which they came.
    type Age: Ord + Copy;

    fn page(&self) -> PageId;
    fn age(&self) -> Self::Age;
    fn links(&self) -> &Links;
    fn links_mut(&mut self) -> &mut Links;
}

/// Where the neighbours of an entry by age are. Each entry keeps one; it means nothing elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Links {
    older: u32,
    newer: u32,
}

impl Default for Links {
    fn default() -> Links {
        Links { older: NOWHERE, newer: NOWHERE }
    }
}

/// See the module's documentation.
pub(crate) struct ByAge<E> {
    entries: Vec<E>,
    by_page: HashTable<u32>,
    oldest: u32,
    newest: u32,
}

impl<E> Default for ByAge<E> {
    fn default() -> Self {
        Self { entries: Vec::new(), by_page: HashTable::new(), oldest: NOWHERE, newest: NOWHERE }
    }
}

fn hash(page: PageId) -> u64 {
    FixedState::default().hash_one(page)
}

impl<E: Aged> ByAge<E> {
    fn place(&self, page: PageId) -> Option<u32> {
        self.by_page.find(hash(page), |place| self.entries[*place as usize].page() == page).copied()
    }

    pub(crate) fn get(&self, page: PageId) -> Option<&E> {
        self.place(page).map(|place| &self.entries[place as usize])
    }

    /// Its page and age stay as they are.
    pub(crate) fn get_mut(&mut self, page: PageId) -> Option<&mut E> {
        self.place(page).map(|place| &mut self.entries[place as usize])
    }

    /// All, in no order.
    pub(crate) fn entries(&self) -> &[E] {
        &self.entries
    }

    /// The page has no entry yet.
    pub(crate) fn insert(&mut self, entry: E) {
        debug_assert!(self.place(entry.page()).is_none(), "a page has one entry");
        let place = u32::try_from(self.entries.len()).expect("entries of one part are fewer than 2^32");
        let page = entry.page();
        if self.entries.len() == self.entries.capacity() {
            // In small steps: doubling would leave a quarter of the memory unused.
            self.entries.reserve_exact((place as usize / 8).max(8));
        }
        self.entries.push(entry);
        let entries = &self.entries;
        self.by_page.insert_unique(hash(page), place, |place| hash(entries[*place as usize].page()));
        debug_assert_eq!(self.by_page.len(), self.entries.len(), "each entry is in the table");
        self.link(place);
    }

    pub(crate) fn remove(&mut self, page: PageId) -> Option<E> {
        let entries = &self.entries;
        let found = self.by_page.find_entry(hash(page), |place| entries[*place as usize].page() == page);
        let (place, _) = found.ok()?.remove();
        self.unlink(place);
        let last = self.entries.len() as u32 - 1;
        if place != last {
            self.move_last_to(place, last);
        }
        let entry = self.entries.swap_remove(place as usize);
        if self.entries.len() < self.entries.capacity() / 2 {
            self.entries.shrink_to(self.entries.len() / 8 * 9);
        }
        debug_assert_eq!(self.by_page.len(), self.entries.len(), "each entry is in the table");
        Some(entry)
    }

    /// What leads to the last entry leads to `place` from now on.
    fn move_last_to(&mut self, place: u32, last: u32) {
        let entry = &self.entries[last as usize];
        let (page, Links { older, newer }) = (entry.page(), *entry.links());
        self.join(older, place);
        self.join(place, newer);
        let known = self.by_page.find_mut(hash(page), |other| *other == last);
        *known.expect("each entry is in the table") = place;
    }

    /// Gives the entry of a page another age, which `change` does.
    pub(crate) fn set_age(&mut self, page: PageId, change: impl FnOnce(&mut E)) {
        let Some(place) = self.place(page) else { return };
        self.unlink(place);
        change(&mut self.entries[place as usize]);
        self.link(place);
    }

    /// Puts an entry into the order: its place is at the end or near it.
    fn link(&mut self, place: u32) {
        let age = self.entries[place as usize].age();
        let (mut older, mut newer) = (self.newest, NOWHERE);
        while older != NOWHERE && self.entries[older as usize].age() > age {
            (older, newer) = (self.entries[older as usize].links().older, older);
        }
        *self.entries[place as usize].links_mut() = Links { older, newer };
        debug_assert!(self.at(older).is_none_or(|before| before.age() <= age), "the older are before");
        debug_assert!(self.at(newer).is_none_or(|behind| behind.age() > age), "the newer are behind");
        self.join(older, place);
        self.join(place, newer);
    }

    fn unlink(&mut self, place: u32) {
        let Links { older, newer } = *self.entries[place as usize].links();
        self.join(older, newer);
    }

    /// `newer` follows `older`; either may be the end of the order.
    fn join(&mut self, older: u32, newer: u32) {
        match older {
            NOWHERE => self.oldest = newer,
            older => self.entries[older as usize].links_mut().newer = newer,
        }
        match newer {
            NOWHERE => self.newest = older,
            newer => self.entries[newer as usize].links_mut().older = older,
        }
    }

    fn at(&self, place: u32) -> Option<&E> {
        (place != NOWHERE).then(|| &self.entries[place as usize])
    }

    pub(crate) fn oldest(&self) -> Option<&E> {
        self.at(self.oldest)
    }

    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = &E> {
        std::iter::successors(self.at(self.oldest), |entry| self.at(entry.links().newer))
    }

    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &E> {
        std::iter::successors(self.at(self.newest), |entry| self.at(entry.links().older))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::Random;
    use env::sim::SeededRandom;
    use std::collections::BTreeMap;

    struct Dated {
        page: PageId,
        age: u64,
        links: Links,
    }

    impl Aged for Dated {
        type Age = u64;

        fn page(&self) -> PageId {
            self.page
        }

        fn age(&self) -> u64 {
            self.age
        }

        fn links(&self) -> &Links {
            &self.links
        }

        fn links_mut(&mut self) -> &mut Links {
            &mut self.links
        }
    }

    #[test]
    fn entries_are_found_by_page_and_by_age() {
        let random = SeededRandom::new(3);
        let (mut by_age, mut model) = (ByAge::<Dated>::default(), BTreeMap::new());
        for round in 0..20_000u64 {
            let page = PageId(random.u64() % 300 * 64);
            let age = round + random.u64() % 40;
            match (random.u64() % 3, model.contains_key(&page)) {
                (0, true) => {
                    assert_eq!(by_age.remove(page).map(|entry| entry.age), model.remove(&page));
                }
                (_, true) => {
                    by_age.set_age(page, |entry| entry.age = age);
                    model.insert(page, age);
                }
                (_, false) => {
                    assert!(by_age.remove(page).is_none() && by_age.get(page).is_none());
                    by_age.insert(Dated { page, age, links: Links::default() });
                    model.insert(page, age);
                }
            }
            if round % 50 == 0 {
                let found: Vec<_> = by_age.oldest_first().map(|entry| (entry.age, entry.page)).collect();
                assert!(found.is_sorted_by_key(|(age, _)| *age));
                assert_eq!((found.len(), by_age.entries().len()), (model.len(), model.len()));
                assert!(found.iter().all(|(age, page)| model.get(page) == Some(age)));
                let back: Vec<_> = by_age.newest_first().map(|entry| (entry.age, entry.page)).collect();
                assert!(back.iter().rev().eq(&found));
                assert_eq!(by_age.oldest().map(|entry| entry.age), model.values().min().copied());
            }
        }
    }
}
