//! `status_by_*` and the rest that has a row for each session or account beside what they did.
use std::collections::BTreeMap;

use catalog::Viewer;
use datum::Value;
use instance::Instance;

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::optional;

pub(super) const TABLES: &[Table] = &[
    Table::summary(BY_THREAD, by_thread, |_| {}),
    Table::summary(BY_ACCOUNT, by_account, |_| {}),
    Table::summary(BY_HOST, by_host, |_| {}),
    Table::summary(BY_USER, by_user, |_| {}),
    Table::events(USER_VARIABLES, user_variables),
    Table::events(VARIABLES, |_, _| Rows::new()),
    Table::events(LOG_STATUS, log_status),
];

const BY_THREAD: Shape = Shape {
    name: "status_by_thread",
    columns: "THREAD_ID bigint unsigned; VARIABLE_NAME varchar(64); VARIABLE_VALUE varchar(1024)?",
};
const BY_ACCOUNT: Shape = Shape {
    name: "status_by_account",
    columns: "USER char(32)?; HOST char(255)?; VARIABLE_NAME varchar(64); VARIABLE_VALUE varchar(1024)?",
};
const BY_HOST: Shape = Shape {
    name: "status_by_host",
    columns: "HOST char(255)?; VARIABLE_NAME varchar(64); VARIABLE_VALUE varchar(1024)?",
};
const BY_USER: Shape = Shape {
    name: "status_by_user",
    columns: "USER char(32)?; VARIABLE_NAME varchar(64); VARIABLE_VALUE varchar(1024)?",
};
const USER_VARIABLES: Shape = Shape {
    name: "user_variables_by_thread",
    columns: "THREAD_ID bigint unsigned; VARIABLE_NAME varchar(64); VARIABLE_VALUE longblob?",
};
const VARIABLES: Shape = Shape {
    name: "variables_by_thread",
    columns: "THREAD_ID bigint unsigned; VARIABLE_NAME varchar(64); VARIABLE_VALUE varchar(1024)?",
};
const LOG_STATUS: Shape = Shape {
    name: "log_status",
    columns: "SERVER_UUID char(36); LOCAL json; REPLICATION json; STORAGE_ENGINES json",
};

/// The columns of the key, and the counters by name.
type Sums = (Vec<Value>, BTreeMap<&'static str, u64>);

/// Sums of the counters of the sessions that are there, by what `key` makes of a session's thread, user and host.
fn sums(instance: &Instance, key: fn(u64, String, String) -> Vec<Value>) -> Rows {
    let mut sums: BTreeMap<Vec<u8>, Sums> = BTreeMap::new();
    for entry in instance.processes().all() {
        let (user, host) = (entry.activity().user, entry.client_host());
        let key = key(u64::from(entry.id.0), user, host);
        let (_, counters) = sums.entry(format!("{key:?}").into_bytes()).or_insert((key, BTreeMap::new()));
        for (name, number) in entry.counters.all() {
            *counters.entry(name).or_default() += number;
        }
    }
    let mut rows = Rows::new();
    for (key, counters) in sums.into_values() {
        for (name, number) in counters {
            let mut row = key.clone();
            row.extend([Value::bytes(name), Value::bytes(number.to_string())]);
            rows.push(row);
        }
    }
    rows
}

fn by_thread(instance: &Instance, _: &Viewer) -> Rows {
    sums(instance, |thread, _, _| vec![Value::UInt(thread)])
}

fn by_account(instance: &Instance, _: &Viewer) -> Rows {
    sums(instance, |_, user, host| vec![Value::bytes(user), Value::bytes(host)])
}

fn by_host(instance: &Instance, _: &Viewer) -> Rows {
    sums(instance, |_, _, host| vec![Value::bytes(host)])
}

fn by_user(instance: &Instance, _: &Viewer) -> Rows {
    sums(instance, |_, user, _| vec![Value::bytes(user)])
}

/// For tools that copy files: there is no binary log and no replication; the log's positions are the engine's.
fn log_status(instance: &Instance, _: &Viewer) -> Rows {
    let stats = instance.engine().stats();
    let json = |text: String| Value::Json(text.into());
    vec![vec![
        Value::bytes(instance.global_variable("server_uuid")),
        json("{\"gtid_executed\": \"\"}".to_owned()),
        json("{\"channels\": []}".to_owned()),
        json(format!(
            "{{\"InnoDB\": {{\"LSN\": {}, \"LSN_checkpoint\": {}}}}}",
            stats.log_end_lsn, stats.checkpoint_lsn
        )),
    ]]
}

/// Those of sessions that live, by name.
fn user_variables(instance: &Instance, _: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for entry in instance.processes().all() {
        let mut variables = entry.sight.get().map(|sight| sight.user_variables()).unwrap_or_default();
        variables.sort_unstable();
        rows.extend(variables.into_iter().map(|(name, value)| {
            vec![Value::UInt(u64::from(entry.id.0)), Value::bytes(name), optional(value)]
        }));
    }
    rows
}
