//! Long serial histories made by a model without a server: no anomaly is found in them, and each planted fault is.
use super::*;
use crate::history::{Key, Operation, Value};
use crate::random::Random;

const KEYS_IN_USE: u32 = 6;
const TRANSACTIONS_PER_KEY: u32 = 16;

/// A store in which transactions run one after the other.
#[derive(Default)]
struct Model {
    lists: BTreeMap<Key, Vec<Value>>,
    registers: BTreeMap<Key, Value>,
    members: BTreeMap<u32, Vec<Key>>,
    next_value: Value,
}

impl Model {
    fn operation(&mut self, key: Key, random: &mut Random) -> Operation {
        self.next_value += 1;
        let value = self.next_value;
        match random.below(7) {
            0 | 1 => {
                self.lists.entry(key).or_default().push(value);
                Operation::Append { key, value }
            }
            2 => Operation::List { key, values: self.lists.get(&key).cloned().unwrap_or_default() },
            3 => {
                let over = self.registers.insert(key, value).unwrap_or(0);
                Operation::Write { key, value, over }
            }
            4 => Operation::Register { key, value: self.registers.get(&key).copied().unwrap_or(0) },
            5 => {
                self.members.entry(key).or_default().push(value);
                Operation::Insert { class: key, key: value }
            }
            _ => Operation::Members { class: key, keys: self.members.get(&key).cloned().unwrap_or_default() },
        }
    }

    fn last_look(&self) -> Transaction {
        let lists =
            self.lists.iter().map(|(key, values)| Operation::List { key: *key, values: values.clone() });
        let registers =
            self.registers.iter().map(|(key, value)| Operation::Register { key: *key, value: *value });
        let members =
            self.members.iter().map(|(class, keys)| Operation::Members { class: *class, keys: keys.clone() });
        Transaction {
            operations: lists.chain(registers).chain(members).collect(),
            outcome: Outcome::Committed,
        }
    }
}

fn serial_history(seed: u64, transactions: u32) -> History {
    let mut random = Random::new(seed);
    let mut model = Model::default();
    let mut history = History { has_last_look: true, ..History::default() };
    for number in 0..transactions {
        let first_key = number / TRANSACTIONS_PER_KEY;
        let count = 1 + random.below(4);
        let mut operation = || {
            let key = first_key + random.below(KEYS_IN_USE);
            model.operation(key, &mut random)
        };
        let operations = (0..count).map(|_| operation()).collect();
        history.transactions.push(Transaction { operations, outcome: Outcome::Committed });
    }
    history.transactions.push(model.last_look());
    history
}

/// Changes the first operation from `start` on that `plant` takes; its transaction.
fn plant(history: &mut History, start: usize, plant: impl Fn(&mut Operation) -> bool) -> usize {
    let last = history.transactions.len() - 1;
    let planted =
        (start..last).find(|&number| history.transactions[number].operations.iter_mut().any(&plant));
    planted.expect("every kind of operation occurs")
}

fn found(history: History) -> BTreeSet<Class> {
    check(history).classes()
}

#[test]
fn serial_histories_are_clean_however_long() {
    for seed in 0..20 {
        assert_eq!(found(serial_history(seed, 500)), BTreeSet::new(), "seed {seed}");
    }
    assert_eq!(found(serial_history(1, 100_000)), BTreeSet::new());
}

#[test]
fn a_read_that_misses_the_newest_write_is_found() {
    for seed in 0..20 {
        // Every transaction that reads writes too, so the stale read makes a cycle or contradicts the reader itself.
        let mut stale_list = serial_history(seed, 2_000);
        let number = plant(&mut stale_list, 500, |operation| match operation {
            Operation::List { values, .. } => values.pop().is_some(),
            _ => false,
        });
        close(&mut stale_list, number);
        assert!(!found(stale_list).is_empty(), "list, seed {seed}");
        let mut phantom = serial_history(seed, 2_000);
        let number = plant(&mut phantom, 500, |operation| match operation {
            Operation::Members { keys, .. } => keys.pop().is_some(),
            _ => false,
        });
        close(&mut phantom, number);
        assert!(!found(phantom).is_empty(), "members, seed {seed}");
    }
}

/// Lets every transaction before `number` be seen by it, by way of a list of their own.
fn close(history: &mut History, number: usize) {
    let key = Key::MAX;
    let mut values = Vec::new();
    for before in 0..number {
        let value = Value::MAX - before as Value;
        values.push(value);
        history.transactions[before].operations.push(Operation::Append { key, value });
    }
    history.transactions[number].operations.push(Operation::List { key, values: values.clone() });
    let last = history.transactions.last_mut().expect("there is a last look");
    last.operations.push(Operation::List { key, values });
}

#[test]
fn a_rolled_back_transaction_that_others_saw_is_found() {
    for seed in 0..20 {
        let mut history = serial_history(seed, 2_000);
        let writes = |transaction: &Transaction| {
            transaction.operations.iter().any(|operation| matches!(operation, Operation::Append { .. }))
        };
        let number = (500..).find(|&number| writes(&history.transactions[number])).expect("many append");
        history.transactions[number].outcome = Outcome::Aborted;
        assert!(found(history).contains(&Class::G1a), "seed {seed}");
    }
}

#[test]
fn writes_that_the_last_look_misses_are_found() {
    for seed in 0..20 {
        for kind in 0..3 {
            let mut history = serial_history(seed, 2_000);
            let last = history.transactions.last_mut().expect("there is a last look");
            let lost = last.operations.iter_mut().any(|operation| match operation {
                Operation::List { values, .. } if kind == 0 => values.pop().is_some(),
                Operation::Register { value, .. } if kind == 1 => std::mem::take(value) != 0,
                Operation::Members { keys, .. } if kind == 2 => keys.pop().is_some(),
                _ => false,
            });
            assert!(lost && found(history).contains(&Class::LostWrite), "seed {seed}, kind {kind}");
        }
    }
}

#[test]
fn answers_that_were_lost_leave_a_clean_history() {
    for seed in 0..20 {
        let mut history = serial_history(seed, 2_000);
        let last = history.transactions.len() - 1;
        for transaction in history.transactions[..last].iter_mut().step_by(7) {
            transaction.outcome = Outcome::Unknown;
        }
        assert_eq!(found(history), BTreeSet::new(), "seed {seed}");
    }
}
