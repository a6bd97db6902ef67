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
mod locking;
mod name;
mod queue;
#[cfg(test)]
mod tests;
mod upkeep;

pub(crate) use chain::{Before, Ended, Thinned, Unseen, Visible};
pub(crate) use lock::{Attempt, Enqueued, LockAfterUndo};
pub(crate) use name::RowName;

use crate::transactions::transaction_state::TransactionState;
use crate::{LockMode, TreeId};
use chain::VersionChain;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use lock::LockState;
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const SHARD_COUNT: usize = 256;
const COUNTS_PER_SHARD: usize = 16;

/// A shard that a large transaction has blown up shrinks again to room for this many rows.
const SHARD_ROWS_KEPT: usize = 64;

/// Everything known in memory about one row.
#[derive(Default)]
pub(crate) struct RowEntry {
    versions: VersionChain,
    lock: Option<Box<LockState>>,
}

struct Row {
    name: RowName,
    entry: RowEntry,
}

struct Shard {
    rows: Mutex<HashTable<Row>>,
    /// How many rows have an entry, by some bits of their hash: a zero spares readers the mutex. A version is
    /// counted before its page changes, and readers look under the page's latch, so they cannot miss it.
    counts: [AtomicU32; COUNTS_PER_SHARD],
}

/// Where a row's entry is or would be.
struct Place<'a> {
    tree: TreeId,
    key: &'a [u8],
    /// Of the name; the shard is chosen by it too.
    hash: u64,
    shard: &'a Shard,
}

impl Place<'_> {
    fn count(&self) -> &AtomicU32 {
        &self.shard.counts[(self.hash >> 16) as usize % COUNTS_PER_SHARD]
    }

    fn is_surely_empty(&self) -> bool {
        self.count().load(Ordering::Acquire) == 0
    }

    fn is_of(&self, row: &Row) -> bool {
        row.name.tree == self.tree && *row.name.key == *self.key
    }

    fn find<'r>(&self, rows: &'r HashTable<Row>) -> Option<&'r RowEntry> {
        rows.find(self.hash, |row| self.is_of(row)).map(|row| &row.entry)
    }

    /// The row, new if there is no entry of it yet; so its caller leaves something in it.
    fn find_or_add<'r>(&self, rows: &'r mut HashTable<Row>, table: &RowTable) -> &'r mut Row {
        match rows.entry(self.hash, |row| self.is_of(row), |row| table.hash(row.name.tree, &row.name.key)) {
            Entry::Occupied(present) => present.into_mut(),
            Entry::Vacant(vacant) => {
                self.count().fetch_add(1, Ordering::SeqCst);
                let name = RowName { tree: self.tree, key: self.key.into() };
                vacant.insert(Row { name, entry: RowEntry::default() }).into_mut()
            }
        }
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

impl RowTable {
    pub fn new(seed: u64) -> RowTable {
        let hasher = FixedState::with_seed(seed);
        let shard =
            || Shard { rows: Mutex::default(), counts: [const { AtomicU32::new(0) }; COUNTS_PER_SHARD] };
        RowTable { shards: (0..SHARD_COUNT).map(|_| shard()).collect(), hasher, moves: AtomicU64::new(0) }
    }

    fn place<'a>(&'a self, tree: TreeId, key: &'a [u8]) -> Place<'a> {
        let hash = self.hash(tree, key);
        Place { tree, key, hash, shard: &self.shards[(hash >> 32) as usize % SHARD_COUNT] }
    }

    fn place_of<'a>(&'a self, name: &'a RowName) -> Place<'a> {
        self.place(name.tree, &name.key)
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
        self.moves.load(Ordering::SeqCst)
    }

    /// Called when versions are in a spill, before they are taken from here, and when a scan has claimed rows, before it looks
    /// for their entries: whoever adds one and does not see the new number is seen by the scan. Answers the new number.
    pub fn begin_move(&self) -> u64 {
        self.moves.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether anything is known of the row.
    pub fn has_entry(&self, tree: TreeId, key: &[u8]) -> bool {
        let place = self.place(tree, key);
        if place.count().load(Ordering::SeqCst) == 0 {
            return false;
        }
        let rows = place.shard.rows.lock();
        place.find(&rows).is_some()
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
        let place = self.place(tree, key);
        let mut rows = place.shard.rows.lock();
        debug_assert!(me.is_active(), "who has ended changes nothing");
        if self.moves() != moves {
            return Prepared::Moved;
        }
        let Row { name, entry } = place.find_or_add(&mut rows, self);
        if entry.conflicts_with_write(me) {
            return Prepared::Conflict;
        }
        if !entry.versions.newest_is(me, sequence) {
            entry.versions.push(me.clone(), sequence, before(), deletes);
            entry.strengthen(me);
        }
        debug_assert!(entry.versions.newest_is(me, sequence), "a version is there before its page changes");
        Prepared::Ready(name.clone())
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
        let place = self.place_of(name);
        let rows = place.shard.rows.lock();
        let entry = place.find(&rows).expect("a row that a transaction changed has an entry");
        assert!(entry.versions.newest_is(me, sequence), "a rollback undoes the newest version");
        (entry.versions.newest_before().clone(), entry.versions.len() > 1)
    }

    /// The row before the version that `writer` wrote as `sequence`.
    pub fn before(&self, writer: &Arc<TransactionState>, name: &RowName, sequence: u64) -> Before {
        debug_assert!(writer.is_active(), "the changes of who has ended are no longer his");
        let place = self.place_of(name);
        let rows = place.shard.rows.lock();
        let entry = place.find(&rows).expect("a row that a transaction changed has an entry");
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
        let place = self.place(tree, key);
        if place.is_surely_empty() {
            return read(Visible::Page);
        }
        let rows = place.shard.rows.lock();
        match place.find(&rows) {
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
        let place = self.place(tree, key);
        let rows = place.shard.rows.lock();
        let Some(entry) = place.find(&rows) else { return Unseen::None };
        match entry.versions.oldest_unseen(snapshot_lsn, me) {
            Unseen::Before(before, order) => Unseen::Before(before.clone(), order),
            Unseen::Own => Unseen::Own,
            Unseen::None => Unseen::None,
        }
    }

    /// True while another transaction has changed the row and not ended.
    pub fn is_written_by_other(&self, me: &Arc<TransactionState>, tree: TreeId, key: &[u8]) -> bool {
        let place = self.place(tree, key);
        if place.is_surely_empty() {
            return false;
        }
        let rows = place.shard.rows.lock();
        let entry = place.find(&rows);
        let writer = entry.and_then(|entry| entry.versions.active_writer());
        writer.is_some_and(|writer| !Arc::ptr_eq(writer, me))
    }

    /// When the row's newest committed version was committed; 0 when it is older than every snapshot.
    pub fn newest_commit(&self, tree: TreeId, key: &[u8]) -> u64 {
        let place = self.place(tree, key);
        if place.is_surely_empty() {
            return 0;
        }
        let rows = place.shard.rows.lock();
        let entry = place.find(&rows);
        entry.map_or(0, |entry| entry.versions.newest_commit_lsn())
    }

    /// A number for the row in the filters of runs.
    pub fn hash(&self, tree: TreeId, key: &[u8]) -> u64 {
        self.hasher.hash_one((tree.0, key))
    }

    /// True while a version of the key may be needed: its ghost must stay in the page.
    pub fn has_versions(&self, tree: TreeId, key: &[u8]) -> bool {
        let place = self.place(tree, key);
        if place.is_surely_empty() {
            return false;
        }
        let rows = place.shard.rows.lock();
        place.find(&rows).is_some_and(|entry| entry.versions.len() > 0)
    }

    /// Runs `change` on an existing entry and removes the entry when nothing remains in it.
    fn change(&self, name: &RowName, change: impl FnOnce(&mut RowEntry)) {
        let place = self.place_of(name);
        let mut rows = place.shard.rows.lock();
        let Ok(mut row) = rows.find_entry(place.hash, |row| place.is_of(row)) else { return };
        change(&mut row.get_mut().entry);
        self.drop_if_empty(&place, &mut rows);
    }

    /// Removes the entry when nothing is in it.
    fn drop_if_empty(&self, place: &Place<'_>, rows: &mut HashTable<Row>) {
        let Ok(row) = rows.find_entry(place.hash, |row| place.is_of(row)) else { return };
        if row.get().entry.is_disposable() {
            row.remove();
            self.removed(place, rows);
        }
    }

    /// A row of the place's shard is gone.
    fn removed(&self, place: &Place<'_>, rows: &mut HashTable<Row>) {
        let before = place.count().fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before > 0, "each row with an entry is counted");
        if rows.capacity() > SHARD_ROWS_KEPT && rows.len() < rows.capacity() / 16 {
            rows.shrink_to(SHARD_ROWS_KEPT, |row| self.hash(row.name.tree, &row.name.key));
        }
    }
}
