//! Tests of the row table: visibility, implicit and explicit locks, hand-over, pruning.

use super::*;
use crate::Isolation;
use crate::locks::wait::Outcome;
use crate::transactions::transaction_state::TransactionId;
use LockMode::{Exclusive, Shared};

const TREE: TreeId = TreeId(5);

fn transaction(id: u64) -> Arc<TransactionState> {
    TransactionState::new(TransactionId(id), Isolation::RepeatableRead, 0, 0)
}

fn record(text: &str) -> Before {
    Before::Record(text.as_bytes().into())
}

fn write(table: &RowTable, me: &Arc<TransactionState>, key: &[u8], sequence: u64, before: Before) -> RowName {
    match table.prepare_write(me, TREE, key, sequence, table.moves(), || before, false) {
        Prepared::Ready(name) => name,
        Prepared::Conflict | Prepared::Moved => panic!("the row is taken"),
    }
}

fn conflicts(table: &RowTable, me: &Arc<TransactionState>, key: &[u8]) -> bool {
    matches!(
        table.prepare_write(me, TREE, key, 99, table.moves(), || Before::Absent, false),
        Prepared::Conflict
    )
}

/// What a snapshot sees: "page" or the before-image.
fn seen(table: &RowTable, key: &[u8], lsn: u64, me: Option<&Arc<TransactionState>>) -> String {
    table.visible(TREE, key, lsn, me, |visible| match visible {
        Visible::Page => "page".into(),
        Visible::Before(Before::Absent) => "absent".into(),
        Visible::Before(Before::Record(bytes)) => String::from_utf8_lossy(bytes).into(),
    })
}

fn pruned(table: &RowTable, name: &RowName, horizon_lsn: u64) -> Vec<Before> {
    let mut dropped = Vec::new();
    table.prune(name, horizon_lsn, |before| dropped.push(before.clone()));
    dropped
}

fn end(table: &RowTable, state: &Arc<TransactionState>) {
    for name in state.end().names {
        table.release(state, &name);
    }
}

#[test]
fn snapshots_walk_the_chain() {
    let table = RowTable::new(1);
    let (one, two, three) = (transaction(1), transaction(2), transaction(3));
    let name = write(&table, &one, b"k", 0, Before::Absent);
    assert_eq!(seen(&table, b"k", 5, None), "absent");
    assert_eq!(seen(&table, b"k", 5, Some(&one)), "page");
    one.stamp_committed(10);
    write(&table, &two, b"k", 0, record("one"));
    write(&table, &two, b"k", 1, record("two, first"));
    assert_eq!(seen(&table, b"k", 9, None), "absent");
    assert_eq!(seen(&table, b"k", 10, None), "one");
    two.stamp_committed(20);
    write(&table, &three, b"k", 0, record("two"));
    assert_eq!(seen(&table, b"k", 19, None), "one");
    assert_eq!(seen(&table, b"k", 20, None), "two");
    assert_eq!(pruned(&table, &name, 15), vec![Before::Absent]);
    assert_eq!(seen(&table, b"k", 19, None), "one");
    assert_eq!(pruned(&table, &name, 20).len(), 2);
    table.pop_version(&three, &name, 0, LockAfterUndo::UntilEnd);
    assert_eq!(table.len(), 0);
}

#[test]
fn the_same_write_again_adds_nothing() {
    let table = RowTable::new(1);
    let one = transaction(1);
    let name = write(&table, &one, b"k", 0, record("old"));
    write(&table, &one, b"k", 0, record("wrong"));
    assert_eq!(table.newest_before(&one, &name, 0), (record("old"), false));
}

#[test]
fn an_uncommitted_version_is_a_lock_until_its_writer_ends() {
    let table = RowTable::new(1);
    let (one, two) = (transaction(1), transaction(2));
    write(&table, &one, b"k", 0, Before::Absent);
    assert!(conflicts(&table, &two, b"k"));
    assert_eq!(table.try_lock(&two, TREE, b"k", Shared), Attempt::Conflict);
    assert_eq!(table.try_lock(&one, TREE, b"k", Exclusive), Attempt::Granted { newest_lsn: 0 });
    let (_, Enqueued::Waiting(cell)) = table.enqueue(&two, TREE, b"k", Exclusive) else { panic!() };
    one.stamp_committed(10);
    end(&table, &one);
    assert_eq!(cell.outcome(), Some(Outcome::Granted));
    assert!(!conflicts(&table, &two, b"k"));
}

#[test]
fn locks_are_handed_over_in_order() {
    let table = RowTable::new(1);
    let all: Vec<_> = (1..=5).map(transaction).collect();
    assert_eq!(table.try_lock(&all[0], TREE, b"k", Exclusive), Attempt::Granted { newest_lsn: 0 });
    let cells: Vec<_> = [Shared, Shared, Exclusive, Shared]
        .into_iter()
        .zip(&all[1..])
        .map(|(mode, state)| match table.enqueue(state, TREE, b"k", mode) {
            (_, Enqueued::Waiting(cell)) => cell,
            _ => panic!("granted too early"),
        })
        .collect();
    let granted = || cells.iter().map(|cell| cell.is_resolved()).collect::<Vec<_>>();
    end(&table, &all[0]);
    assert_eq!(granted(), [true, true, false, false]);
    assert_eq!(table.try_lock(&all[0], TREE, b"k", Shared), Attempt::Conflict, "nobody overtakes");
    end(&table, &all[1]);
    assert_eq!(granted(), [true, true, false, false]);
    end(&table, &all[2]);
    assert_eq!(granted(), [true, true, true, false]);
    end(&table, &all[3]);
    end(&table, &all[4]);
    assert_eq!(table.len(), 0);
}

#[test]
fn a_cancelled_wait_lets_the_next_through() {
    let table = RowTable::new(1);
    let (one, two, three) = (transaction(1), transaction(2), transaction(3));
    table.try_lock(&one, TREE, b"k", Shared);
    let (name, Enqueued::Waiting(exclusive)) = table.enqueue(&two, TREE, b"k", Exclusive) else { panic!() };
    let (_, Enqueued::Waiting(shared)) = table.enqueue(&three, TREE, b"k", Shared) else { panic!() };
    table.cancel(&name, &exclusive);
    assert!(shared.is_resolved());
}

#[test]
fn undoing_to_a_savepoint_keeps_the_lock() {
    let table = RowTable::new(1);
    let (one, two) = (transaction(1), transaction(2));
    let name = write(&table, &one, b"k", 0, record("old"));
    table.pop_version(&one, &name, 0, LockAfterUndo::Kept);
    assert!(conflicts(&table, &two, b"k"));
    end(&table, &one);
    assert!(!conflicts(&table, &two, b"k"));
}

#[test]
fn who_waits_for_an_inserted_row_goes_on_when_the_insert_is_undone() {
    let table = RowTable::new(1);
    let (one, two) = (transaction(1), transaction(2));
    let name = write(&table, &one, b"k", 0, Before::Absent);
    let (_, Enqueued::Waiting(cell)) = table.enqueue(&two, TREE, b"k", Shared) else { panic!() };
    table.pop_version(&one, &name, 0, LockAfterUndo::Freed);
    assert_eq!(cell.outcome(), Some(Outcome::Granted));
    assert!(one.end().names.is_empty(), "nothing is left to release");
}

#[test]
fn a_key_that_was_locked_before_the_insert_stays_locked() {
    let table = RowTable::new(1);
    let (one, two) = (transaction(1), transaction(2));
    table.try_lock(&one, TREE, b"k", Shared);
    let name = write(&table, &one, b"k", 0, Before::Absent);
    let (_, Enqueued::Waiting(cell)) = table.enqueue(&two, TREE, b"k", Exclusive) else { panic!() };
    table.pop_version(&one, &name, 0, LockAfterUndo::Freed);
    assert!(!cell.is_resolved());
}

#[test]
fn a_row_that_was_deleted_before_the_insert_stays_locked() {
    let table = RowTable::new(1);
    let (one, two) = (transaction(1), transaction(2));
    let name = write(&table, &one, b"k", 0, record("old"));
    write(&table, &one, b"k", 1, Before::Absent);
    let (_, Enqueued::Waiting(cell)) = table.enqueue(&two, TREE, b"k", Exclusive) else { panic!() };
    table.pop_version(&one, &name, 1, LockAfterUndo::Freed);
    assert!(!cell.is_resolved());
    table.pop_version(&one, &name, 0, LockAfterUndo::Kept);
    assert!(!cell.is_resolved());
    end(&table, &one);
    assert!(cell.is_resolved());
}

#[test]
fn a_reader_with_other_locks_waits_for_the_writer_that_came_before() {
    let table = RowTable::new(1);
    let (reader, writer, second) = (transaction(1), transaction(2), transaction(3));
    table.try_lock(&second, TREE, b"other", Shared);
    table.try_lock(&reader, TREE, b"k", Shared);
    let (name, Enqueued::Waiting(wants_write)) = table.enqueue(&writer, TREE, b"k", Exclusive) else {
        panic!()
    };
    let (_, Enqueued::Waiting(wants_read)) = table.enqueue(&second, TREE, b"k", Shared) else { panic!() };
    let blockers = |who| table.blockers(who, &name).iter().map(|state| state.id.0).collect::<Vec<_>>();
    assert_eq!((blockers(&writer), blockers(&second)), (vec![1], vec![2]));
    table.cancel(&name, &wants_write);
    assert!(wants_read.is_resolved());
}

/// A checkpoint that logs changes again locks them, then looks into the table: whoever joins a queue must not do it the other
/// way round.
#[test]
fn who_begins_to_wait_does_not_look_at_his_changes_within_the_row_table() {
    const SOON: std::time::Duration = std::time::Duration::from_millis(100);
    let table = Arc::new(RowTable::new(1));
    let (one, two) = (transaction(1), transaction(2));
    table.try_lock(&one, TREE, b"k", Exclusive);
    let (look, has_looked) = std::sync::mpsc::channel();
    let waiter = two.with_undo(|_| {
        let waiter = std::thread::spawn({
            let (table, two) = (table.clone(), two.clone());
            move || drop(table.enqueue(&two, TREE, b"k", Exclusive))
        });
        std::thread::sleep(SOON);
        let table = table.clone();
        std::thread::spawn(move || look.send(table.newest_commit(TREE, b"k")));
        assert_eq!(has_looked.recv_timeout(50 * SOON), Ok(0), "the table is not locked");
        waiter
    });
    waiter.join().expect("it joins the queue");
}

#[test]
fn nobody_comes_to_share_a_row_that_its_reader_has_changed() {
    let table = RowTable::new(1);
    let (one, two, three) = (transaction(1), transaction(2), transaction(3));
    table.try_lock(&one, TREE, b"k", Shared);
    let (row, Enqueued::Waiting(second)) = table.enqueue(&two, TREE, b"k", Exclusive) else {
        panic!("it waits for the reader")
    };
    let (_, Enqueued::Waiting(third)) = table.enqueue(&three, TREE, b"k", Shared) else {
        panic!("it waits behind the writer")
    };
    write(&table, &one, b"k", 0, Before::Absent);
    table.cancel(&row, &second);
    assert!(!third.is_resolved(), "the row is changed");
    assert!(!conflicts(&table, &one, b"k"), "and its writer may change it again");
    end(&table, &one);
    table.release(&one, &row);
    assert!(third.is_resolved());
}
