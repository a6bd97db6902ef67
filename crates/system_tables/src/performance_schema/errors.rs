//! Errors by number: how often each was raised, for whom, when first and last.
use datum::{Value, error_code};
use instance::Instance;
use telemetry::ThreadFigures;

use super::connections::{by_account, by_host, by_thread, by_user, of_everybody};
use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::timestamp;

pub(super) const TABLES: &[Table] = &[
    Table::summary(GLOBAL, |instance, _| rows(vec![(Vec::new(), of_everybody(instance))]), forget),
    Table::summary(BY_ACCOUNT, |instance, _| rows(by_account(instance)), forget),
    Table::summary(BY_USER, |instance, _| rows(by_user(instance)), forget),
    Table::summary(BY_HOST, |instance, _| rows(by_host(instance)), forget),
    Table::summary(BY_THREAD, |instance, _| rows(by_thread(instance)), forget),
];

const GLOBAL: Shape = Shape {
    name: "events_errors_summary_global_by_error",
    columns: "ERROR_NUMBER int?; ERROR_NAME varchar(64)?; SQL_STATE varchar(5)?; SUM_ERROR_RAISED bigint unsigned; \
        SUM_ERROR_HANDLED bigint unsigned; FIRST_SEEN timestamp?; LAST_SEEN timestamp?",
};
const BY_ACCOUNT: Shape = Shape {
    name: "events_errors_summary_by_account_by_error",
    columns: "USER char(32)?; HOST char(255)?; ERROR_NUMBER int?; ERROR_NAME varchar(64)?; SQL_STATE varchar(5)?; \
        SUM_ERROR_RAISED bigint unsigned; SUM_ERROR_HANDLED bigint unsigned; FIRST_SEEN timestamp?; LAST_SEEN \
        timestamp?",
};
const BY_USER: Shape = Shape {
    name: "events_errors_summary_by_user_by_error",
    columns: "USER char(32)?; ERROR_NUMBER int?; ERROR_NAME varchar(64)?; SQL_STATE varchar(5)?; SUM_ERROR_RAISED \
        bigint unsigned; SUM_ERROR_HANDLED bigint unsigned; FIRST_SEEN timestamp?; LAST_SEEN timestamp?",
};
const BY_HOST: Shape = Shape {
    name: "events_errors_summary_by_host_by_error",
    columns: "HOST char(255)?; ERROR_NUMBER int?; ERROR_NAME varchar(64)?; SQL_STATE varchar(5)?; SUM_ERROR_RAISED \
        bigint unsigned; SUM_ERROR_HANDLED bigint unsigned; FIRST_SEEN timestamp?; LAST_SEEN timestamp?",
};
const BY_THREAD: Shape = Shape {
    name: "events_errors_summary_by_thread_by_error",
    columns: "THREAD_ID bigint unsigned; ERROR_NUMBER int?; ERROR_NAME varchar(64)?; SQL_STATE varchar(5)?; \
        SUM_ERROR_RAISED bigint unsigned; SUM_ERROR_HANDLED bigint unsigned; FIRST_SEEN timestamp?; LAST_SEEN \
        timestamp?",
};

fn forget(instance: &Instance) {
    super::connections::forget(instance, |figures| figures.errors.clear());
}

/// Errors that nobody met have no row.
fn rows(of: Vec<(Vec<Value>, ThreadFigures)>) -> Rows {
    let mut rows = Rows::new();
    for (key, figures) in of {
        for (number, error) in figures.errors.all() {
            let code = error_code::NAMES.iter().find(|(_, code)| code.number == *number);
            let mut row = key.clone();
            row.push(Value::Int(i64::from(*number)));
            row.push(code.map_or(Value::Null, |(name, _)| Value::bytes(name)));
            row.push(code.map_or(Value::Null, |(_, code)| Value::bytes(code.state)));
            row.extend([Value::UInt(error.raised), Value::UInt(error.handled)]);
            row.extend([timestamp(error.first_seen_us), timestamp(error.last_seen_us)]);
            rows.push(row);
        }
    }
    rows
}
