//! A part of the logs of dirty pages, by page and by age. All of it is protected by one lock.

use crate::redo::PageLog;
use foldhash::fast::FixedState;
use pagestore::PageId;
use std::collections::{HashMap, VecDeque};
use wal::Lsn;

/// The log of one page.
pub(super) struct Entry {
    pub(super) log: PageLog,
    /// The log of the database from here on has all of it.
    pub(super) rec_lsn: Lsn,
    /// So much of it is in a copy of the page on its way to disk.
    pub(super) copied: Option<u32>,
    /// False: it is whole once that copy is on disk, or the page is free.
    pub(super) whole: bool,
    pub(super) is_absent: bool,
    /// How often it was logged again since the page left.
    pub(super) renewals: u8,
}

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Shard {
    pub(super) entries: HashMap<PageId, Entry, FixedState>,
    /// By `rec_lsn`; those whose entry has another one, or none, are stale.
    by_age: VecDeque<(Lsn, PageId)>,
}

/// Pages with the age that they have in the order.
type Aged = Vec<(Lsn, PageId)>;

impl Shard {
    /// The place is at the end or near it.
    pub(super) fn note_age(&mut self, rec_lsn: Lsn, page: PageId) {
        if self.by_age.len() > 2 * self.entries.len() + 64 {
            self.drop_stale();
        }
        if self.by_age.back().is_none_or(|(last, _)| *last <= rec_lsn) {
            self.by_age.push_back((rec_lsn, page));
            return;
        }
        let place = self.by_age.partition_point(|(other, _)| *other <= rec_lsn);
        self.by_age.insert(place, (rec_lsn, page));
    }

    fn drop_stale(&mut self) {
        let entries = &self.entries;
        self.by_age.retain(|(lsn, page)| entries.get(page).is_some_and(|entry| entry.rec_lsn == *lsn));
    }

    /// Takes out the entries from before `lsn` and forgets the stale ones: those of pages in memory, and the others.
    pub(super) fn take_older(&mut self, lsn: Lsn) -> (Aged, Aged) {
        let (mut present, mut absent) = (Vec::new(), Vec::new());
        while let Some((rec_lsn, page)) = self.by_age.pop_front_if(|(rec_lsn, _)| *rec_lsn < lsn) {
            match self.entries.get(&page) {
                Some(entry) if entry.rec_lsn == rec_lsn && entry.is_absent => absent.push((rec_lsn, page)),
                Some(entry) if entry.rec_lsn == rec_lsn => present.push((rec_lsn, page)),
                _ => {}
            }
        }
        (present, absent)
    }

    /// Puts some of them back.
    pub(super) fn put_back(&mut self, taken: Aged) {
        for (rec_lsn, page) in taken.into_iter().rev() {
            let place = self.by_age.partition_point(|(other, _)| *other < rec_lsn);
            self.by_age.insert(place, (rec_lsn, page));
        }
    }

    /// Since when the oldest is dirty.
    pub(super) fn oldest(&mut self) -> Option<Lsn> {
        while let Some((lsn, page)) = self.by_age.front() {
            if self.entries.get(page).is_some_and(|entry| entry.rec_lsn == *lsn) {
                return Some(*lsn);
            }
            self.by_age.pop_front();
        }
        None
    }
}
