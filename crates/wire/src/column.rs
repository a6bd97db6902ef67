//! Column definitions: what a client is told about the columns of a result before its rows.
//!
//! A statement's definitions never change while its plan lives, so `ColumnDefinitions` keeps them framed and
//! `write_definitions` is one copy. Called by the result encoder in `server`.

use std::ops::BitOr;

use crate::field::{put_length_encoded_bytes, put_length_encoded_integer};
use crate::packet::PacketWriter;

/// Type codes of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ColumnType {
    Decimal = 0,
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    VarChar = 15,
    Bit = 16,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    TinyBlob = 249,
    MediumBlob = 250,
    LongBlob = 251,
    Blob = 252,
    VarString = 253,
    String = 254,
    Geometry = 255,
}

impl ColumnType {
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Decimal,
            1 => Self::Tiny,
            2 => Self::Short,
            3 => Self::Long,
            4 => Self::Float,
            5 => Self::Double,
            6 => Self::Null,
            7 => Self::Timestamp,
            8 => Self::LongLong,
            9 => Self::Int24,
            10 => Self::Date,
            11 => Self::Time,
            12 => Self::DateTime,
            13 => Self::Year,
            15 => Self::VarChar,
            16 => Self::Bit,
            245 => Self::Json,
            246 => Self::NewDecimal,
            247 => Self::Enum,
            248 => Self::Set,
            249 => Self::TinyBlob,
            250 => Self::MediumBlob,
            251 => Self::LongBlob,
            252 => Self::Blob,
            253 => Self::VarString,
            254 => Self::String,
            255 => Self::Geometry,
            _ => return None,
        })
    }
}

/// Column flags of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnFlags(pub u16);

impl ColumnFlags {
    pub const NOT_NULL: Self = Self(1);
    pub const PRIMARY_KEY: Self = Self(1 << 1);
    pub const UNIQUE_KEY: Self = Self(1 << 2);
    pub const MULTIPLE_KEY: Self = Self(1 << 3);
    pub const BLOB: Self = Self(1 << 4);
    pub const UNSIGNED: Self = Self(1 << 5);
    pub const ZEROFILL: Self = Self(1 << 6);
    pub const BINARY: Self = Self(1 << 7);
    pub const ENUM: Self = Self(1 << 8);
    pub const AUTO_INCREMENT: Self = Self(1 << 9);
    pub const TIMESTAMP: Self = Self(1 << 10);
    pub const SET: Self = Self(1 << 11);
    pub const NO_DEFAULT_VALUE: Self = Self(1 << 12);
    pub const ON_UPDATE_NOW: Self = Self(1 << 13);
    pub const PART_OF_KEY: Self = Self(1 << 14);
    pub const NUMBER: Self = Self(1 << 15);
}

impl BitOr for ColumnFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One column of a result.
#[derive(Clone, Copy, Debug)]
pub struct ColumnDefinition<'a> {
    pub schema: &'a [u8],
    pub table: &'a [u8],
    pub original_table: &'a [u8],
    pub name: &'a [u8],
    pub original_name: &'a [u8],
    pub collation: u16,
    /// Display length in bytes.
    pub length: u32,
    pub column_type: ColumnType,
    pub flags: ColumnFlags,
    pub decimals: u8,
}

impl ColumnDefinition<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        put_length_encoded_bytes(out, b"def");
        put_length_encoded_bytes(out, self.schema);
        put_length_encoded_bytes(out, self.table);
        put_length_encoded_bytes(out, self.original_table);
        put_length_encoded_bytes(out, self.name);
        put_length_encoded_bytes(out, self.original_name);
        out.push(0x0c);
        out.extend_from_slice(&self.collation.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.push(self.column_type as u8);
        out.extend_from_slice(&self.flags.0.to_le_bytes());
        out.push(self.decimals);
        out.extend_from_slice(&[0, 0]);
    }
}

/// The framed definitions of one result, ready to be copied.
#[derive(Clone, Debug, Default)]
pub struct ColumnDefinitions {
    framed: Vec<u8>,
    count: usize,
}

/// A result begins with the column count as packet 1 of the response, so definitions are framed from 2.
const FIRST_SEQUENCE: u8 = 2;

impl ColumnDefinitions {
    pub fn build<'a>(columns: impl IntoIterator<Item = ColumnDefinition<'a>>) -> Self {
        let mut writer = PacketWriter::new();
        writer.set_sequence(FIRST_SEQUENCE);
        let mut count = 0;
        for column in columns {
            writer.packet(|out| column.encode(out));
            count += 1;
        }
        Self { framed: writer.pending().to_vec(), count }
    }

    pub fn count(&self) -> usize {
        self.count
    }
}

impl PacketWriter {
    /// Begins a result set: the column count and the definitions. `definitions_end` follows for older clients.
    pub fn result_start(&mut self, columns: &ColumnDefinitions) {
        self.packet(|out| put_length_encoded_integer(out, columns.count as u64));
        self.definitions(columns);
    }

    /// The bare definitions, as COM_STMT_PREPARE wants them.
    pub fn definitions(&mut self, columns: &ColumnDefinitions) {
        self.append_framed(&columns.framed, FIRST_SEQUENCE, columns.count);
    }

    /// One definition of COM_FIELD_LIST, which adds the column's default.
    pub fn field_list_entry(&mut self, column: &ColumnDefinition<'_>, default: Option<&[u8]>) {
        self.packet(|out| {
            column.encode(out);
            match default {
                Some(text) => put_length_encoded_bytes(out, text),
                None => out.push(0xfb),
            }
        });
    }
}
