//! Keys as people read them, for lists of locks and reports of deadlocks.
//!
//! A part that cannot be read back from a key (a string whose collation ignores something) is shown in hex.
use crate::key_codec::KeyPart;
use crate::layout::TableLayout;
use datum::{TypeKind, Value};
use schema::TableDef;
use std::fmt::Write;

impl TableLayout {
    /// The values in a key of the rows themselves (`None`) or of a secondary index, separated by commas. The entry of
    /// an index ends with the key of its row.
    pub fn key_text(&self, table: &TableDef, index: Option<usize>, key: &[u8]) -> String {
        let mut texts = Vec::new();
        let Some(index) = index else {
            self.row_key_text(table, key, &mut texts);
            return texts.join(", ");
        };
        let parts = &self.indexes[index].parts;
        match self.clustered_width() {
            // Where the row's key begins is known even if the index's own parts cannot be read.
            Some(width) if key.len() >= width => {
                let (own, row_key) = key.split_at(key.len() - width);
                read_parts(table, parts, own, &mut texts);
                self.row_key_text(table, row_key, &mut texts);
            }
            _ => {
                if let Some(rest) = read_parts(table, parts, key, &mut texts) {
                    self.row_key_text(table, rest, &mut texts);
                }
            }
        }
        texts.join(", ")
    }

    fn row_key_text(&self, table: &TableDef, key: &[u8], texts: &mut Vec<String>) {
        match self.clustered.is_empty() {
            true => texts.push(hex(key)),
            false => {
                read_parts(table, &self.clustered, key, texts);
            }
        }
    }
}

/// Adds a text for each part; what follows them, if all could be read.
fn read_parts<'k>(
    table: &TableDef,
    parts: &[KeyPart],
    key: &'k [u8],
    texts: &mut Vec<String>,
) -> Option<&'k [u8]> {
    let mut rest = key;
    for part in parts {
        if rest.is_empty() {
            // The key of a range is the beginning of one.
            return None;
        }
        let Ok((value, length)) = part.read(rest) else {
            texts.push(hex(rest));
            return None;
        };
        texts.push(value_text(table, part.column, &value));
        rest = &rest[length.min(rest.len())..];
    }
    Some(rest)
}

fn value_text(table: &TableDef, column: usize, value: &Value) -> String {
    let column_type = &table.columns[column].column_type;
    match value {
        Value::Null => return "NULL".to_owned(),
        Value::Bytes(bytes) if std::str::from_utf8(bytes).is_err() => return hex(bytes),
        _ => {}
    }
    let text = String::from_utf8_lossy(&value.to_text(column_type)).into_owned();
    let is_number = matches!(
        column_type.kind,
        TypeKind::Tiny
            | TypeKind::Short
            | TypeKind::Int24
            | TypeKind::Long
            | TypeKind::LongLong
            | TypeKind::Float { .. }
            | TypeKind::Double { .. }
            | TypeKind::Decimal { .. }
            | TypeKind::Year
    );
    if is_number { text } else { format!("'{text}'") }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::from("0x");
    for byte in bytes {
        let _ = write!(text, "{byte:02X}");
    }
    text
}
