//! From reads and writes of lists and registers to dependencies, with the anomalies that single reads prove.
//!
//! For each key the committed versions have one order: for lists the order in the longest list that was read, for
//! registers the chain of what each write replaced. A read that fits no such order is reported and gives no edges.

use std::collections::{BTreeMap, HashMap};

use crate::anomaly::{Anomaly, Class, Findings};
use crate::graph::{Graph, Kind};
use crate::history::{History, Key, Operation, Outcome, Value};

/// Which table a key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kin {
    List,
    Register,
}

/// A write of a value, wherever it was.
#[derive(Debug, Clone, Copy)]
struct Writer {
    transaction: usize,
    /// The last write of its transaction to this key.
    is_final: bool,
    over: Option<Value>,
}

/// What other transactions may see of items, in order.
pub struct Items<'h> {
    history: &'h History,
    writers: HashMap<(Kin, Key, Value), Writer>,
    orders: BTreeMap<(Kin, Key), Vec<Value>>,
    findings: Findings,
}

impl<'h> Items<'h> {
    /// The anomalies of single reads; the dependencies go into `graph`.
    pub fn check(history: &'h History, graph: &mut Graph) -> Vec<Anomaly> {
        let mut items = Items {
            history,
            writers: HashMap::new(),
            orders: BTreeMap::new(),
            findings: Findings::default(),
        };
        items.collect_writers();
        items.order_lists();
        items.order_registers();
        items.write_edges(graph);
        items.read_edges(graph);
        items.own_views();
        items.findings.into_anomalies()
    }

    fn report(&mut self, class: Class, transaction: usize, note: String) {
        self.findings.add(class, transaction, note);
    }

    fn is_aborted(&self, transaction: usize) -> bool {
        self.history.transactions[transaction].outcome == Outcome::Aborted
    }

    fn is_committed(&self, transaction: usize) -> bool {
        self.history.transactions[transaction].outcome == Outcome::Committed
    }

    fn collect_writers(&mut self) {
        for (number, transaction) in self.history.transactions.iter().enumerate() {
            let mut last: HashMap<(Kin, Key), Value> = HashMap::new();
            for operation in &transaction.operations {
                let (kin, key, value, over) = match *operation {
                    Operation::Append { key, value } => (Kin::List, key, value, None),
                    Operation::Write { key, value, over } => (Kin::Register, key, value, Some(over)),
                    _ => continue,
                };
                if let Some(earlier) = last.insert((kin, key), value)
                    && let Some(writer) = self.writers.get_mut(&(kin, key, earlier))
                {
                    writer.is_final = false;
                }
                let writer = Writer { transaction: number, is_final: true, over };
                self.writers.insert((kin, key, value), writer);
            }
        }
    }

    /// The longest list that a committed transaction read of each key; every other has to be its beginning.
    fn order_lists(&mut self) {
        let history = self.history;
        let mut longest: BTreeMap<Key, (usize, &[Value])> = BTreeMap::new();
        for (number, transaction) in history.transactions.iter().enumerate() {
            for operation in committed_operations(transaction.outcome, &transaction.operations) {
                let Operation::List { key, values } = operation else { continue };
                if !self.is_clean(*key, values) {
                    continue;
                }
                let known = longest.entry(*key).or_insert((number, values));
                if values.len() > known.1.len() {
                    *known = (number, values);
                }
            }
        }
        for (number, transaction) in history.transactions.iter().enumerate() {
            for operation in committed_operations(transaction.outcome, &transaction.operations) {
                let Operation::List { key, values } = operation else { continue };
                let order = longest.get(key).map_or(&[][..], |(_, order)| order);
                if !order.starts_with(values) && self.is_clean(*key, values) {
                    self.report(Class::Incompatible, number, format!("list {key}: {values:?} and {order:?}"));
                }
            }
        }
        let orders = longest.into_iter().map(|(key, (_, order))| ((Kin::List, key), order.to_vec()));
        self.orders.extend(orders);
        self.find_lost_appends();
    }

    /// Nobody has rolled back what the list shows; a dirty read is reported elsewhere.
    fn is_clean(&self, key: Key, values: &[Value]) -> bool {
        let writer = |value: &Value| self.writers.get(&(Kin::List, key, *value));
        !values.iter().filter_map(writer).any(|writer| self.is_aborted(writer.transaction))
    }

    fn find_lost_appends(&mut self) {
        let lost: Vec<(usize, Key, Value)> = self
            .writers
            .iter()
            .filter(|((kin, key, value), writer)| {
                *kin == Kin::List
                    && self.is_committed(writer.transaction)
                    && !self.orders.get(&(Kin::List, *key)).is_some_and(|order| order.contains(value))
            })
            .map(|((_, key, value), writer)| (writer.transaction, *key, *value))
            .collect();
        for (transaction, key, value) in lost {
            self.report(Class::LostWrite, transaction, format!("list {key} never shows {value}"));
        }
    }

    /// Follows what each committed write replaced, from the initial version on.
    fn order_registers(&mut self) {
        let mut next: HashMap<(Key, Value), Value> = HashMap::new();
        let mut faults = Vec::new();
        let mut keys: Vec<Key> = Vec::new();
        for (&(kin, key, value), writer) in &self.writers {
            let Some(over) = writer.over.filter(|_| kin == Kin::Register) else { continue };
            if self.is_aborted(writer.transaction) {
                continue;
            }
            keys.push(key);
            if let Some(replaced) = self.writers.get(&(Kin::Register, key, over))
                && self.is_aborted(replaced.transaction)
            {
                let note = format!("register {key}: {value} replaced {over}, which was rolled back");
                faults.push((Class::G0, writer.transaction, note));
            }
            if let Some(other) = next.insert((key, over), value) {
                let note = format!("register {key}: both {value} and {other} replaced {over}");
                faults.push((Class::LostWrite, writer.transaction, note));
            }
        }
        for (class, transaction, note) in faults {
            self.report(class, transaction, note);
        }
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let mut order: Vec<Value> = Vec::new();
            while let Some(&value) = next.get(&(key, order.last().copied().unwrap_or(0))) {
                if order.len() > next.len() {
                    break;
                }
                order.push(value);
            }
            self.orders.insert((Kin::Register, key), order);
        }
    }

    fn write_edges(&mut self, graph: &mut Graph) {
        let mut faults = Vec::new();
        for (&(kin, key), order) in &self.orders {
            let writers = order.iter().filter_map(|value| self.writers.get(&(kin, key, *value)));
            let mut before: Option<usize> = None;
            for writer in writers {
                if self.is_aborted(writer.transaction) {
                    continue;
                }
                if let Some(before) = before {
                    graph.add(before, writer.transaction, Kind::WriteWrite, key);
                }
                before = Some(writer.transaction);
            }
            for value in order {
                if !self.writers.contains_key(&(kin, key, *value)) {
                    faults.push((key, *value));
                }
            }
        }
        for (key, value) in faults {
            self.report(Class::Incompatible, 0, format!("key {key} holds {value}, which nobody wrote"));
        }
    }

    fn read_edges(&mut self, graph: &mut Graph) {
        let history = self.history;
        for (number, transaction) in history.transactions.iter().enumerate() {
            for operation in committed_operations(transaction.outcome, &transaction.operations) {
                match operation {
                    Operation::List { key, values } => {
                        for value in values {
                            self.judge_aborted(number, Kin::List, *key, *value);
                        }
                        self.read_edge(graph, number, Kin::List, *key, values.last().copied());
                    }
                    Operation::Register { key, value } => {
                        self.judge_aborted(number, Kin::Register, *key, *value);
                        let seen = Some(*value).filter(|value| *value != 0);
                        self.read_edge(graph, number, Kin::Register, *key, seen);
                    }
                    _ => {}
                }
            }
        }
    }

    fn judge_aborted(&mut self, reader: usize, kin: Kin, key: Key, value: Value) {
        let Some(writer) = self.writers.get(&(kin, key, value)) else { return };
        if self.is_aborted(writer.transaction) {
            let note = format!("read {value} of key {key} by T{}, which was rolled back", writer.transaction);
            self.report(Class::G1a, reader, note);
        }
    }

    /// The edges of a read that saw the version `seen` last, `None` for the initial one.
    fn read_edge(&mut self, graph: &mut Graph, reader: usize, kin: Kin, key: Key, seen: Option<Value>) {
        let order: &[Value] = self.orders.get(&(kin, key)).map_or(&[], Vec::as_slice);
        let position = match seen {
            None => 0,
            Some(value) => {
                let Some(&writer) = self.writers.get(&(kin, key, value)) else {
                    let note = format!("key {key} shows {value}, which nobody wrote");
                    return self.report(Class::Incompatible, reader, note);
                };
                if self.is_aborted(writer.transaction) {
                    return;
                }
                if !writer.is_final && writer.transaction != reader {
                    let note = format!("read {value} of key {key}, not the last by T{}", writer.transaction);
                    return self.report(Class::G1b, reader, note);
                }
                let Some(position) = order.iter().position(|known| *known == value) else { return };
                graph.add(writer.transaction, reader, Kind::WriteRead, key);
                position + 1
            }
        };
        let next = order[position..].iter().filter_map(|value| self.writers.get(&(kin, key, *value)));
        if let Some(writer) = next.into_iter().find(|writer| !self.is_aborted(writer.transaction)) {
            graph.add(reader, writer.transaction, Kind::ReadWrite, key);
        }
    }

    /// Each transaction by itself: do later reads agree with earlier ones and its own writes?
    fn own_views(&mut self) {
        let history = self.history;
        for (number, transaction) in history.transactions.iter().enumerate() {
            let mut views: HashMap<(Kin, Key), View> = HashMap::new();
            for operation in committed_operations(transaction.outcome, &transaction.operations) {
                let (place, found) = match operation {
                    Operation::Append { key, value } => {
                        views.entry((Kin::List, *key)).or_default().append(*value);
                        continue;
                    }
                    Operation::Write { key, value, .. } => {
                        views.insert((Kin::Register, *key), View::written(vec![*value]));
                        continue;
                    }
                    Operation::List { key, values } => ((Kin::List, *key), values.clone()),
                    Operation::Register { key, value } => ((Kin::Register, *key), vec![*value]),
                    _ => continue,
                };
                let view = views.entry(place).or_default();
                if let Some(class) = view.contradicted(&found) {
                    self.report(class, number, format!("key {}: {:?}, then {found:?}", place.1, view));
                }
                *view = View { read: Some(found), ..View::default() };
            }
        }
    }
}

/// What a transaction knows of one key.
#[derive(Debug, Default)]
struct View {
    read: Option<Vec<Value>>,
    /// Own appends since then.
    appended: Vec<Value>,
    is_written: bool,
}

impl View {
    fn written(values: Vec<Value>) -> View {
        View { read: Some(values), appended: Vec::new(), is_written: true }
    }

    fn append(&mut self, value: Value) {
        self.appended.push(value);
        self.is_written = true;
    }

    fn contradicted(&self, found: &[Value]) -> Option<Class> {
        let agrees = match &self.read {
            Some(read) => found.strip_prefix(read.as_slice()) == Some(self.appended.as_slice()),
            None => found.ends_with(&self.appended),
        };
        match (agrees, self.is_written) {
            (true, _) => None,
            (false, true) => Some(Class::Internal),
            (false, false) => Some(Class::NonRepeatableRead),
        }
    }
}

/// What aborted transactions read proves nothing.
fn committed_operations(outcome: Outcome, operations: &[Operation]) -> &[Operation] {
    if outcome == Outcome::Committed { operations } else { &[] }
}
