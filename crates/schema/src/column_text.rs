//! A column in the words of SHOW COLUMNS and `information_schema.COLUMNS`.
use datum::{TypeKind, Value};

use super::column::{ColumnDef, ColumnDefault};
use super::index::{IndexDef, IndexKind};
use super::table::TableDef;

/// PRI, UNI, MUL or nothing.
pub fn column_key(table: &TableDef, column: usize) -> &'static str {
    let leads = |index: &&IndexDef| index.parts.first().is_some_and(|part| part.column == column);
    let is_primary = table.indexes.iter().any(|index| {
        index.kind == IndexKind::Primary && index.parts.iter().any(|part| part.column == column)
    });
    let mut leading = table.indexes.iter().filter(leads).peekable();
    if is_primary {
        "PRI"
    } else if leading.peek().is_none() {
        ""
    } else if leading.any(|index| index.kind == IndexKind::Unique && index.parts.len() == 1) {
        "UNI"
    } else {
        "MUL"
    }
}

/// What is shown of a default.
pub fn column_default(column: &ColumnDef) -> Value {
    match &column.default {
        ColumnDefault::None | ColumnDefault::Null => Value::Null,
        ColumnDefault::Value { text, .. } | ColumnDefault::Expression { text } => Value::bytes(text),
        ColumnDefault::CurrentTimestamp { fsp: 0 } => Value::bytes("CURRENT_TIMESTAMP"),
        ColumnDefault::CurrentTimestamp { fsp } => Value::bytes(format!("CURRENT_TIMESTAMP({fsp})")),
    }
}

/// What `Extra` says.
pub fn column_extra(column: &ColumnDef) -> String {
    let mut words = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_owned());
    }
    if matches!(column.default, ColumnDefault::CurrentTimestamp { .. } | ColumnDefault::Expression { .. }) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    if column.on_update_current_timestamp {
        words.push(match column.column_type.kind {
            TypeKind::DateTime { fsp: fsp @ 1.. } | TypeKind::Timestamp { fsp: fsp @ 1.. } => {
                format!("on update CURRENT_TIMESTAMP({fsp})")
            }
            _ => "on update CURRENT_TIMESTAMP".to_owned(),
        });
    }
    if column.invisible {
        words.push("INVISIBLE".to_owned());
    }
    words.join(" ")
}
