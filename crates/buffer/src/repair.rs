//! Damaged pages that are made again from elsewhere while those who need them wait.
//!
//! Invariant: what takes the place of a damaged page is what the disk should have: the LSN of that version is known, or the store says that
//! it is the newest, or the log has no more of it (always so where changes of the page wait that no version on disk is known for). It is written home like any batch before somebody sees it. Nobody writes the page
//! meanwhile: who repairs it is its loader. Called by `load`.

use crate::BufferError;
use crate::pool::BufferPool;
use env::BoxFuture;
use pagestore::{CorruptPage, PageBatch, PageFault, PageId, header};
use std::sync::Arc;

/// Makes pages again from backups and log. The program has it; it tells what comes of it.
pub trait PageRepairer: Send + Sync {
    /// The page as the log has left it, at this LSN if one is given, not sealed; `None` if it cannot be had.
    fn rebuild(&self, corrupt: CorruptPage, lsn: Option<u64>) -> BoxFuture<'static, Option<Vec<u8>>>;

    /// Somebody asks for the page by its number: what failed before is tried again.
    fn try_again(&self, page: PageId);

    /// What was made for a page is (not) written.
    fn note_result(&self, corrupt: CorruptPage, lsn: u64, result: Result<(), String>);
}

impl BufferPool {
    /// From now on damaged pages are repaired; once.
    pub fn set_repairer(&self, repairer: Arc<dyn PageRepairer>) {
        let _ = self.repairer.set(repairer);
    }

    /// Who repairs pages.
    pub fn repairer(&self) -> Option<&Arc<dyn PageRepairer>> {
        self.repairer.get()
    }

    /// Makes the page again, writes it and puts it into `bytes`; false if it stays damaged. By its loader.
    pub(crate) async fn repair(&self, corrupt: CorruptPage) -> Result<Option<Vec<u8>>, BufferError> {
        let Some(repairer) = self.repairer.get().filter(|_| is_repairable(corrupt.fault)) else {
            return Ok(None);
        };
        let page = corrupt.page;
        let lsn = self.page_logs.image_lsn(page).map(|lsn| lsn.0);
        // All of the log leads beyond the version on disk where changes wait that begin at an unknown one; they are skipped then.
        let is_ahead = lsn.is_none() && (self.page_logs.is_absent(page) || self.behind.has(page));
        let Some(image) = repairer.rebuild(corrupt, lsn).await else { return Ok(None) };
        let made = header::lsn(&image);
        let refused = if image.len() != self.page_bytes() || header::id(&image) != page {
            Some("what was made is another page".to_owned())
        } else if let Err(fault) = (self.options.check)(&image) {
            Some(CorruptPage { page, fault }.to_string())
        } else if !is_ahead && self.store.is_newest(page, made) == Some(false) {
            Some(format!("the log leads to LSN {made}, which is not the version that was written last"))
        } else {
            None
        };
        if let Some(why) = refused {
            repairer.note_result(corrupt, made, Err(why));
            return Ok(None);
        }
        let mut batch = PageBatch::new(self.store.page_size(), 1);
        batch.push(page, &image);
        let written = self.store.write_batch(batch).await;
        let told = written.clone().map_err(|error| error.to_string());
        repairer.note_result(corrupt, made, told);
        written?;
        Ok(Some(image))
    }
}

/// A page beyond the end has no place, and one that is marked as lost says what everybody knows.
fn is_repairable(fault: PageFault) -> bool {
    !matches!(fault, PageFault::BeyondEnd | PageFault::Lost)
}
