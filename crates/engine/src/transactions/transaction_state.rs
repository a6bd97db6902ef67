//! What the other transactions need to know of a transaction: is it still active, when did it commit, what
//! does it hold and what does it wait for.
//!
//! Invariant: `commit_lsn` moves once, from active to a commit LSN or to aborted; it is stamped under the
//! commit mutex, in the order of the log. After `held.ended` nobody adds to the list of held locks.

use crate::locks::wait::{WaitCell, WaitTarget};
use crate::row_table::RowName;
use crate::spill::{PassedSpills, Spill};
use crate::writes::undo_stack::{NumberedItem, UndoItem, UndoStack};
use crate::{Isolation, TreeId};
use pagestore::PageId;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names a transaction while it is active and in the log; restarts at a number above all in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId(pub u64);

/// About what an explicit lock takes in memory.
const LOCK_BYTES: u64 = 400;

const ACTIVE: u64 = 0;
const ABORTED: u64 = u64::MAX;

/// Shared by the transaction, the versions it wrote and the locks it holds.
pub(crate) struct TransactionState {
    pub id: TransactionId,
    /// The caller's number for whoever runs the transaction; 0 when nobody does.
    label: AtomicU64,
    pub isolation: Isolation,
    pub started_us: u64,
    /// `ACTIVE`, `ABORTED` or the LSN after which the commit record is durable.
    commit_lsn: AtomicU64,
    /// It has changed no page before this LSN.
    born_lsn: u64,
    /// No undo record of this transaction that counts lies before this LSN.
    first_lsn: AtomicU64,
    /// How much a rollback would have to undo; the deadlock detector spares the heavy.
    undo_bytes: AtomicU64,
    /// Changed by the owner alone, read by the checkpoint. A leaf lock, but for the row table's, which the checkpoint takes
    /// within it.
    undo: Mutex<UndoStack>,
    /// Where the older of its changes are, once there were too many for memory.
    spill: Mutex<Option<Arc<Spill>>>,
    /// For the look-ups of the owner alone.
    pub passed_spills: PassedSpills,
    /// The identifier of a prepared transaction. Changed under the commit mutex, with the record in the log.
    prepared: Mutex<Option<Arc<[u8]>>>,
    held: Mutex<Held>,
    /// A leaf lock like `held`; set by the waiting task itself.
    waiting: Mutex<Option<Waiting>>,
}

/// Most transactions lock one row.
pub(crate) type RowNames = SmallVec<[RowName; 1]>;

#[derive(Default)]
struct Held {
    names: RowNames,
    interval_trees: Vec<TreeId>,
    run_trees: Vec<TreeId>,
    /// How many rows runs were made of.
    run_rows: u64,
    ended: bool,
}

/// What a waiting transaction waits for.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub target: WaitTarget,
    pub cell: Arc<WaitCell>,
    pub since_us: u64,
}

/// Everything that has to be released when a transaction ends.
pub(crate) struct Released {
    pub names: RowNames,
    pub interval_trees: Vec<TreeId>,
    pub run_trees: Vec<TreeId>,
}

impl TransactionState {
    #[cfg(test)]
    pub fn new(id: TransactionId, isolation: Isolation, started_us: u64, first_lsn: u64) -> Arc<Self> {
        Self::labelled(id, 0, isolation, started_us, first_lsn)
    }

    pub fn labelled(
        id: TransactionId,
        label: u64,
        isolation: Isolation,
        started_us: u64,
        first_lsn: u64,
    ) -> Arc<Self> {
        Arc::new(TransactionState {
            id,
            label: AtomicU64::new(label),
            isolation,
            started_us,
            commit_lsn: AtomicU64::new(ACTIVE),
            born_lsn: first_lsn,
            first_lsn: AtomicU64::new(first_lsn),
            undo_bytes: AtomicU64::new(0),
            undo: Mutex::default(),
            spill: Mutex::default(),
            passed_spills: PassedSpills::default(),
            prepared: Mutex::default(),
            held: Mutex::default(),
            waiting: Mutex::new(None),
        })
    }

    /// The caller's number for whoever runs the transaction.
    pub fn label(&self) -> u64 {
        self.label.load(Ordering::Relaxed)
    }

    /// Its identifier, if it is prepared.
    pub fn prepared(&self) -> Option<Arc<[u8]>> {
        self.prepared.lock().clone()
    }

    /// From the first time on nobody in particular runs it.
    pub fn set_prepared(&self, xid: Option<Arc<[u8]>>) {
        debug_assert!(self.is_active(), "what has ended is decided");
        self.label.store(0, Ordering::Relaxed);
        *self.prepared.lock() = xid;
    }

    pub fn is_active(&self) -> bool {
        self.commit_lsn.load(Ordering::Acquire) == ACTIVE
    }

    /// The commit LSN, when it committed.
    pub fn committed_at(&self) -> Option<u64> {
        match self.commit_lsn.load(Ordering::Acquire) {
            ACTIVE | ABORTED => None,
            lsn => Some(lsn),
        }
    }

    pub fn is_visible_at(&self, snapshot_lsn: u64) -> bool {
        self.committed_at().is_some_and(|lsn| lsn <= snapshot_lsn)
    }

    /// Called under the commit mutex.
    pub fn stamp_committed(&self, lsn: u64) {
        assert!(lsn != ACTIVE && lsn != ABORTED, "not a commit LSN: {lsn}");
        debug_assert!(lsn >= self.born_lsn, "a commit comes after the first change");
        let before = self.commit_lsn.swap(lsn, Ordering::AcqRel);
        assert_eq!(before, ACTIVE, "a transaction ends once");
    }

    /// Called when every change is undone.
    pub fn stamp_aborted(&self) {
        let before = self.commit_lsn.swap(ABORTED, Ordering::AcqRel);
        assert_eq!(before, ACTIVE, "a transaction ends once");
    }

    /// Remembers a lock to release at the end; false when the transaction has already ended.
    pub fn remember_lock(&self, name: &RowName) -> bool {
        let mut held = self.held.lock();
        if !held.ended {
            held.names.push(name.clone());
        }
        !held.ended
    }

    /// Remembers that the transaction has an interval in `tree`.
    pub fn remember_interval(&self, tree: TreeId) {
        let mut held = self.held.lock();
        assert!(!held.ended, "an ended transaction scans nothing");
        if !held.interval_trees.contains(&tree) {
            held.interval_trees.push(tree);
        }
    }

    /// Remembers that the transaction has locked rows of `tree` by runs.
    pub fn remember_run(&self, tree: TreeId) {
        let mut held = self.held.lock();
        assert!(!held.ended, "an ended transaction scans nothing");
        debug_assert!(!held.run_trees.contains(&tree), "a tree is remembered with its first run");
        held.run_trees.push(tree);
    }

    /// So many rows more are locked by runs.
    pub fn count_run_rows(&self, rows: u64) {
        let mut held = self.held.lock();
        debug_assert!(!held.ended, "an ended transaction scans nothing");
        held.run_rows += rows;
    }

    /// How many rows are locked, explicitly or by runs.
    pub fn rows_locked(&self) -> u64 {
        let held = self.held.lock();
        held.names.len() as u64 + held.run_rows
    }

    /// The rows of the explicit locks.
    pub fn held_names(&self) -> Vec<RowName> {
        self.held.lock().names.to_vec()
    }

    /// How many explicit locks are held: a mark for `forget_lock_since`.
    pub fn held_count(&self) -> usize {
        self.held.lock().names.len()
    }

    /// Forgets a lock if it was taken at or after the mark; true when it was.
    pub fn forget_lock_since(&self, mark: usize, tree: TreeId, key: &[u8]) -> bool {
        let mut held = self.held.lock();
        let recent = held.names.iter().skip(mark).rposition(|name| name.tree == tree && *name.key == *key);
        match recent {
            Some(offset) => {
                held.names.swap_remove(mark + offset);
                true
            }
            None => false,
        }
    }

    /// Forgets the locks that `keep` does not want. Locks that others add meanwhile stay. Those that are left move to
    /// the front, so a mark taken before covers them as well or better: fewer are given back by it, never others.
    pub fn retain_locks(&self, keep: impl Fn(&RowName) -> bool) {
        // Without the mutex: `keep` looks into the row table, which is locked before it.
        let mut names = std::mem::take(&mut self.held.lock().names);
        names.retain(|name| keep(name));
        let mut held = self.held.lock();
        debug_assert!(!held.ended, "the names that were taken are still to be released");
        names.append(&mut held.names);
        if names.capacity() > names.len() * 2 {
            names.shrink_to_fit();
        }
        held.names = names;
    }

    /// Takes the list of the trees in which it has intervals.
    pub fn take_interval_trees(&self) -> Vec<TreeId> {
        std::mem::take(&mut self.held.lock().interval_trees)
    }

    /// Takes the list of everything held; nothing can be added any more.
    pub fn end(&self) -> Released {
        let mut held = self.held.lock();
        debug_assert!(!held.ended, "a transaction ends once");
        held.ended = true;
        Released {
            names: std::mem::take(&mut held.names),
            interval_trees: std::mem::take(&mut held.interval_trees),
            run_trees: std::mem::take(&mut held.run_trees),
        }
    }

    /// Fewest undo bytes and locks first: the cost of choosing this transaction as a deadlock victim.
    pub fn weight(&self) -> u64 {
        self.undo_bytes.load(Ordering::Relaxed) + self.rows_locked()
    }

    /// How many row locks others may be waiting for because of this transaction, implicit ones included.
    pub fn locks_held(&self) -> u64 {
        self.undo_len() + self.rows_locked()
    }

    pub fn born_lsn(&self) -> u64 {
        self.born_lsn
    }

    pub fn first_lsn(&self) -> u64 {
        self.first_lsn.load(Ordering::Acquire)
    }

    /// All its undo records are in the log at or after `lsn` again.
    pub fn undo_moved_to(&self, lsn: u64) {
        self.first_lsn.fetch_max(lsn, Ordering::AcqRel);
    }

    /// How many changes a rollback would undo.
    pub fn undo_len(&self) -> u64 {
        self.undo.lock().len()
    }

    /// What a rollback would undo in memory, and the versions that belong to it.
    pub fn undo_memory_bytes(&self) -> u64 {
        self.undo.lock().memory_bytes()
    }

    /// All that a spill could take out of memory: that, and explicit locks.
    pub fn memory_bytes(&self) -> u64 {
        self.undo_memory_bytes() + self.held_count() as u64 * LOCK_BYTES
    }

    pub fn undo_bytes(&self) -> u64 {
        self.undo_bytes.load(Ordering::Relaxed)
    }

    /// The number of the next change. Numbers are never used again, whatever is rolled back.
    pub fn next_sequence(&self) -> u64 {
        self.undo.lock().next_sequence()
    }

    /// Called right before the log record of a change, or of its undoing, is appended; the stack follows
    /// when `push_undo` or `pop_undo` is called, without an await in between.
    pub fn begin_step(&self) {
        debug_assert!(self.is_active(), "who has ended changes nothing");
        self.undo.lock().in_step = true;
    }

    pub fn push_undo(&self, item: UndoItem, bytes: usize) {
        debug_assert!(self.is_active(), "who has ended changes nothing");
        self.undo.lock().push(item, bytes);
        self.undo_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The same for a change of an earlier life, oldest first.
    pub fn adopt_undo(&self, sequence: u64, item: UndoItem, bytes: usize) {
        self.undo.lock().adopt(sequence, item, bytes);
        self.undo_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The newest item is a chain that begins here now; it is pushed when it is not there yet.
    pub fn set_chain(&self, sequence: u64, first: PageId) {
        self.undo.lock().set_chain(sequence, first);
    }

    /// The newest change in memory and its number.
    pub fn newest_undo(&self) -> Option<(u64, UndoItem)> {
        self.undo.lock().newest()
    }

    pub fn pop_undo(&self) {
        let bytes = self.undo.lock().pop();
        let before = self.undo_bytes.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "each change counts until it is undone");
    }

    /// Forgets the changes that are left in memory: the transaction has committed. Answers how many there were.
    pub fn clear_undo(&self) -> usize {
        debug_assert!(!self.is_active(), "what may have to be undone is kept");
        let mut undo = self.undo.lock();
        let count = undo.iter().count();
        *undo = UndoStack::default();
        count
    }

    /// Shows the undo stack to `read`, while it cannot change.
    pub fn with_undo<R>(&self, read: impl FnOnce(&UndoStack) -> R) -> R {
        read(&self.undo.lock())
    }

    /// The same for those who change it.
    pub fn with_undo_mut<R>(&self, change: impl FnOnce(&mut UndoStack) -> R) -> R {
        change(&mut self.undo.lock())
    }

    /// The same for the checkpoint; `None` while log and stack may disagree.
    pub fn with_settled_undo<R>(&self, read: impl FnOnce(&UndoStack) -> R) -> Option<R> {
        let undo = self.undo.lock();
        (!undo.in_step).then(|| read(&undo))
    }

    /// Takes the next changes off the stack that are in the spill now.
    pub fn take_spilled(&self, through: u64, count: usize, unfit: &HashSet<u64>) -> Vec<NumberedItem> {
        self.undo.lock().take_spilled(through, count, unfit)
    }

    pub fn spill(&self) -> Option<Arc<Spill>> {
        self.spill.lock().clone()
    }

    /// The spill keeps the state alive, so whoever sets it takes it away at the transaction's end.
    pub fn set_spill(&self, spill: Option<Arc<Spill>>) {
        let mut present = self.spill.lock();
        debug_assert!(present.is_none() || spill.is_none(), "a transaction has one spill");
        *present = spill;
    }

    /// True when there is something to undo.
    pub fn has_undo(&self) -> bool {
        self.spill.lock().is_some() || self.undo.lock().iter().next().is_some()
    }

    pub fn set_waiting(&self, waiting: Option<Waiting>) {
        let mut present = self.waiting.lock();
        debug_assert!(present.is_none() || waiting.is_none(), "a transaction waits for one thing");
        *present = waiting;
    }

    /// What it waits for, unless that wait is already decided.
    pub fn waiting(&self) -> Option<Waiting> {
        self.waiting.lock().clone().filter(|waiting| !waiting.cell.is_resolved())
    }
}
