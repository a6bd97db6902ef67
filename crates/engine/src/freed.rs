//! Telling the page store which pages are free, so that it can use their space for others.
//!
//! Invariant: the store hears of a page only when the group that freed it lies before the durable checkpoint, because
//! from there on no recovery needs the old image; and never of a page that is in use again (`btree::Space` keeps the
//! books). What a crash makes the engine forget is found again at the next start, by comparing space map and store.

use crate::EngineError;
use crate::engine::Engine;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::Lsn;

/// Pages that the store is told about at a time. They cannot be allocated meanwhile.
const PAGES_PER_CALL: usize = 1024;
/// When so large a share (1/n) of all pages waits to leave the store, a checkpoint is made for that alone.
const MANY_SHARE: u64 = 16;

impl Engine {
    /// So many pages are free that it is worth writing all dirty pages back to get a checkpoint behind their frees.
    pub(crate) fn has_many_freed_pages(&self) -> bool {
        self.space.freed_count() > self.pool.store().page_count() / MANY_SHARE
    }

    /// After a drop.
    pub(crate) fn checkpoint_if_much_is_free(self: &Arc<Self>) {
        if self.has_many_freed_pages() {
            self.checkpointer.request();
            self.start_due_checkpoint();
        }
    }

    /// Starts telling the store, if there is something to tell and nobody is at it.
    pub(crate) fn start_freeing(self: &Arc<Self>) {
        if self.space.freed_count() == 0 || self.checkpointer.freeing.swap(true, Ordering::AcqRel) {
            return;
        }
        self.spawn("free pages in the store", |engine| async move {
            let result = engine.free_in_store().await;
            engine.checkpointer.freeing.store(false, Ordering::Release);
            result
        });
    }

    /// Frees what lies behind the checkpoint.
    async fn free_in_store(&self) -> Result<(), EngineError> {
        while !self.closed.load(Ordering::Acquire) {
            let durable = Lsn(self.checkpointer.checkpoint_lsn());
            let taken = self.pool.run(|| self.space.take_freed(&self.pool, durable, PAGES_PER_CALL)).await;
            let Some(leaving) = taken.map_err(|error| self.pool_error(error))? else { break };
            if let Err(error) = self.pool.store().free(leaving.pages()).await {
                leaving.stay();
                return Err(self.pool_error(error.into()));
            }
        }
        Ok(())
    }

    /// After a start: notes the pages that are free but still in the store.
    pub(crate) async fn find_free_pages(self: &Arc<Self>) -> Result<(), EngineError> {
        let mut region = 0;
        while !self.closed.load(Ordering::Acquire) {
            let noted = self.pool.run(|| self.space.note_free_pages(&self.pool, region)).await;
            if !noted.map_err(|error| self.pool_error(error))? {
                break;
            }
            region += 1;
            env::yield_now().await;
        }
        self.checkpoint_if_much_is_free();
        Ok(())
    }
}
