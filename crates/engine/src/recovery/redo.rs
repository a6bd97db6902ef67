//! Redo in the background: all pages that are behind the log catch up, also those that nobody needs.
//!
//! Invariant: the log from the checkpoint of the crash on stays until every page has caught up and is written
//! (`Checkpointer::hold_for_redo`), so a crash in between starts from the same place. What does not fit into memory is
//! read from the log again, round by round, each for the pages that somebody waits for and the next ones in the order of
//! their ids; so who needs a page of a later round waits for the next one. All this has a thread of its own: reading the log would keep users from theirs. Started by
//! `open`.

use super::{collect_error, log_error};
use crate::EngineError;
use crate::engine::Engine;
use crate::storage::files::LOG_DIRECTORY;
use btree::redo::{Collected, Collector, PageIds, Wish};
use pagestore::PageId;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::{Lsn, WalReader};

/// How long a full disk is left alone before redo tries again to grow the page store.
const FULL_RETRY_US: u64 = 1_000_000;

/// How often somebody looks whether redo is over.
const WAIT_RETRY_US: u64 = 2_000;

/// What is left to do when the first reading of the log is over.
pub(crate) struct Rest {
    /// The log that pages are behind by.
    pub from: Lsn,
    pub end: Lsn,
    /// The last page whose changes have been in memory with those of all before it; `None`: all have.
    pub through: Option<PageId>,
    /// Pages behind it whose changes have been in memory.
    pub taken: PageIds,
    pub memory_bytes: usize,
}

impl Engine {
    /// Lets all pages catch up.
    pub(crate) fn redo_in_background(self: &Arc<Self>, mut rest: Rest) {
        if self.pool.behind().count() > 0 {
            self.checkpointer.hold_for_redo(rest.from.0);
        }
        self.spawn_dedicated("redo", |engine| async move {
            let done = engine.redo_on_any_disk(&mut rest).await;
            // Those that wait for a page whose changes will not come any more hear of it.
            engine.pool.behind().end();
            match done {
                Ok(()) => {}
                Err(EngineError::Closed) => return Ok(()),
                // The pages cannot be had any more, and the log cannot be given up.
                Err(error) => return Err(engine.fail(error)),
            }
            engine.checkpointer.redo_is_done(engine.wal.end_lsn());
            engine.forget_free_page_logs().await
        });
    }

    /// Waits until no page is behind the log, or the engine has ended.
    pub(crate) async fn finish_redo(&self) {
        while self.pool.behind().count() > 0 && self.check_running().is_ok() {
            self.env.clock.sleep(WAIT_RETRY_US).await;
        }
    }

    /// The same again and again while the disk is full.
    async fn redo_on_any_disk(&self, rest: &mut Rest) -> Result<(), EngineError> {
        loop {
            match self.redo(rest).await {
                Err(EngineError::DiskFull) => self.env.clock.sleep(FULL_RETRY_US).await,
                done => return done,
            }
        }
    }

    async fn redo(&self, rest: &mut Rest) -> Result<(), EngineError> {
        loop {
            let goes_on = || !self.life.closed.load(Ordering::Acquire);
            self.pool.catch_up(goes_on).await.map_err(|error| self.pool_error(error))?;
            self.check_running()?;
            if rest.through.is_none() {
                return Ok(());
            }
            let Collected { now, through, given_up, .. } = self.collect(rest).await?;
            debug_assert!(
                through.is_none() || through >= rest.through,
                "a round goes on where the last one ended"
            );
            rest.taken.extend(now.keys());
            rest.taken.retain(|page| Some(*page) > through);
            self.pool.behind().hand_over(now);
            given_up.into_iter().for_each(|corrupt| self.pool.behind().give_up(corrupt));
            rest.through = through;
        }
    }

    /// Reads the log again for pages whose changes have not been read.
    async fn collect(&self, rest: &Rest) -> Result<Collected, EngineError> {
        let store = self.pool.store().clone();
        let first = self.pool.behind().take_wanted().into_iter().collect();
        let wish = Wish { taken_through: rest.through, taken: rest.taken.clone(), first };
        let mut collector = Collector::new(store, btree::check_page, rest.memory_bytes, wish);
        let reader = WalReader::open(&self.env, LOG_DIRECTORY, rest.from, rest.end).await;
        let mut reader = reader.map_err(|error| log_error(&error))?.until(rest.end);
        while let Some(group) = reader.next_group().await.map_err(|error| log_error(&error))? {
            self.check_running()?;
            if group.end > rest.from {
                collector.add(&group).await.map_err(|error| collect_error(&error, group.start))?;
            }
        }
        Ok(collector.finish())
    }
}
