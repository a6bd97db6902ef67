//! The row table: one sharded hash in memory from (tree, full key) to the row's version chain and its locks.
//!
//! Invariants: a chain's newest entry with an active writer is that writer's exclusive lock; an entry exists
//! only while it has versions, holders or waiters. Lock order: leaf latch, then one shard, then a
//! transaction's list of held locks or a wait cell; nothing here takes a latch or a second shard.
//!
//! Writers add a version before they change the page and remove it after they have restored the page, so a
//! reader that looks up the chain while it holds the leaf latch always finds what it needs.

mod chain;
mod lock;
mod name;
mod queue;
#[cfg(test)]
mod tests;

pub(crate) use chain::{Before, Ended, Thinned, Unseen, Visible};
pub(crate) use lock::{Attempt, Enqueued, LockAfterUndo};
pub(crate) use name::RowName;

use crate::transaction_state::TransactionState;
use crate::{LockMode, TreeId};
use chain::VersionChain;
use foldhash::fast::FixedState;
use lock::LockState;
use name::{NameParts, NameRef};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const SHARD_COUNT: usize = 256;
const COUNTS_PER_SHARD: usize = 16;

/// A shard that a large transaction has blown up shrinks again to room for this many rows.
const SHARD_ROWS_KEPT: usize = 64;

type Rows = HashMap<RowName, RowEntry, FixedState>;

/// Everything known in memory about one row.
#[derive(Default)]
pub(crate) struct RowEntry {
    versions: VersionChain,
    lock: Option<Box<LockState>>,
}

struct Shard {
    rows: Mutex<Rows>,
    /// How many rows have an entry, by some bits of their hash: a zero spares readers the mutex. A version is
    /// counted before its page changes, and readers look under the page's latch, so they cannot miss it.
    counts: [AtomicU32; COUNTS_PER_SHARD],
}

/// Where a row's entry is or would be.
struct Place<'a> {
    rows: &'a Mutex<Rows>,
    count: &'a AtomicU32,
}

impl Place<'_> {
    fn is_surely_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    fn count_added(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    fn count_removed(&self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

pub(crate) struct RowTable {
    shards: Box<[Shard]>,
    hasher: FixedState,
    /// How often versions have moved from here to a spill.
    moves: AtomicU64,
}

/// The result of asking to write a row.
pub(crate) enum Prepared {
    /// The version is in the chain; the page may be changed.
    Ready(RowName),
    /// Another transaction has the row.
    Conflict,
    /// Versions have moved to a spill since it was asked.
    Moved,
}

/// What pruning a row's chain found.
pub(crate) struct Pruned {
    /// Before-images that nobody can see any more; some own overflow pages.
    pub dropped: Vec<Before>,
    /// No versions remain: a ghost of this key may be removed from its page.
    pub is_empty: bool,
}

impl RowTable {
    pub fn new(seed: u64) -> RowTable {
        let hasher = FixedState::with_seed(seed);
        let shard = || Shard {
            rows: Mutex::new(HashMap::with_hasher(FixedState::with_seed(seed.rotate_left(17)))),
            counts: [const { AtomicU32::new(0) }; COUNTS_PER_SHARD],
        };
        RowTable { shards: (0..SHARD_COUNT).map(|_| shard()).collect(), hasher, moves: AtomicU64::new(0) }
    }

    fn shard(&self, tree: TreeId, key: &[u8]) -> Place<'_> {
        let hash = self.hasher.hash_one((tree.0, key));
        let shard = &self.shards[(hash >> 32) as usize % SHARD_COUNT];
        Place { rows: &shard.rows, count: &shard.counts[(hash >> 16) as usize % COUNTS_PER_SHARD] }
    }

    /// For maps by the names of rows: users cannot guess it, and with the same seed it is the same.
    pub fn hasher(&self) -> FixedState {
        self.hasher.clone()
    }

    /// How many rows have an entry.
    pub fn len(&self) -> usize {
        let counts = self.shards.iter().flat_map(|shard| &shard.counts);
        counts.map(|count| count.load(Ordering::Relaxed) as usize).sum()
    }

    /// Who asks the spills whether a row is locked reads this first, and passes it on to what locks the row: that
    /// does nothing if a version may have left for a spill in between.
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Acquire)
    }

    /// Called when versions are in a spill, before they are taken from here.
    pub fn begin_move(&self) {
        self.moves.fetch_add(1, Ordering::AcqRel);
    }

    /// Adds a version for a write by `me`, unless another transaction has the row. `sequence` names the write
    /// within the transaction: asking again for the same write (a retried tree operation) changes nothing. `deletes`: it
    /// leaves no row.
    #[expect(clippy::too_many_arguments, reason = "all of them describe one write")]
    pub fn prepare_write(
        &self,
        me: &Arc<TransactionState>,
        tree: TreeId,
        key: &[u8],
        sequence: u64,
        moves: u64,
        before: impl FnOnce() -> Before,
        deletes: bool,
    ) -> Prepared {
        let shard = self.shard(tree, key);
        let mut rows = shard.rows.lock();
        if self.moves() != moves {
            return Prepared::Moved;
        }
        if let Some((name, _)) = rows.get_key_value(&NameRef { tree, key } as &dyn NameParts) {
            let name = name.clone();
            let entry = rows.get_mut(&name).expect("it was just found");
            if entry.conflicts_with_write(me) {
                return Prepared::Conflict;
            }
            if !entry.versions.newest_is(me, sequence) {
                entry.versions.push(me.clone(), sequence, before(), deletes);
            }
            return Prepared::Ready(name);
        }
        let name = RowName { tree, key: key.into() };
        let mut entry = RowEntry::default();
        entry.versions.push(me.clone(), sequence, before(), deletes);
        rows.insert(name.clone(), entry);
        shard.count_added();
        Prepared::Ready(name)
    }

    /// Removes the newest version, which `me` wrote as `sequence`, after the page was restored.
    pub fn pop_version(
        &self,
        me: &Arc<TransactionState>,
        name: &RowName,
        sequence: u64,
        lock: LockAfterUndo,
    ) {
        self.change(name, |entry| {
            assert!(entry.versions.newest_is(me, sequence), "a rollback undoes the newest version");
            entry.versions.pop();
            match lock {
                LockAfterUndo::Kept => {
                    entry.lock_mut().hold(me, LockMode::Exclusive, name);
                }
                LockAfterUndo::Freed => entry.free_written(me, name),
                LockAfterUndo::UntilEnd => {}
            }
        });
    }

    /// The state of the row before the newest version, which `me` wrote: (image, versions remain after it).
    pub fn newest_before(&self, me: &Arc<TransactionState>, name: &RowName, sequence: u64) -> (Before, bool) {
        let shard = self.shard(name.tree, &name.key);
        let rows = shard.rows.lock();
        let entry = rows.get(name).expect("a row that a transaction changed has an entry");
        assert!(entry.versions.newest_is(me, sequence), "a rollback undoes the newest version");
        (entry.versions.newest_before().clone(), entry.versions.len() > 1)
    }

    /// The row before the version that `writer` wrote as `sequence`.
    pub fn before(&self, writer: &Arc<TransactionState>, name: &RowName, sequence: u64) -> Before {
        let shard = self.shard(name.tree, &name.key);
        let rows = shard.rows.lock();
        let entry = rows.get(name).expect("a row that a transaction changed has an entry");
        entry.versions.before(writer, sequence).expect("a change on the undo stack has a version").clone()
    }

    /// Which version a snapshot sees. `read` gets the before-image when it is not the page's own.
    /// Call it under the leaf latch.
    pub fn visible<R>(
        &self,
        tree: TreeId,
        key: &[u8],
        snapshot_lsn: u64,
        me: Option<&Arc<TransactionState>>,
        read: impl FnOnce(Visible<'_>) -> R,
    ) -> R {
        let shard = self.shard(tree, key);
        if shard.is_surely_empty() {
            return read(Visible::Page);
        }
        let rows = shard.rows.lock();
        match rows.get(&NameRef { tree, key } as &dyn NameParts) {
            Some(entry) => read(entry.versions.visible(snapshot_lsn, me)),
            None => {
                drop(rows);
                read(Visible::Page)
            }
        }
    }

    /// The same for a reader who looks into spills and runs as well.
    pub fn oldest_unseen(
        &self,
        tree: TreeId,
        key: &[u8],
        snapshot_lsn: u64,
        me: Option<&Arc<TransactionState>>,
    ) -> Unseen<Before> {
        let shard = self.shard(tree, key);
        let rows = shard.rows.lock();
        let Some(entry) = rows.get(&NameRef { tree, key } as &dyn NameParts) else { return Unseen::None };
        match entry.versions.oldest_unseen(snapshot_lsn, me) {
            Unseen::Before(before, order) => Unseen::Before(before.clone(), order),
            Unseen::Own => Unseen::Own,
            Unseen::None => Unseen::None,
        }
    }

    /// True while another transaction has changed the row and not ended.
    pub fn is_written_by_other(&self, me: &Arc<TransactionState>, tree: TreeId, key: &[u8]) -> bool {
        let shard = self.shard(tree, key);
        if shard.is_surely_empty() {
            return false;
        }
        let rows = shard.rows.lock();
        let entry = rows.get(&NameRef { tree, key } as &dyn NameParts);
        let writer = entry.and_then(|entry| entry.versions.active_writer());
        writer.is_some_and(|writer| !Arc::ptr_eq(writer, me))
    }

    /// When the row's newest committed version was committed; 0 when it is older than every snapshot.
    pub fn newest_commit(&self, tree: TreeId, key: &[u8]) -> u64 {
        let shard = self.shard(tree, key);
        if shard.is_surely_empty() {
            return 0;
        }
        let rows = shard.rows.lock();
        let entry = rows.get(&NameRef { tree, key } as &dyn NameParts);
        entry.map_or(0, |entry| entry.versions.newest_commit_lsn())
    }

    /// Takes the lock if nobody is in the way. Call it under the leaf latch, and trust the page's record
    /// only after `Granted`.
    pub fn try_lock(&self, me: &Arc<TransactionState>, tree: TreeId, key: &[u8], mode: LockMode) -> Attempt {
        loop {
            if let Some(attempt) = self.try_lock_unmoved(me, tree, key, mode, self.moves()) {
                return attempt;
            }
        }
    }

    /// The same for rows that may be in a spill: see `moves`. `None`: ask the spills again.
    pub fn try_lock_unmoved(
        &self,
        me: &Arc<TransactionState>,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
        moves: u64,
    ) -> Option<Attempt> {
        let shard = self.shard(tree, key);
        let mut rows = shard.rows.lock();
        if self.moves() != moves {
            return None;
        }
        if let Some((name, _)) = rows.get_key_value(&NameRef { tree, key } as &dyn NameParts) {
            let name = name.clone();
            return Some(rows.get_mut(&name).expect("it was just found").try_lock(me, &name, mode));
        }
        let name = RowName { tree, key: key.into() };
        let mut entry = RowEntry::default();
        let attempt = entry.try_lock(me, &name, mode);
        rows.insert(name, entry);
        shard.count_added();
        Some(attempt)
    }

    /// Takes the lock or joins its queue.
    #[cfg(test)]
    pub fn enqueue(
        &self,
        me: &Arc<TransactionState>,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
    ) -> (RowName, Enqueued) {
        loop {
            if let Some(enqueued) = self.enqueue_unmoved(me, tree, key, mode, self.moves()) {
                return enqueued;
            }
        }
    }

    /// The same for rows that may be in a spill: see `moves`. `None`: try from the start.
    pub fn enqueue_unmoved(
        &self,
        me: &Arc<TransactionState>,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
        moves: u64,
    ) -> Option<(RowName, Enqueued)> {
        let name = RowName { tree, key: key.into() };
        let shard = self.shard(tree, key);
        let mut rows = shard.rows.lock();
        if self.moves() != moves {
            return None;
        }
        let before = rows.len();
        let entry = rows.entry(name.clone()).or_default();
        let enqueued = entry.enqueue(me, &name, mode);
        if rows.len() > before {
            shard.count_added();
        }
        Some((name, enqueued))
    }

    /// Makes the lock of a row explicit that `owner` has in its spill, for others to wait for. Does nothing when
    /// the owner has ended.
    pub fn hold_spilled(&self, owner: &Arc<TransactionState>, tree: TreeId, key: &[u8], mode: LockMode) {
        let name = RowName { tree, key: key.into() };
        let shard = self.shard(tree, key);
        let mut rows = shard.rows.lock();
        let before = rows.len();
        let entry = rows.entry(name.clone()).or_default();
        entry.lock_mut().hold(owner, mode, &name);
        if entry.is_disposable() {
            rows.remove(&name);
        } else if rows.len() > before {
            shard.count_added();
        }
    }

    /// Forgets a version, and the writer's explicit lock if nobody waits for it: both are in the writer's spill.
    pub fn forget_spilled(&self, writer: &Arc<TransactionState>, name: &RowName, sequence: u64) {
        self.change(name, |entry| {
            entry.versions.remove(writer, sequence);
            entry.give_up_unwaited(writer);
        });
    }

    /// Gives up a wait that nobody has granted; false when the lock was granted meanwhile.
    pub fn cancel(&self, name: &RowName, cell: &Arc<crate::wait::WaitCell>) {
        self.change(name, |entry| entry.cancel(cell, name));
    }

    /// Releases the explicit lock of a transaction and hands it to whoever waits.
    pub fn release(&self, me: &Arc<TransactionState>, name: &RowName) {
        self.change(name, |entry| entry.release(me, name));
    }

    /// The transactions that keep `me` from the lock it waits for.
    pub fn blockers(&self, me: &Arc<TransactionState>, name: &RowName) -> Vec<Arc<TransactionState>> {
        let shard = self.shard(name.tree, &name.key);
        let rows = shard.rows.lock();
        rows.get(name).map_or_else(Vec::new, |entry| entry.blockers(me))
    }

    /// How `holder` has locked a row explicitly.
    pub fn held_mode(&self, holder: &Arc<TransactionState>, name: &RowName) -> Option<LockMode> {
        let shard = self.shard(name.tree, &name.key);
        let rows = shard.rows.lock();
        rows.get(name).and_then(|entry| entry.held_mode(holder))
    }

    /// How `me` has locked a row that it has not changed, if nobody waits for that lock.
    pub fn unwaited_lock(&self, me: &Arc<TransactionState>, name: &RowName) -> Option<LockMode> {
        let shard = self.shard(name.tree, &name.key);
        let rows = shard.rows.lock();
        rows.get(name).and_then(|entry| entry.unwaited_lock(me))
    }

    /// Forgets that lock, which is in the spill of `me` now, unless somebody has begun to wait for it.
    pub fn forget_spilled_lock(&self, me: &Arc<TransactionState>, name: &RowName) {
        self.change(name, |entry| entry.forget_unwaited_lock(me));
    }

    /// Drops the versions that every snapshot from `horizon_lsn` on does not need.
    pub fn prune(&self, name: &RowName, horizon_lsn: u64) -> Pruned {
        let mut pruned = Pruned { dropped: Vec::new(), is_empty: true };
        self.change(name, |entry| {
            pruned.dropped = entry.versions.prune(horizon_lsn);
            pruned.is_empty = entry.versions.len() == 0;
        });
        pruned
    }

    /// Drops the versions between those that some snapshot needs: see `VersionChain::thin`.
    pub fn thin(&self, name: &RowName, snapshots: &[u64], visible_lsn: u64, keeps_voids: bool) -> Thinned {
        let mut thinned = Thinned { is_empty: true, ..Thinned::default() };
        self.change(name, |entry| thinned = entry.versions.thin(snapshots, visible_lsn, keeps_voids));
        thinned
    }

    /// Shows the versions that were committed at or before `lsn`, oldest first, each with its commit.
    pub fn each_committed(&self, name: &RowName, lsn: u64, show: impl FnMut(Ended<&Before>)) {
        let shard = self.shard(name.tree, &name.key);
        let rows = shard.rows.lock();
        let versions = rows.get(name).into_iter().flat_map(|entry| entry.versions.committed_through(lsn));
        versions.for_each(show);
    }

    /// Forgets those versions: they are in a run that can be seen.
    pub fn forget_moved(&self, name: &RowName, lsn: u64) {
        self.change(name, |entry| entry.versions.forget_through(lsn));
    }

    /// A number for the row in the filters of runs.
    pub fn hash(&self, tree: TreeId, key: &[u8]) -> u64 {
        self.hasher.hash_one((tree.0, key))
    }

    /// True while a version of the key may be needed: its ghost must stay in the page.
    pub fn has_versions(&self, tree: TreeId, key: &[u8]) -> bool {
        let shard = self.shard(tree, key);
        if shard.is_surely_empty() {
            return false;
        }
        let rows = shard.rows.lock();
        rows.get(&NameRef { tree, key } as &dyn NameParts).is_some_and(|entry| entry.versions.len() > 0)
    }

    /// Runs `change` on an existing entry and removes the entry when nothing remains in it.
    fn change(&self, name: &RowName, change: impl FnOnce(&mut RowEntry)) {
        let shard = self.shard(name.tree, &name.key);
        let mut rows: MutexGuard<'_, Rows> = shard.rows.lock();
        let Some(entry) = rows.get_mut(name) else { return };
        change(entry);
        if entry.is_disposable() {
            rows.remove(name);
            if rows.capacity() > SHARD_ROWS_KEPT && rows.len() < rows.capacity() / 16 {
                rows.shrink_to(SHARD_ROWS_KEPT);
            }
            shard.count_removed();
        }
    }
}
