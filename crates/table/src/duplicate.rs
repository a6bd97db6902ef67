//! The text of error 1062.
use crate::handle::TableHandle;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code, json_shown};

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
            let column = &table.columns[part.column];
            let column_type = &column.column_type;
            match &row[part.column] {
                // All of the array, as far as MySQL's memory of one element reaches.
                Value::Json(array) if let Some(element) = &column.array_of => {
                    let shown = json_shown(array);
                    let end = shown.floor_char_boundary(element_bytes(element));
                    text.extend_from_slice(&shown.as_bytes()[..end]);
                }
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

/// The bytes of one element in MySQL's records.
fn element_bytes(element: &ColumnType) -> usize {
    let fraction = |fsp: u8| usize::from(fsp.div_ceil(2));
    let digits = |count: u8| usize::from(count / 9 * 4 + (count % 9).div_ceil(2));
    match element.kind {
        TypeKind::Decimal { precision, scale } => digits(precision - scale) + digits(scale),
        TypeKind::Date => 3,
        TypeKind::Time { fsp } => 3 + fraction(fsp),
        TypeKind::DateTime { fsp } => 5 + fraction(fsp),
        TypeKind::VarChar | TypeKind::VarBinary => {
            let width = element.collation.charset().bytes_per_character_max();
            element.length as usize * width as usize
        }
        _ => 8,
    }
}
