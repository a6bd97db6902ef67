//! Looking for a row's versions in the runs.
//!
//! Invariant: everything here runs under the latch of the row's leaf, after a look into memory. A missing page of a run is
//! a `Stop` like any other, and so is a damaged one: an error for this reader alone.

use super::entry;
use super::{Run, Runs};
use crate::engine::Engine;
use crate::row_table::Before;
use crate::spill::RowPlace;
use btree::{Direction, Position};
use buffer::{BufferPool, Stop};
use pagestore::{CorruptPage, PageFault};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

impl Engine {
    /// The oldest before-image in the runs that a snapshot needs, with the commit that came after it.
    pub(crate) fn oldest_unseen_in_runs(
        &self,
        row: RowPlace<'_>,
        snapshot_lsn: u64,
    ) -> Result<Option<(Before, u64)>, Stop> {
        if self.runs.newest_lsn() <= snapshot_lsn {
            return Ok(None);
        }
        let hash = self.rows.hash(row.tree, row.key);
        for run in self.runs.live.read().iter() {
            if run.last_lsn > snapshot_lsn && run.may_have(hash, row.page_lsn) {
                self.stats.run_lookups.fetch_add(1, Ordering::Relaxed);
                let found = run.first_after(&self.pool, row, snapshot_lsn)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// When the newest version of the row in a run was committed, if that was after `limit`; else 0: whoever asks sees
    /// it, like every new snapshot.
    pub(crate) fn newest_commit_in_runs(&self, row: RowPlace<'_>, limit: u64) -> Result<u64, Stop> {
        // Any commit after the limit will do: it is newer than what the caller may have read.
        Ok(self.oldest_unseen_in_runs(row, limit)?.map_or(0, |(_, lsn)| lsn))
    }

    /// True when a version of the row may be in a run: its ghost must stay.
    pub(crate) fn runs_may_have(&self, row: RowPlace<'_>) -> bool {
        self.runs.newest_lsn() > 0 && self.runs.may_have(self.rows.hash(row.tree, row.key), row.page_lsn)
    }
}

impl Runs {
    /// Whether a reader with this snapshot has to look into runs.
    pub fn concern(&self, snapshot_lsn: u64) -> bool {
        self.newest_lsn() > snapshot_lsn
    }
}

impl Run {
    /// The first version of the row that was committed after `lsn`: its before-image and that commit.
    fn first_after(
        &self,
        pool: &BufferPool,
        row: RowPlace<'_>,
        lsn: u64,
    ) -> Result<Option<(Before, u64)>, Stop> {
        debug_assert!(lsn < self.last_lsn, "who sees all of a run does not ask it");
        let prefix = entry::row_prefix(row.tree, row.key);
        let mut start = Vec::with_capacity(prefix.len() + entry::LSN_BYTES);
        entry::encode_key(&prefix, lsn + 1, &mut start);
        let (mut position, mut next) = (Position::at(&start), Position::start());
        loop {
            let (found, goes_on) =
                self.tree.scan(pool, &position, Direction::Forward, &mut next, |leaf| {
                    let found = leaf.for_each(|key, value| {
                        if !key.starts_with(&prefix) {
                            return ControlFlow::Break(Ok(None));
                        }
                        let fault = PageFault::Structure("an entry of a run has an unknown form");
                        let entry = entry::decode(key, value);
                        let found = entry.map(|entry| (entry.image(), entry.lsn));
                        let damaged = Stop::Corrupt(CorruptPage { page: leaf.page(), fault });
                        ControlFlow::Break(found.map(Some).ok_or(damaged))
                    });
                    (found.break_value(), leaf.fence().is_some_and(|fence| fence.starts_with(&prefix)))
                })?;
            match found {
                Some(found) => return found,
                None if !goes_on => return Ok(None),
                None => std::mem::swap(&mut position, &mut next),
            }
        }
    }
}
