//! Looking for a row's versions and locks wherever they are: in memory, in spills, in runs (`runs::lookup`).
//!
//! Invariant: everything here runs under the latch of the row's leaf, and looks into memory before spills and runs; what
//! takes a lock passes on the row table's number of moves, read before the spills were asked. A missing page of a
//! spill is a `Stop` like any other.

use super::entry::{self, Undo};
use super::{PassedSpills, Spill, Spills};
use crate::engine::Engine;
use crate::row_table::{Attempt, Before, Unseen, Visible};
use crate::transactions::transaction_state::TransactionState;
use crate::{EngineError, LockMode, TreeId};
use btree::{Direction, Position};
use buffer::{BufferPool, Stop};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The place of a transaction that has not committed in the order of commits: it comes last.
const STILL_RUNS: u64 = u64::MAX;

/// Spills in the order in which they are asked, each with its commit. Mostly there are few.
type InOrder<'a> = SmallVec<[(u64, &'a Arc<Spill>); 4]>;

/// Where a row is and what its page says of it.
#[derive(Clone, Copy)]
pub(crate) struct RowPlace<'a> {
    pub tree: TreeId,
    pub key: &'a [u8],
    /// Of the row's leaf.
    pub page_lsn: u64,
}

impl Engine {
    /// Which version of a row a snapshot sees, as `RowTable::visible`, wherever the versions are. `passed` stays with the caller
    /// from try to try.
    pub(crate) fn visible<R>(
        &self,
        row: RowPlace<'_>,
        snapshot_lsn: u64,
        me: Option<&Arc<TransactionState>>,
        passed: &PassedSpills,
        read: impl FnOnce(Visible<'_>) -> R,
    ) -> Result<R, Stop> {
        let mut read = Some(read);
        let in_memory = self.rows.visible(row.tree, row.key, snapshot_lsn, me, |visible| {
            // Asked only now: a version that is not in memory any more is in a spill that can be seen.
            let is_elsewhere = self.spills.may_have(row.tree, row.key, row.page_lsn);
            if is_elsewhere || self.runs.concern(snapshot_lsn) {
                return None;
            }
            read.take().map(|read| read(visible))
        });
        if let Some(done) = in_memory {
            return Ok(done);
        }
        let before = self.oldest_unseen(row, snapshot_lsn, me, passed)?;
        let read = read.take().expect("it was not used");
        Ok(read(before.as_ref().map_or(Visible::Page, Visible::Before)))
    }

    fn oldest_unseen(
        &self,
        row: RowPlace<'_>,
        snapshot_lsn: u64,
        me: Option<&Arc<TransactionState>>,
        passed: &PassedSpills,
    ) -> Result<Option<Before>, Stop> {
        let mut oldest = match self.rows.oldest_unseen(row.tree, row.key, snapshot_lsn, me) {
            Unseen::Before(before, order) => Some((before, order)),
            Unseen::None => None,
            // Also of others' older changes that the snapshot does not see, wherever they are.
            Unseen::Own => return Ok(None),
        };
        if let Some(own) = me.and_then(|me| me.spill())
            && own.has_change(&self.pool, row)?
        {
            return Ok(None);
        }
        if let Some((before, lsn)) = self.oldest_unseen_in_runs(row, snapshot_lsn)?
            && oldest.as_ref().is_none_or(|(_, known)| lsn < *known)
        {
            oldest = Some((before, lsn));
        }
        let spills = self.spills.live.read();
        let unseen = spills.iter().filter_map(|spill| {
            let is_own = me.is_some_and(|me| Arc::ptr_eq(me, &spill.owner));
            let committed_at = spill.owner.committed_at();
            let is_unseen = committed_at.is_none_or(|lsn| lsn > snapshot_lsn);
            // What a transaction has spilled is older than what it has in memory.
            let order = committed_at.unwrap_or(STILL_RUNS);
            let is_older = oldest.as_ref().is_none_or(|(_, known)| order <= *known);
            (!is_own && is_unseen && is_older).then_some((order, spill))
        });
        let mut unseen: InOrder<'_> = unseen.collect();
        unseen.sort_unstable_by_key(|(order, _)| *order);
        let in_spills = self.first_change(row, &unseen, passed)?;
        Ok(in_spills.or(oldest).map(|(before, _)| before))
    }

    /// The change of the row in the first of the spills that has one.
    fn first_change(
        &self,
        row: RowPlace<'_>,
        spills: &[(u64, &Arc<Spill>)],
        passed: &PassedSpills,
    ) -> Result<Option<(Before, u64)>, Stop> {
        for (index, (order, spill)) in spills.iter().enumerate() {
            if passed.has(row, spill) {
                continue;
            }
            match spill.oldest_before(&self.pool, row) {
                Ok(None) => {}
                Ok(Some(before)) => return Ok(Some((before, *order))),
                Err(stop) => {
                    // The commits were asked for before any look: nothing has come to these spills since.
                    let asked = spills[..index].iter().filter(|(order, _)| *order != STILL_RUNS);
                    passed.add(row, asked.map(|(_, spill)| spill.id()));
                    return Err(stop);
                }
            }
        }
        Ok(None)
    }

    /// When the row's newest committed version was committed, wherever it is. Exact if that was later than `limit`; else the
    /// answer says no more than that it was not, because spills are asked for later ones only.
    pub(crate) fn newest_commit(
        &self,
        me: &TransactionState,
        row: RowPlace<'_>,
        limit: u64,
    ) -> Result<u64, Stop> {
        // In this order: a version that is not in memory any more is in a spill that can be seen.
        let in_memory = self.rows.newest_commit(row.tree, row.key);
        Ok(in_memory.max(self.newest_moved_commit(me, row, limit)?))
    }

    /// The same of spills and runs alone.
    fn newest_moved_commit(&self, me: &TransactionState, row: RowPlace<'_>, limit: u64) -> Result<u64, Stop> {
        if self.versions.snapshots.is_expired(limit) {
            // Commits that the limit is about may be forgotten.
            return Ok(u64::MAX);
        }
        Ok(self.newest_spilled_commit(me, row, limit)?.max(self.newest_commit_in_runs(row, limit)?))
    }

    /// The same of the spills alone.
    fn newest_spilled_commit(
        &self,
        me: &TransactionState,
        row: RowPlace<'_>,
        limit: u64,
    ) -> Result<u64, Stop> {
        let bound = self.spills.newest_commit(row.tree, row.key, row.page_lsn);
        if bound <= limit {
            return Ok(bound);
        }
        let spills = self.spills.live.read();
        let committed = spills.iter().filter_map(|spill| Some((spill.owner.committed_at()?, spill)));
        let mut later: InOrder<'_> = committed.filter(|(at, _)| *at > limit).collect();
        later.sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
        Ok(self.first_change(row, &later, &me.passed_spills)?.map_or(0, |(_, at)| at))
    }

    /// The same without the pages of spills and runs, hence at times too late.
    pub(crate) fn newest_commit_bound(&self, row: RowPlace<'_>) -> u64 {
        let in_memory = self.rows.newest_commit(row.tree, row.key);
        let in_runs = if self.runs_may_have(row) { self.runs.newest_lsn() } else { 0 };
        in_memory.max(in_runs).max(self.spills.newest_commit(row.tree, row.key, row.page_lsn))
    }

    /// `RowTable::try_lock`, wherever the row's versions are. The newest commit is exact if it is later than
    /// `newest_allowed`.
    pub(crate) fn try_lock_row(
        &self,
        me: &Arc<TransactionState>,
        row: RowPlace<'_>,
        mode: LockMode,
        newest_allowed: u64,
    ) -> Result<Attempt, Stop> {
        let moves = self.rows.moves();
        self.show_moved_locks(me, row, mode)?;
        let attempt =
            env::coroutine::uncounted(|| self.rows.try_lock_unmoved(me, row.tree, row.key, mode, moves));
        let attempt = attempt.ok_or(Stop::Restart)?;
        Ok(match attempt {
            Attempt::Granted { newest_lsn } => {
                // After the lock was granted: nobody else can commit a change of the row from here on.
                let moved_lsn = self.newest_moved_commit(me, row, newest_allowed)?;
                Attempt::Granted { newest_lsn: newest_lsn.max(moved_lsn) }
            }
            Attempt::Conflict => Attempt::Conflict,
        })
    }

    /// The same for a row of a leaf that `me` has claimed for a run: a row without an entry gets none. `None`: it has one.
    pub(crate) fn lock_claimed_row(
        &self,
        me: &Arc<TransactionState>,
        row: RowPlace<'_>,
        newest_allowed: u64,
    ) -> Result<Option<u64>, Stop> {
        // In this order: what is not in memory any more is in a spill that can be seen.
        if self.rows.has_entry(row.tree, row.key) || self.spills.exist() {
            return Ok(None);
        }
        self.newest_moved_commit(me, row, newest_allowed).map(Some)
    }

    /// `RowTable::is_written_by_other`, wherever the row's versions are.
    pub(crate) fn is_written_by_other(
        &self,
        me: &Arc<TransactionState>,
        row: RowPlace<'_>,
    ) -> Result<bool, Stop> {
        if self.rows.is_written_by_other(me, row.tree, row.key) {
            return Ok(true);
        }
        let change = |spill: &Spill| Ok(spill.has_change(&self.pool, row)?.then_some(()));
        Ok(!self.spilled_by_others(me, change)?.is_empty())
    }

    /// Makes the locks that other transactions have on the row in their spills or by runs visible in the row table, if `me`
    /// cannot lock it in this mode beside them.
    pub(crate) fn show_moved_locks(
        &self,
        me: &Arc<TransactionState>,
        row: RowPlace<'_>,
        mode: LockMode,
    ) -> Result<(), Stop> {
        let lock = |spill: &Spill| {
            let held = spill.lock_on(&self.pool, row)?;
            Ok(held.filter(|held| (*held, mode) != (LockMode::Shared, LockMode::Shared)))
        };
        let by_runs = self.locks.row_runs.holders(me, row.tree, row.key, mode);
        let by_runs = by_runs.map_err(|_| Stop::Restart)?;
        for (owner, held) in self.spilled_by_others(me, lock)?.into_iter().chain(by_runs) {
            self.rows.hold_spilled(&owner, row.tree, row.key, held);
        }
        Ok(())
    }

    /// The other transactions that have not ended and in whose spills `look` finds something.
    fn spilled_by_others<R>(
        &self,
        me: &Arc<TransactionState>,
        look: impl Fn(&Spill) -> Result<Option<R>, Stop>,
    ) -> Result<Vec<(Arc<TransactionState>, R)>, Stop> {
        let mut found = Vec::new();
        if !self.spills.exist() {
            return Ok(found);
        }
        for spill in self.spills.live.read().iter() {
            let is_others = spill.owner.is_active() && !Arc::ptr_eq(&spill.owner, me);
            if is_others && let Some(result) = look(spill)? {
                found.push((spill.owner.clone(), result));
            }
        }
        Ok(found)
    }

    /// The trees whose rows have entries in a spill.
    pub(super) async fn trees_in_spill(&self, spill: &Spill) -> Result<BTreeSet<TreeId>, EngineError> {
        let mut trees = BTreeSet::new();
        let mut position = Position::at(&entry::row_prefix(entry::FIRST_TREE, &[]));
        while !position.is_end() {
            let mut next = Position::start();
            let first = self.pool.run(|| {
                spill.tree.scan(&self.pool, &position, Direction::Forward, &mut next, |leaf| {
                    let first = leaf.for_each(|key, _| ControlFlow::Break(entry::tree_of(key)));
                    first.break_value()
                })
            });
            position = match first.await.map_err(|error| self.tree_error(&spill.tree, error))? {
                Some(tree) => {
                    let tree = tree.ok_or_else(|| spill.damaged_entry())?;
                    trees.insert(tree);
                    Position::at(&entry::row_prefix(TreeId(tree.0 + 1), &[]))
                }
                None => next,
            };
        }
        Ok(trees)
    }

    /// True while an older version of a row may be needed that is neither in memory nor in the spill `except`, from which
    /// its newest one is undone: a ghost takes its place then. Look into memory before: versions move from there to runs.
    pub(crate) fn may_have_older_elsewhere(
        &self,
        except: Option<&Arc<Spill>>,
        tree: TreeId,
        key: &[u8],
    ) -> bool {
        self.spills.others_may_have(except, tree, key)
            || self.runs_may_have(RowPlace { tree, key, page_lsn: u64::MAX })
    }

    /// True while a version of the row may be needed, wherever it is: its ghost must stay.
    pub(crate) fn has_versions(&self, row: RowPlace<'_>) -> bool {
        self.rows.has_versions(row.tree, row.key)
            || self.spills.may_have(row.tree, row.key, row.page_lsn)
            || self.runs_may_have(row)
    }
}

impl Spills {
    /// True when a spill other than `except` may have versions of the row.
    fn others_may_have(&self, except: Option<&Arc<Spill>>, tree: TreeId, key: &[u8]) -> bool {
        let is_other = |spill: &&Arc<Spill>| except.is_none_or(|except| !Arc::ptr_eq(except, spill));
        self.exist()
            && self.live.read().iter().filter(is_other).any(|spill| spill.may_have(tree, key, u64::MAX))
    }
}

impl Spill {
    /// What the row was before the transaction changed it.
    fn oldest_before(&self, pool: &BufferPool, row: RowPlace<'_>) -> Result<Option<Before>, Stop> {
        self.find(pool, row, |undo| match undo {
            Undo::Row { operation: crate::log::log_record::Operation::Insert, .. } => Some(Before::Absent),
            Undo::Row { before, .. } => Some(Before::Record(before.into())),
            Undo::LockOnly | Undo::Locked(_) | Undo::Chain(_) => None,
        })
    }

    /// Whether the transaction has changed the row, and that is not undone.
    fn has_change(&self, pool: &BufferPool, row: RowPlace<'_>) -> Result<bool, Stop> {
        let change = self.find(pool, row, |undo| (!undo.is_lock()).then_some(()));
        Ok(change?.is_some())
    }

    /// How the transaction has locked the row, as far as entries say. Those of an earlier life lock what was changed.
    pub(super) fn lock_on(&self, pool: &BufferPool, row: RowPlace<'_>) -> Result<Option<LockMode>, Stop> {
        // Of several entries the first one is a change, which counts for more.
        let with_locks = self.with_locks.load(Ordering::Acquire);
        self.find(pool, row, |undo| match undo {
            Undo::Locked(mode) => with_locks.then_some(mode),
            Undo::LockOnly | Undo::Row { .. } | Undo::Chain(_) => Some(LockMode::Exclusive),
        })
    }

    /// The first entry of the row, oldest change first, that `choose` takes.
    fn find<R>(
        &self,
        pool: &BufferPool,
        row: RowPlace<'_>,
        choose: impl Fn(Undo<'_>) -> Option<R>,
    ) -> Result<Option<R>, Stop> {
        if !self.may_have(row.tree, row.key, row.page_lsn) {
            return Ok(None);
        }
        let prefix = entry::row_prefix(row.tree, row.key);
        let (mut position, mut next) = (Position::at(&prefix), Position::start());
        loop {
            let (found, goes_on) =
                self.tree.scan(pool, &position, Direction::Forward, &mut next, |leaf| {
                    let found = leaf.for_each(|key, value| {
                        if !key.starts_with(&prefix) {
                            return ControlFlow::Break(None);
                        }
                        let chosen = entry::decode(key, value).and_then(|entry| choose(entry.undo));
                        if chosen.is_some() { ControlFlow::Break(chosen) } else { ControlFlow::Continue(()) }
                    });
                    (found.break_value(), leaf.fence().is_some_and(|fence| fence.starts_with(&prefix)))
                })?;
            match found {
                Some(found) => return Ok(found),
                None if !goes_on => return Ok(None),
                None => std::mem::swap(&mut position, &mut next),
            }
        }
    }
}
