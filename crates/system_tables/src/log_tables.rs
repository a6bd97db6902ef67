//! `mysql.general_log` and `mysql.slow_log`: what the logs keep in memory while `log_output` has TABLE.
//!
//! Tools that dump all databases ask for both by name.
use std::sync::Arc;

use crate::values::{duration, timestamp};
use catalog::Viewer;
use collation::CollationId;
use datum::{ColumnType, TypeKind, Value};
use instance::Instance;
use schema::{ColumnDef, ColumnDefault, TableDef, TableId};

pub fn general_log() -> Arc<TableDef> {
    log_table(
        "general_log",
        "General log",
        vec![
            moment("event_time"),
            text("user_host", TypeKind::MediumText),
            column("thread_id", ColumnType::bigint_unsigned()),
            number("server_id", true),
            column("command_type", ColumnType::varchar(64, CollationId::UTF8MB3_GENERAL_CI)),
            bytes("argument"),
        ],
    )
}

pub fn slow_log() -> Arc<TableDef> {
    let duration = |name| column(name, ColumnType::new(TypeKind::Time { fsp: 6 }));
    log_table(
        "slow_log",
        "Slow log",
        vec![
            moment("start_time"),
            text("user_host", TypeKind::MediumText),
            duration("query_time"),
            duration("lock_time"),
            number("rows_sent", false),
            number("rows_examined", false),
            column("db", ColumnType::varchar(512, CollationId::UTF8MB3_GENERAL_CI)),
            number("last_insert_id", false),
            number("insert_id", false),
            number("server_id", true),
            bytes("sql_text"),
            column("thread_id", ColumnType::bigint_unsigned()),
        ],
    )
}

fn log_table(name: &str, comment: &str, columns: Vec<ColumnDef>) -> Arc<TableDef> {
    let definition = TableDef {
        columns,
        collation: CollationId::UTF8MB3_GENERAL_CI,
        engine: "CSV".to_owned(),
        comment: comment.to_owned(),
        ..TableDef::new(TableId(0), "mysql", name)
    };
    Arc::new(definition)
}

fn column(name: &str, column_type: ColumnType) -> ColumnDef {
    ColumnDef::new(name, column_type.not_null())
}

fn number(name: &str, unsigned: bool) -> ColumnDef {
    column(name, ColumnType { unsigned, ..ColumnType::new(TypeKind::Long) })
}

fn text(name: &str, kind: TypeKind) -> ColumnDef {
    column(name, ColumnType { collation: CollationId::UTF8MB3_GENERAL_CI, ..ColumnType::new(kind) })
}

fn bytes(name: &str) -> ColumnDef {
    column(name, ColumnType { collation: CollationId::BINARY, ..ColumnType::new(TypeKind::MediumBlob) })
}

fn moment(name: &str) -> ColumnDef {
    ColumnDef {
        default: ColumnDefault::CurrentTimestamp { fsp: 6 },
        on_update_current_timestamp: true,
        ..column(name, ColumnType::new(TypeKind::Timestamp { fsp: 6 }))
    }
}

pub fn general_rows(instance: &Instance, _: &Viewer) -> Vec<Vec<Value>> {
    let row = |row: instance::logs::GeneralRow| {
        vec![
            timestamp(row.unix_us),
            Value::bytes(row.user_host),
            Value::UInt(row.thread),
            server_id(instance),
            Value::bytes(row.command),
            Value::Bytes(row.argument),
        ]
    };
    instance.logs.general_rows.rows().into_iter().map(row).collect()
}

pub fn slow_rows(instance: &Instance, _: &Viewer) -> Vec<Vec<Value>> {
    let row = |row: instance::logs::SlowRow| {
        vec![
            timestamp(row.unix_us),
            Value::bytes(row.user_host),
            duration(row.query_us),
            duration(row.lock_us),
            number_of(row.rows_sent),
            number_of(row.rows_examined),
            Value::bytes(row.database),
            number_of(row.last_insert_id),
            Value::Int(0),
            server_id(instance),
            Value::Bytes(row.text),
            Value::UInt(row.thread),
        ]
    };
    instance.logs.slow_rows.rows().into_iter().map(row).collect()
}

fn server_id(instance: &Instance) -> Value {
    Value::UInt(instance.globals.by_name("server_id").as_unsigned())
}

/// The column is an INT.
fn number_of(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX).min(i64::from(i32::MAX)))
}
