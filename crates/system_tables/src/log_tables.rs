//! `mysql.general_log` and `mysql.slow_log`: MySQL's definitions without rows, because logs go to files only.
//!
//! Tools that dump all databases ask for both by name.
use std::sync::Arc;

use collation::CollationId;
use datum::{ColumnType, TypeKind};
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
