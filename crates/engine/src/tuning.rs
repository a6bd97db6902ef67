//! What a user may change while the engine works: memory, log capacity, and limits on write-back.
//!
//! Invariant: nothing here makes anybody wait; what takes time goes on in the background.

use crate::EngineError;
use crate::budget::log_bytes_max;
use crate::engine::Engine;
pub use buffer::{ResizeStatus as PoolResize, WarmUp as PoolWarmUp};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::Lsn;

/// While the log is longer than its new capacity allows, checkpoints follow each other at this distance.
const SHORTEN_RETRY_US: u64 = 10_000;

impl Engine {
    /// `innodb_buffer_pool_size`: begins to grow or shrink the pool, and what is measured by it.
    pub fn set_buffer_pool_bytes(self: &Arc<Self>, bytes: u64) {
        self.budgets.set_pool_bytes(bytes.min(self.buffer_pool_bytes_max()));
        self.pool.late().set_budget(self.budgets.late_bytes());
        self.pool.page_logs().set_budget(self.budgets.page_log_bytes());
        // After the budget of the logs, which lend packed pages what they do not take.
        self.pool.resize(usize::try_from(bytes).unwrap_or(usize::MAX));
        if self.pool.late().is_over_budget() {
            self.spawn("apply late changes", |engine| async move {
                engine.apply_late_beyond_budget().await;
                Ok(())
            });
        }
        self.shorten_page_logs();
    }

    fn shorten_page_logs(self: &Arc<Self>) {
        if self.pool.page_logs().is_over_budget() {
            self.spawn("write pages whose logs have no room", |engine| async move {
                engine.write_absent_beyond_budget().await
            });
        }
    }

    /// Whether the pool has as many pages as fit into this memory.
    pub fn has_buffer_pool_bytes(&self, bytes: u64) -> bool {
        self.pool.has_size(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// The most that `set_buffer_pool_bytes` can give.
    pub fn buffer_pool_bytes_max(&self) -> u64 {
        self.pool.memory_bytes_max() as u64
    }

    /// The change of size that was asked for last.
    pub fn buffer_pool_resize(&self) -> PoolResize {
        self.pool.resize_status()
    }

    /// How far the pages of the last run are in memory again.
    pub fn buffer_pool_warm_up(&self) -> PoolWarmUp {
        self.pool.warm_up_status()
    }

    /// `innodb_buffer_pool_dump_at_shutdown`. The list is written while the engine works in any case.
    pub fn set_saves_hot_pages(&self, saves: bool) {
        self.life.saves_hot_pages.store(saves, Ordering::Relaxed);
    }

    /// `innodb_buffer_pool_dump_pct`: how many of the pages in memory the list names.
    pub fn set_hot_percent(&self, percent: u32) {
        debug_assert!(percent <= 100, "the variable has bounds");
        self.pool.set_hot_percent(percent);
    }

    /// `innodb_io_capacity`: page writes per second of the background; `None` leaves the pace to the engine.
    pub fn set_write_cap(&self, pages_per_s: Option<u64>) {
        self.pool.set_write_cap(pages_per_s);
    }

    /// `innodb_max_dirty_pages_pct`, as a share from 0 to 1.
    pub fn set_dirty_share_max(&self, share: f64) {
        debug_assert!((0.0..=1.0).contains(&share), "the variable has bounds");
        self.pool.set_dirty_share_max(share);
    }

    /// `innodb_redo_log_capacity`: a higher capacity holds at once, a lower one as soon as the log is short enough.
    pub fn set_redo_capacity(self: &Arc<Self>, bytes: u64) {
        let (bytes, before) = self.budgets.set_redo_bytes(bytes);
        self.pool.set_log_budget(self.budgets.dirty_log_bytes());
        self.pool.late().set_budget(self.budgets.late_bytes());
        self.pool.page_logs().set_budget(self.budgets.page_log_bytes());
        self.shorten_page_logs();
        if bytes >= self.checkpointer.capacity_bytes() {
            self.apply_redo_capacity(bytes);
        } else if bytes != before {
            self.spawn("shorten the log", move |engine| async move { engine.shorten_log(bytes).await });
        }
    }

    fn apply_redo_capacity(&self, bytes: u64) {
        self.wal.set_capacity(log_bytes_max(bytes));
        self.checkpointer.set_capacity(bytes);
    }

    /// Writes old pages back until the log fits well into the capacity, so that its limit stops nobody.
    async fn shorten_log(&self, bytes: u64) -> Result<(), EngineError> {
        while self.budgets.redo_bytes() == bytes {
            self.apply_late_beyond_budget().await;
            let behind = Lsn(self.wal.end_lsn().0.saturating_sub(bytes / 4));
            // Pages that have caught up are not old, but the log that they needed is.
            let behind = self.checkpointer.redo_done().map_or(behind, |done| behind.max(done));
            if !self.pool.page_logs().is_over_budget() {
                // Those that are too many are being written.
                self.renew_page_logs(|_| behind).await?;
            }
            self.pool.flush_through(behind).await.map_err(|error| self.pool_error(error))?;
            self.checkpoint_for(bytes, false).await?;
            if self.log_age() <= bytes / 2 {
                self.apply_redo_capacity(bytes);
                return Ok(());
            }
            self.check_running()?;
            self.env.clock.sleep(SHORTEN_RETRY_US).await;
        }
        Ok(())
    }
}
