//! Dirty pages with logs, from the engine's side: when what they lack is logged again, when they are written, and which do not
//! matter any more.
//!
//! Invariants: the checkpoint is held back by no more than a share of the log, for logs of pages that left memory further
//! back are logged again, and such pages in memory are written; that is done in small steps, each for so much log that users have written. A page whose log
//! was renewed again and again is read and written, so that its memory serves others. Logs renewed together do not come due
//! together: each part of them has an age of its own. Where the logs are kept:
//! `buffer::PageLogs`; their record in the log: `btree::redo`. Called by checkpoints, which also see to a step after
//! changes, by an opening and by its redo, and where the log becomes smaller.

use crate::EngineError;
use crate::engine::Engine;
use btree::Refused;
use buffer::{PAGE_LOG_PARTS, PageLog};
use pagestore::PageId;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wal::{AppendError, Lsn};

/// Logs of pages from further back than these eighths of the log are logged again, or written if they are in memory.
pub(crate) const AGE_EIGHTHS: u64 = 3;

/// The parts are old one after the other, the first from here on: a stop, or a crash, makes all logs equally old.
const FIRST_AGE_EIGHTHS: u64 = 2;

const _: () =
    assert!(0 < FIRST_AGE_EIGHTHS && FIRST_AGE_EIGHTHS < AGE_EIGHTHS, "parts come due one after the other");
/// They are looked at whenever the log has grown by this share of its capacity.
const STEP_SHARE: u64 = 1024;

/// More than this are renewed in one turn only if they are in one part.
const PAGES_PER_TURN: u64 = 100;

/// So many pages whose logs nobody has needed for long are read and written in one step.
const OUTDATED_PAGES: usize = 8;

/// When the next step is due.
#[derive(Default)]
pub(crate) struct Renewal {
    due_lsn: AtomicU64,
    is_running: AtomicBool,
}

impl Renewal {
    /// Called after every change; one load and one comparison.
    #[inline]
    pub fn is_due(&self, log_end: u64) -> bool {
        log_end >= self.due_lsn.load(Ordering::Relaxed)
    }
}

impl Engine {
    /// Makes a step in the background.
    #[cold]
    pub(crate) fn start_renewal(self: &Arc<Self>) {
        let renewal = &self.renewal;
        if self.life.recovering.load(Ordering::Relaxed) || renewal.is_running.swap(true, Ordering::AcqRel) {
            return;
        }
        let capacity = self.checkpointer.capacity_bytes();
        let end = self.wal.end_lsn().0;
        renewal.due_lsn.store(end + (capacity / STEP_SHARE).max(1), Ordering::Relaxed);
        let limit = move |part| part_limit(end, capacity, part);
        if !self.pool.page_logs().any_before(limit) {
            renewal.is_running.store(false, Ordering::Release);
            return;
        }
        self.spawn("renew page logs", move |engine| async move {
            let renewed = engine.renew_page_logs(limit).await;
            engine.pool.write_logged_before(limit);
            let was_running = engine.renewal.is_running.swap(false, Ordering::AcqRel);
            debug_assert!(was_running, "one task renews logs");
            for page in renewed?.into_iter().take(OUTDATED_PAGES) {
                engine.pool.write_absent(page).await.map_err(|error| engine.pool_error(error))?;
            }
            Ok(())
        });
    }

    /// Logs from before here are old, in whatever part.
    pub(crate) fn page_log_limit(&self) -> Lsn {
        part_limit(self.wal.end_lsn().0, self.checkpointer.capacity_bytes(), PAGE_LOG_PARTS - 1)
    }

    /// Logs what absent pages lack again, if they are dirty since before the `limit` of their part. Answers which nobody has
    /// needed for long.
    pub(crate) async fn renew_page_logs(
        &self,
        limit: impl Fn(usize) -> Lsn,
    ) -> Result<Vec<PageId>, EngineError> {
        let mut outdated = Vec::new();
        for part in 0..PAGE_LOG_PARTS {
            let before = self.pool.page_logs().stats().renewed;
            loop {
                match btree::redo::renew_page_logs(&self.pool, part, limit(part)) {
                    Ok(pages) => break outdated.extend(pages),
                    Err(Refused { error: AppendError::Full, bytes }) => {
                        self.wait_for_log_space(bytes).await?;
                    }
                    Err(Refused { error, .. }) => return Err(self.log_error(error)),
                }
            }
            // After a crash all are equally old: others get their turns.
            if self.pool.page_logs().stats().renewed - before > PAGES_PER_TURN {
                env::yield_now().await;
            }
        }
        Ok(outdated)
    }

    /// When the logs may take less than before: pages that are not in memory are written until the others fit.
    pub(crate) async fn write_absent_beyond_budget(&self) -> Result<(), EngineError> {
        for page in self.pool.page_logs().absent_pages() {
            if !self.pool.page_logs().is_over_budget() || self.life.closed.load(Ordering::Acquire) {
                break;
            }
            self.pool.write_absent(page).await.map_err(|error| self.pool_error(error))?;
        }
        Ok(())
    }

    /// After redo: pages that are free now need not be brought up to date.
    pub(crate) async fn forget_free_page_logs(&self) -> Result<(), EngineError> {
        for page in self.pool.page_logs().absent_pages() {
            let forgotten = self.pool.run(|| self.space.forget_page_log_if_free(&self.pool, page));
            forgotten.await.map_err(|error| self.pool_error(error))?;
        }
        Ok(())
    }
}

/// Where the log of this capacity begins in which the logs of one part are not old yet.
fn part_limit(log_end: u64, capacity: u64, part: usize) -> Lsn {
    debug_assert!(part < PAGE_LOG_PARTS, "the part is one of them");
    let (parts, part) = (PAGE_LOG_PARTS as u64, part as u64);
    let eighths_times_parts = FIRST_AGE_EIGHTHS * parts + (AGE_EIGHTHS - FIRST_AGE_EIGHTHS) * (part + 1);
    Lsn(log_end.saturating_sub(capacity / (8 * parts) * eighths_times_parts))
}

/// After a crash, before a page is read: short logs may stay as they were before, the others are answered. `from`: where the
/// log begins that was read.
pub(crate) fn restore<S: BuildHasher + Default>(
    pool: &buffer::BufferPool,
    logs: HashMap<PageId, PageLog, S>,
    from: Lsn,
) -> HashMap<PageId, PageLog, S> {
    logs.into_iter()
        .filter_map(|(page, log)| pool.page_logs().restore(page, log, from).map(|log| (page, log)))
        .collect()
}
