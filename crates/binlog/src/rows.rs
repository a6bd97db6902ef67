//! WRITE_ROWS, UPDATE_ROWS and DELETE_ROWS, version 2. Version 1, which MariaDB writes, has no extra data and is only read.
//!
//! | bytes | field |
//! |---|---|
//! | 6 | table id, as a TABLE_MAP of the same statement has it |
//! | 2 | flags |
//! | 2 | length of extra data, itself included; then those |
//! | packed | count of columns |
//! | n | bitmap: columns of the image; for updates before and after, one each |
//! | rest | rows: for each image a bitmap of the NULLs among its columns, then the other values |
//!
//! Invariant: rows are decoded one at a time, so that an event takes no more memory than its own bytes and one row.
use crate::BinlogError;
use crate::bytes::{Reader, put_bitmap, put_packed, read_bitmap};
use crate::cell::{put_cell, read_cell};
use crate::header::event_type;
use crate::map_column::TableMap;
use datum::{ColumnType, Value};

/// Flags of row events.
pub mod rows_flag {
    /// The last event of its statement.
    pub const STATEMENT_END: u16 = 1;
    /// The session had switched foreign key checks off.
    pub const NO_FOREIGN_KEY_CHECKS: u16 = 2;
    /// The session had switched unique checks off.
    pub const RELAXED_UNIQUE_CHECKS: u16 = 4;
    /// Newer servers set it always: the flag of foreign key checks is meant.
    pub const USE_SQL_FOREIGN_KEY: u16 = 0x10;
}

/// What happened to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowsKind {
    /// Rows have only an image after.
    Write,
    /// Rows have both.
    Update,
    /// Rows have only an image before.
    Delete,
}

impl RowsKind {
    /// The event's number.
    pub fn event_type(self) -> u8 {
        match self {
            RowsKind::Write => event_type::WRITE_ROWS,
            RowsKind::Update => event_type::UPDATE_ROWS,
            RowsKind::Delete => event_type::DELETE_ROWS,
        }
    }
}

/// Everything of a row event but its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsHeader {
    /// What happened.
    pub kind: RowsKind,
    /// See [`TableMap::table_id`].
    pub table_id: u64,
    /// See [`rows_flag`].
    pub flags: u16,
    /// Extra data, which say nothing about the rows.
    pub extra: Vec<u8>,
    /// The columns of images before; for inserts empty.
    pub before: Vec<bool>,
    /// The columns of images after; for deletes empty.
    pub after: Vec<bool>,
}

/// The event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// What it says of all its rows.
    pub header: RowsHeader,
    /// The rows, to be read with their table's map: [`Rows::changes`].
    pub rows: Vec<u8>,
}

/// By column: `None` for what is not in the image.
pub type RowImage = Vec<Option<Value>>;

/// One row's change. What does not exist by the kind of the event is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct RowChange {
    /// The row as it was.
    pub before: Option<RowImage>,
    /// The row as it became.
    pub after: Option<RowImage>,
}

impl RowsHeader {
    /// The body of an event up to its rows.
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(self.table_id >> 48 == 0, "numbers of tables have 48 bits");
        debug_assert!(self.extra.len() <= usize::from(u16::MAX) - 2, "the length of extra data has 16 bits");
        debug_assert!(
            self.before.is_empty() || self.after.is_empty() || self.before.len() == self.after.len(),
            "both images are of one table"
        );
        out.extend_from_slice(&self.table_id.to_le_bytes()[..6]);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&(self.extra.len() as u16 + 2).to_le_bytes());
        out.extend_from_slice(&self.extra);
        put_packed(self.before.len().max(self.after.len()) as u64, out);
        for image in [&self.before, &self.after] {
            // As MySQL: where all columns are there, the unused bits are set as well.
            let padding =
                if image.iter().all(|present| *present) { image.len().next_multiple_of(8) } else { 0 };
            let unused = (image.len()..padding).map(|_| true);
            put_bitmap(image.iter().copied().chain(unused), out);
        }
    }
}

impl Rows {
    /// The event's body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.header.encode(out);
        out.extend_from_slice(&self.rows);
    }

    /// Reads an event's body.
    pub fn decode(kind: RowsKind, body: &[u8]) -> Result<Rows, BinlogError> {
        Rows::read(kind, body, |reader| {
            let length = reader.u16()?.checked_sub(2).ok_or(BinlogError::Invalid("length of extra data"))?;
            Ok(reader.take(usize::from(length))?.to_vec())
        })
    }

    /// The same for an event of version 1.
    pub fn decode_v1(kind: RowsKind, body: &[u8]) -> Result<Rows, BinlogError> {
        Rows::read(kind, body, |_| Ok(Vec::new()))
    }

    fn read(
        kind: RowsKind,
        body: &[u8],
        read_extra: impl FnOnce(&mut Reader<'_>) -> Result<Vec<u8>, BinlogError>,
    ) -> Result<Rows, BinlogError> {
        let mut reader = Reader(body);
        let table_id = reader.uint(6)?;
        let flags = reader.u16()?;
        let extra = read_extra(&mut reader)?;
        let count = reader.packed_len()?;
        let mut image = |exists: bool| match exists {
            true => read_bitmap(&mut reader, count),
            false => Ok(Vec::new()),
        };
        let (before, after) = (image(kind != RowsKind::Write)?, image(kind != RowsKind::Delete)?);
        let header = RowsHeader { kind, table_id, flags, extra, before, after };
        Ok(Rows { header, rows: reader.rest().to_vec() })
    }

    /// The rows, by the types of their table.
    pub fn changes<'a>(&'a self, table: &'a TableMap) -> Changes<'a> {
        Changes { header: &self.header, table, rest: Reader(&self.rows) }
    }
}

/// See [`Rows::changes`]. After an error it ends.
pub struct Changes<'a> {
    header: &'a RowsHeader,
    table: &'a TableMap,
    rest: Reader<'a>,
}

impl Changes<'_> {
    fn image(&mut self, present: &[bool]) -> Result<Option<RowImage>, BinlogError> {
        if present.is_empty() {
            return Ok(None);
        }
        if present.len() != self.table.columns.len() {
            return Err(BinlogError::Invalid("count of columns"));
        }
        let count = present.iter().filter(|present| **present).count();
        let mut nulls = read_bitmap(&mut self.rest, count)?.into_iter();
        let mut image = Vec::with_capacity(present.len());
        for (column, present) in self.table.columns.iter().zip(present) {
            image.push(match present.then(|| nulls.next()).flatten() {
                None => None,
                Some(true) => Some(Value::Null),
                Some(false) => Some(read_cell(&mut self.rest, column.wire)?),
            });
        }
        Ok(Some(image))
    }

    fn change(&mut self) -> Result<RowChange, BinlogError> {
        let header = self.header;
        let length = self.rest.0.len();
        let change = RowChange { before: self.image(&header.before)?, after: self.image(&header.after)? };
        match self.rest.0.len() < length {
            true => Ok(change),
            false => Err(BinlogError::Invalid("row without bytes")),
        }
    }
}

impl Iterator for Changes<'_> {
    type Item = Result<RowChange, BinlogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let change = self.change();
        if change.is_err() {
            self.rest = Reader(&[]);
        }
        Some(change)
    }
}

/// Appends one image of a row: (value, its column's type) of the columns that are in it.
pub fn put_image<'a>(
    cells: impl Iterator<Item = (&'a Value, &'a ColumnType)> + Clone,
    out: &mut Vec<u8>,
) -> Result<(), BinlogError> {
    put_bitmap(cells.clone().map(|(value, _)| value.is_null()), out);
    for (value, column) in cells {
        put_cell(value, column, out)?;
    }
    Ok(())
}
