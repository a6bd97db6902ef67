//! Spills: where the undo records, before-images and locks of transactions are that outgrow their share of memory.
//!
//! Each such transaction has a spill, an ordinary logged tree (`entry` says what is in it). `fill` moves changes from
//! the undo stack and the row table there, `locks` the locks of rows that were not changed; `lookup` is how readers and lockers find them, with what they have learned (`passed`); `undo` rolls back from
//! there; `end` drops a spill when nobody needs it; `lost` is for damaged ones.
//!
//! Invariants:
//! - A change is in the spill before it leaves memory. Who needs both looks into memory first.
//! - Entries are never removed while the transaction runs. An entry means that the transaction has its row locked
//!   until its end; so to undo an entry twice, or one whose change was undone from memory, changes nothing.
//! - Of a row's changes an older one is in the spill whenever a newer one is: the oldest entry of a row is what it was
//!   before the transaction.
//! - The tree of trees has a row for a spill from its creation until its pages are free, and the row says whether the
//!   transaction is known to have committed. It is marked as dropped in the log before a rolled back transaction's
//!   locks are released.
//!
//! While no transaction has a spill, all this costs one load where versions or locks of a row are looked up.

mod end;
mod entry;
mod fill;
mod locks;
mod lookup;
mod lost;
mod passed;
mod undo;

pub(crate) use end::{FoundSpill, Standing};
pub(crate) use entry::row_prefix;
pub(crate) use lookup::RowPlace;
pub(crate) use passed::PassedSpills;

use crate::transactions::transaction_state::TransactionState;
use crate::{EngineError, TreeId};
use btree::Tree;
use parking_lot::RwLock;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Where the changes of one transaction are that are not in memory.
pub(crate) struct Spill {
    pub tree: Tree,
    pub owner: Arc<TransactionState>,
    /// The owner has changed no page before. It may have locked rows of any.
    first_lsn: u64,
    /// The rows with entries lie between these keys.
    ranges: RwLock<HashMap<TreeId, KeyBounds>>,
    /// Some row was locked and not changed, in this life.
    with_locks: AtomicBool,
    /// Some before-image may own an overflow chain.
    with_chains: AtomicBool,
    /// Some row was deleted.
    with_ghosts: AtomicBool,
    /// That the owner has committed is on record in the tree of trees.
    is_marked: AtomicBool,
}

struct KeyBounds {
    first: Box<[u8]>,
    /// `None`: however large.
    last: Option<Box<[u8]>>,
}

impl Spill {
    fn new(tree: Tree, owner: Arc<TransactionState>, first_lsn: u64) -> Arc<Spill> {
        Arc::new(Spill {
            tree,
            owner,
            first_lsn,
            ranges: RwLock::default(),
            with_locks: AtomicBool::new(false),
            with_chains: AtomicBool::new(false),
            with_ghosts: AtomicBool::new(false),
            is_marked: AtomicBool::new(false),
        })
    }

    pub fn id(&self) -> TreeId {
        TreeId(self.tree.id.0)
    }

    /// Some entry has bytes that no engine wrote.
    fn damaged_entry(&self) -> EngineError {
        EngineError::Corrupt { what: format!("an entry of the spill {}", self.tree.id.0) }
    }

    /// Entries of this row will follow.
    fn expect(&self, tree: TreeId, key: &[u8]) {
        let bounds = || KeyBounds { first: key.into(), last: Some(key.into()) };
        let mut ranges = self.ranges.write();
        let range = ranges.entry(tree).or_insert_with(bounds);
        if key < &*range.first {
            range.first = key.into();
        }
        if range.last.as_ref().is_some_and(|last| key > &**last) {
            range.last = Some(key.into());
        }
        debug_assert!(
            *range.first <= *key && range.last.as_ref().is_none_or(|last| *key <= **last),
            "an entry that is expected is looked for"
        );
    }

    /// The trees whose rows may have entries.
    pub fn trees_expected(&self) -> Vec<TreeId> {
        let mut trees: Vec<TreeId> = self.ranges.read().keys().copied().collect();
        trees.sort_unstable();
        trees
    }

    /// Entries of any row of these trees may be there.
    fn expect_all_of(&self, trees: &BTreeSet<TreeId>) {
        let all = |tree: &TreeId| (*tree, KeyBounds { first: [].into(), last: None });
        self.ranges.write().extend(trees.iter().map(all));
    }

    /// False when the spill surely has no entry of the row, which is in a page with this LSN.
    fn may_have(&self, tree: TreeId, key: &[u8], page_lsn: u64) -> bool {
        let is_between =
            |range: &KeyBounds| *range.first <= *key && range.last.as_ref().is_none_or(|last| *key <= **last);
        let may_be_in_page = page_lsn >= self.first_lsn || self.with_locks.load(Ordering::Acquire);
        may_be_in_page && self.ranges.read().get(&tree).is_some_and(is_between)
    }
}

/// The spills that readers and lockers have to look into.
#[derive(Default)]
pub(crate) struct Spills {
    count: AtomicUsize,
    /// Held by readers while they look into a spill, so that a spill that is removed is not in use any more. Locked
    /// after the latches of tables' leaves and before those of spills.
    live: RwLock<Vec<Arc<Spill>>>,
}

impl Spills {
    pub fn exist(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    fn add(&self, spill: Arc<Spill>) {
        let mut live = self.live.write();
        debug_assert!(!live.iter().any(|other| Arc::ptr_eq(other, &spill)), "a spill is listed once");
        live.push(spill);
        self.count.store(live.len(), Ordering::SeqCst);
    }

    /// False when it was removed before.
    fn remove(&self, spill: &Arc<Spill>) -> bool {
        let mut live = self.live.write();
        let before = live.len();
        live.retain(|other| !Arc::ptr_eq(other, spill));
        self.count.store(live.len(), Ordering::SeqCst);
        live.len() < before
    }

    /// True when some spill may have a version of the row.
    pub fn may_have(&self, tree: TreeId, key: &[u8], page_lsn: u64) -> bool {
        self.exist() && self.live.read().iter().any(|spill| spill.may_have(tree, key, page_lsn))
    }

    /// When the newest change of the row that may be in a spill was committed; 0 if there is none.
    pub fn newest_commit(&self, tree: TreeId, key: &[u8], page_lsn: u64) -> u64 {
        if !self.exist() {
            return 0;
        }
        let live = self.live.read();
        let commits = live.iter().filter(|spill| spill.may_have(tree, key, page_lsn));
        commits.filter_map(|spill| spill.owner.committed_at()).max().unwrap_or(0)
    }

    /// The spills of transactions that every snapshot from `horizon_lsn` on sees.
    fn seen_by_all(&self, horizon_lsn: u64) -> Vec<Arc<Spill>> {
        let is_seen = |spill: &&Arc<Spill>| {
            debug_assert!(
                !spill.is_marked.load(Ordering::Acquire) || spill.owner.committed_at().is_some(),
                "only a commit is on record"
            );
            spill.is_marked.load(Ordering::Acquire) && spill.owner.is_visible_at(horizon_lsn)
        };
        self.live.read().iter().filter(is_seen).cloned().collect()
    }
}
