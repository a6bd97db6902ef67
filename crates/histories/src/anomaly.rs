//! The anomalies, named as Adya and the Hermitage tests name them.

use std::collections::HashMap;
use std::fmt;

use crate::graph::Edge;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Dirty writes: a cycle of overwrites, or a committed write over one that was rolled back.
    G0,
    /// A committed transaction read what was rolled back.
    G1a,
    /// It read what its writer itself replaced later.
    G1b,
    /// A cycle of overwrites and reads of committed data: circular information flow.
    G1c,
    /// Two reads of one transaction saw different versions with no write of its own in between.
    NonRepeatableRead,
    /// A read does not show the transaction's own earlier writes on top of what it read before.
    Internal,
    /// A cycle with one anti-dependency: read skew, lost update.
    GSingle,
    /// A cycle with two or more anti-dependencies by items: write skew.
    G2Item,
    /// A cycle with one anti-dependency, by a predicate: a phantom.
    GSinglePredicate,
    /// A cycle with several anti-dependencies of which one is by a predicate.
    G2,
    /// A committed write is not there at the end.
    LostWrite,
    /// Reads or writes that no order of versions explains.
    Incompatible,
}

impl Class {
    pub const ALL: [Class; 12] = [
        Class::G0,
        Class::G1a,
        Class::G1b,
        Class::G1c,
        Class::NonRepeatableRead,
        Class::Internal,
        Class::GSingle,
        Class::G2Item,
        Class::GSinglePredicate,
        Class::G2,
        Class::LostWrite,
        Class::Incompatible,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Class::G0 => "G0",
            Class::G1a => "G1a",
            Class::G1b => "G1b",
            Class::G1c => "G1c",
            Class::NonRepeatableRead => "non-repeatable read",
            Class::Internal => "internal",
            Class::GSingle => "G-single",
            Class::G2Item => "G2-item",
            Class::GSinglePredicate => "G-single by predicate",
            Class::G2 => "G2",
            Class::LostWrite => "lost write",
            Class::Incompatible => "incompatible order",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// One anomaly with what proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    pub class: Class,
    /// The cycle: each transaction and the edge to the next, the last one's leading to the first. Without edges where
    /// a single read is the proof.
    pub cycle: Vec<(usize, Option<Edge>)>,
    pub note: String,
}

/// Anomalies of one class that are written down; the first is enough to break a promise.
const WRITTEN_MAX: usize = 3;

/// The anomalies that single operations prove: the first few of each class, so that none hides another.
#[derive(Debug, Default)]
pub struct Findings {
    anomalies: Vec<Anomaly>,
    counts: HashMap<Class, usize>,
}

impl Findings {
    pub fn add(&mut self, class: Class, transaction: usize, note: String) {
        let count = self.counts.entry(class).or_default();
        *count += 1;
        if *count <= WRITTEN_MAX {
            self.anomalies.push(Anomaly::of_transaction(class, transaction, note));
        }
    }

    pub fn into_anomalies(self) -> Vec<Anomaly> {
        self.anomalies
    }
}

impl Anomaly {
    fn of_transaction(class: Class, transaction: usize, note: String) -> Anomaly {
        Anomaly { class, cycle: vec![(transaction, None)], note }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:", self.class)?;
        for (transaction, edge) in &self.cycle {
            write!(formatter, " T{transaction}")?;
            if let Some(edge) = edge {
                write!(formatter, " -{}(key {})->", edge.kind.name(), edge.key)?;
            }
        }
        if let (Some((first, _)), true) = (self.cycle.first(), self.cycle.len() > 1) {
            write!(formatter, " T{first}")?;
        }
        if !self.note.is_empty() {
            write!(formatter, " {}", self.note)?;
        }
        Ok(())
    }
}
