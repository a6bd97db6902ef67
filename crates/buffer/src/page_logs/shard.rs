//! A part of the logs of dirty pages, by page and by age. All of it is protected by one lock.
//!
//! There is an entry for nearly each page that is dirty, in memory or not, so what an entry takes beside its log decides how
//! many changes a page can collect. Entries lie side by side in one vector; a table of places finds them by page, and links from
//! entry to entry keep their order of age.
//!
//! Invariants: the table and the links name each entry once; the links are in the order of `rec_lsn`.
//!
//! Used by `PageLogs` alone, which counts what the entries take.

use crate::redo::PageLog;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use pagestore::PageId;
use std::hash::BuildHasher;
use wal::Lsn;

/// What an entry takes besides its bytes: itself, its place in the table, and what both keep free to grow.
pub(super) const ENTRY_BYTES: u64 = 80;

/// The link of the first and of the last.
const NOWHERE: u32 = u32::MAX;

/// The log of one page.
pub(super) struct Entry {
    page: PageId,
    /// The log of the database from here on has all of it.
    rec_lsn: Lsn,
    /// Of the image on disk, or of the copy that is on its way there; 0: not known since a restart.
    image_lsn: Lsn,
    /// As in `PageLog`, which this becomes for those who change or read it.
    bytes: Box<[u8]>,
    last_end: Lsn,
    older: u32,
    newer: u32,
    /// So much of it is in a copy of the page on its way to disk.
    copied: Option<u16>,
    /// False: it is whole once that copy is on disk, or the page is free.
    pub(super) whole: bool,
    pub(super) is_absent: bool,
    /// How often it was logged again since the page left.
    pub(super) renewals: u8,
}

impl Entry {
    /// Of a page in memory whose log begins, or continues in a copy on its way to disk.
    pub(super) fn new(page: PageId, rec_lsn: Lsn, image_lsn: Lsn, whole: bool) -> Entry {
        Entry {
            page,
            rec_lsn,
            image_lsn,
            bytes: Box::default(),
            last_end: Lsn::ZERO,
            older: NOWHERE,
            newer: NOWHERE,
            copied: None,
            whole,
            is_absent: false,
            renewals: 0,
        }
    }

    /// Of a page that is not in memory, after a restart. The log begins with no image.
    pub(super) fn absent(page: PageId, rec_lsn: Lsn, log: PageLog) -> Entry {
        let (bytes, last_end) = (log.bytes.into_boxed_slice(), log.last_end);
        Entry { bytes, last_end, is_absent: true, ..Entry::new(page, rec_lsn, Lsn::ZERO, true) }
    }

    pub(super) fn page(&self) -> PageId {
        self.page
    }

    pub(super) fn rec_lsn(&self) -> Lsn {
        self.rec_lsn
    }

    pub(super) fn image_lsn(&self) -> Lsn {
        self.image_lsn
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it takes in memory. The allocator rounds the bytes up.
    pub(super) fn cost(&self) -> u64 {
        ENTRY_BYTES + bytes_cost(self.bytes.len())
    }

    /// Gives the log to `visit`, which may change it.
    pub(super) fn with_log<R>(&mut self, visit: impl FnOnce(&mut PageLog) -> R) -> R {
        let bytes = std::mem::take(&mut self.bytes).into_vec();
        let mut log = PageLog { bytes, begins_with_image: false, last_end: self.last_end };
        let result = visit(&mut log);
        (self.bytes, self.last_end) = (log.bytes.into_boxed_slice(), log.last_end);
        result
    }

    /// What the log has now is in a copy of the page, with this LSN; what comes can be read without it.
    pub(super) fn note_copied(&mut self, lsn: Lsn) {
        self.image_lsn = lsn;
        self.copied = Some(u16::try_from(self.bytes.len()).expect("a log is shorter than a page"));
        self.last_end = Lsn::ZERO;
    }

    /// The copy is on disk, if there was one since the entry is there.
    pub(super) fn note_written(&mut self) {
        let written = usize::from(self.copied.take().unwrap_or(0));
        self.bytes = self.bytes[written..].into();
        self.whole = true;
    }
}

/// What bytes of a log take.
pub(super) fn bytes_cost(length: usize) -> u64 {
    (length + length / 16) as u64
}

/// See the module's documentation.
pub(super) struct Shard {
    entries: Vec<Entry>,
    by_page: HashTable<u32>,
    oldest: u32,
    newest: u32,
}

impl Default for Shard {
    fn default() -> Self {
        Self { entries: Vec::new(), by_page: HashTable::new(), oldest: NOWHERE, newest: NOWHERE }
    }
}

fn hash(page: PageId) -> u64 {
    FixedState::default().hash_one(page)
}

impl Shard {
    fn place(&self, page: PageId) -> Option<u32> {
        self.by_page.find(hash(page), |place| self.entries[*place as usize].page == page).copied()
    }

    pub(super) fn get(&self, page: PageId) -> Option<&Entry> {
        self.place(page).map(|place| &self.entries[place as usize])
    }

    pub(super) fn get_mut(&mut self, page: PageId) -> Option<&mut Entry> {
        self.place(page).map(|place| &mut self.entries[place as usize])
    }

    /// All, in no order.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The page has no entry yet.
    pub(super) fn insert(&mut self, entry: Entry) {
        debug_assert!(self.place(entry.page).is_none(), "a page has one entry");
        let place = u32::try_from(self.entries.len()).expect("dirty pages of one part are fewer than 2^32");
        let page = entry.page;
        if self.entries.len() == self.entries.capacity() {
            // In small steps: doubling would leave a quarter of the memory unused.
            self.entries.reserve_exact((place as usize / 8).max(8));
        }
        self.entries.push(entry);
        let entries = &self.entries;
        self.by_page.insert_unique(hash(page), place, |place| hash(entries[*place as usize].page));
        self.link(place);
    }

    pub(super) fn remove(&mut self, page: PageId) -> Option<Entry> {
        let entries = &self.entries;
        let found = self.by_page.find_entry(hash(page), |place| entries[*place as usize].page == page);
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
        Some(entry)
    }

    /// What leads to the last entry leads to `place` from now on.
    fn move_last_to(&mut self, place: u32, last: u32) {
        let Entry { page, older, newer, .. } = self.entries[last as usize];
        match older {
            NOWHERE => self.oldest = place,
            older => self.entries[older as usize].newer = place,
        }
        match newer {
            NOWHERE => self.newest = place,
            newer => self.entries[newer as usize].older = place,
        }
        let known = self.by_page.find_mut(hash(page), |other| *other == last);
        *known.expect("each entry is in the table") = place;
    }

    /// Another age.
    pub(super) fn set_rec_lsn(&mut self, page: PageId, rec_lsn: Lsn) {
        let Some(place) = self.place(page) else { return };
        if self.entries[place as usize].rec_lsn != rec_lsn {
            self.unlink(place);
            self.entries[place as usize].rec_lsn = rec_lsn;
            self.link(place);
        }
    }

    /// Puts an entry into the order: its place is at the end or near it.
    fn link(&mut self, place: u32) {
        let rec_lsn = self.entries[place as usize].rec_lsn;
        let (mut older, mut newer) = (self.newest, NOWHERE);
        while older != NOWHERE && self.entries[older as usize].rec_lsn > rec_lsn {
            (older, newer) = (self.entries[older as usize].older, older);
        }
        let entry = &mut self.entries[place as usize];
        (entry.older, entry.newer) = (older, newer);
        self.join(older, place);
        self.join(place, newer);
    }

    fn unlink(&mut self, place: u32) {
        let Entry { older, newer, .. } = self.entries[place as usize];
        self.join(older, newer);
    }

    /// `newer` follows `older`; either may be the end of the order.
    fn join(&mut self, older: u32, newer: u32) {
        match older {
            NOWHERE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        match newer {
            NOWHERE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
    }

    /// Those from before `lsn`, the oldest first.
    pub(super) fn older_than(&self, lsn: Lsn) -> impl Iterator<Item = &Entry> {
        let at = |place: u32| (place != NOWHERE).then(|| &self.entries[place as usize]);
        std::iter::successors(at(self.oldest), move |entry| at(entry.newer))
            .take_while(move |entry| entry.rec_lsn < lsn)
    }

    /// Since when the oldest is dirty.
    pub(super) fn oldest(&self) -> Option<Lsn> {
        (self.oldest != NOWHERE).then(|| self.entries[self.oldest as usize].rec_lsn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::Random;
    use env::sim::SeededRandom;
    use std::collections::BTreeMap;

    #[test]
    fn an_entry_takes_what_is_counted() {
        assert_eq!(size_of::<Entry>(), 64);
    }

    #[test]
    fn entries_are_found_by_page_and_by_age() {
        let random = SeededRandom::new(3);
        let (mut shard, mut model) = (Shard::default(), BTreeMap::new());
        for round in 0..20_000u64 {
            let page = PageId(random.u64() % 300 * 64);
            let rec_lsn = Lsn(round + random.u64() % 40);
            match (random.u64() % 3, model.contains_key(&page)) {
                (0, true) => {
                    assert_eq!(shard.remove(page).map(|entry| entry.rec_lsn), model.remove(&page));
                }
                (_, true) => {
                    shard.set_rec_lsn(page, rec_lsn);
                    model.insert(page, rec_lsn);
                }
                (_, false) => {
                    assert!(shard.remove(page).is_none() && shard.get(page).is_none());
                    shard.insert(Entry::new(page, rec_lsn, Lsn::ZERO, true));
                    model.insert(page, rec_lsn);
                }
            }
            if round % 50 == 0 {
                let limit = Lsn(round.saturating_sub(random.u64() % 500));
                let found: Vec<_> =
                    shard.older_than(limit).map(|entry| (entry.rec_lsn, entry.page)).collect();
                assert!(found.is_sorted_by_key(|(lsn, _)| *lsn));
                let expected = model.iter().filter(|(_, lsn)| **lsn < limit).count();
                assert_eq!((found.len(), shard.entries().len()), (expected, model.len()));
                assert_eq!(shard.oldest(), model.values().min().copied());
            }
        }
    }
}
