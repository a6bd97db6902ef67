//! What a statement answered: counts, and the rows if they are wanted, in one buffer that is used again.
//!
//! Invariant: a cell is decoded when it is asked for, and bytes that do not fit the column's type are an error or
//! NULL, never a panic. Filled by `connection`, read by all callers.

use std::ops::Range;

use crate::Result;
use crate::field::Reader;

/// One value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    Null,
    Int(i64),
    Double(f64),
    Bytes(&'a [u8]),
}

impl Cell<'_> {
    /// The value as an integer; what is none counts as 0.
    #[must_use]
    pub fn int(&self) -> i64 {
        match self {
            Self::Null => 0,
            Self::Int(number) => *number,
            Self::Double(number) => *number as i64,
            Self::Bytes(bytes) => {
                let text = std::str::from_utf8(bytes).unwrap_or("");
                text.parse().unwrap_or_else(|_| text.parse().unwrap_or(0.0_f64) as i64)
            }
        }
    }

    /// The value as a number with a fraction; what is none counts as 0.
    #[must_use]
    pub fn float(&self) -> f64 {
        match self {
            Self::Null => 0.0,
            Self::Int(number) => *number as f64,
            Self::Double(number) => *number,
            Self::Bytes(bytes) => {
                std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
            }
        }
    }

    /// The value as text.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Int(number) => number.to_string(),
            Self::Double(number) => number.to_string(),
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        }
    }

    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

#[derive(Debug, Clone)]
struct Column {
    kind: u8,
    is_unsigned: bool,
    name: Range<usize>,
}

/// The answer to one statement.
#[derive(Debug, Default)]
pub struct Answer {
    pub affected: u64,
    pub last_insert_id: u64,
    /// How many rows came, kept or not.
    pub row_count: u64,
    keeps_rows: bool,
    is_binary: bool,
    bytes: Vec<u8>,
    columns: Vec<Column>,
    rows: Vec<Range<usize>>,
}

impl Answer {
    /// An answer whose rows are kept.
    #[must_use]
    pub fn keeping() -> Self {
        Self { keeps_rows: true, ..Self::default() }
    }

    /// An answer whose rows are read and counted only.
    #[must_use]
    pub fn counting() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The name of a column as the server tells it.
    #[must_use]
    pub fn name(&self, column: usize) -> String {
        self.columns.get(column).map_or_else(String::new, |column| {
            String::from_utf8_lossy(&self.bytes[column.name.clone()]).into_owned()
        })
    }

    /// One cell; NULL if there is no such row or column.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let Some(range) = self.rows.get(row) else { return Cell::Null };
        let bytes = &self.bytes[range.clone()];
        let cell = if self.is_binary { self.binary_cell(bytes, column) } else { text_cell(bytes, column) };
        cell.unwrap_or(Cell::Null)
    }

    fn binary_cell<'a>(&self, bytes: &'a [u8], wanted: usize) -> Result<Cell<'a>> {
        let mut reader = Reader::new(bytes);
        reader.bytes(1)?;
        let nulls = reader.bytes((self.columns.len() + 9) / 8)?;
        for (place, column) in self.columns.iter().enumerate() {
            let bit = place + 2;
            let cell =
                if nulls[bit / 8] >> (bit % 8) & 1 == 1 { Cell::Null } else { decode(column, &mut reader)? };
            if place == wanted {
                return Ok(cell);
            }
        }
        Ok(Cell::Null)
    }

    pub(crate) fn clear(&mut self, is_binary: bool) {
        self.affected = 0;
        self.last_insert_id = 0;
        self.is_binary = is_binary;
        self.clear_rows();
    }

    /// Forgets the rows of an earlier result of the same statement.
    pub(crate) fn clear_rows(&mut self) {
        self.row_count = 0;
        self.bytes.clear();
        self.columns.clear();
        self.rows.clear();
    }

    pub(crate) fn add_column(&mut self, packet: &[u8]) -> Result<()> {
        if !self.keeps_rows {
            return Ok(());
        }
        let mut reader = Reader::new(packet);
        for _ in 0..4 {
            reader.field()?;
        }
        let name = reader.field()?.unwrap_or_default();
        reader.field()?;
        reader.length()?;
        reader.bytes(6)?;
        let kind = reader.integer(1)? as u8;
        let flags = reader.integer(2)?;
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.columns.push(Column { kind, is_unsigned: flags & 32 != 0, name: begin..self.bytes.len() });
        Ok(())
    }

    pub(crate) fn add_row(&mut self, packet: &[u8]) {
        self.row_count += 1;
        if self.keeps_rows {
            let begin = self.bytes.len();
            self.bytes.extend_from_slice(packet);
            self.rows.push(begin..self.bytes.len());
        }
    }
}

fn text_cell(bytes: &[u8], wanted: usize) -> Result<Cell<'_>> {
    let mut reader = Reader::new(bytes);
    for _ in 0..wanted {
        reader.field()?;
    }
    Ok(reader.field()?.map_or(Cell::Null, Cell::Bytes))
}

/// Types are the protocol's numbers: TINY 1, SHORT 2, LONG 3, FLOAT 4, DOUBLE 5, LONGLONG 8, INT24 9, YEAR 13;
/// TIMESTAMP 7, DATE 10, TIME 11 and DATETIME 12 have a length of their own; the rest are length-encoded bytes.
fn decode<'a>(column: &Column, reader: &mut Reader<'a>) -> Result<Cell<'a>> {
    let width = match column.kind {
        1 => 1,
        2 | 13 => 2,
        3 | 9 => 4,
        8 => 8,
        4 => {
            let bits = reader.integer(4)? as u32;
            return Ok(Cell::Double(f64::from(f32::from_bits(bits))));
        }
        5 => return Ok(Cell::Double(f64::from_bits(reader.integer(8)?))),
        6 => return Ok(Cell::Null),
        _ => return Ok(reader.field()?.map_or(Cell::Null, Cell::Bytes)),
    };
    let number = reader.integer(width)?;
    let unused = 64 - 8 * width as u32;
    let is_signed = !column.is_unsigned && column.kind != 13;
    Ok(Cell::Int(if is_signed { (number << unused) as i64 >> unused } else { number as i64 }))
}
