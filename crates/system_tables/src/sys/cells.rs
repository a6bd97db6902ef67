//! Values of views that come twice: as people read them and, under `x$`, as they are.
//!
//! A view makes its rows once, of cells. What a column shows is decided by its type: a time is a text in one view and a number of
//! picoseconds in the other.
use datum::Value;

use crate::shape::Shape;
use crate::table::Rows;
use crate::values::{bytes_text, decimal, optional, time_text};

#[derive(Clone, Debug)]
pub(super) enum Cell {
    Text(Option<String>),
    Count(u64),
    Bytes(u64),
    /// Nanoseconds.
    Time(u64),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(Some(text.into()))
    }
}

/// Views with the same rows: the one for people and the `x$` one for programs, each with its words for them.
macro_rules! twins {
    ($(($shape:ident, $raw:ident): $instance:ident => $rows:expr;)*) => {
        &[$(
            Table::of("sys", $shape, |$instance, _| shown(&$shape, $rows)),
            Table::of("sys", $raw, |$instance, _| shown(&$raw, $rows)),
        )*]
    };
}
pub(super) use twins;

/// The rows of a view of this shape.
pub(super) fn shown(shape: &Shape, rows: Vec<Vec<Cell>>) -> Rows {
    let columns = shape.columns.split(';').map(str::trim);
    let types: Vec<&str> = columns.filter_map(|column| Some(column.split_once(' ')?.1)).collect();
    let row = |row: Vec<Cell>| row.into_iter().zip(&types).map(|(cell, kind)| value(cell, kind)).collect();
    rows.into_iter().map(row).collect()
}

fn value(cell: Cell, kind: &str) -> Value {
    let is_text = kind.starts_with("varchar");
    let number = match cell {
        Cell::Text(text) => return optional(text),
        Cell::Bytes(bytes) if is_text => return Value::bytes(bytes_text(bytes)),
        Cell::Time(nanoseconds) if is_text => return Value::bytes(time_text(nanoseconds)),
        Cell::Time(nanoseconds) => nanoseconds.saturating_mul(1000),
        Cell::Bytes(number) | Cell::Count(number) => number,
    };
    if kind.starts_with("decimal") {
        let zeros = if kind.contains(",4)") { ".0000" } else { "" };
        return decimal(&format!("{number}{zeros}"));
    }
    match kind.contains("unsigned") {
        true => Value::UInt(number),
        false => Value::Int(number as i64),
    }
}
