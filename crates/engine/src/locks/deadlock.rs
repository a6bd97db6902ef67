//! Deadlock detection: runs only when a wait starts, over edges that are read live from the lock tables. The
//! latest deadlock is kept for observers.
//!
//! Invariant: a wait is in its queue and in `TransactionState::waiting` before its detection starts, and
//! detections run one at a time; so whichever wait closes a cycle finds it whole.

use crate::locks::wait::{Outcome, WaitTarget};
use crate::transactions::observe::{DeadlockObserver, DeadlockReport};
use crate::transactions::transaction_state::TransactionState;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

type State = Arc<TransactionState>;

#[derive(Default)]
pub(crate) struct DeadlockDetector {
    /// Outermost of all lock-table mutexes: shards and intervals are locked under it.
    turn: Mutex<()>,
    latest: Mutex<Option<Arc<DeadlockReport>>>,
    pub observer: OnceLock<Arc<dyn DeadlockObserver>>,
}

impl DeadlockDetector {
    /// Resolves every cycle through `me`, which has just started to wait, by making the lightest member the
    /// victim. Answers how many victims there were. `describe` tells about a cycle and the place of its victim, before
    /// anybody in it can go on; `None` when the cycle is broken already.
    pub fn check(
        &self,
        me: &State,
        blockers: impl Fn(&State, &WaitTarget) -> Vec<State>,
        describe: impl Fn(&[State], usize) -> Option<DeadlockReport>,
    ) -> usize {
        let mut found = Vec::new();
        let turn = self.turn.lock();
        while let Some(cycle) = find_cycle(me, &blockers) {
            debug_assert!(Arc::ptr_eq(&cycle[0], me), "a cycle begins with whose wait has closed it");
            let weigh = |member: &State| (member.weight(), !Arc::ptr_eq(member, me), member.id);
            let place = (0..cycle.len()).min_by_key(|place| weigh(&cycle[*place]));
            let place = place.expect("a cycle has members");
            // Whoever was granted or timed out in between has broken the cycle itself.
            if let Some(waiting) = cycle[place].waiting()
                && let Some(report) = describe(&cycle, place)
                && waiting.cell.resolve(Outcome::Victim)
            {
                let report = Arc::new(report);
                *self.latest.lock() = Some(report.clone());
                found.push(report);
            }
        }
        drop(turn);
        if let Some(observer) = self.observer.get() {
            found.iter().for_each(|report| observer.detected(report));
        }
        found.len()
    }

    pub fn latest(&self) -> Option<Arc<DeadlockReport>> {
        self.latest.lock().clone()
    }
}

/// A depth-first search from `me` back to `me`; every transaction is expanded once.
fn find_cycle(me: &State, blockers: impl Fn(&State, &WaitTarget) -> Vec<State>) -> Option<Vec<State>> {
    let edges = |state: &State| match state.waiting() {
        Some(waiting) => blockers(state, &waiting.target),
        None => Vec::new(),
    };
    let mut visited = HashSet::new();
    let mut path = vec![(me.clone(), edges(me))];
    while let Some((_, remaining)) = path.last_mut() {
        match remaining.pop() {
            Some(next) if Arc::ptr_eq(&next, me) => {
                return Some(path.into_iter().map(|(member, _)| member).collect());
            }
            Some(next) => {
                debug_assert!(next.id != me.id, "two transactions have two numbers");
                if visited.insert(next.id) {
                    let onward = edges(&next);
                    path.push((next, onward));
                }
            }
            None => {
                path.pop();
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::locks::deadlock::*;
    use crate::row_table::{Enqueued, RowTable};
    use crate::transactions::transaction_state::{TransactionId, Waiting};
    use crate::writes::undo_stack::UndoItem;
    use crate::{Isolation, LockMode, TreeId};
    use LockMode::{Exclusive, Shared};

    const TREE: TreeId = TreeId(7);

    struct World {
        rows: RowTable,
        detector: DeadlockDetector,
    }

    fn world() -> World {
        World { rows: RowTable::new(1), detector: DeadlockDetector::default() }
    }

    fn transaction(id: u64) -> State {
        TransactionState::new(TransactionId(id), Isolation::RepeatableRead, 0, 0)
    }

    impl World {
        /// Locks or waits; the outcome of the wait after detection.
        fn lock(&self, state: &State, key: &[u8], mode: LockMode) -> Option<Outcome> {
            match self.rows.enqueue(state, TREE, key, mode) {
                (_, Enqueued::Granted) => Some(Outcome::Granted),
                (name, Enqueued::Waiting(cell)) => {
                    let target = WaitTarget::Row(name, mode);
                    state.set_waiting(Some(Waiting { target, cell: cell.clone(), since_us: 0 }));
                    let blockers = |state: &State, target: &WaitTarget| match target {
                        WaitTarget::Row(name, _) => self.rows.blockers(state, name),
                        WaitTarget::Gap(..) => Vec::new(),
                    };
                    self.detector.check(state, blockers, |_, victim| {
                        Some(DeadlockReport { at_unix_us: 0, members: Vec::new(), victim })
                    });
                    cell.outcome()
                }
            }
        }
    }

    #[test]
    fn the_lighter_of_two_is_the_victim() {
        let world = world();
        let (heavy, light) = (transaction(1), transaction(2));
        heavy.push_undo(UndoItem::DropTree(TREE), 1000);
        world.lock(&heavy, b"a", Exclusive);
        world.lock(&light, b"b", Exclusive);
        assert_eq!(world.lock(&light, b"a", Exclusive), None);
        assert_eq!(world.lock(&heavy, b"b", Exclusive), None, "the heavy one goes on waiting");
        assert_eq!(light.waiting().map(|_| ()), None, "the light one is the victim");
    }

    #[test]
    fn two_upgrades_deadlock() {
        let world = world();
        let (one, two) = (transaction(1), transaction(2));
        world.lock(&one, b"a", Shared);
        world.lock(&two, b"a", Shared);
        assert_eq!(world.lock(&one, b"a", Exclusive), None);
        assert_eq!(world.lock(&two, b"a", Exclusive), Some(Outcome::Victim));
    }

    #[test]
    fn a_queue_behind_a_holder_is_no_deadlock() {
        let world = world();
        let all: Vec<State> = (1..100).map(transaction).collect();
        world.lock(&all[0], b"a", Exclusive);
        for state in &all[1..] {
            assert_eq!(world.lock(state, b"a", Exclusive), None);
        }
        assert_eq!(world.lock(&all[0], b"b", Exclusive), Some(Outcome::Granted));
    }

    #[test]
    fn a_victim_in_a_queue_does_not_hide_the_next_one() {
        let world = world();
        let (holder, reader, first, second) =
            (transaction(1), transaction(2), transaction(3), transaction(4));
        world.lock(&holder, b"queue", Shared);
        world.lock(&reader, b"other", Shared);
        assert_eq!(world.lock(&first, b"queue", Exclusive), None);
        assert_eq!(world.lock(&second, b"queue", Exclusive), None);
        assert_eq!(world.lock(&reader, b"queue", Shared), None, "behind the two");
        // The first is in the cycle and the lightest; with it gone the second closes the same cycle.
        world.lock(&holder, b"other", Exclusive);
        let waits = |state: &State| state.waiting().is_some();
        let reader_is_free = !waits(&reader) || !waits(&first) && !waits(&second);
        assert!(reader_is_free || !waits(&holder), "somebody goes on");
    }

    #[test]
    fn a_cycle_of_three_through_a_shared_lock_is_found() {
        let world = world();
        let (a, b, c) = (transaction(1), transaction(2), transaction(3));
        world.lock(&a, b"1", Shared);
        world.lock(&b, b"1", Shared);
        world.lock(&b, b"2", Exclusive);
        world.lock(&c, b"3", Exclusive);
        assert_eq!(world.lock(&c, b"1", Exclusive), None);
        assert_eq!(world.lock(&a, b"2", Exclusive), None);
        let outcome = world.lock(&b, b"3", Shared);
        let victims = [&a, &b, &c].iter().filter(|state| state.waiting().is_none()).count();
        assert!(outcome == Some(Outcome::Victim) || victims == 1, "{outcome:?} {victims}");
    }
}
