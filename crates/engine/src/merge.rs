//! Merging the history behind a long-lived snapshot, so that memory grows with the rows that changed and not
//! with the number of changes.
//!
//! Between two snapshots in use (or the newest of them and now) nobody can tell the commits apart: their
//! entries become one, each row is listed once, and the versions in between are dropped. It runs when the
//! history has doubled, so its cost per change is constant.

use crate::EngineError;
use crate::engine::Engine;
use crate::history::Committed;
use crate::record::stub_of;
use crate::row_table::{Before, RowName};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Shorter histories are left alone.
pub(crate) const MERGE_ROWS_MIN: usize = 64 << 10;

/// Rows between two yields.
const ROWS_PER_TURN: usize = 1024;

impl Engine {
    pub(crate) fn merge_history_if_long(self: &Arc<Self>, row_count: usize) {
        if row_count < self.merge_at_rows.load(Ordering::Relaxed)
            || self.merge_running.swap(true, Ordering::AcqRel)
        {
            return;
        }
        self.spawn("merge history", |engine| async move {
            let merged = engine.merge_history().await;
            let rows = engine.history.lock().row_count();
            engine.merge_at_rows.store((2 * rows).max(MERGE_ROWS_MIN), Ordering::Relaxed);
            engine.merge_running.store(false, Ordering::Release);
            merged
        });
    }

    pub(crate) async fn merge_history(&self) -> Result<(), EngineError> {
        let (snapshots, visible_lsn) = self.snapshots.list(|| self.visible_lsn());
        let taken = self.history.lock().take_through(visible_lsn);
        let mut merged = VecDeque::new();
        let mut chains = Vec::new();
        let mut rows: HashMap<RowName, bool> = HashMap::new();
        let mut entries = taken.into_iter().peekable();
        let mut turn = 0;
        while let Some(Committed { lsn, rows: more, .. }) = entries.next() {
            turn += more.len();
            for (name, may_be_ghost) in more {
                *rows.entry(name).or_default() |= may_be_ghost;
            }
            if entries.peek().is_none_or(|next| is_between(&snapshots, lsn, next.lsn)) {
                for name in rows.keys() {
                    chains.extend(self.thin(name, &snapshots, visible_lsn));
                }
                merged.push_back(Committed { lsn, state: None, rows: rows.drain().collect() });
            }
            if turn > ROWS_PER_TURN {
                turn = 0;
                env::yield_now().await;
            }
        }
        self.history.lock().put_back(merged);
        self.free_chains(chains).await
    }

    fn thin(&self, name: &RowName, snapshots: &[u64], visible_lsn: u64) -> Vec<u64> {
        let dropped = self.rows.thin(name, snapshots, visible_lsn);
        let stubs = dropped.iter().filter_map(|before| match before {
            Before::Record(record) => stub_of(record),
            Before::Absent => None,
        });
        stubs.map(|stub| stub.first.0).collect()
    }
}

/// Some snapshot sees the commit at `older` and not the one at `newer`.
fn is_between(snapshots: &[u64], older: u64, newer: u64) -> bool {
    let first = snapshots.partition_point(|snapshot| *snapshot < older);
    snapshots.get(first).is_some_and(|snapshot| *snapshot < newer)
}
