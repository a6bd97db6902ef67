//! Dependencies of reads by a predicate: who is a member of a class.
//!
//! Every key is inserted at most once and deleted at most once, so a read of a class that shows it saw the one version
//! that is a member, and a read that does not show a key that is never deleted saw it unborn. Of a key that is both
//! inserted and deleted within the history a read that does not show it proves nothing.

use std::collections::HashMap;

use crate::anomaly::{Anomaly, Class, Findings};
use crate::graph::{Graph, Kind};
use crate::history::{History, Key, Operation, Outcome};

#[derive(Debug, Default)]
struct Member {
    class: u32,
    /// There from the start, or inserted by one that may have committed.
    is_born: bool,
    inserted_by: Option<usize>,
    deleted_by: Option<usize>,
    /// The changes that were rolled back.
    aborted_by: Option<usize>,
}

/// The anomalies of single reads; the dependencies go into `graph`.
pub fn check(history: &History, graph: &mut Graph) -> Vec<Anomaly> {
    let members = members_of(history);
    let mut classes: HashMap<u32, Vec<Key>> = HashMap::new();
    for (key, member) in &members {
        classes.entry(member.class).or_default().push(*key);
        if let (Some(inserter), Some(deleter)) = (member.inserted_by, member.deleted_by) {
            graph.add(inserter, deleter, Kind::WriteWrite, *key);
        }
    }
    let mut findings = Findings::default();
    for (number, transaction) in history.transactions.iter().enumerate() {
        for operation in &transaction.operations {
            let Operation::Members { class, keys } = operation else { continue };
            if transaction.outcome != Outcome::Committed {
                continue;
            }
            let faults = keys.iter().filter_map(|key| seen(graph, number, *key, members.get(key)));
            faults.for_each(|(class, note)| findings.add(class, number, note));
            let others = classes.get(class).into_iter().flatten().filter(|key| !keys.contains(key));
            let faults = others.filter_map(|key| not_seen(graph, number, *key, &members[key]));
            faults.for_each(|(class, note)| findings.add(class, number, note));
        }
    }
    findings.into_anomalies()
}

/// A class of anomaly and what shows it.
type Fault = (Class, String);

fn members_of(history: &History) -> HashMap<Key, Member> {
    let mut members: HashMap<Key, Member> = HashMap::new();
    for &(key, class) in &history.initial_members {
        members.insert(key, Member { class, is_born: true, ..Member::default() });
    }
    for (number, transaction) in history.transactions.iter().enumerate() {
        let is_aborted = transaction.outcome == Outcome::Aborted;
        for operation in &transaction.operations {
            match *operation {
                Operation::Insert { class, key } => {
                    let member = members.entry(key).or_default();
                    member.class = class;
                    if is_aborted {
                        member.aborted_by = Some(number);
                    } else {
                        (member.is_born, member.inserted_by) = (true, Some(number));
                    }
                }
                Operation::Delete { key } if is_aborted => {
                    members.entry(key).or_default().aborted_by = Some(number);
                }
                Operation::Delete { key } => {
                    members.entry(key).or_default().deleted_by = Some(number);
                }
                _ => {}
            }
        }
    }
    members
}

fn seen(graph: &mut Graph, reader: usize, key: Key, member: Option<&Member>) -> Option<Fault> {
    let Some(member) = member else {
        return Some((Class::Incompatible, format!("member {key} is there, which nobody inserted")));
    };
    if let (false, Some(writer)) = (member.is_born, member.aborted_by) {
        return Some(dirty(key, writer));
    }
    if let Some(inserter) = member.inserted_by {
        graph.add(inserter, reader, Kind::WriteRead, key);
    }
    if let Some(deleter) = member.deleted_by {
        graph.add(reader, deleter, Kind::PredicateReadWrite, key);
    }
    None
}

fn not_seen(graph: &mut Graph, reader: usize, key: Key, member: &Member) -> Option<Fault> {
    match (member.inserted_by, member.deleted_by, member.aborted_by) {
        // Unborn, or gone for a moment: a dirty read of a delete cannot be told from an early read.
        (Some(_), None, Some(_)) => None,
        (Some(inserter), None, None) => {
            graph.add(reader, inserter, Kind::PredicateReadWrite, key);
            None
        }
        (None, Some(deleter), None) => {
            graph.add(deleter, reader, Kind::WriteRead, key);
            None
        }
        (None, None, Some(writer)) if member.is_born => Some(dirty(key, writer)),
        (None, None, None) => {
            Some((Class::LostWrite, format!("member {key} is not there, though nobody deleted it")))
        }
        _ => None,
    }
}

fn dirty(key: Key, writer: usize) -> Fault {
    (Class::G1a, format!("saw the change of member {key} by T{writer}, which was rolled back"))
}
