//! Row and range locks as tables: `performance_schema.data_locks` and `data_lock_waits`, `sys.innodb_lock_waits`.
//!
//! A connection is its own thread here, so thread ids are connection numbers. A table as a whole is not one moment.
use std::collections::HashMap;
use std::sync::Arc;

use crate::view::ViewColumn::{
    self, DateTime, NullDateTime, NullLongText, NullMediumText, NullNumber, NullSigned, NullText, NullTime,
    Number, Text,
};
use catalog::Viewer;
use datum::{Time, Value};
use engine::{LockInfo, TransactionInfo};
use schema::quote_identifier;

use super::lock_text::{TreeNames, is_in_the_way, lock_id, mode_text, moment, unix_now_us};
use instance::Activity;
use instance::ConnectionId;
use instance::Instance;

type Rows = Vec<Vec<Value>>;

pub(crate) const LOCK_COLUMNS: &[ViewColumn] = &[
    Text("ENGINE", 32),
    Text("ENGINE_LOCK_ID", 128),
    NullNumber("ENGINE_TRANSACTION_ID"),
    NullNumber("THREAD_ID"),
    NullNumber("EVENT_ID"),
    NullText("OBJECT_SCHEMA", 64),
    NullText("OBJECT_NAME", 64),
    NullText("PARTITION_NAME", 64),
    NullText("SUBPARTITION_NAME", 64),
    NullText("INDEX_NAME", 64),
    Number("OBJECT_INSTANCE_BEGIN"),
    Text("LOCK_TYPE", 32),
    Text("LOCK_MODE", 32),
    Text("LOCK_STATUS", 32),
    NullText("LOCK_DATA", 8192),
];

pub(crate) const WAIT_COLUMNS: &[ViewColumn] = &[
    Text("ENGINE", 32),
    Text("REQUESTING_ENGINE_LOCK_ID", 128),
    NullNumber("REQUESTING_ENGINE_TRANSACTION_ID"),
    NullNumber("REQUESTING_THREAD_ID"),
    NullNumber("REQUESTING_EVENT_ID"),
    Number("REQUESTING_OBJECT_INSTANCE_BEGIN"),
    Text("BLOCKING_ENGINE_LOCK_ID", 128),
    NullNumber("BLOCKING_ENGINE_TRANSACTION_ID"),
    NullNumber("BLOCKING_THREAD_ID"),
    NullNumber("BLOCKING_EVENT_ID"),
    Number("BLOCKING_OBJECT_INSTANCE_BEGIN"),
];

pub(crate) const SYS_LOCK_WAIT_COLUMNS: &[ViewColumn] = &[
    NullDateTime("wait_started"),
    NullTime("wait_age"),
    NullSigned("wait_age_secs"),
    NullMediumText("locked_table"),
    NullText("locked_table_schema", 64),
    NullText("locked_table_name", 64),
    NullText("locked_table_partition", 64),
    NullText("locked_table_subpartition", 64),
    NullText("locked_index", 64),
    Text("locked_type", 32),
    Number("waiting_trx_id"),
    DateTime("waiting_trx_started"),
    NullTime("waiting_trx_age"),
    Number("waiting_trx_rows_locked"),
    Number("waiting_trx_rows_modified"),
    Number("waiting_pid"),
    NullLongText("waiting_query"),
    Text("waiting_lock_id", 128),
    Text("waiting_lock_mode", 32),
    Number("blocking_trx_id"),
    Number("blocking_pid"),
    NullLongText("blocking_query"),
    Text("blocking_lock_id", 128),
    Text("blocking_lock_mode", 32),
    DateTime("blocking_trx_started"),
    NullTime("blocking_trx_age"),
    Number("blocking_trx_rows_locked"),
    Number("blocking_trx_rows_modified"),
    Text("sql_kill_blocking_query", 33),
    Text("sql_kill_blocking_connection", 27),
];

/// The only kind of lock that the engine has.
const RECORD: &str = "RECORD";

/// A wait, with the lock in its way.
struct Wait {
    waiter: Arc<TransactionInfo>,
    wanted: LockInfo,
    blocker: Arc<TransactionInfo>,
    held: LockInfo,
}

pub(crate) fn data_locks(instance: &Instance, viewer: &Viewer) -> Rows {
    if !viewer.sees_all_sessions {
        return Rows::new();
    }
    let locks = instance.engine().locks();
    let names = TreeNames::of(instance, locks.iter());
    locks.iter().map(|lock| lock_row(lock, &names)).collect()
}

fn lock_row(lock: &LockInfo, names: &TreeNames) -> Vec<Value> {
    let [schema, table, index] = place_values(names, lock);
    vec![
        Value::bytes("INNODB"),
        Value::bytes(lock_id(lock)),
        Value::UInt(lock.transaction),
        Value::UInt(lock.label),
        Value::Null,
        schema,
        table,
        Value::Null,
        Value::Null,
        index,
        Value::UInt(0),
        Value::bytes(RECORD),
        Value::bytes(mode_text(lock)),
        Value::bytes(if lock.granted { "GRANTED" } else { "WAITING" }),
        Value::bytes(names.data(lock)),
    ]
}

fn place_values(names: &TreeNames, lock: &LockInfo) -> [Value; 3] {
    match names.place(lock.tree) {
        Some((schema, table, index)) => [schema, table, index].map(Value::bytes),
        None => [Value::Null, Value::Null, Value::Null],
    }
}

/// Each wait once for every transaction it waits for.
fn waits(instance: &Instance) -> Vec<Wait> {
    let transactions: Vec<_> = instance.engine().active_transactions().into_iter().map(Arc::new).collect();
    if transactions.iter().all(|transaction| transaction.waiting.is_none()) {
        return Vec::new();
    }
    let by_id: HashMap<u64, &Arc<TransactionInfo>> =
        transactions.iter().map(|transaction| (transaction.id, transaction)).collect();
    let mut locks: HashMap<u64, Vec<LockInfo>> = HashMap::new();
    for lock in instance.engine().locks() {
        locks.entry(lock.transaction).or_default().push(lock);
    }
    let mut found = Vec::new();
    for waiter in &transactions {
        let (Some(waiting), Some(own)) = (&waiter.waiting, locks.get(&waiter.id)) else { continue };
        let Some(wanted) = own.iter().find(|lock| !lock.granted) else { continue };
        for id in &waiting.blockers {
            // Whoever has ended in between is in nobody's way any more.
            let (Some(blocker), Some(theirs)) = (by_id.get(id), locks.get(id)) else { continue };
            let in_the_way = || theirs.iter().filter(|held| is_in_the_way(held, wanted));
            // A request that stands in front in the queue counts where nothing is held.
            if let Some(held) = in_the_way().find(|held| held.granted).or_else(|| in_the_way().next()) {
                found.push(Wait {
                    waiter: waiter.clone(),
                    wanted: wanted.clone(),
                    blocker: (*blocker).clone(),
                    held: held.clone(),
                });
            }
        }
    }
    found
}

pub(crate) fn data_lock_waits(instance: &Instance, viewer: &Viewer) -> Rows {
    if !viewer.sees_all_sessions {
        return Rows::new();
    }
    let row = |wait: Wait| {
        let side = |lock: &LockInfo| {
            [
                Value::bytes(lock_id(lock)),
                Value::UInt(lock.transaction),
                Value::UInt(lock.label),
                Value::Null,
                Value::UInt(0),
            ]
        };
        let mut row = vec![Value::bytes("INNODB")];
        row.extend(side(&wait.wanted));
        row.extend(side(&wait.held));
        row
    };
    waits(instance).into_iter().map(row).collect()
}

pub(crate) fn sys_lock_waits(instance: &Instance, viewer: &Viewer) -> Rows {
    if !viewer.sees_all_sessions {
        return Rows::new();
    }
    let waits = waits(instance);
    let names = TreeNames::of(instance, waits.iter().map(|wait| &wait.wanted));
    let now_us = unix_now_us();
    waits.iter().map(|wait| sys_row(instance, viewer, wait, &names, now_us)).collect()
}

fn sys_row(instance: &Instance, viewer: &Viewer, wait: &Wait, names: &TreeNames, now_us: i64) -> Vec<Value> {
    let for_us = wait.waiter.waiting.as_ref().map_or(0, |waiting| waiting.for_us);
    let [schema, table, index] = place_values(names, &wait.wanted);
    let quoted = names
        .place(wait.wanted.tree)
        .map(|(schema, table, _)| format!("{}.{}", quote_identifier(schema), quote_identifier(table)));
    let query = |label: u64| {
        let activity = activity_of(instance, label);
        activity.as_ref().and_then(Activity::info).map_or(Value::Null, Value::bytes)
    };
    let started = |transaction: &TransactionInfo| moment(&viewer.time_zone, now_us, transaction.age_us);
    let (waiter, blocker) = (&*wait.waiter, &*wait.blocker);
    vec![
        moment(&viewer.time_zone, now_us, for_us),
        age(for_us),
        Value::Int((for_us / 1_000_000) as i64),
        quoted.map_or(Value::Null, Value::bytes),
        schema,
        table,
        Value::Null,
        Value::Null,
        index,
        Value::bytes(RECORD),
        Value::UInt(waiter.id),
        started(waiter),
        age(waiter.age_us),
        Value::UInt(waiter.locks),
        Value::UInt(waiter.undo_records),
        Value::UInt(waiter.label),
        query(waiter.label),
        Value::bytes(lock_id(&wait.wanted)),
        Value::bytes(mode_text(&wait.wanted)),
        Value::UInt(blocker.id),
        Value::UInt(blocker.label),
        query(blocker.label),
        Value::bytes(lock_id(&wait.held)),
        Value::bytes(mode_text(&wait.held)),
        started(blocker),
        age(blocker.age_us),
        Value::UInt(blocker.locks),
        Value::UInt(blocker.undo_records),
        Value::bytes(format!("KILL QUERY {}", blocker.label)),
        Value::bytes(format!("KILL {}", blocker.label)),
    ]
}

/// Whole seconds.
fn age(us: u64) -> Value {
    let whole_us = i64::try_from(us / 1_000_000 * 1_000_000).unwrap_or(i64::MAX);
    Value::Time(Time::clipped(whole_us).0)
}

/// What a transaction's connection does now.
pub(crate) fn activity_of(instance: &Instance, label: u64) -> Option<Activity> {
    let id = ConnectionId(u32::try_from(label).ok()?);
    Some(instance.processes().find(id)?.activity())
}
