//! TABLE_MAP: the table that the row events behind it are about, and the types of its columns.
//!
//! | bytes | field |
//! |---|---|
//! | 6 | table id |
//! | 2 | flags |
//! | 1 + n + 1 | database, ends in zero; then the table's name the same way |
//! | packed | count of columns; then a type of one byte each |
//! | packed | length of the types' metadata; then those |
//! | n | bitmap: which columns can be NULL |
//! | rest | optional fields: number, length, value (`optional_fields`) |
//!
//! Invariant: what `decode` gives, `encode` writes again in the same bytes, fields that are unknown here included.
use crate::BinlogError;
use crate::bytes::{Reader, put_bitmap, put_packed, put_short_text, read_bitmap};
use crate::cell::{WireType, metadata_bytes};
use crate::map_column::{MapColumn, TableMap};
use crate::optional_fields::{decode_optional, encode_optional};

impl TableMap {
    /// The event's body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.table_id.to_le_bytes()[..6]);
        out.extend_from_slice(&self.flags.to_le_bytes());
        for name in [&self.database, &self.table] {
            put_short_text(name, out);
            out.push(0);
        }
        put_packed(self.columns.len() as u64, out);
        out.extend(self.columns.iter().map(|column| column.wire.code));
        let mut metadata = Vec::new();
        for column in &self.columns {
            let width = metadata_bytes(column.wire.code);
            metadata.extend_from_slice(&column.wire.metadata.to_le_bytes()[..width]);
        }
        put_packed(metadata.len() as u64, out);
        out.extend_from_slice(&metadata);
        put_bitmap(self.columns.iter().map(|column| column.nullable), out);
        encode_optional(self, out);
    }

    /// Reads an event's body.
    pub fn decode(body: &[u8]) -> Result<TableMap, BinlogError> {
        let mut reader = Reader(body);
        let table_id = reader.uint(6)?;
        let flags = reader.u16()?;
        let database = reader.short_text()?;
        reader.take(1)?;
        let table = reader.short_text()?;
        reader.take(1)?;
        let count = reader.packed_len()?;
        let codes = reader.take(count)?;
        let metadata_length = reader.packed_len()?;
        let mut metadata = Reader(reader.take(metadata_length)?);
        let nullable = read_bitmap(&mut reader, count)?;
        let mut columns = Vec::new();
        for (code, nullable) in codes.iter().zip(nullable) {
            let metadata = metadata.uint(metadata_bytes(*code))? as u16;
            let wire = WireType { code: *code, metadata, unsigned: false };
            columns.push(MapColumn {
                wire,
                nullable,
                collation: None,
                name: None,
                members: None,
                visible: None,
            });
        }
        let (primary_key, unknown_fields) = (Vec::new(), Vec::new());
        let mut map = TableMap { table_id, flags, database, table, columns, primary_key, unknown_fields };
        decode_optional(&mut map, reader.rest())?;
        Ok(map)
    }
}
