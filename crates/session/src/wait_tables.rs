//! Who waits for whom, as observers see it: `performance_schema.data_lock_waits` for row and range locks,
//! `performance_schema.threads` for the connections behind them, and the state of a wait for a metadata lock.
//!
//! A connection is its own thread here, so `THREAD_ID` is the connection's number. Read by `session_tables` and
//! SHOW PROCESSLIST; each row is true at the moment it is made, the table as a whole is not one moment.
use catalog::ViewColumn::{self, NullLongText, NullNumber, NullText, Text};
use catalog::{Gate, LockName, LockOwner, Viewer};
use datum::Value;
use engine::{LockWaitInfo, TransactionInfo};

use crate::process_list::{Activity, ProcessEntry};
use crate::server::Server;

type Rows = Vec<Vec<Value>>;

pub const THREAD_COLUMNS: &[ViewColumn] = &[
    NullNumber("THREAD_ID"),
    Text("NAME", 128),
    Text("TYPE", 10),
    NullNumber("PROCESSLIST_ID"),
    NullText("PROCESSLIST_USER", 32),
    NullText("PROCESSLIST_HOST", 255),
    NullText("PROCESSLIST_DB", 64),
    NullText("PROCESSLIST_COMMAND", 16),
    NullNumber("PROCESSLIST_TIME"),
    NullText("PROCESSLIST_STATE", 64),
    NullLongText("PROCESSLIST_INFO"),
];

pub const WAIT_COLUMNS: &[ViewColumn] = &[
    Text("ENGINE", 32),
    Text("REQUESTING_ENGINE_LOCK_ID", 128),
    NullNumber("REQUESTING_ENGINE_TRANSACTION_ID"),
    NullNumber("REQUESTING_THREAD_ID"),
    Text("BLOCKING_ENGINE_LOCK_ID", 128),
    NullNumber("BLOCKING_ENGINE_TRANSACTION_ID"),
    NullNumber("BLOCKING_THREAD_ID"),
];

/// The State column: a wait for a metadata lock goes before what the session said itself.
pub fn state(server: &Server, entry: &ProcessEntry, activity: &Activity) -> &'static str {
    match server.catalog().locks().awaited(LockOwner(u64::from(entry.id.0))) {
        Some(LockName::Table(..)) => "Waiting for table metadata lock",
        Some(LockName::Database(_)) => "Waiting for schema metadata lock",
        Some(LockName::Gate(Gate::Changes)) => "Waiting for global read lock",
        Some(LockName::Gate(Gate::Commits)) => "Waiting for commit lock",
        None => activity.state,
    }
}

pub fn threads(server: &Server, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for entry in server.processes().all() {
        let activity = entry.activity();
        if !viewer.sees_all_sessions && activity.user != viewer.user {
            continue;
        }
        let number = || Value::UInt(u64::from(entry.id.0));
        rows.push(vec![
            number(),
            Value::bytes("thread/sql/one_connection"),
            Value::bytes("FOREGROUND"),
            number(),
            Value::bytes(&activity.user),
            Value::bytes(activity.host.split(':').next().unwrap_or_default()),
            activity.database.as_deref().map_or(Value::Null, Value::bytes),
            Value::bytes(activity.command),
            Value::UInt(activity.since.elapsed().as_secs()),
            Value::bytes(state(server, &entry, &activity)),
            activity.info().map_or(Value::Null, Value::bytes),
        ]);
    }
    rows
}

/// A row for each transaction that another one waits for.
pub fn data_lock_waits(server: &Server, viewer: &Viewer) -> Rows {
    if !viewer.sees_all_sessions {
        return Rows::new();
    }
    let transactions = server.engine().active_transactions();
    let connection_of = |id: u64| {
        let found = transactions.iter().find(|transaction| transaction.id == id);
        found.map_or(Value::Null, |transaction| Value::UInt(transaction.label))
    };
    let mut rows = Rows::new();
    for transaction in &transactions {
        let Some(waiting) = &transaction.waiting else { continue };
        for blocker in &waiting.blockers {
            rows.push(wait_row(transaction, waiting, *blocker, connection_of(*blocker)));
        }
    }
    rows
}

fn wait_row(waiter: &TransactionInfo, waiting: &LockWaitInfo, blocker: u64, thread: Value) -> Vec<Value> {
    let key: String = waiting.key.iter().take(48).map(|byte| format!("{byte:02x}")).collect();
    let lock_of = |id: u64| Value::bytes(format!("{id}:{}:{key}", waiting.tree.0));
    vec![
        Value::bytes("INNODB"),
        lock_of(waiter.id),
        Value::UInt(waiter.id),
        Value::UInt(waiter.label),
        lock_of(blocker),
        Value::UInt(blocker),
        thread,
    ]
}
