//! What leaves the row table: versions and locks that are in a spill or a run, and versions that nobody needs.
//!
//! Invariant: what leaves is elsewhere by then, or no snapshot sees it. Called by `spill`, `runs` and `versions`.

use super::{Before, Ended, Row, RowName, RowTable, Thinned};
use crate::transactions::transaction_state::TransactionState;
use crate::{LockMode, TreeId};
use std::sync::Arc;

impl RowTable {
    /// Makes the lock of a row explicit that `owner` has in its spill, for others to wait for. Does nothing when
    /// the owner has ended.
    pub fn hold_spilled(&self, owner: &Arc<TransactionState>, tree: TreeId, key: &[u8], mode: LockMode) {
        let place = self.place(tree, key);
        let mut rows = place.shard.rows.lock();
        let Row { name, entry } = place.find_or_add(&mut rows, self);
        entry.lock_mut().hold(owner, mode, name);
        if entry.is_disposable()
            && let Ok(row) = rows.find_entry(place.hash, |row| place.is_of(row))
        {
            row.remove();
            self.removed(&place, &mut rows);
        }
    }

    /// Forgets a version, and the writer's explicit lock if nobody waits for it: both are in the writer's spill.
    pub fn forget_spilled(&self, writer: &Arc<TransactionState>, name: &RowName, sequence: u64) {
        self.change(name, |entry| {
            entry.versions.remove(writer, sequence);
            entry.give_up_unwaited(writer);
        });
    }

    /// How `me` has locked a row that it has not changed, if nobody waits for that lock.
    pub fn unwaited_lock(&self, me: &Arc<TransactionState>, name: &RowName) -> Option<LockMode> {
        let place = self.place_of(name);
        let rows = place.shard.rows.lock();
        place.find(&rows).and_then(|entry| entry.unwaited_lock(me))
    }

    /// Forgets that lock, which is in the spill of `me` now, unless somebody has begun to wait for it.
    pub fn forget_spilled_lock(&self, me: &Arc<TransactionState>, name: &RowName) {
        self.change(name, |entry| entry.forget_unwaited_lock(me));
    }

    /// Drops the versions that every snapshot from `horizon_lsn` on does not need; `dropped` is shown the images, of which
    /// some own overflow pages. True when no versions remain: a ghost of this key may be removed from its page.
    pub fn prune(&self, name: &RowName, horizon_lsn: u64, dropped: impl FnMut(&Before)) -> bool {
        let mut is_empty = true;
        self.change(name, |entry| {
            entry.versions.prune(horizon_lsn, dropped);
            is_empty = entry.versions.len() == 0;
        });
        is_empty
    }

    /// Drops the versions between those that some snapshot needs: see `VersionChain::thin`.
    pub fn thin(&self, name: &RowName, snapshots: &[u64], visible_lsn: u64, keeps_voids: bool) -> Thinned {
        let mut thinned = Thinned { is_empty: true, ..Thinned::default() };
        self.change(name, |entry| thinned = entry.versions.thin(snapshots, visible_lsn, keeps_voids));
        thinned
    }

    /// Shows the versions that were committed at or before `lsn`, oldest first, each with its commit.
    pub fn each_committed(&self, name: &RowName, lsn: u64, show: impl FnMut(Ended<&Before>)) {
        let place = self.place_of(name);
        let rows = place.shard.rows.lock();
        let versions = place.find(&rows).into_iter().flat_map(|entry| entry.versions.committed_through(lsn));
        versions.for_each(show);
    }

    /// Forgets those versions: they are in a run that can be seen.
    pub fn forget_moved(&self, name: &RowName, lsn: u64) {
        self.change(name, |entry| entry.versions.forget_through(lsn));
    }
}
