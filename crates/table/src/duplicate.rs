//! The text of error 1062.
use crate::handle::TableHandle;
use datum::{SqlError, Value, error_code};

/// Longer values are cut in the message, as in MySQL.
const VALUE_LENGTH_MAX: usize = 64;

impl TableHandle {
    /// `Duplicate entry '1-abc' for key 't.idx'` for the row that was refused by `index`.
    pub fn duplicate_error(&self, index: usize, row: &[Value]) -> SqlError {
        let table = self.definition();
        let index = &table.indexes[index];
        let mut text = Vec::new();
        for (position, part) in index.parts.iter().enumerate() {
            if position > 0 {
                text.push(b'-');
            }
            let column_type = &table.columns[part.column].column_type;
            match &row[part.column] {
                Value::Null => text.extend_from_slice(b"NULL"),
                Value::Bytes(bytes) => {
                    let end = match part.prefix_length {
                        Some(length) => column_type.collation.charset().byte_offset(bytes, length as usize),
                        None => bytes.len(),
                    };
                    text.extend_from_slice(&bytes[..end.min(bytes.len())]);
                }
                value => value.write_text(column_type, &mut text),
            }
        }
        let shown = String::from_utf8_lossy(&text);
        let cut: String = shown.chars().take(VALUE_LENGTH_MAX).collect();
        error_code::ER_DUP_ENTRY.with(&[&cut, &format!("{}.{}", table.name, index.name)])
    }
}
