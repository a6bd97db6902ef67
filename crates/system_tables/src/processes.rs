//! Connections: the process lists of `information_schema` and `performance_schema`, and `threads`.
//!
//! A connection is its own thread here, so `THREAD_ID` is the connection's number. Each row is true at the moment it is
//! made, the table as a whole is not one moment.
use crate::view::ViewColumn::{self, NullLongText, NullNumber, NullText, Number, Signed, Text};
use catalog::Viewer;
use datum::Value;

use instance::{Activity, Instance, ProcessEntry};

type Rows = Vec<Vec<Value>>;

pub(crate) const PROCESS_COLUMNS: &[ViewColumn] = &[
    Number("ID"),
    Text("USER", 32),
    Text("HOST", 261),
    NullText("DB", 64),
    Text("COMMAND", 16),
    Signed("TIME"),
    NullText("STATE", 64),
    NullLongText("INFO"),
];
pub(crate) const THREAD_COLUMNS: &[ViewColumn] = &[
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
    NullNumber("PARENT_THREAD_ID"),
    NullText("ROLE", 64),
    Text("INSTRUMENTED", 3),
    Text("HISTORY", 3),
    NullText("CONNECTION_TYPE", 16),
    NullNumber("THREAD_OS_ID"),
    NullText("RESOURCE_GROUP", 64),
    Text("EXECUTION_ENGINE", 9),
    Number("CONTROLLED_MEMORY"),
    Number("MAX_CONTROLLED_MEMORY"),
    Number("TOTAL_MEMORY"),
    Number("MAX_TOTAL_MEMORY"),
    Text("TELEMETRY_ACTIVE", 3),
];

/// The scheduler of events and what it starts have names of their own.
fn thread_name(activity: &Activity) -> &'static str {
    match activity.command {
        ProcessEntry::DAEMON => "thread/sql/event_scheduler",
        "Connect" => "thread/sql/event_worker",
        _ => "thread/sql/one_connection",
    }
}

pub(crate) fn threads(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for entry in instance.processes().all() {
        let activity = entry.activity();
        if !viewer.sees_all_sessions && activity.user != viewer.user {
            continue;
        }
        let number = || Value::UInt(u64::from(entry.id.0));
        rows.push(vec![
            number(),
            Value::bytes(thread_name(&activity)),
            Value::bytes("FOREGROUND"),
            number(),
            Value::bytes(&activity.user),
            Value::bytes(activity.host.split(':').next().unwrap_or_default()),
            activity.database.as_deref().map_or(Value::Null, Value::bytes),
            Value::bytes(activity.command),
            Value::UInt(activity.since.elapsed().as_secs()),
            Value::bytes(entry.shown_state(&activity, instance.catalog().locks()).as_bytes()),
            activity.info().map_or(Value::Null, Value::bytes),
            Value::Null,
            Value::Null,
            Value::bytes(if entry.is_instrumented() { "YES" } else { "NO" }),
            Value::bytes(if entry.has_history() { "YES" } else { "NO" }),
            Value::bytes(entry.connection_type),
            Value::Null,
            Value::bytes("USR_default"),
            Value::bytes("PRIMARY"),
            Value::UInt(0),
            Value::UInt(0),
            Value::UInt(0),
            Value::UInt(0),
            Value::bytes("NO"),
        ]);
    }
    rows
}

pub(crate) fn processes(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for entry in instance.processes().all() {
        let activity = entry.activity();
        if !viewer.sees_all_sessions && activity.user != viewer.user {
            continue;
        }
        rows.push(vec![
            Value::UInt(u64::from(entry.id.0)),
            Value::bytes(&activity.user),
            Value::bytes(&activity.host),
            activity.database.as_deref().map_or(Value::Null, Value::bytes),
            Value::bytes(activity.command),
            Value::Int(activity.since.elapsed().as_secs() as i64),
            Value::bytes(entry.shown_state(&activity, instance.catalog().locks()).as_bytes()),
            activity.info().map_or(Value::Null, Value::bytes),
        ]);
    }
    rows
}
