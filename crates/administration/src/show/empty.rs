//! SHOW of things this server does not have: result sets with MySQL's columns and no rows.
use session::{MadeColumn, MadeRows};

fn texts(names: &[&'static str]) -> MadeRows {
    let columns: Vec<MadeColumn> = names.iter().map(|name| MadeColumn::NullableText(name, 512)).collect();
    MadeRows::new(&columns)
}

pub(super) fn binary_log_status() -> MadeRows {
    texts(&["File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set"])
}
