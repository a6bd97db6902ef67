//! Merging the history behind a long-lived snapshot, so that memory grows with the rows that changed and not
//! with the number of changes.
//!
//! Between two snapshots in use (or the newest of them and now) nobody can tell the commits apart: their
//! entries become one, each row is listed once, and the versions in between are dropped. It runs when the
//! history has doubled, so its cost per change is constant, and when the history exceeds its share of memory: what
//! is too much then goes to runs (`runs`). It has a thread of its own, and so has the joining of runs: among the tasks of
//! busy sessions it would take a turn for every few rows, and fall behind. Where it falls behind all the same, committers
//! wait a little.

use crate::EngineError;
use crate::engine::Engine;
use crate::row_table::{Before, Thinned};
use crate::runs::Pacer;
use crate::storage::record::stub_of;
use crate::versions::history::Committed;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Committers begin to wait when the versions in memory are so many times their budget,
const SLOW_DOWN_FROM: u64 = 2;
/// and so long, at so many times the budget and beyond.
const SLOW_DOWN_US_MAX: u64 = 20_000;
const SLOW_DOWN_FULL: u64 = 4;
const _: () = assert!(SLOW_DOWN_FROM < SLOW_DOWN_FULL, "waits become longer, then as long as they may be");

/// Shorter histories are left alone.
pub(crate) const MERGE_ROWS_MIN: usize = 64 << 10;

/// Rows between two yields.
const ROWS_PER_TURN: usize = 128;

/// What a row of merged history takes in memory besides its key and its images: its name, its entry in the row table with
/// one version, and its place in the list.
pub(crate) const MERGED_ROW_BYTES: u64 = 280;

impl Engine {
    /// Keeps a committer whose commit is durable in proportion to what could not be moved to runs yet, so that memory stays
    /// bounded.
    pub(crate) async fn slow_down_for(&self, version_bytes: u64) {
        let wait_us = slow_down_us(version_bytes, self.budgets.version_bytes());
        if wait_us > 0 && !self.life.closed.load(Ordering::Acquire) {
            let since_us = self.env.clock.now_us();
            env::begin_wait(env::WaitCause::Versions, || None);
            self.env.clock.sleep(wait_us).await;
            let time_us = self.stats.version_wait.end(&*self.env.clock, since_us);
            env::note_wait(env::WaitCause::Versions, time_us);
        }
    }

    /// Answers how many bytes the history is long.
    pub(crate) fn merge_history_if_long(self: &Arc<Self>) -> u64 {
        let (rows, bytes) = self.history_size();
        let is_long = rows >= self.versions.upkeep.merge_at_rows.load(Ordering::Relaxed)
            || bytes
                >= self
                    .budgets
                    .version_bytes()
                    .max(self.versions.upkeep.merge_at_bytes.load(Ordering::Relaxed));
        if !is_long || self.versions.upkeep.merges.swap(true, Ordering::AcqRel) {
            return bytes;
        }
        self.spawn_dedicated("merge history", |engine| async move {
            let merged = engine.merge_history().await;
            let was_merging = engine.versions.upkeep.merges.swap(false, Ordering::AcqRel);
            debug_assert!(was_merging, "one merge at a time");
            engine.prune_backlog();
            merged
        });
        bytes
    }

    pub(crate) fn history_size(&self) -> (usize, u64) {
        let history = self.versions.history.lock();
        (history.row_count(), history.bytes())
    }

    pub(crate) async fn merge_history(self: &Arc<Self>) -> Result<(), EngineError> {
        let (snapshots, visible_lsn) = self.versions.snapshots.list(|| self.visible_lsn());
        let taken = self.versions.history.lock().take_through(visible_lsn);
        let mut chains = Vec::new();
        let mut pacer = Pacer::moving(self);
        let mut merged = self.thin_all(taken, &snapshots, visible_lsn, &mut chains, &mut pacer).await;
        let moved = self.move_to_runs(&mut merged, &mut pacer).await;
        let rows: usize = merged.iter().map(|part| part.rows.len()).sum();
        let bytes: u64 = merged.iter().map(|part| part.bytes).sum();
        self.versions.upkeep.merge_at_rows.store((2 * rows).max(MERGE_ROWS_MIN), Ordering::Relaxed);
        // More than a quarter of the budget stays only when it could not be moved: then it may take a while.
        self.versions.upkeep.merge_at_bytes.store(2 * bytes, Ordering::Relaxed);
        self.versions.history.lock().put_back(merged);
        self.free_chains(chains).await?;
        self.compact_in_background();
        moved
    }

    async fn thin_all(
        &self,
        taken: VecDeque<Committed>,
        snapshots: &[u64],
        visible_lsn: u64,
        chains: &mut Vec<u64>,
        pacer: &mut Pacer<'_>,
    ) -> VecDeque<Committed> {
        let keeps_voids = self.versions.snapshots.has_strict();
        let mut merged = VecDeque::new();
        let mut rows = HashMap::with_hasher(self.rows.hasher());
        let mut entries = taken.into_iter().peekable();
        let (mut turn, mut group_born_lsn) = (0, u64::MAX);
        while let Some(Committed { lsn, rows: more, born_lsn, .. }) = entries.next() {
            turn += more.len();
            group_born_lsn = group_born_lsn.min(born_lsn);
            for (name, may_be_ghost) in more {
                *rows.entry(name).or_default() |= may_be_ghost;
            }
            if entries.peek().is_none_or(|next| is_between(snapshots, lsn, next.lsn)) {
                let mut kept = Vec::new();
                let mut bytes = 0;
                for (row, (name, may_be_ghost)) in rows.drain().enumerate() {
                    let thinned = self.rows.thin(&name, snapshots, visible_lsn, keeps_voids);
                    chains.extend(thinned.dropped.iter().filter_map(chain_of));
                    match thinned {
                        Thinned { is_empty: true, .. } if may_be_ghost => self.remove_ghost(&name),
                        Thinned { is_empty: true, .. } => {}
                        Thinned { image_bytes, .. } => {
                            bytes += MERGED_ROW_BYTES + (name.key.len() + image_bytes) as u64;
                            kept.push((name, may_be_ghost));
                        }
                    }
                    if row.is_multiple_of(ROWS_PER_TURN) {
                        pacer.turn().await;
                    }
                }
                let born_lsn = std::mem::replace(&mut group_born_lsn, u64::MAX);
                merged.push_back(Committed { lsn, born_lsn, bytes, state: None, rows: kept });
            }
            if turn > ROWS_PER_TURN {
                turn = 0;
                pacer.turn().await;
            }
        }
        debug_assert!(
            merged.iter().is_sorted_by_key(|part| part.lsn),
            "the history is in the order of commits"
        );
        merged
    }
}

/// The overflow chain that an image owns.
pub(crate) fn chain_of(image: &Before) -> Option<u64> {
    match image {
        Before::Record(record) => stub_of(record).map(|stub| stub.first.0),
        Before::Absent => None,
    }
}

/// How long a committer waits while versions take so many bytes.
fn slow_down_us(bytes: u64, budget: u64) -> u64 {
    let excess = bytes.saturating_sub(SLOW_DOWN_FROM * budget);
    let full = (SLOW_DOWN_FULL - SLOW_DOWN_FROM) * budget;
    SLOW_DOWN_US_MAX * excess.min(full) / full.max(1)
}

/// Some snapshot sees the commit at `older` and not the one at `newer`.
fn is_between(snapshots: &[u64], older: u64, newer: u64) -> bool {
    debug_assert!(older < newer && snapshots.is_sorted(), "they are in order");
    let first = snapshots.partition_point(|snapshot| *snapshot < older);
    snapshots.get(first).is_some_and(|snapshot| *snapshot < newer)
}

#[cfg(test)]
mod tests {
    use crate::versions::merge::*;

    #[test]
    fn committers_wait_longer_the_more_there_is_to_move() {
        let waits: Vec<u64> = (0..7).map(|times| slow_down_us(times * 1000, 1000)).collect();
        assert_eq!(waits, [0, 0, 0, 10_000, 20_000, 20_000, 20_000]);
        assert_eq!(slow_down_us(u64::MAX / SLOW_DOWN_US_MAX, 0), 0);
    }
}
