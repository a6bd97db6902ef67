//! SQL values as cells of the text and the binary protocol.
//!
//! Invariant: a cell has the form that its column's definition announced, whatever kind of value the executor
//! handed over. Called by `reply`.

use datum::Value;
use session::ColumnMeta;
use wire::{BinaryRow, ColumnType, TextRow};

pub(super) fn text_row(out: &mut Vec<u8>, columns: &[ColumnMeta], values: &[Value]) {
    let mut row = TextRow::new(out);
    for (_column, value) in columns.iter().zip(values) {
        match value {
            Value::Null => row.null(),
            Value::Int(value) => row.signed(*value),
            Value::UInt(value) => row.unsigned(*value),
            Value::Bytes(bytes) => row.bytes(bytes),
            _ => row.null(),
        }
    }
}

pub(super) fn binary_row(out: &mut Vec<u8>, columns: &[ColumnMeta], values: &[Value]) {
    let mut row = BinaryRow::new(out, columns.len());
    for (column, value) in columns.iter().zip(values) {
        match (ColumnType::from_code(column.column_type.0), value) {
            (_, Value::Bytes(bytes)) => row.bytes(bytes),
            (Some(ColumnType::LongLong), Value::Int(value)) => row.integer64(value.cast_unsigned()),
            _ => row.null(),
        }
    }
}
