//! Row locks of long locking scans: one range of keys, all of whose rows are locked, in place of a record for each row.
//!
//! Invariant: a row that lies in another transaction's run is locked by it as if it had an entry in the row table. Whoever
//! wants a row asks here first (`Engine::show_moved_locks`), and makes the lock of a run an explicit one if it stands in the
//! way, so that waiting, handing over and deadlocks are the row table's business alone.
//!
//! A scan *claims* what is left of the leaf before it looks at the first row, lets the row table's number of moves go on, and
//! then passes the rows that have no entry there; those with an entry are locked one by one. At the end of the leaf the
//! claim becomes a run as far as the scan has come. So whoever locks a row of that leaf at the same time has either an entry
//! that the scan sees, or sees that the number has gone on and asks again, and meets the claim. Runs exist from
//! RepeatableRead on, where a scan's rows stay locked until the end and its gaps are protected. Called by `scan`.

use crate::locks::intervals::{Low, Range, Ranges, contains, is_within, reaches};
use crate::transactions::transaction_state::TransactionState;
use crate::{LockMode, TreeId};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

#[derive(Default)]
pub(crate) struct RowRuns {
    /// How many transactions have runs or claims, counted for each tree.
    count: AtomicUsize,
    /// A leaf lock, but for transactions' lists of held locks.
    trees: Mutex<HashMap<TreeId, Vec<OwnRuns>>>,
}

/// What one transaction has locked in one tree.
struct OwnRuns {
    owner: Arc<TransactionState>,
    claim: Option<(Range, LockMode)>,
    shared: Ranges,
    exclusive: Ranges,
}

/// Other transactions that have a row locked by runs, and how.
pub(crate) type RunHolders = SmallVec<[(Arc<TransactionState>, LockMode); 2]>;

/// A scan is looking at the row right now: ask again.
#[derive(Debug)]
pub(crate) struct Claimed;

impl OwnRuns {
    fn ranges(&mut self, mode: LockMode) -> &mut Ranges {
        match mode {
            LockMode::Shared => &mut self.shared,
            LockMode::Exclusive => &mut self.exclusive,
        }
    }

    /// Whether it may have rows that nobody else can lock in this mode.
    fn excludes(&self, mode: LockMode) -> bool {
        let claims = self.claim.as_ref().is_some_and(|(_, claimed)| *claimed == LockMode::Exclusive);
        mode == LockMode::Exclusive || claims || self.exclusive.len() > 0
    }

    fn mode_on(&self, key: &[u8], from: &Low) -> Option<LockMode> {
        if self.exclusive.contains(key, from) {
            return Some(LockMode::Exclusive);
        }
        self.shared.contains(key, from).then_some(LockMode::Shared)
    }
}

impl RowRuns {
    /// Nobody else gets a lock in the range until `settle`. False where another transaction has runs in the tree beside which
    /// there could be none: then rows are locked one by one.
    pub fn claim(&self, owner: &Arc<TransactionState>, tree: TreeId, range: Range, mode: LockMode) -> bool {
        let mut trees = self.trees.lock();
        let owners = trees.entry(tree).or_default();
        let mut others = owners.iter().filter(|own| !Arc::ptr_eq(&own.owner, owner));
        if others.any(|other| other.excludes(mode)) {
            return false;
        }
        let own = owners.iter().position(|own| Arc::ptr_eq(&own.owner, owner)).unwrap_or_else(|| {
            owner.remember_run(tree);
            self.count.fetch_add(1, SeqCst);
            let (shared, exclusive) = (Ranges::default(), Ranges::default());
            owners.push(OwnRuns { owner: owner.clone(), claim: None, shared, exclusive });
            owners.len() - 1
        });
        debug_assert!(owner.is_active(), "who has ended claims nothing");
        debug_assert!(owners[own].claim.is_none(), "a claim is settled before the next one");
        owners[own].claim = Some((range, mode));
        true
    }

    /// Ends the claim: the rows in `passed` are locked until the owner ends.
    pub fn settle(&self, owner: &Arc<TransactionState>, tree: TreeId, passed: Option<Range>) {
        let mut trees = self.trees.lock();
        let owners = trees.get_mut(&tree).expect("the tree was claimed");
        let own = owners.iter_mut().find(|own| Arc::ptr_eq(&own.owner, owner)).expect("it has claimed");
        let (claimed, mode) = own.claim.take().expect("claimed before");
        if let Some(passed) = passed.filter(|(low, high)| reaches(low, high)) {
            debug_assert!(is_within(&passed, &claimed), "a scan passes rows that it has claimed");
            own.ranges(mode).add(passed);
        }
    }

    /// Who else has locked the row so that `me` cannot lock it in this mode.
    pub fn holders(
        &self,
        me: &Arc<TransactionState>,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
    ) -> Result<RunHolders, Claimed> {
        let mut found = RunHolders::new();
        if self.count.load(SeqCst) == 0 {
            return Ok(found);
        }
        let trees = self.trees.lock();
        let Some(owners) = trees.get(&tree) else { return Ok(found) };
        let from = Low::at(key);
        let conflicts = |held: LockMode| held == LockMode::Exclusive || mode == LockMode::Exclusive;
        for own in owners.iter().filter(|own| !Arc::ptr_eq(&own.owner, me)) {
            if let Some((range, held)) = &own.claim
                && conflicts(*held)
                && contains(range, key)
            {
                return Err(Claimed);
            }
            if let Some(held) = own.mode_on(key, &from).filter(|held| conflicts(*held)) {
                found.push((own.owner.clone(), held));
            }
        }
        Ok(found)
    }

    /// The runs of one transaction.
    pub fn of(&self, owner: &Arc<TransactionState>) -> Vec<(TreeId, Range, LockMode)> {
        let mut found = Vec::new();
        for (tree, owners) in self.trees.lock().iter() {
            for own in owners.iter().filter(|own| Arc::ptr_eq(&own.owner, owner)) {
                found.extend(own.shared.iter().map(|range| (*tree, range, LockMode::Shared)));
                found.extend(own.exclusive.iter().map(|range| (*tree, range, LockMode::Exclusive)));
            }
        }
        found
    }

    /// Ends the runs of `owner` in `tree`. Who waits for a row of them waits in the row table.
    pub fn release(&self, owner: &Arc<TransactionState>, tree: TreeId) {
        let mut trees = self.trees.lock();
        let Some(owners) = trees.get_mut(&tree) else { return };
        let before = owners.len();
        owners.retain(|own| {
            let is_own = Arc::ptr_eq(&own.owner, owner);
            debug_assert!(!is_own || own.claim.is_none(), "a claim is settled before its owner ends");
            !is_own
        });
        debug_assert!(before - owners.len() <= 1, "a transaction has one entry");
        let count = self.count.fetch_sub(before - owners.len(), SeqCst);
        debug_assert!(count >= before - owners.len(), "each entry is counted");
        if owners.is_empty() {
            trees.remove(&tree);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isolation;
    use crate::transactions::transaction_state::TransactionId;
    use std::ops::Bound;

    fn transaction(id: u64) -> Arc<TransactionState> {
        TransactionState::new(TransactionId(id), Isolation::RepeatableRead, 0, 0)
    }

    fn range(low: &[u8], high: &[u8]) -> Range {
        (Bound::Included(low.to_vec()), Bound::Excluded(high.to_vec()))
    }

    #[test]
    fn a_claim_becomes_a_run_as_far_as_the_scan_has_come() {
        let (runs, tree) = (RowRuns::default(), TreeId(9));
        let (reader, other) = (transaction(1), transaction(2));
        assert!(runs.claim(&reader, tree, range(b"a", b"k"), LockMode::Shared));
        assert!(!runs.claim(&other, tree, range(b"p", b"q"), LockMode::Exclusive));
        assert!(runs.holders(&other, tree, b"f", LockMode::Exclusive).is_err());
        assert!(runs.holders(&other, tree, b"f", LockMode::Shared).expect("both share").is_empty());
        assert!(runs.holders(&reader, tree, b"f", LockMode::Exclusive).expect("its own").is_empty());
        runs.settle(&reader, tree, Some(range(b"a", b"e")));
        let held = runs.holders(&other, tree, b"b", LockMode::Exclusive).expect("no claim");
        assert_eq!(held.len(), 1);
        assert!(Arc::ptr_eq(&held[0].0, &reader) && held[0].1 == LockMode::Shared);
        assert!(runs.holders(&other, tree, b"f", LockMode::Exclusive).expect("no claim").is_empty());
        assert_eq!(runs.of(&reader), [(tree, range(b"a", b"e"), LockMode::Shared)]);
        runs.release(&reader, tree);
        assert!(runs.holders(&other, tree, b"b", LockMode::Exclusive).expect("no claim").is_empty());
        assert_eq!(runs.count.load(SeqCst), 0);
    }
}
