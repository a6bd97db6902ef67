//! One random transaction on one connection.
//!
//! Invariant: an operation is noted only when its answer arrived, so what is noted did happen, if the transaction
//! committed. A lost connection is an abort unless COMMIT was under way.

use std::sync::atomic::{AtomicU32, Ordering};

use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use crate::history::{Key, Operation, Outcome, Transaction, Value};
use crate::permitted::Reads;
use crate::random::Random;

/// Registers of one part are read together, through an index.
pub const PART_KEYS: u32 = 3;
/// Members of each class that are there from the start.
pub const INITIAL_MEMBERS: u32 = 2;
/// What a read notes for a register that it should have found once.
const MISSING: Value = Value::MAX;
const TWICE: Value = Value::MAX - 1;
/// Keys that are in use at a time.
const WINDOW_KEYS: u32 = 6;
/// The window moves on after so many transactions.
const TRANSACTIONS_PER_KEY: u32 = 16;

/// What the transactions do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    Lists,
    Registers,
    /// Reads by a predicate, inserts and deletes, with registers beside them.
    Members,
}

impl Workload {
    pub const ALL: [Workload; 3] = [Workload::Lists, Workload::Registers, Workload::Members];

    pub fn named(name: &str) -> Option<Workload> {
        Workload::ALL.into_iter().find(|workload| format!("{workload:?}").eq_ignore_ascii_case(name))
    }
}

/// The numbers that all connections of a history draw from.
pub struct Counters {
    begun: AtomicU32,
    values: AtomicU32,
}

impl Counters {
    /// Members that are inserted get keys above those that are there from the start.
    pub fn new(first_value: u32) -> Counters {
        Counters { begun: AtomicU32::new(0), values: AtomicU32::new(first_value) }
    }

    fn value(&self) -> Value {
        self.values.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of the next transaction of the history.
    pub fn begin(&self) -> u32 {
        self.begun.fetch_add(1, Ordering::Relaxed)
    }
}

/// How many keys a history of so many transactions uses.
pub fn key_count(transactions: u32) -> u32 {
    let keys = transactions / TRANSACTIONS_PER_KEY + WINDOW_KEYS;
    keys.next_multiple_of(PART_KEYS)
}

/// Runs transaction `number`; an error is a fault of the server or the connection, not an abort.
pub fn run(
    client: &mut Conn,
    number: u32,
    workload: Workload,
    reads: Reads,
    counters: &Counters,
    random: &mut Random,
) -> Result<Transaction, (Transaction, Error)> {
    let mut transaction = Run { client, reads, counters, operations: Vec::new() };
    let first_key = number / TRANSACTIONS_PER_KEY;
    let mut result = transaction.client.query_drop("BEGIN");
    for _ in 0..1 + random.below(4) {
        let key = first_key + random.below(WINDOW_KEYS);
        result = result.and_then(|()| transaction.step(workload, key, random));
    }
    let gives_up = random.one_in(10);
    let (outcome, error) = match result {
        Ok(()) if gives_up => (Outcome::Aborted, transaction.client.query_drop("ROLLBACK").err()),
        Ok(()) => match transaction.client.query_drop("COMMIT") {
            Ok(()) => (Outcome::Committed, None),
            Err(error) if is_answer(&error) => (Outcome::Aborted, Some(error)),
            Err(error) => (Outcome::Unknown, Some(error)),
        },
        Err(error) if is_answer(&error) => {
            let ended = transaction.client.query_drop("ROLLBACK");
            (Outcome::Aborted, if is_abort(&error) { ended.err() } else { Some(error) })
        }
        Err(error) => (Outcome::Aborted, Some(error)),
    };
    let transaction = Transaction { operations: transaction.operations, outcome };
    match error {
        None => Ok(transaction),
        Some(error) => Err((transaction, error)),
    }
}

/// The server answered, so the connection goes on.
fn is_answer(error: &Error) -> bool {
    matches!(error, Error::MySqlError(_))
}

/// Deadlock, lock wait timeout and, with snapshot isolation, a row that has changed since the snapshot.
fn is_abort(error: &Error) -> bool {
    matches!(error, Error::MySqlError(error) if matches!(error.code, 1213 | 1205 | 1020))
}

struct Run<'c> {
    client: &'c mut Conn,
    reads: Reads,
    counters: &'c Counters,
    operations: Vec<Operation>,
}

impl Run<'_> {
    fn step(&mut self, workload: Workload, key: Key, random: &mut Random) -> Result<(), Error> {
        match workload {
            Workload::Lists if random.one_in(2) => self.append(key, random),
            Workload::Lists => self.read_lists(key, random),
            Workload::Registers if random.one_in(2) => self.write(key),
            Workload::Registers => self.read_registers(key, random),
            Workload::Members => match random.below(6) {
                0 | 1 => self.read_members(key),
                2 => self.insert(key),
                3 => self.delete(key * INITIAL_MEMBERS + random.below(INITIAL_MEMBERS)),
                4 => self.write(key),
                _ => self.read_registers(key, random),
            },
        }
    }

    fn lock(&self) -> &'static str {
        match self.reads {
            Reads::Plain => "",
            Reads::Locking => " FOR UPDATE",
        }
    }

    fn append(&mut self, key: Key, random: &mut Random) -> Result<(), Error> {
        let value = self.counters.value();
        let sql = if random.one_in(4) {
            format!("UPDATE lists SET elements = CONCAT(elements, ',{value}') WHERE id = {key}")
        } else {
            format!(
                "INSERT INTO lists VALUES ({key}, '{value}') ON DUPLICATE KEY UPDATE elements = \
                 CONCAT(elements, ',{value}')"
            )
        };
        self.client.query_drop(sql)?;
        // The update of a list that is not there changes nothing.
        if self.client.affected_rows() > 0 {
            self.operations.push(Operation::Append { key, value });
        }
        Ok(())
    }

    fn read_lists(&mut self, key: Key, random: &mut Random) -> Result<(), Error> {
        let last = if random.one_in(3) { key + 2 } else { key };
        let condition =
            if last == key { format!("id = {key}") } else { format!("id BETWEEN {key} AND {last}") };
        let lock = self.lock();
        let rows: Vec<(Key, String)> =
            self.client.query(format!("SELECT id, elements FROM lists WHERE {condition}{lock}"))?;
        for key in key..=last {
            let found = rows.iter().find(|(id, _)| *id == key);
            let values = found.map_or_else(Vec::new, |(_, elements)| {
                elements.split(',').map(|value| value.parse().unwrap_or(Value::MAX)).collect()
            });
            self.operations.push(Operation::List { key, values });
        }
        Ok(())
    }

    /// Tells with the same read what was replaced: the row's own account of it.
    fn write(&mut self, key: Key) -> Result<(), Error> {
        let value = self.counters.value();
        self.client
            .query_drop(format!("UPDATE registers SET replaced = value, value = {value} WHERE id = {key}"))?;
        let over = self.client.query_first(format!("SELECT replaced FROM registers WHERE id = {key}"))?;
        self.operations.push(Operation::Write { key, value, over: over.unwrap_or(Value::MAX) });
        Ok(())
    }

    fn read_registers(&mut self, key: Key, random: &mut Random) -> Result<(), Error> {
        let lock = self.lock();
        let part = key / PART_KEYS;
        let (sql, keys) = match random.below(3) {
            0 => (format!("SELECT id, value, 0 FROM registers WHERE id = {key}{lock}"), key..=key),
            // The first is answered by the index alone, the second leads from it to the rows.
            variant => (
                format!(
                    "SELECT id, value, {} FROM registers FORCE INDEX (part) WHERE part = {part}{lock}",
                    if variant == 1 { "0" } else { "replaced" }
                ),
                part * PART_KEYS..=part * PART_KEYS + PART_KEYS - 1,
            ),
        };
        let rows: Vec<(Key, Value, Value)> = self.client.query(sql)?;
        for key in keys {
            let found: Vec<Value> =
                rows.iter().filter(|(id, ..)| *id == key).map(|(_, value, _)| *value).collect();
            // No write has these values, which the checker reports.
            let value = match found.as_slice() {
                [value] => *value,
                [] => MISSING,
                _ => TWICE,
            };
            self.operations.push(Operation::Register { key, value });
        }
        Ok(())
    }

    fn insert(&mut self, class: u32) -> Result<(), Error> {
        let key = self.counters.value();
        self.client.query_drop(format!("INSERT INTO members VALUES ({key}, {class})"))?;
        self.operations.push(Operation::Insert { class, key });
        Ok(())
    }

    fn delete(&mut self, key: Key) -> Result<(), Error> {
        self.client.query_drop(format!("DELETE FROM members WHERE id = {key}"))?;
        if self.client.affected_rows() > 0 {
            self.operations.push(Operation::Delete { key });
        }
        Ok(())
    }

    fn read_members(&mut self, class: u32) -> Result<(), Error> {
        let lock = self.lock();
        let keys = self.client.query(format!("SELECT id FROM members WHERE class = {class}{lock}"))?;
        self.operations.push(Operation::Members { class, keys });
        Ok(())
    }
}
