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

/// The column of an index part as SHOW INDEX names it: an expression has none.
pub fn part_column(column: &ColumnDef) -> Value {
    if column.hidden { Value::Null } else { Value::bytes(&column.name) }
}

/// The expression that an index part is.
pub fn part_expression(column: &ColumnDef) -> Value {
    match &column.generated {
        Some(generated) if column.hidden => Value::bytes(escaped(&generated.expression)),
        _ => Value::Null,
    }
}

/// An expression as the information schema tells it: with a backslash before quotes and backslashes.
pub fn escaped(expression: &str) -> String {
    let mut text = String::with_capacity(expression.len());
    for character in expression.chars() {
        if matches!(character, '\'' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

/// What is shown of a default.
pub fn column_default(column: &ColumnDef) -> Value {
    match &column.default {
        ColumnDefault::None | ColumnDefault::Null => Value::Null,
        ColumnDefault::Value { text, .. } => Value::bytes(text),
        ColumnDefault::Expression { text } => Value::bytes(escaped(text)),
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
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        words.push(format!("{kind} GENERATED"));
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
