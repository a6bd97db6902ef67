//! The checker: all anomalies of a history.

use std::collections::{BTreeMap, BTreeSet};

use crate::anomaly::{Anomaly, Class};
use crate::cycles;
use crate::dependencies::Items;
use crate::graph::Graph;
use crate::history::{History, Outcome, Transaction};
use crate::last_look;
use crate::members;

/// How many transactions of a cycle are described, and how many operations of each.
const DESCRIBED_MAX: usize = 4;
const OPERATIONS_SHOWN_MAX: usize = 40;

/// What histories have shown so far.
#[derive(Debug, Default)]
pub struct Report {
    pub committed: usize,
    pub transactions: usize,
    /// Whose COMMIT was not answered; the last look told.
    pub unknown: usize,
    /// The first witnesses of each class.
    pub anomalies: BTreeMap<Class, Vec<Anomaly>>,
}

/// Checks one history. One with transactions of unknown outcome needs its last look.
pub fn check(mut history: History) -> Report {
    let mut found = Vec::new();
    let is_unknown = |transaction: &&Transaction| transaction.outcome == Outcome::Unknown;
    let unknown = history.transactions.iter().filter(is_unknown).count();
    if history.has_last_look {
        last_look::decide(&mut history);
        found.extend(last_look::lost_writes(&history));
    }
    let history = &history;
    let mut graph = Graph::new(history.transactions.len());
    found.extend(Items::check(history, &mut graph));
    found.extend(members::check(history, &mut graph));
    found.extend(cycles::find(&graph));
    let mut report = Report {
        committed: history.committed(),
        transactions: history.transactions.len(),
        unknown,
        anomalies: BTreeMap::new(),
    };
    for mut anomaly in found {
        let witnesses = report.anomalies.entry(anomaly.class).or_default();
        if witnesses.is_empty() {
            describe(&mut anomaly, history);
        }
        witnesses.push(anomaly);
    }
    report
}

/// Adds what the transactions of a witness did.
fn describe(anomaly: &mut Anomaly, history: &History) {
    for &(number, _) in anomaly.cycle.iter().take(DESCRIBED_MAX) {
        let transaction = &history.transactions[number];
        anomaly.note += &format!("\n        T{number} {:?}", transaction.outcome);
        for operation in transaction.operations.iter().take(OPERATIONS_SHOWN_MAX) {
            anomaly.note += &format!("\n            {operation:?}");
        }
    }
}

impl Report {
    /// Adds what another history has shown.
    pub fn add(&mut self, other: Report) {
        self.committed += other.committed;
        self.transactions += other.transactions;
        self.unknown += other.unknown;
        for (class, anomalies) in other.anomalies {
            let known = self.anomalies.entry(class).or_default();
            if known.is_empty() {
                *known = anomalies;
            }
        }
    }

    pub fn classes(&self) -> BTreeSet<Class> {
        self.anomalies.keys().copied().collect()
    }
}

#[cfg(test)]
mod planted;
#[cfg(test)]
mod tests;
