//! A damaged page that is made again from a backup and the log (decision 0060): what whoever has these needs of the engine.
//!
//! Invariant: only a page that is not in memory is repaired, by its loader (`buffer::repair`), so nobody changes it meanwhile. Called by the
//! program, and by ALTER INSTANCE REPAIR PAGE.

use crate::EngineError;
use crate::engine::Engine;
use crate::storage::files::{open_store, store_error};
use buffer::PageRepairer;
use env::{Env, IoBuf};
use pagestore::{CorruptPage, FIRST_FREE_PAGE, PageFault, PageId, PageKind, StoreError, header};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The image of a page in a copy at rest, sealed; `None` if it has none that is sound.
pub async fn copy_page(env: &Env, page: PageId) -> Result<Option<Vec<u8>>, EngineError> {
    let Some((store, _)) = open_store(env).await? else { return Ok(None) };
    if page.0 >= store.page_count() {
        return Ok(None);
    }
    let (image, read) = store.read(page, IoBuf::zeroed(store.page_size().bytes())).await;
    match read {
        Ok(()) => Ok(Some(image.as_slice().to_vec())),
        Err(StoreError::Corrupt(_)) => Ok(None),
        Err(error) => Err(store_error(error)),
    }
}

impl Engine {
    /// From now on damaged pages are repaired by this; once.
    pub fn set_page_repairer(&self, repairer: Arc<dyn PageRepairer>) {
        self.pool.set_repairer(repairer);
    }

    /// Whether damaged pages are repaired by anybody.
    pub fn has_page_repairer(&self) -> bool {
        self.pool.repairer().is_some()
    }

    /// Nothing is asked of it any more.
    pub fn is_closed(&self) -> bool {
        self.life.closed.load(Ordering::Acquire)
    }

    /// The size of a page.
    pub fn page_size_bytes(&self) -> usize {
        self.pool.page_bytes()
    }

    /// Reads the page, which repairs it if it is damaged. An error if it is and stays so; `None`: there is no such page.
    pub async fn repair_page(&self, page: u64) -> Result<Option<()>, EngineError> {
        let page = PageId(page);
        if page < FIRST_FREE_PAGE || page.0 >= self.pool.store().page_count() {
            return Ok(None);
        }
        if let Some(repairer) = self.pool.repairer() {
            repairer.try_again(page);
        }
        let is_lost = || Ok(header::kind(&self.pool.read(page)?) == Some(PageKind::Lost));
        // A page that could not be had is in memory, too: as one that is lost.
        match self.pool.run(is_lost).await {
            Ok(false) => Ok(Some(())),
            Ok(true) => Err(self.pool_error(CorruptPage { page, fault: PageFault::Lost }.into())),
            Err(error) => Err(self.pool_error(error)),
        }
    }
}
