//! `information_schema.INNODB_TRX`: transactions that have locked or changed something, and those that a session has
//! open for reading.
use std::collections::{HashMap, HashSet};
use std::time::Instant;

use crate::view::ViewColumn::{self, DateTime, Int, NullDateTime, NullNumber, NullText, Number, Text};
use catalog::{LockName, Viewer};
use datum::Value;
use engine::{Isolation, LockInfo, TransactionInfo};

use super::lock_text::{lock_id, moment, unix_now_us};
use super::locks::activity_of;
use instance::Activity;
use instance::Instance;
use instance::lock_owner_of;
use variables::isolation_name;

pub(crate) const TRANSACTION_COLUMNS: &[ViewColumn] = &[
    Number("trx_id"),
    Text("trx_state", 13),
    DateTime("trx_started"),
    NullText("trx_requested_lock_id", 126),
    NullDateTime("trx_wait_started"),
    Number("trx_weight"),
    Number("trx_mysql_thread_id"),
    NullText("trx_query", 1024),
    NullText("trx_operation_state", 64),
    Number("trx_tables_in_use"),
    Number("trx_tables_locked"),
    Number("trx_lock_structs"),
    Number("trx_lock_memory_bytes"),
    Number("trx_rows_locked"),
    Number("trx_rows_modified"),
    Number("trx_concurrency_tickets"),
    Text("trx_isolation_level", 16),
    Int("trx_unique_checks"),
    Int("trx_foreign_key_checks"),
    NullText("trx_last_foreign_key_error", 256),
    Int("trx_adaptive_hash_latched"),
    Number("trx_adaptive_hash_timeout"),
    Int("trx_is_read_only"),
    Int("trx_autocommit_non_locking"),
    NullNumber("trx_schedule_weight"),
];

/// A transaction without a number of its own is shown under this plus its connection's, as InnoDB does it.
pub const UNNUMBERED: u64 = 1 << 48;
const QUERY_CHARACTERS_MAX: usize = 1024;

/// One row before it is one.
struct Shown {
    id: u64,
    label: u64,
    age_us: u64,
    isolation: Isolation,
    is_read_only: bool,
    rows_locked: u64,
    rows_modified: u64,
    lock_structs: u64,
    /// The lock it waits for, and how long.
    waits: Option<(String, u64)>,
}

impl Shown {
    fn of(transaction: &TransactionInfo, locks: &[LockInfo]) -> Shown {
        let waits = transaction.waiting.as_ref().and_then(|waiting| {
            let wanted = locks.iter().find(|lock| !lock.granted)?;
            Some((lock_id(wanted), waiting.for_us))
        });
        Shown {
            id: transaction.id,
            label: transaction.label,
            age_us: transaction.age_us,
            isolation: transaction.isolation,
            is_read_only: false,
            rows_locked: transaction.locks,
            rows_modified: transaction.undo_records,
            lock_structs: locks.len() as u64,
            waits,
        }
    }
}

pub(crate) fn transactions(instance: &Instance, viewer: &Viewer) -> Vec<Vec<Value>> {
    if !viewer.sees_all_sessions {
        return Vec::new();
    }
    let now_us = unix_now_us();
    let tables = locked_tables(instance);
    let row = |shown: &Shown| {
        // A prepared transaction is nobody's, and holds its locks itself.
        let owner = if shown.label == 0 { lock_owner_of(shown.id).0 } else { shown.label };
        row(instance, viewer, shown, now_us, tables.get(&owner).copied().unwrap_or(0))
    };
    all(instance).iter().map(row).collect()
}

fn all(instance: &Instance) -> Vec<Shown> {
    let mut locks: HashMap<u64, Vec<LockInfo>> = HashMap::new();
    for lock in instance.engine().locks() {
        locks.entry(lock.transaction).or_default().push(lock);
    }
    let none = Vec::new();
    let active = instance.engine().active_transactions();
    let mut shown: Vec<Shown> = active
        .iter()
        .map(|transaction| Shown::of(transaction, locks.get(&transaction.id).unwrap_or(&none)))
        .collect();
    let numbered: HashSet<u64> = active.iter().map(|transaction| transaction.label).collect();
    let now = Instant::now();
    for entry in instance.processes().all() {
        let label = u64::from(entry.id.0);
        let Some(open) = entry.activity().transaction.filter(|_| !numbered.contains(&label)) else {
            continue;
        };
        shown.push(Shown {
            id: UNNUMBERED + label,
            label,
            age_us: (now - open.since).as_micros() as u64,
            isolation: open.isolation,
            is_read_only: open.is_read_only,
            rows_locked: 0,
            rows_modified: 0,
            lock_structs: 0,
            waits: None,
        });
    }
    shown
}

/// How many tables each connection has locked against changes of their definition.
fn locked_tables(instance: &Instance) -> HashMap<u64, u64> {
    let mut counts = HashMap::new();
    for lock in instance.catalog().locks().list() {
        if lock.granted && matches!(lock.name, LockName::Table(..)) {
            *counts.entry(lock.owner.0).or_default() += 1;
        }
    }
    counts
}

fn row(instance: &Instance, viewer: &Viewer, shown: &Shown, now_us: i64, tables: u64) -> Vec<Value> {
    let activity = activity_of(instance, shown.label);
    let query = activity.as_ref().and_then(|activity| activity.info().map(str::to_owned));
    let checks = |read: fn(&Activity) -> bool| Value::Int(i64::from(activity.as_ref().is_none_or(read)));
    let tables_in_use = if query.is_some() { tables } else { 0 };
    let query = query.map(|text| text.chars().take(QUERY_CHARACTERS_MAX).collect::<String>());
    let at = |age_us| moment(&viewer.time_zone, now_us, age_us);
    let (requested, wait_started) = match &shown.waits {
        Some((id, for_us)) => (Value::bytes(id), at(*for_us)),
        None => (Value::Null, Value::Null),
    };
    vec![
        Value::UInt(shown.id),
        Value::bytes(if shown.waits.is_some() { "LOCK WAIT" } else { "RUNNING" }),
        at(shown.age_us),
        requested,
        wait_started,
        Value::UInt(shown.rows_locked + shown.rows_modified),
        Value::UInt(shown.label),
        query.map_or(Value::Null, Value::bytes),
        Value::Null,
        Value::UInt(tables_in_use),
        Value::UInt(tables),
        Value::UInt(shown.lock_structs),
        Value::UInt(0),
        Value::UInt(shown.rows_locked),
        Value::UInt(shown.rows_modified),
        Value::UInt(0),
        Value::bytes(isolation_name(shown.isolation).replace('-', " ")),
        checks(|activity| activity.unique_checks),
        checks(|activity| activity.foreign_key_checks),
        Value::Null,
        Value::Int(0),
        Value::UInt(0),
        Value::Int(i64::from(shown.is_read_only)),
        Value::Int(0),
        Value::Null,
    ]
}
