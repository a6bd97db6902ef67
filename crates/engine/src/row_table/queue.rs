//! Who waits for one row's lock, in the order in which they will get it. Used by `lock`.
//!
//! Arrival order alone would let a transaction that already holds locks, which others need, stand at the end of
//! a line of transactions that hold nothing: under contention that lengthens every lock's life and turns
//! waits into deadlocks (InnoDB's contention-aware scheduling answers the same problem). So each lock that a
//! transaction holds puts it ahead of a bounded number of earlier arrivals.
//!
//! Invariants: the order of two requests never changes; a request is overtaken by at most
//! `HEAD_START * LOCKS_COUNTED_MAX` later ones, so nobody starves; adding and taking the first cost O(log n).

use crate::LockMode;
use crate::locks::wait::WaitCell;
use crate::transactions::transaction_state::TransactionState;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many arrivals one held lock is worth.
const HEAD_START: u64 = 64;
const LOCKS_COUNTED_MAX: u64 = 16;

/// Holders that want more go first: nobody behind them can be served before them anyway.
const UPGRADE_RANK: u64 = 0;
const FIRST_RANK: u64 = HEAD_START * LOCKS_COUNTED_MAX + 1;
const _: () = assert!(
    FIRST_RANK - HEAD_START * LOCKS_COUNTED_MAX > UPGRADE_RANK,
    "nobody goes before those who want more"
);

pub(super) struct Request {
    pub transaction: Arc<TransactionState>,
    pub mode: LockMode,
    pub cell: Arc<WaitCell>,
}

/// The place of a request: its rank, then its arrival.
type Turn = (u64, u64);

#[derive(Default)]
pub(super) struct LockQueue {
    requests: BTreeMap<Turn, Request>,
    arrivals: u64,
}

impl LockQueue {
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Adds a request of a transaction that does not hold this lock, and so many others (`TransactionState::locks_held`).
    pub fn push(&mut self, request: Request, locks_held: u64) {
        let locks = locks_held.min(LOCKS_COUNTED_MAX);
        self.insert(FIRST_RANK + self.arrivals - locks * HEAD_START, request);
    }

    /// Adds a request behind all that wait, whatever its transaction holds.
    pub fn push_last(&mut self, request: Request) {
        self.insert(FIRST_RANK + self.arrivals, request);
    }

    /// Adds a request of a transaction that holds this lock and needs it in a stronger mode.
    pub fn push_upgrade(&mut self, request: Request) {
        self.insert(UPGRADE_RANK, request);
    }

    fn insert(&mut self, rank: u64, request: Request) {
        let before = self.requests.insert((rank, self.arrivals), request);
        debug_assert!(before.is_none(), "each arrival has a turn of its own");
        self.arrivals += 1;
    }

    pub fn first(&self) -> Option<&Request> {
        self.requests.first_key_value().map(|(_, request)| request)
    }

    pub fn pop_first(&mut self) -> Option<Request> {
        self.requests.pop_first().map(|(_, request)| request)
    }

    pub fn remove(&mut self, cell: &Arc<WaitCell>) {
        let before = self.requests.len();
        self.requests.retain(|_, request| !Arc::ptr_eq(&request.cell, cell));
        debug_assert!(before - self.requests.len() <= 1, "a request has one turn");
    }

    /// In the order in which they will be served.
    pub fn iter(&self) -> impl Iterator<Item = &Request> {
        self.requests.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isolation;
    use crate::transactions::transaction_state::TransactionId;

    fn request(id: u64) -> Request {
        let transaction = TransactionState::new(TransactionId(id), Isolation::RepeatableRead, 0, 0);
        Request { transaction, mode: LockMode::Exclusive, cell: WaitCell::new() }
    }

    fn served(mut queue: LockQueue) -> Vec<u64> {
        std::iter::from_fn(|| queue.pop_first()).map(|request| request.transaction.id.0).collect()
    }

    #[test]
    fn equals_are_served_in_order_of_arrival() {
        let mut queue = LockQueue::default();
        (1..=4).for_each(|id| queue.push(request(id), 3));
        assert_eq!(served(queue), [1, 2, 3, 4]);
    }

    #[test]
    fn who_holds_more_locks_goes_first_and_who_upgrades_before_all() {
        let mut queue = LockQueue::default();
        queue.push(request(1), 0);
        queue.push(request(2), 1);
        queue.push(request(3), 5);
        queue.push_upgrade(request(4));
        assert_eq!(served(queue), [4, 3, 2, 1]);
    }

    #[test]
    fn nobody_is_overtaken_for_ever() {
        let mut queue = LockQueue::default();
        queue.push(request(0), 0);
        for id in 1.. {
            queue.push(request(id), 100);
            let next = queue.pop_first().expect("somebody waits");
            if next.transaction.id.0 == 0 {
                assert!(id <= HEAD_START * LOCKS_COUNTED_MAX + 1, "overtaken {id} times");
                break;
            }
        }
    }
}
