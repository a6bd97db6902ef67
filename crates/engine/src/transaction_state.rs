//! What the other transactions need to know of a transaction: is it still active, when did it commit, what
//! does it hold and what does it wait for.
//!
//! Invariant: `commit_lsn` moves once, from active to a commit LSN or to aborted; it is stamped under the
//! commit mutex, in the order of the log. After `held.ended` nobody adds to the list of held locks.

use crate::row_table::RowName;
use crate::wait::{WaitCell, WaitTarget};
use crate::{Isolation, TreeId};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names a transaction while it is active and in the log; restarts at a number above all in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId(pub u64);

const ACTIVE: u64 = 0;
const ABORTED: u64 = u64::MAX;

/// Shared by the transaction, the versions it wrote and the locks it holds.
pub(crate) struct TransactionState {
    pub id: TransactionId,
    pub isolation: Isolation,
    pub started_us: u64,
    /// `ACTIVE`, `ABORTED` or the LSN after which the commit record is durable.
    commit_lsn: AtomicU64,
    /// No record of this transaction lies before this LSN.
    pub first_lsn: u64,
    /// How much a rollback would have to undo; the deadlock detector spares the heavy.
    pub undo_bytes: AtomicU64,
    pub undo_records: AtomicU64,
    held: Mutex<Held>,
    /// A leaf lock like `held`; set by the waiting task itself.
    waiting: Mutex<Option<Waiting>>,
}

#[derive(Default)]
struct Held {
    names: Vec<RowName>,
    interval_trees: Vec<TreeId>,
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
    pub names: Vec<RowName>,
    pub interval_trees: Vec<TreeId>,
}

impl TransactionState {
    pub fn new(id: TransactionId, isolation: Isolation, started_us: u64, first_lsn: u64) -> Arc<Self> {
        Arc::new(TransactionState {
            id,
            isolation,
            started_us,
            commit_lsn: AtomicU64::new(ACTIVE),
            first_lsn,
            undo_bytes: AtomicU64::new(0),
            undo_records: AtomicU64::new(0),
            held: Mutex::default(),
            waiting: Mutex::new(None),
        })
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

    /// Takes the list of everything held; nothing can be added any more.
    pub fn end(&self) -> Released {
        let mut held = self.held.lock();
        held.ended = true;
        Released {
            names: std::mem::take(&mut held.names),
            interval_trees: std::mem::take(&mut held.interval_trees),
        }
    }

    /// Fewest undo bytes and locks first: the cost of choosing this transaction as a deadlock victim.
    pub fn weight(&self) -> u64 {
        self.undo_bytes.load(Ordering::Relaxed) + self.held.lock().names.len() as u64
    }

    pub fn set_waiting(&self, waiting: Option<Waiting>) {
        *self.waiting.lock() = waiting;
    }

    /// What it waits for, unless that wait is already decided.
    pub fn waiting(&self) -> Option<Waiting> {
        self.waiting.lock().clone().filter(|waiting| !waiting.cell.is_resolved())
    }
}
