//! Hand-made histories, one for each class and some without any.
use super::*;
use crate::history::{Operation, Outcome, Transaction};

fn append(key: u32, value: u32) -> Operation {
    Operation::Append { key, value }
}

fn list(key: u32, values: &[u32]) -> Operation {
    Operation::List { key, values: values.to_vec() }
}

fn write(key: u32, value: u32, over: u32) -> Operation {
    Operation::Write { key, value, over }
}

fn read(key: u32, value: u32) -> Operation {
    Operation::Register { key, value }
}

fn members(class: u32, keys: &[u32]) -> Operation {
    Operation::Members { class, keys: keys.to_vec() }
}

fn insert(class: u32, key: u32) -> Operation {
    Operation::Insert { class, key }
}

fn history(transactions: &[&[Operation]]) -> History {
    let committed = |operations: &&[Operation]| Transaction {
        operations: operations.to_vec(),
        outcome: Outcome::Committed,
    };
    let transactions = transactions.iter().map(committed).collect();
    History { transactions, ..History::default() }
}

fn classes(history: &History) -> Vec<Class> {
    check(history.clone()).classes().into_iter().collect()
}

#[test]
fn serial_histories_have_no_anomaly() {
    let serial = history(&[
        &[append(1, 10), list(1, &[10]), write(2, 5, 0), members(1, &[]), insert(1, 7), members(1, &[7])],
        &[list(1, &[10]), append(1, 11), append(1, 12), read(2, 5), write(2, 6, 5), members(1, &[7])],
        &[list(1, &[10, 11, 12]), read(2, 6), Operation::Delete { key: 7 }, members(1, &[])],
        &[list(1, &[10, 11, 12]), read(2, 6)],
    ]);
    assert_eq!(classes(&serial), []);
}

#[test]
fn dirty_writes() {
    let crossed = history(&[
        &[append(1, 10), append(2, 20)],
        &[append(1, 11), append(2, 21)],
        &[list(1, &[10, 11]), list(2, &[21, 20])],
    ]);
    assert_eq!(classes(&crossed), [Class::G0]);
    let mut over_aborted = history(&[&[write(1, 10, 0)], &[write(1, 11, 10)]]);
    over_aborted.transactions[0].outcome = Outcome::Aborted;
    assert_eq!(classes(&over_aborted), [Class::G0]);
}

#[test]
fn reads_of_what_was_rolled_back() {
    let mut list_read = history(&[&[append(1, 10)], &[list(1, &[10])], &[list(1, &[])]]);
    list_read.transactions[0].outcome = Outcome::Aborted;
    assert_eq!(classes(&list_read), [Class::G1a]);
    let mut register_read = history(&[&[write(1, 10, 0)], &[read(1, 10)]]);
    register_read.transactions[0].outcome = Outcome::Aborted;
    assert_eq!(classes(&register_read), [Class::G1a]);
    let mut member_read = history(&[&[insert(1, 5)], &[members(1, &[5])]]);
    member_read.transactions[0].outcome = Outcome::Aborted;
    assert_eq!(classes(&member_read), [Class::G1a]);
}

#[test]
fn reads_of_what_the_writer_replaced() {
    let intermediate = history(&[&[append(1, 10), append(1, 11)], &[list(1, &[10])], &[list(1, &[10, 11])]]);
    assert_eq!(classes(&intermediate), [Class::G1b]);
    let register = history(&[&[write(1, 10, 0), write(1, 11, 10)], &[read(1, 10)]]);
    assert_eq!(classes(&register), [Class::G1b]);
}

#[test]
fn circular_information() {
    let circular = history(&[&[append(1, 10), list(2, &[20])], &[append(2, 20), list(1, &[10])]]);
    assert_eq!(classes(&circular), [Class::G1c]);
}

#[test]
fn unstable_reads() {
    let twice = history(&[&[list(1, &[]), list(1, &[10])], &[append(1, 10)]]);
    assert_eq!(classes(&twice), [Class::NonRepeatableRead, Class::GSingle]);
    let behind_own = history(&[&[list(1, &[]), append(1, 11), list(1, &[10, 11])], &[append(1, 10)]]);
    assert_eq!(classes(&behind_own), [Class::Internal, Class::GSingle]);
    let own_is_missing = history(&[&[append(1, 10), list(1, &[])], &[list(1, &[10])]]);
    assert_eq!(classes(&own_is_missing), [Class::Internal]);
}

#[test]
fn read_skew_and_lost_update() {
    let skew = history(&[&[read(1, 0), read(2, 20)], &[write(1, 10, 0), write(2, 20, 0)]]);
    assert_eq!(classes(&skew), [Class::GSingle]);
    let lost_update = history(&[&[read(1, 0), write(1, 10, 0)], &[read(1, 0), write(1, 11, 10)]]);
    assert_eq!(classes(&lost_update), [Class::GSingle]);
}

#[test]
fn write_skew() {
    let skew = history(&[&[read(1, 0), write(2, 20, 0)], &[read(2, 0), write(1, 10, 0)]]);
    assert_eq!(classes(&skew), [Class::G2Item]);
}

#[test]
fn phantoms() {
    let phantom = history(&[&[members(1, &[]), read(1, 10)], &[insert(1, 5), write(1, 10, 0)]]);
    assert_eq!(classes(&phantom), [Class::GSinglePredicate]);
    let mut gone =
        history(&[&[members(1, &[5]), read(1, 10)], &[Operation::Delete { key: 5 }, write(1, 10, 0)]]);
    gone.initial_members.push((5, 1));
    assert_eq!(classes(&gone), [Class::GSinglePredicate]);
    let skew = history(&[&[members(1, &[]), insert(2, 6)], &[members(2, &[]), insert(1, 5)]]);
    assert_eq!(classes(&skew), [Class::G2]);
}

#[test]
fn writes_that_are_gone() {
    let append_lost = history(&[&[append(1, 10)], &[list(1, &[])]]);
    assert_eq!(classes(&append_lost), [Class::LostWrite]);
    let replaced_twice = history(&[&[write(1, 10, 0)], &[write(1, 11, 0)]]);
    assert_eq!(classes(&replaced_twice), [Class::LostWrite]);
    let mut member_lost = history(&[&[members(1, &[])]]);
    member_lost.initial_members.push((5, 1));
    assert_eq!(classes(&member_lost), [Class::LostWrite]);
}

#[test]
fn lists_without_an_order() {
    let two_orders = history(&[&[append(1, 10)], &[append(1, 11)], &[list(1, &[10, 11])], &[list(1, &[11])]]);
    assert!(classes(&two_orders).contains(&Class::Incompatible));
    assert_eq!(classes(&history(&[&[list(1, &[7])]])), [Class::Incompatible]);
}

/// The history with its last transaction as the last look, and the answer to the COMMIT of its first lost.
fn with_lost_answer(transactions: &[&[Operation]]) -> History {
    let mut history = history(transactions);
    history.has_last_look = true;
    history.transactions[0].outcome = Outcome::Unknown;
    history
}

#[test]
fn a_lost_acknowledgement_is_believed_either_way() {
    let everything = [append(1, 10), write(2, 20, 0), insert(3, 30)];
    let all_there = [list(1, &[10]), read(2, 20), members(3, &[30])];
    assert_eq!(classes(&with_lost_answer(&[&everything, &all_there])), []);
    let nothing_there = [list(1, &[]), read(2, 0), members(3, &[])];
    assert_eq!(classes(&with_lost_answer(&[&everything, &nothing_there])), []);
    // Rolled back, so another may replace the same version; and replaced itself, so it committed.
    let replaces_the_same = [write(2, 21, 0)];
    assert_eq!(classes(&with_lost_answer(&[&everything, &replaces_the_same, &[read(2, 21)]])), []);
    let replaces_it = [write(2, 21, 20)];
    let replaced =
        with_lost_answer(&[&everything, &replaces_it, &[list(1, &[10]), read(2, 21), members(3, &[30])]]);
    assert_eq!(classes(&replaced), []);
}

#[test]
fn a_lost_acknowledgement_is_no_excuse_for_half_a_transaction() {
    let everything = [append(1, 10), write(2, 20, 0), insert(3, 30)];
    for half in [
        [list(1, &[]), read(2, 20), members(3, &[30])],
        [list(1, &[10]), read(2, 0), members(3, &[30])],
        [list(1, &[10]), read(2, 20), members(3, &[])],
    ] {
        assert!(classes(&with_lost_answer(&[&everything, &half])).contains(&Class::LostWrite), "{half:?}");
    }
    let seen_and_gone = with_lost_answer(&[&everything, &[list(1, &[10])], &[list(1, &[]), read(2, 0)]]);
    assert_eq!(classes(&seen_and_gone), [Class::G1a]);
}

#[test]
fn a_delete_without_an_answer() {
    let delete = [Operation::Delete { key: 5 }, append(1, 10)];
    for (look, loses) in [
        ([members(1, &[]), list(1, &[10])], false),
        ([members(1, &[5]), list(1, &[])], false),
        ([members(1, &[5]), list(1, &[10])], true),
    ] {
        let mut history = with_lost_answer(&[&delete, &look]);
        history.initial_members.push((5, 1));
        assert_eq!(classes(&history).contains(&Class::LostWrite), loses, "{look:?}");
    }
}

#[test]
fn what_was_seen_has_to_stay() {
    let mut gone = history(&[&[append(1, 10)], &[list(1, &[10])], &[list(1, &[])]]);
    assert_eq!(classes(&gone), []);
    gone.has_last_look = true;
    assert_eq!(classes(&gone), [Class::LostWrite]);
    let mut newest_gone = history(&[&[write(1, 10, 0)], &[write(1, 11, 10)], &[read(1, 10)]]);
    newest_gone.has_last_look = true;
    assert_eq!(classes(&newest_gone), [Class::LostWrite]);
    let mut insert_gone = history(&[&[insert(1, 5)], &[members(1, &[])]]);
    insert_gone.has_last_look = true;
    assert_eq!(classes(&insert_gone), [Class::LostWrite]);
}
