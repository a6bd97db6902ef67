//! What the server kept: the last look at everything decides which transactions of unknown outcome committed, and every
//! committed write has to be there.
//!
//! The last look shows the end of each list, the newest version of each register and the members. From a register's
//! newest version the row's own account of what each write replaced leads back to the first, so all versions that were
//! ever committed are known. A transaction whose COMMIT was not answered did commit if any write of it was kept; then
//! all of them have to be, like those of an answered one.

use std::collections::{HashMap, HashSet};

use crate::anomaly::{Anomaly, Class, Findings};
use crate::history::{History, Key, Operation, Outcome, Value};

/// What is left of all writes.
#[derive(Debug, Default)]
struct Kept {
    lists: HashSet<(Key, Value)>,
    /// Every committed version of each register, the initial ones left out.
    registers: HashSet<(Key, Value)>,
    members: HashSet<Key>,
    /// Who deleted each member that is gone: the last whose DELETE found it.
    deleters: HashMap<Key, usize>,
}

/// The history with every outcome known.
pub fn decide(history: &mut History) {
    if !history.transactions.iter().any(|transaction| transaction.outcome == Outcome::Unknown) {
        return;
    }
    let kept = Kept::of(history);
    for (number, transaction) in history.transactions.iter_mut().enumerate() {
        if transaction.outcome == Outcome::Unknown {
            let left =
                transaction.operations.iter().any(|operation| kept.holds(number, operation) == Some(true));
            transaction.outcome = if left { Outcome::Committed } else { Outcome::Aborted };
        }
    }
}

/// The committed writes that are not there.
pub fn lost_writes(history: &History) -> Vec<Anomaly> {
    let kept = Kept::of(history);
    let mut findings = Findings::default();
    for (number, transaction) in history.transactions.iter().enumerate() {
        for operation in &transaction.operations {
            if transaction.outcome == Outcome::Committed && kept.holds(number, operation) == Some(false) {
                findings.add(
                    Class::LostWrite,
                    number,
                    format!("at the end nothing is left of {operation:?}"),
                );
            }
        }
    }
    findings.into_anomalies()
}

impl Kept {
    fn of(history: &History) -> Kept {
        let mut kept = Kept::default();
        let mut newest: Vec<(Key, Value)> = Vec::new();
        let [transactions @ .., last] = history.transactions.as_slice() else { return kept };
        for operation in &last.operations {
            match operation {
                Operation::List { key, values } => {
                    kept.lists.extend(values.iter().map(|value| (*key, *value)))
                }
                Operation::Register { key, value } => newest.push((*key, *value)),
                Operation::Members { keys, .. } => kept.members.extend(keys),
                _ => {}
            }
        }
        let mut replaced: HashMap<(Key, Value), Value> = HashMap::new();
        for (number, transaction) in transactions.iter().enumerate() {
            for operation in &transaction.operations {
                match *operation {
                    Operation::Write { key, value, over } => drop(replaced.insert((key, value), over)),
                    Operation::Delete { key } if transaction.outcome != Outcome::Aborted => {
                        kept.deleters.insert(key, number);
                    }
                    _ => {}
                }
            }
        }
        for (key, mut value) in newest {
            while let Some(over) = replaced.get(&(key, value))
                && kept.registers.insert((key, value))
            {
                value = *over;
            }
        }
        kept
    }

    /// Whether the effect of a write is there; `None` for what is no write.
    fn holds(&self, transaction: usize, operation: &Operation) -> Option<bool> {
        match operation {
            Operation::Append { key, value } => Some(self.lists.contains(&(*key, *value))),
            Operation::Write { key, value, .. } => Some(self.registers.contains(&(*key, *value))),
            Operation::Insert { key, .. } => {
                Some(self.members.contains(key) || self.deleters.contains_key(key))
            }
            Operation::Delete { key } => {
                Some(self.deleters.get(key) == Some(&transaction) && !self.members.contains(key))
            }
            Operation::List { .. } | Operation::Register { .. } | Operation::Members { .. } => None,
        }
    }
}
