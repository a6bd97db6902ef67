//! Interval locks: the key ranges that locking scans have read, into which others may not insert.
//!
//! Invariant: a scan extends its interval under the latch of the leaf it reads, before a record of it is
//! returned; an insert checks under the latch of the leaf it changes. So an insert is either seen by the
//! scan or sees its interval. Intervals never conflict with each other: records have their own locks.
//! While there are no intervals a check is one load.

use crate::TreeId;
use crate::locks::wait::{Outcome, WaitCell};
use crate::transactions::transaction_state::TransactionState;
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

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
    /// One entry for each transaction that has any.
    owners: Vec<OwnIntervals>,
    waiters: Vec<Waiter>,
}

/// The intervals of one transaction in one tree. A join may leave very many.
struct OwnIntervals {
    owner: Arc<TransactionState>,
    ranges: Ranges,
}

/// Ranges of keys: ends by beginnings. No two touch.
#[derive(Default)]
pub(super) struct Ranges {
    ends: BTreeMap<Low, Bound<Vec<u8>>>,
}

/// Where an interval begins.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Low(Bound<Vec<u8>>);

impl Low {
    /// The one that begins with the key.
    pub fn at(key: &[u8]) -> Low {
        Low(Bound::Included(key.to_vec()))
    }
}

impl Ord for Low {
    fn cmp(&self, other: &Low) -> Ordering {
        let place = |low: &Bound<Vec<u8>>| matches!(low, Bound::Excluded(_));
        match (&self.0, &other.0) {
            (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
            (Bound::Unbounded, _) => Ordering::Less,
            (_, Bound::Unbounded) => Ordering::Greater,
            (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
                a.cmp(b).then(place(&self.0).cmp(&place(&other.0)))
            }
        }
    }
}

impl PartialOrd for Low {
    fn partial_cmp(&self, other: &Low) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

struct Waiter {
    transaction: Arc<TransactionState>,
    cell: Arc<WaitCell>,
}

impl Ranges {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = Range> {
        self.ends.iter().map(|(low, high)| (low.0.clone(), high.clone()))
    }

    /// `from`: an interval that begins with the key.
    pub fn contains(&self, key: &[u8], from: &Low) -> bool {
        let last = self.ends.range(..=from).next_back();
        last.is_some_and(|(_, end)| match end {
            Bound::Unbounded => true,
            Bound::Included(end) => key <= end.as_slice(),
            Bound::Excluded(end) => key < end.as_slice(),
        })
    }

    /// Adds a range, joined with those that it touches.
    pub fn add(&mut self, (mut low, mut high): Range) {
        debug_assert!(reaches(&low, &high), "a range that is kept may have a key");
        let before = self.ends.range(..=Low(low.clone())).next_back();
        if let Some((start, end)) = before
            && reaches(&low, end)
        {
            if !ends_after(&high, end) {
                return;
            }
            low = start.0.clone();
        }
        while let Some((start, end)) = self.ends.range(Low(low.clone())..).next()
            && reaches(&start.0, &high)
        {
            if ends_after(end, &high) {
                high = end.clone();
            }
            let start = start.clone();
            self.ends.remove(&start);
        }
        let low = Low(low);
        self.ends.insert(low.clone(), high);
        debug_assert!(self.is_apart(&low), "no two ranges touch");
    }

    /// Whether the range that begins here touches neither of its neighbours.
    fn is_apart(&self, low: &Low) -> bool {
        let Some(high) = self.ends.get(low) else { return false };
        let before = self.ends.range(..low).next_back();
        let behind = self.ends.range((Bound::Excluded(low), Bound::Unbounded)).next();
        before.is_none_or(|(_, end)| !reaches(&low.0, end))
            && behind.is_none_or(|(start, _)| !reaches(&start.0, high))
    }
}

impl TreeIntervals {
    fn blockers(
        &self,
        me: &Arc<TransactionState>,
        key: &[u8],
    ) -> impl Iterator<Item = &Arc<TransactionState>> {
        let others = self.owners.iter().filter(move |own| !Arc::ptr_eq(&own.owner, me));
        let from = Low::at(key);
        others.filter(move |own| own.ranges.contains(key, &from)).map(|own| &own.owner)
    }

    fn own(&self, owner: &Arc<TransactionState>) -> Option<usize> {
        self.owners.iter().position(|own| Arc::ptr_eq(&own.owner, owner))
    }
}

impl IntervalLocks {
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.count.load(SeqCst)
    }

    /// Protects `range` until `owner` ends, besides what it protects already.
    pub fn protect(&self, owner: &Arc<TransactionState>, tree: TreeId, range: Range) {
        if !reaches(&range.0, &range.1) {
            // No key lies in it.
            return;
        }
        debug_assert!(owner.is_active(), "who has ended protects nothing");
        let mut trees = self.trees.lock();
        let intervals = trees.entry(tree).or_default();
        let own = intervals.own(owner).unwrap_or_else(|| {
            owner.remember_interval(tree);
            intervals.owners.push(OwnIntervals { owner: owner.clone(), ranges: Ranges::default() });
            intervals.owners.len() - 1
        });
        let ranges = &mut intervals.owners[own].ranges;
        let before = ranges.len();
        ranges.add(range);
        // One more at most, or fewer.
        debug_assert!(ranges.len() <= before + 1, "a range is one interval, or makes another one longer");
        let count = self.count.fetch_add(ranges.len().wrapping_sub(before), SeqCst);
        debug_assert!(count >= before, "each interval is counted");
    }

    /// True when another transaction's interval forbids to insert `key` now.
    pub fn forbids_insert(&self, me: &Arc<TransactionState>, tree: TreeId, key: &[u8]) -> bool {
        if self.count.load(SeqCst) == 0 {
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
        debug_assert!(me.waiting().is_none(), "a transaction waits for one thing");
        let cell = WaitCell::new();
        tree.waiters.push(Waiter { transaction: me.clone(), cell: cell.clone() });
        Some(cell)
    }

    pub fn cancel(&self, tree: TreeId, cell: &Arc<WaitCell>) {
        if let Some(tree) = self.trees.lock().get_mut(&tree) {
            let before = tree.waiters.len();
            tree.waiters.retain(|waiter| !Arc::ptr_eq(&waiter.cell, cell));
            debug_assert!(before - tree.waiters.len() <= 1, "a request has one place");
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
        tree.blockers(me, key).cloned().collect()
    }

    /// The intervals of one transaction.
    pub fn of(&self, owner: &Arc<TransactionState>) -> Vec<(TreeId, Range)> {
        let trees = self.trees.lock();
        let mut found = Vec::new();
        for (tree, entry) in trees.iter() {
            let own = entry.own(owner).map(|own| &entry.owners[own].ranges);
            found.extend(own.into_iter().flat_map(Ranges::iter).map(|range| (*tree, range)));
        }
        found
    }

    /// Ends the intervals of `owner` in `tree`; everybody who waits there tries again.
    pub fn release(&self, owner: &Arc<TransactionState>, tree: TreeId) {
        let mut trees = self.trees.lock();
        let Some(entry) = trees.get_mut(&tree) else { return };
        if let Some(own) = entry.own(owner) {
            let own = entry.owners.swap_remove(own);
            let count = self.count.fetch_sub(own.ranges.len(), SeqCst);
            debug_assert!(count >= own.ranges.len(), "each interval is counted");
            debug_assert!(entry.own(owner).is_none(), "a transaction has one entry");
        }
        for waiter in entry.waiters.drain(..) {
            debug_assert!(waiter.transaction.id != owner.id, "a waiting transaction does not end");
            waiter.cell.resolve(Outcome::Granted);
        }
        if entry.owners.is_empty() {
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

/// Whether the second range has every key of the first one.
pub(super) fn is_within(inner: &Range, outer: &Range) -> bool {
    Low(outer.0.clone()) <= Low(inner.0.clone()) && !ends_after(&inner.1, &outer.1)
}

/// No key lies between an interval that ends at `high` and one that starts at `low`.
pub(super) fn reaches(low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>) -> bool {
    match (low, high) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Excluded(low), Bound::Excluded(high)) => low < high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            low <= high
        }
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
    use crate::Isolation;
    use crate::locks::intervals::*;
    use crate::transactions::transaction_state::TransactionId;
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

    /// The processor time of this thread: others may keep it waiting.
    fn processor_us() -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split(' ').next().unwrap().parse::<u64>().unwrap() / 1000
    }

    #[test]
    fn many_intervals_of_one_transaction_are_found_at_once() {
        const COUNT: u32 = 50_000;
        let locks = IntervalLocks::default();
        let (reader, writer) = (transaction(1), transaction(2));
        let key = |number: u32| number.to_be_bytes().to_vec();
        let before = processor_us();
        // In no order, as a join asks for them.
        for number in (0..COUNT).map(|number| number * 7919 % COUNT) {
            let range = (Bound::Included(key(2 * number)), Bound::Included(key(2 * number)));
            locks.protect(&reader, TreeId(9), range);
        }
        assert_eq!(locks.len(), COUNT as usize);
        assert!(locks.forbids_insert(&writer, TreeId(9), &key(4_000)));
        assert!(!locks.forbids_insert(&writer, TreeId(9), &key(4_001)));
        for number in 0..COUNT {
            let range = (Bound::Excluded(key(2 * number)), Bound::Included(key(2 * number + 1)));
            locks.protect(&reader, TreeId(9), range);
        }
        assert!(locks.forbids_insert(&writer, TreeId(9), &key(4_001)));
        locks.protect(&reader, TreeId(9), (Bound::Unbounded, Bound::Unbounded));
        assert_eq!(locks.len(), 1);
        let taken = processor_us() - before;
        assert!(taken < 5_000_000, "{taken} us");
        locks.release(&reader, TreeId(9));
        assert_eq!(locks.len(), 0);
    }

    proptest! {
        #[test]
        fn what_is_protected_is_just_what_was_asked_for(
            ranges in prop::collection::vec((bound(), bound()), 1..8),
        ) {
            let locks = IntervalLocks::default();
            let (reader, writer) = (transaction(1), transaction(2));
            for range in &ranges {
                locks.protect(&reader, TreeId(9), range.clone());
            }
            for key in 0u8..8 {
                for key in [vec![key], vec![key, 0]] {
                    let asked = ranges.iter().any(|range| {
                        // A range that ends before it begins has no key.
                        reaches(&range.0, &range.1) && contains(range, &key)
                    });
                    let forbidden = locks.forbids_insert(&writer, TreeId(9), &key);
                    prop_assert_eq!(forbidden, asked, "{:?} {:?}", ranges, key);
                }
            }
            locks.release(&reader, TreeId(9));
            prop_assert_eq!(locks.len(), 0);
        }
    }
}
