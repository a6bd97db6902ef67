//! Committed transactions whose old versions may still be needed, in commit order, and their pruning.
//!
//! Invariant: the queue is ordered by commit LSN. A row is taken off only when every snapshot, present and
//! future, sees its commit; an old overflow chain stays in `pending_chains` until the log says it is freed.
//! Pruning is done by committers in proportion to what they changed, never by the clock.

use crate::row_table::RowName;
use crate::transactions::transaction_state::TransactionState;
use smallvec::SmallVec;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// A committed transaction with rows left to prune.
pub(crate) struct Committed {
    pub lsn: u64,
    /// None of its changes was made before this LSN.
    pub born_lsn: u64,
    /// About what rows and versions take in memory.
    pub bytes: u64,
    /// Absent once several transactions were merged.
    pub state: Option<Arc<TransactionState>>,
    /// Rows, each with whether a ghost may remain in its leaf.
    pub rows: Vec<(RowName, bool)>,
}

#[derive(Default)]
pub(crate) struct History {
    queue: VecDeque<Committed>,
    row_count: usize,
    bytes: u64,
    /// The older part is being merged: until it is back nothing is pruned, or images that are being copied to a run
    /// would lose their chains.
    is_merging: bool,
    /// First pages of overflow chains that committed transactions have replaced.
    pending_chains: BTreeSet<u64>,
}

/// A step of pruning.
pub(crate) struct PruneStep {
    pub rows: Vec<(RowName, bool)>,
    /// Transactions with nothing left to prune.
    pub finished: SmallVec<[Arc<TransactionState>; 1]>,
}

impl History {
    /// What holds between two calls.
    fn check(&self) {
        let is_empty = self.queue.is_empty();
        debug_assert!(!is_empty || self.row_count == 0, "the rows counted are those of the queue");
        debug_assert!(!is_empty || self.bytes == 0, "the bytes counted are those of the queue");
    }

    pub fn push(&mut self, committed: Committed, chains: &[u64]) {
        if let Some(last) = self.queue.back() {
            assert!(last.lsn < committed.lsn, "commits enter the history in log order");
        }
        debug_assert!(committed.born_lsn <= committed.lsn, "a commit comes after the first change");
        self.row_count += committed.rows.len();
        self.bytes += committed.bytes;
        let before = self.pending_chains.len();
        self.pending_chains.extend(chains);
        debug_assert_eq!(self.pending_chains.len(), before + chains.len(), "a chain is replaced once");
        self.queue.push_back(committed);
    }

    /// Takes up to `rows_max` rows of transactions that everybody sees at `horizon_lsn`.
    pub fn take(&mut self, horizon_lsn: u64, rows_max: usize) -> PruneStep {
        let mut step = PruneStep { rows: Vec::new(), finished: SmallVec::new() };
        while let Some(front) = self.queue.front_mut().filter(|front| front.lsn <= horizon_lsn) {
            if self.is_merging {
                break;
            }
            let wanted = rows_max - step.rows.len();
            let kept = front.rows.len().saturating_sub(wanted);
            self.row_count -= front.rows.len() - kept;
            let kept_bytes = match kept {
                0 => 0,
                kept => front.bytes / front.rows.len() as u64 * kept as u64,
            };
            self.bytes -= front.bytes - kept_bytes;
            front.bytes = kept_bytes;
            // Most often it is one transaction, whose list needs no copy.
            if step.rows.is_empty() && kept == 0 {
                step.rows = std::mem::take(&mut front.rows);
            } else {
                step.rows.extend(front.rows.drain(kept..));
            }
            if kept > 0 {
                break;
            }
            step.finished.extend(self.queue.pop_front().and_then(|front| front.state));
        }
        debug_assert!(step.rows.len() <= rows_max, "no more than was asked for");
        self.check();
        step
    }

    /// Takes everything up to `lsn` out, to be merged and put back.
    pub fn take_through(&mut self, lsn: u64) -> VecDeque<Committed> {
        assert!(!self.is_merging, "one merge at a time");
        self.is_merging = true;
        let count = self.queue.partition_point(|committed| committed.lsn <= lsn);
        let rest = self.queue.split_off(count);
        let taken = std::mem::replace(&mut self.queue, rest);
        self.row_count -= taken.iter().map(|committed| committed.rows.len()).sum::<usize>();
        self.bytes -= taken.iter().map(|committed| committed.bytes).sum::<u64>();
        self.check();
        taken
    }

    /// Puts back what `take_through` took.
    pub fn put_back(&mut self, older: VecDeque<Committed>) {
        if let (Some(last), Some(first)) = (older.back(), self.queue.front()) {
            assert!(last.lsn < first.lsn, "the history is in commit order");
        }
        debug_assert!(self.is_merging, "what is put back was taken");
        self.is_merging = false;
        self.row_count += older.iter().map(|committed| committed.rows.len()).sum::<usize>();
        self.bytes += older.iter().map(|committed| committed.bytes).sum::<u64>();
        let newer = std::mem::replace(&mut self.queue, older);
        self.queue.extend(newer);
        self.check();
    }

    /// How many committed changes are not pruned yet.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// About what the versions of committed transactions take in memory.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The chains left to free, from this page number on.
    pub fn pending_chains(&self, from: u64) -> impl Iterator<Item = u64> {
        self.pending_chains.range(from..).copied()
    }

    pub fn add_pending_chains(&mut self, chains: impl IntoIterator<Item = u64>) {
        self.pending_chains.extend(chains);
    }

    /// Called with the record of the freeing in the log.
    pub fn chain_freed(&mut self, chain: u64) {
        let was_pending = self.pending_chains.remove(&chain);
        debug_assert!(was_pending, "a chain is freed once");
    }
}

#[cfg(test)]
mod tests {
    use crate::transactions::transaction_state::TransactionId;
    use crate::versions::history::*;
    use crate::{Isolation, TreeId};

    fn committed(lsn: u64, rows: usize) -> Committed {
        let state = TransactionState::new(TransactionId(lsn), Isolation::RepeatableRead, 0, 0);
        let name = |row: usize| RowName { tree: TreeId(1), key: row.to_be_bytes().as_slice().into() };
        let rows: Vec<_> = (0..rows).map(|row| (name(row), false)).collect();
        Committed { lsn, born_lsn: lsn, bytes: 100 * rows.len() as u64, state: Some(state), rows }
    }

    #[test]
    fn rows_are_taken_in_commit_order_up_to_the_horizon() {
        let mut history = History::default();
        history.push(committed(10, 3), &[]);
        history.push(committed(20, 3), &[]);
        assert_eq!(history.take(9, 100).rows.len(), 0);
        let step = history.take(15, 2);
        assert_eq!((step.rows.len(), step.finished.len()), (2, 0));
        let step = history.take(15, 100);
        assert_eq!((step.rows.len(), step.finished.len()), (1, 1));
        assert_eq!((history.row_count(), history.bytes()), (3, 300));
        let step = history.take(20, 3);
        assert_eq!((step.rows.len(), step.finished.len()), (3, 1));
        assert_eq!((history.row_count(), history.bytes()), (0, 0));
    }

    #[test]
    fn nothing_is_pruned_during_a_merge() {
        let mut history = History::default();
        history.push(committed(10, 3), &[]);
        history.push(committed(20, 3), &[]);
        let older = history.take_through(15);
        assert_eq!(history.take(100, 100).rows.len(), 0);
        history.put_back(older);
        assert_eq!(history.take(100, 100).rows.len(), 6);
        assert_eq!((history.row_count(), history.bytes()), (0, 0));
    }
}
