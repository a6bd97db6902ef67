//! `error_log`: the messages of the error log that were written last, whatever file they went to.
use catalog::Viewer;
use datum::Value;
use instance::Instance;
use instance::logs::ErrorRow;

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{member, timestamp};

pub(super) const TABLES: &[Table] = &[Table::events(ERROR_LOG, rows)];

const ERROR_LOG: Shape = Shape {
    name: "error_log",
    columns: "LOGGED timestamp(6); THREAD_ID bigint unsigned?; PRIO enum('System','Error','Warning','Note'); \
         ERROR_CODE varchar(10)?; SUBSYSTEM varchar(7)?; DATA text",
};

/// MySQL's code of messages that have no number of their own.
const NO_CODE: &str = "MY-000000";

fn rows(instance: &Instance, _: &Viewer) -> Rows {
    let Some(writer) = instance.logs.writer() else { return Rows::new() };
    let row = |row: ErrorRow| {
        vec![
            timestamp(row.unix_us),
            Value::UInt(0),
            member(row.priority),
            Value::bytes(NO_CODE),
            Value::bytes("Server"),
            Value::bytes(row.message),
        ]
    };
    writer.errors().rows().into_iter().map(row).collect()
}
