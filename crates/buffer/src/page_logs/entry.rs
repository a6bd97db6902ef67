//! The log of one dirty page, as an entry by page and by age.
//!
//! There is an entry for nearly each page that is dirty, in memory or not, so what an entry takes beside its log decides how
//! many changes a page can collect.
//!
//! Used by `PageLogs` alone, which counts what the entries take.

use crate::by_age::{Aged, Links};
use crate::redo::PageLog;
use pagestore::PageId;
use wal::Lsn;

/// What an entry takes besides its bytes: itself, its place in the table, and what both keep free to grow.
pub(super) const ENTRY_BYTES: u64 = 80;

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
    links: Links,
    /// So much of it is in a copy of the page on its way to disk.
    copied: Option<u16>,
    /// False: it is whole once that copy is on disk, or the page is free.
    pub(super) whole: bool,
    pub(super) is_absent: bool,
    /// How often it was logged again since the page left.
    pub(super) renewals: u8,
}

impl Aged for Entry {
    type Age = Lsn;

    fn page(&self) -> PageId {
        self.page
    }

    fn age(&self) -> Lsn {
        self.rec_lsn
    }

    fn links(&self) -> &Links {
        &self.links
    }

    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
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
            links: Links::default(),
            copied: None,
            whole,
            is_absent: false,
            renewals: 0,
        }
    }

    /// Of a page that is not in memory, after a restart. The log begins with no image.
    pub(super) fn absent(page: PageId, rec_lsn: Lsn, log: PageLog) -> Entry {
        debug_assert!(!log.begins_with_image, "a whole image is not kept");
        let (bytes, last_end) = (log.bytes.into_boxed_slice(), log.last_end);
        Entry { bytes, last_end, is_absent: true, ..Entry::new(page, rec_lsn, Lsn::ZERO, true) }
    }

    pub(super) fn rec_lsn(&self) -> Lsn {
        self.rec_lsn
    }

    /// Only inside `ByAge::set_age`.
    pub(super) fn set_rec_lsn(&mut self, rec_lsn: Lsn) {
        debug_assert!(rec_lsn >= self.rec_lsn, "what a page needs of the log begins later and later");
        self.rec_lsn = rec_lsn;
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
        debug_assert!(lsn >= self.image_lsn, "an image is replaced by a newer one");
        debug_assert!(self.copied.is_none(), "one copy of a page is on its way at a time");
        debug_assert!(!self.is_absent, "a page in memory is copied");
        self.image_lsn = lsn;
        self.copied = Some(u16::try_from(self.bytes.len()).expect("a log is shorter than a page"));
        self.last_end = Lsn::ZERO;
    }

    /// The copy is on disk, if there was one since the entry is there.
    pub(super) fn note_written(&mut self) {
        let written = usize::from(self.copied.take().unwrap_or(0));
        debug_assert!(written <= self.bytes.len(), "what was copied is still there");
        self.bytes = self.bytes[written..].into();
        self.whole = true;
    }
}

/// What bytes of a log take.
pub(super) fn bytes_cost(length: usize) -> u64 {
    (length + length / 16) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_takes_what_is_counted() {
        assert_eq!(size_of::<Entry>(), 64);
    }
}
