//! Connections as observers of waits see them: `performance_schema.threads`, and the state of a wait for a metadata
//! lock. The locks themselves are in `status`.
//!
//! A connection is its own thread here, so `THREAD_ID` is the connection's number. Read by `session_tables` and
//! SHOW PROCESSLIST; each row is true at the moment it is made, the table as a whole is not one moment.
use catalog::ViewColumn::{self, NullLongText, NullNumber, NullText, Text};
use catalog::{Gate, LockName, LockOwner, Viewer};
use datum::Value;

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

/// The State column: a wait for a metadata lock goes before what the session said itself.
pub fn state(server: &Server, entry: &ProcessEntry, activity: &Activity) -> &'static str {
    match server.catalog().locks().awaited(LockOwner(u64::from(entry.id.0))) {
        Some(LockName::Table(..)) => "Waiting for table metadata lock",
        Some(LockName::Database(_)) => "Waiting for schema metadata lock",
        Some(LockName::Gate(Gate::Changes)) => "Waiting for global read lock",
        Some(LockName::Gate(Gate::Commits)) => "Waiting for commit lock",
        Some(LockName::Accounts) => "Waiting for acl cache lock",
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
