//! Late changes from the engine's side: when they are applied, logged again, or void.
//!
//! Invariant: nothing waits for a clock. Who adds a change beyond the budget applies the oldest ones of one leaf; a
//! checkpoint logs old ones again instead of reading their leaves. Where they are kept: `buffer::LateChanges`; how
//! they come into a leaf, and their log records: crate `btree`.

use crate::EngineError;
use crate::engine::Engine;
use btree::{Refused, Tree};
use wal::{AppendError, Lsn};

impl Engine {
    /// After a change that may have been made late: keeps the budget. What cannot be applied now stays, and tells why
    /// to whoever needs the leaf.
    pub(crate) async fn apply_some_late(&self) {
        if self.pool.late().is_over_budget() {
            self.apply_oldest_late().await;
        }
    }

    /// After the budget was lowered.
    pub(crate) async fn apply_late_beyond_budget(&self) {
        while self.pool.late().is_over_budget() && self.apply_oldest_late().await {}
    }

    /// Before a check that walks the trees as they are: a leaf that is split meanwhile would look like a fault. What
    /// cannot be applied is met again by the walk.
    pub(crate) async fn apply_all_late(&self) {
        while self.apply_oldest_late().await {}
    }

    /// False: nothing waits.
    async fn apply_oldest_late(&self) -> bool {
        let Some(page) = self.pool.late().take_oldest() else { return false };
        let applied = self.pool.run(|| match self.pool.late().has(page) {
            true => btree::apply_late(&self.pool, &self.space, page),
            // Its tree is dropped: the page may be gone.
            false => Ok(()),
        });
        let applied = applied.await;
        let _ = applied.map_err(|error| self.pool_error(error));
        true
    }

    /// Logs the changes again that have waited since before `limit`.
    pub(crate) async fn renew_late(&self, limit: Lsn) -> Result<(), EngineError> {
        loop {
            match btree::renew_late(&self.pool, limit) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(Refused { error: AppendError::Full, bytes }) => self.wait_for_log_space(bytes).await?,
                Err(Refused { error, .. }) => return Err(self.log_error(error)),
            }
        }
    }

    /// The tree's pages are about to be freed.
    pub(crate) async fn discard_late(&self, tree: &Tree) -> Result<(), EngineError> {
        loop {
            match btree::discard_late(&self.pool, tree.id) {
                Ok(()) => return Ok(()),
                Err(Refused { error: AppendError::Full, bytes }) => self.wait_for_log_space(bytes).await?,
                Err(Refused { error, .. }) => return Err(self.log_error(error)),
            }
        }
    }
}
