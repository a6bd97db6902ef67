//! One page made again: an older image of it, and what the log has said of it since.
//!
//! Each record touches one page and a page's LSN says which groups it has seen, so a page needs no other one for this.
//!
//! Invariant: the log is given whole and in order, from a place on where a checkpoint has begun that is not behind the image. What a page lacked
//! then is said again behind that place (`RENEWED_LOG`); of such records only what lies before the place is taken, since the rest
//! comes by itself. Called by whoever has backups and the log.

use super::page_log::{self, newer_than, older_than};
use crate::redo::change::{PAGE_ID_BYTES, page_id};
use crate::redo::{IMAGE_KIND, Malformed, PAGE_KINDS_END, RENEWED_LOG};
use crate::{check_page, lost_page};
use buffer::PageLog;
use pagestore::{PageFault, PageId, PageSize, header};
use wal::{LogGroup, Lsn};

/// A longer log is made part of the image.
const FOLD_PAGES: usize = 64;

/// See the head of this file.
pub struct PageRebuild {
    page: PageId,
    begin: Lsn,
    /// The LSN that the page has to have; what comes behind is not for it.
    lsn: Option<Lsn>,
    bytes: Vec<u8>,
    read: Result<(), PageFault>,
    /// What the page lacked at `begin`; `None`: nothing has said so yet.
    before: Option<PageLog>,
    log: PageLog,
    is_folded: bool,
}

impl PageRebuild {
    /// `image`: as the page lay on disk once, sealed; `None` if it was not there yet. The log that is to come counts from `begin`.
    pub fn new(
        page: PageId,
        page_bytes: usize,
        image: Option<&[u8]>,
        begin: Lsn,
        lsn: Option<Lsn>,
    ) -> PageRebuild {
        debug_assert!(
            PageSize::from_bytes(page_bytes as u64).is_some(),
            "a page has the size of a store's pages"
        );
        let mut bytes = vec![0; page_bytes];
        let mut read = Err(PageFault::Absent);
        if let Some(image) = image.filter(|image| image.len() == page_bytes) {
            bytes.copy_from_slice(image);
            let verified = header::verify(image, page).map_err(|corrupt| corrupt.fault);
            read = verified.and_then(|()| check_page(image));
        }
        let log = PageLog::default();
        PageRebuild { page, begin, lsn, bytes, read, before: None, log, is_folded: false }
    }

    /// Takes what a group says of the page.
    pub fn add(&mut self, group: &LogGroup<'_>) -> Result<(), Malformed> {
        if group.end <= self.begin || self.lsn.is_some_and(|lsn| group.end > lsn) {
            return Ok(());
        }
        debug_assert!(group.end >= self.log.last_end, "groups come in the order of the log");
        for (_, record) in group.records().filter(|(_, record)| record.kind < PAGE_KINDS_END) {
            let is_ours = record.payload.get(..PAGE_ID_BYTES).map(page_id) == Some(self.page);
            if !is_ours {
                continue;
            }
            if record.kind == RENEWED_LOG {
                self.add_renewed(page_log::renewed(record.payload)?.1)?;
                continue;
            }
            if record.kind == IMAGE_KIND {
                // What was before does not matter any more.
                self.before = Some(PageLog::default());
            }
            page_log::push(&mut self.log, group.end, record.kind, record.payload);
        }
        if self.log.bytes.len() > FOLD_PAGES * self.bytes.len() {
            self.fold();
        }
        Ok(())
    }

    fn add_renewed(&mut self, renewed: PageLog) -> Result<(), Malformed> {
        let before = older_than(&renewed, Lsn(self.begin.0 + 1));
        if before.bytes.is_empty() || self.before.is_some() {
            return Ok(());
        }
        // The log of a page that is out of memory is said again before it becomes long.
        if self.is_folded {
            return Err(Malformed);
        }
        self.before = Some(before);
        Ok(())
    }

    fn fold(&mut self) {
        for log in [self.before.clone().unwrap_or_default(), std::mem::take(&mut self.log)] {
            let seen = Lsn(header::lsn(&self.bytes));
            if self.read.is_ok() && newer_than(&log, seen).bytes.is_empty() {
                continue;
            }
            if log.bytes.is_empty() {
                continue;
            }
            let applied = page_log::catch_up(self.page, &mut self.bytes, self.read, &log);
            self.read = applied.map(drop);
        }
        self.before = self.before.take().map(|_| PageLog::default());
        debug_assert!(self.read.is_err() || header::id(&self.bytes) == self.page, "a page stays itself");
        self.is_folded = true;
    }

    /// The page, not sealed, or why it cannot be had.
    pub fn finish(mut self) -> Result<Vec<u8>, PageFault> {
        self.fold();
        self.read?;
        if lost_page::is_lost(&self.bytes) {
            return Err(PageFault::Lost);
        }
        check_page(&self.bytes)?;
        match self.lsn {
            Some(lsn) if header::lsn(&self.bytes) != lsn.0 => Err(PageFault::Stale),
            _ => Ok(self.bytes),
        }
    }
}
