//! Interval locks: the key ranges that locking scans have read, into which others may not insert.
//!
//! Invariant: a scan extends its interval under the latch of the leaf it reads, before a record of it is
//! returned; an insert checks under the latch of the leaf it changes. So an insert is either seen by the
//! scan or sees its interval. Intervals never conflict with each other: records have their own locks.
//! While there are no intervals a check is one load.

use crate::TreeId;
use crate::transaction_state::TransactionState;
use crate::wait::{Outcome, WaitCell};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A range of keys with owned bounds.
pub(crate) type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

#[derive(Default)]
pub(crate) struct IntervalLocks {
    count: AtomicUsize,
    /// A leaf lock, but for transactions' lists of held locks.
    trees: Mutex<HashMap<TreeId, TreeIntervals>>,
}

#[derive(Default)]
struct TreeIntervals {
    intervals: Vec<Interval>,
    waiters: Vec<Waiter>,
}

struct Interval {
    owner: Arc<TransactionState>,
    range: Range,
}

struct Waiter {
    transaction: Arc<TransactionState>,
    cell: Arc<WaitCell>,
}

impl TreeIntervals {
    fn blockers(&self, me: &Arc<TransactionState>, key: &[u8]) -> impl Iterator<Item = &Interval> {
        self.intervals
            .iter()
            .filter(move |interval| !Arc::ptr_eq(&interval.owner, me) && contains(&interval.range, key))
    }
}

impl IntervalLocks {
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Protects `range` until `owner` ends, besides what it protects already.
    pub fn protect(&self, owner: &Arc<TransactionState>, tree: TreeId, range: Range) {
        let mut trees = self.trees.lock();
        let intervals = &mut trees.entry(tree).or_default().intervals;
        let mut own = intervals.iter_mut().filter(|interval| Arc::ptr_eq(&interval.owner, owner));
        if own.any(|interval| absorb(&mut interval.range, &range)) {
            return;
        }
        owner.remember_interval(tree);
        intervals.push(Interval { owner: owner.clone(), range });
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// True when another transaction's interval forbids to insert `key` now.
    pub fn forbids_insert(&self, me: &Arc<TransactionState>, tree: TreeId, key: &[u8]) -> bool {
        if self.count.load(Ordering::SeqCst) == 0 {
            return false;
        }
        let trees = self.trees.lock();
        trees.get(&tree).is_some_and(|tree| tree.blockers(me, key).next().is_some())
    }

    /// Joins those who wait for intervals over `key` to end; `None` when nothing is in the way any more.
    pub fn enqueue(&self, me: &Arc<TransactionState>, tree: TreeId, key: &[u8]) -> Option<Arc<WaitCell>> {
        let mut trees = self.trees.lock();
        let tree = trees.get_mut(&tree)?;
        tree.blockers(me, key).next()?;
        let cell = WaitCell::new();
        tree.waiters.push(Waiter { transaction: me.clone(), cell: cell.clone() });
        Some(cell)
    }

    pub fn cancel(&self, tree: TreeId, cell: &Arc<WaitCell>) {
        if let Some(tree) = self.trees.lock().get_mut(&tree) {
            tree.waiters.retain(|waiter| !Arc::ptr_eq(&waiter.cell, cell));
        }
    }

    pub fn blockers(
        &self,
        me: &Arc<TransactionState>,
        tree: TreeId,
        key: &[u8],
    ) -> Vec<Arc<TransactionState>> {
        let trees = self.trees.lock();
        let Some(tree) = trees.get(&tree) else { return Vec::new() };
        tree.blockers(me, key).map(|interval| interval.owner.clone()).collect()
    }

    /// The intervals of one transaction.
    pub fn of(&self, owner: &Arc<TransactionState>) -> Vec<(TreeId, Range)> {
        let trees = self.trees.lock();
        let mut found = Vec::new();
        for (tree, entry) in trees.iter() {
            let own = entry.intervals.iter().filter(|interval| Arc::ptr_eq(&interval.owner, owner));
            found.extend(own.map(|interval| (*tree, interval.range.clone())));
        }
        found
    }

    /// Ends the intervals of `owner` in `tree`; everybody who waits there tries again.
    pub fn release(&self, owner: &Arc<TransactionState>, tree: TreeId) {
        let mut trees = self.trees.lock();
        let Some(entry) = trees.get_mut(&tree) else { return };
        let before = entry.intervals.len();
        entry.intervals.retain(|interval| !Arc::ptr_eq(&interval.owner, owner));
        self.count.fetch_sub(before - entry.intervals.len(), Ordering::SeqCst);
        for waiter in entry.waiters.drain(..) {
            debug_assert!(waiter.transaction.id != owner.id, "a waiting transaction does not end");
            waiter.cell.resolve(Outcome::Granted);
        }
        if entry.intervals.is_empty() {
            trees.remove(&tree);
        }
    }
}

/// Whether a range has a key.
pub(crate) fn contains(range: &Range, key: &[u8]) -> bool {
    let borrowed: (Bound<&[u8]>, Bound<&[u8]>) =
        (range.0.as_ref().map(Vec::as_slice), range.1.as_ref().map(Vec::as_slice));
    borrowed.contains(key)
}

/// Extends `range` by `other` where the two are contiguous or overlap; true when it now covers both.
fn absorb(range: &mut Range, other: &Range) -> bool {
    if !reaches(&other.0, &range.1) || !reaches(&range.0, &other.1) {
        return false;
    }
    if starts_before(&other.0, &range.0) {
        range.0 = other.0.clone();
    }
    if ends_after(&other.1, &range.1) {
        range.1 = other.1.clone();
    }
    true
}

/// No key lies between an interval that ends at `high` and one that starts at `low`.
fn reaches(low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>) -> bool {
    match (low, high) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Excluded(low), Bound::Excluded(high)) => low < high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            low <= high
        }
    }
}

fn starts_before(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> bool {
    match (a, b) {
        (_, Bound::Unbounded) => false,
        (Bound::Unbounded, _) => true,
        (Bound::Included(a), Bound::Excluded(b)) => a <= b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a < b,
    }
}

fn ends_after(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> bool {
    match (a, b) {
        (_, Bound::Unbounded) => false,
        (Bound::Unbounded, _) => true,
        (Bound::Included(a), Bound::Excluded(b)) => a >= b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a > b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isolation;
    use crate::transaction_state::TransactionId;
    use proptest::prelude::*;

    fn transaction(id: u64) -> Arc<TransactionState> {
        TransactionState::new(TransactionId(id), Isolation::RepeatableRead, 0, 0)
    }

    #[test]
    fn others_may_not_insert_until_the_owner_ends() {
        let locks = IntervalLocks::default();
        let (reader, writer) = (transaction(1), transaction(2));
        let tree = TreeId(9);
        assert!(!locks.forbids_insert(&writer, tree, b"b"));
        locks.protect(&reader, tree, (Bound::Excluded(b"a".to_vec()), Bound::Included(b"c".to_vec())));
        locks.protect(&reader, tree, (Bound::Excluded(b"c".to_vec()), Bound::Included(b"d".to_vec())));
        assert_eq!(locks.len(), 1, "adjacent intervals grow together");
        assert!(locks.forbids_insert(&writer, tree, b"b"));
        assert!(locks.forbids_insert(&writer, tree, b"d"));
        assert!(!locks.forbids_insert(&writer, tree, b"a"));
        assert!(!locks.forbids_insert(&reader, tree, b"b"), "the owner may insert");
        let cell = locks.enqueue(&writer, tree, b"b").expect("has to wait");
        locks.release(&reader, tree);
        assert_eq!(cell.outcome(), Some(Outcome::Granted));
        assert_eq!(locks.len(), 0);
    }

    fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
        prop_oneof![
            1 => Just(Bound::Unbounded),
            4 => (0u8..8).prop_map(|key| Bound::Included(vec![key])),
            4 => (0u8..8).prop_map(|key| Bound::Excluded(vec![key])),
        ]
    }

    proptest! {
        #[test]
        fn absorbing_never_loses_a_key(a in (bound(), bound()), b in (bound(), bound())) {
            let ordered = |range: &Range| (0u8..8).any(|key| contains(range, &[key]));
            prop_assume!(ordered(&a) && ordered(&b));
            let mut merged = a.clone();
            if absorb(&mut merged, &b) {
                for key in 0u8..8 {
                    for key in [vec![key], vec![key, 0]] {
                        let either = contains(&a, &key) || contains(&b, &key);
                        prop_assert_eq!(contains(&merged, &key), either, "{:?} {:?} {:?}", a, b, key);
                    }
                }
            }
        }
    }
}
