//! SHOW of things this server does not have: result sets with MySQL's columns and no rows.
use crate::result::{MadeColumn, MadeRows};

fn texts(names: &[&'static str]) -> MadeRows {
    let columns: Vec<MadeColumn> = names.iter().map(|name| MadeColumn::NullableText(name, 512)).collect();
    MadeRows::new(&columns)
}

pub(super) fn open_tables() -> MadeRows {
    MadeRows::new(&[
        MadeColumn::Text("Database", 64),
        MadeColumn::Text("Table", 64),
        MadeColumn::Number("In_use"),
        MadeColumn::Number("Name_locked"),
    ])
}

pub(super) fn triggers() -> MadeRows {
    texts(&[
        "Trigger",
        "Event",
        "Table",
        "Statement",
        "Timing",
        "Created",
        "sql_mode",
        "Definer",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ])
}

pub(super) fn events() -> MadeRows {
    texts(&[
        "Db",
        "Name",
        "Definer",
        "Time zone",
        "Type",
        "Execute at",
        "Interval value",
        "Interval field",
        "Starts",
        "Ends",
        "Status",
        "Originator",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ])
}

pub(super) fn routine_status() -> MadeRows {
    texts(&[
        "Db",
        "Name",
        "Type",
        "Language",
        "Definer",
        "Modified",
        "Created",
        "Security_type",
        "Comment",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ])
}

pub(super) fn binary_log_status() -> MadeRows {
    texts(&["File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set"])
}

pub(super) fn replica_status() -> MadeRows {
    texts(&["Replica_IO_State", "Source_Host", "Source_User", "Source_Port"])
}

pub(super) fn replicas() -> MadeRows {
    texts(&["Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"])
}
