//! Damaged pages: what the server is told about them, and how work that met one is given up.
//!
//! Invariant: a damaged page stops whoever needs its content and nobody else. A change that cannot be undone because
//! the way to its key leads over such a page is as good as gone once the page is marked as lost (`btree::lost`): nobody
//! reaches the key any more.

use crate::engine::Engine;
use crate::log::log_record::{LogRecord, NO_TRANSACTION};
use crate::{EngineError, TreeId};
use btree::{Mtr, Tree, lost};
use buffer::Stop;
use pagestore::{CorruptPage, PageFault, PageId, StoreError};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use wal::{Priority, WalGroup};

/// More damaged pages than this need no further line each in the server's log.
const PAGES_MAX: usize = 1000;

/// The damaged pages that were met since the start.
#[derive(Default)]
pub(crate) struct Damage {
    met: Mutex<Met>,
}

#[derive(Default)]
struct Met {
    pages: BTreeSet<PageId>,
    /// Not told yet.
    news: Vec<CorruptPage>,
}

impl Damage {
    pub fn note(&self, corrupt: CorruptPage) {
        let mut met = self.met.lock();
        if met.pages.len() < PAGES_MAX && met.pages.insert(corrupt.page) {
            met.news.push(corrupt);
            debug_assert!(met.news.len() <= met.pages.len(), "each page is told once");
        }
    }
}

impl Engine {
    /// The damaged pages that were met since the last call, by users or by the scrub, each once; for the server's log.
    pub fn take_damage_news(&self) -> Vec<String> {
        self.pool.behind().take_given_up().into_iter().for_each(|corrupt| self.damage.note(corrupt));
        let mut lines = Vec::new();
        for found in self.pool.take_scrub_faults() {
            match found {
                StoreError::Corrupt(corrupt) => self.damage.note(corrupt),
                other => lines.push(format!("the scrub could not read a page: {other}")),
            }
        }
        let news = std::mem::take(&mut self.damage.met.lock().news);
        lines.extend(news.iter().map(CorruptPage::to_string));
        lines
    }

    /// Called when the record of `key` cannot be put back. Gives the change up if the way to the key is damaged;
    /// otherwise the key can still be read, and leaving the change out would show: the error is returned.
    pub(crate) async fn give_up_undo(
        &self,
        tree: TreeId,
        key: &[u8],
        error: EngineError,
    ) -> Result<(), EngineError> {
        if !error.is_corruption() {
            return Err(error);
        }
        match self.lookup(&self.tree(tree)?, key, |_, _| Ok(())).await {
            Err(EngineError::CorruptPage { corrupt, .. }) if self.may_give_up(&corrupt).await => {
                self.replace_by_lost(&corrupt).await
            }
            _ => Err(error),
        }
    }

    /// Marks a damaged page as lost; an error if it must not be touched.
    pub(crate) async fn lose_page(&self, corrupt: &CorruptPage) -> Result<(), EngineError> {
        if !self.may_give_up(corrupt).await {
            return Err(EngineError::CorruptPage { tree: None, corrupt: *corrupt });
        }
        self.replace_by_lost(corrupt).await
    }

    async fn replace_by_lost(&self, corrupt: &CorruptPage) -> Result<(), EngineError> {
        self.replace(corrupt, |mtr| lost::give_up(mtr, corrupt.page)).await
    }

    /// A damaged inner page of a tree that is being freed becomes an empty leaf, which its parent cuts off.
    pub(crate) async fn empty_lost(&self, tree: &Tree, corrupt: &CorruptPage) -> Result<(), EngineError> {
        if corrupt.page == tree.root || !self.may_give_up(corrupt).await {
            return Err(EngineError::CorruptPage { tree: Some(TreeId(tree.id.0)), corrupt: *corrupt });
        }
        let intact = CorruptPage { page: corrupt.page, fault: PageFault::Absent };
        self.replace(&intact, |mtr| lost::empty(mtr, corrupt.page, tree.id)).await
    }

    /// The space map is nobody's alone, and a page with a fault that is not its own may be somebody else's. Beyond the
    /// end of the store a page is its tree's if the map says that it is in use: the file was cut short.
    async fn may_give_up(&self, corrupt: &CorruptPage) -> bool {
        if self.space.is_reserved(corrupt.page) {
            return false;
        }
        match corrupt.fault {
            PageFault::BeyondEnd => {
                let used = self.pool.run(|| self.space.is_used(&self.pool, corrupt.page)).await;
                used.unwrap_or(false)
            }
            _ => lost::is_own_fault(corrupt),
        }
    }

    async fn replace(
        &self,
        corrupt: &CorruptPage,
        plan: impl Fn(&mut Mtr<'_>) -> Result<(), Stop>,
    ) -> Result<(), EngineError> {
        if corrupt.fault == PageFault::Lost {
            return Ok(());
        }
        debug_assert!(!self.space.is_reserved(corrupt.page), "the space map is nobody's to give up");
        let replaced = self.pool.run(|| {
            let mut mtr = Mtr::begin_with(&self.pool, Priority::Reserve);
            plan(&mut mtr)?;
            mtr.reserve(0)?;
            Ok(mtr.commit())
        });
        let committed = replaced.await.map_err(|error| self.pool_error(error))?;
        committed.map(drop).map_err(|error| self.log_failed(&error))
    }

    /// The rest of a chain cannot be followed: its pages stay in use, and nobody tries again after the next start.
    pub(crate) fn forget_chain(&self, first: PageId) {
        let record = LogRecord::Freed { chain: first.0 };
        let mut group = WalGroup::new();
        group.push(record.kind(), NO_TRANSACTION.0, &record.payload());
        let mut history = self.versions.history.lock();
        // Without room in the log it stays on the list, which does no harm.
        if self.wal.append_reserve(&group).is_ok() {
            history.chain_freed(first.0);
        }
    }
}
