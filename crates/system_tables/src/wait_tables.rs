//! Connections as observers of waits see them: `performance_schema.threads`. The locks are in `status`.
//!
//! A connection is its own thread here, so `THREAD_ID` is the connection's number. Read by `session_tables`; each row is true at the moment it is made, the table as a whole is not one moment.
use crate::view::ViewColumn::{self, NullLongText, NullNumber, NullText, Text};
use catalog::Viewer;
use datum::Value;

use instance::Instance;

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

pub fn threads(server: &Instance, viewer: &Viewer) -> Rows {
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
            Value::bytes(entry.shown_state(&activity, server.catalog().locks())),
            activity.info().map_or(Value::Null, Value::bytes),
        ]);
    }
    rows
}
