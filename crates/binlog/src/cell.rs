//! One value of a row event, and the types that say how its bytes are read.
//!
//! Invariant: `WireType::of` and `put_cell` agree with `read_cell`: a value of a column comes back, but for the padding of
//! CHAR and BINARY, which the binary log leaves out. A decoded BINARY is therefore short; storing it into its column pads it.
use crate::BinlogError;
use crate::bytes::Reader;
use crate::decimal::{put_decimal, read_decimal};
use crate::json::{put_json, read_json};
use crate::temporal::{put_datetime, put_time, put_timestamp, read_datetime, read_time, read_timestamp};
use crate::type_code;
use datum::{ColumnType, Date, TypeKind, Value, json_text, read_json as json_of_stored};

/// A column's type as TABLE_MAP says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireType {
    /// See [`type_code`]; ENUM and SET are told from CHAR by the metadata (`real_code`).
    pub code: u8,
    /// The bytes of metadata, the first one lowest; 0 for types without.
    pub metadata: u16,
    /// Only TABLE_MAP's optional metadata says it; numbers are read by it.
    pub unsigned: bool,
}

/// The bytes of metadata that a type has.
pub(crate) fn metadata_bytes(code: u8) -> usize {
    use crate::type_code::*;
    match code {
        VARCHAR | VAR_STRING | STRING | NEW_DECIMAL | BIT | ENUM | SET => 2,
        FLOAT | DOUBLE | BLOB | JSON | GEOMETRY | TIMESTAMP2 | DATETIME2 | TIME2 => 1,
        _ => 0,
    }
}

fn bytes_of(low: u8, high: u8) -> u16 {
    u16::from_le_bytes([low, high])
}

impl WireType {
    /// How a column of ours is written.
    pub fn of(column: &ColumnType) -> WireType {
        use crate::type_code::*;
        let (code, metadata) = match &column.kind {
            TypeKind::Null => (NULL, 0),
            TypeKind::Tiny => (TINY, 0),
            TypeKind::Short => (SHORT, 0),
            TypeKind::Int24 => (INT24, 0),
            TypeKind::Long => (LONG, 0),
            TypeKind::LongLong => (LONG_LONG, 0),
            TypeKind::Decimal { precision, scale } => (NEW_DECIMAL, bytes_of(*precision, *scale)),
            TypeKind::Float { .. } => (FLOAT, 4),
            TypeKind::Double { .. } => (DOUBLE, 8),
            TypeKind::Char | TypeKind::Binary => (STRING, string_metadata(column.byte_length_max())),
            TypeKind::VarChar | TypeKind::VarBinary => {
                (VARCHAR, u16::try_from(column.byte_length_max()).unwrap_or(u16::MAX))
            }
            TypeKind::TinyText | TypeKind::TinyBlob => (BLOB, 1),
            TypeKind::Text | TypeKind::Blob => (BLOB, 2),
            TypeKind::MediumText | TypeKind::MediumBlob => (BLOB, 3),
            TypeKind::LongText | TypeKind::LongBlob => (BLOB, 4),
            TypeKind::Date => (DATE, 0),
            TypeKind::Time { fsp } => (TIME2, u16::from(*fsp)),
            TypeKind::DateTime { fsp } => (DATETIME2, u16::from(*fsp)),
            TypeKind::Timestamp { fsp } => (TIMESTAMP2, u16::from(*fsp)),
            TypeKind::Year => (YEAR, 0),
            TypeKind::Enum(members) => (STRING, bytes_of(ENUM, if members.len() < 256 { 1 } else { 2 })),
            TypeKind::Set(members) => (STRING, bytes_of(SET, set_bytes(members.len()))),
            TypeKind::Bit(bits) => (BIT, bytes_of(bits % 8, bits / 8)),
            TypeKind::Json => (JSON, 4),
        };
        WireType { code, metadata, unsigned: column.unsigned || column.kind == TypeKind::Year }
    }

    /// The type with ENUM and SET told from CHAR.
    pub fn real_code(self) -> u8 {
        match (self.code, self.metadata.to_le_bytes()[0]) {
            (type_code::STRING, real @ (type_code::ENUM | type_code::SET)) => real,
            (code, _) => code,
        }
    }

    /// Whether the type has a sign, so that TABLE_MAP says which it is.
    pub fn is_numeric(self) -> bool {
        use crate::type_code::*;
        matches!(self.code, TINY | SHORT | INT24 | LONG | LONG_LONG | NEW_DECIMAL | FLOAT | DOUBLE | YEAR)
    }

    /// Whether it has a character set. JSON has none.
    pub fn is_character(self) -> bool {
        use crate::type_code::*;
        matches!(self.real_code(), VARCHAR | VAR_STRING | STRING | BLOB)
    }

    /// The longest value of a CHAR or BINARY in bytes.
    fn string_bytes_max(self) -> usize {
        let [first, second] = self.metadata.to_le_bytes();
        usize::from(second) | usize::from((first & 0x30) ^ 0x30) << 4
    }
}

fn set_bytes(members: usize) -> u8 {
    match members.div_ceil(8) {
        bytes @ 0..=4 => bytes as u8,
        _ => 8,
    }
}

/// Lengths above 255 have their high bits in the type's place.
fn string_metadata(length: u64) -> u16 {
    let high = (length >> 4) as u8 & 0x30;
    bytes_of(type_code::STRING ^ high, length as u8)
}

fn put_uint(number: u64, width: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes()[..width]);
}

fn put_text(bytes: &[u8], length_bytes: usize, out: &mut Vec<u8>) {
    debug_assert!((1..=4).contains(&length_bytes), "a length has one to four bytes");
    debug_assert!(bytes.len() >> (8 * length_bytes) == 0, "a value is no longer than its column allows");
    put_uint(bytes.len() as u64, length_bytes, out);
    out.extend_from_slice(bytes);
}

fn without_padding(bytes: &[u8], padding: u8) -> &[u8] {
    let kept = bytes.iter().rposition(|byte| *byte != padding).map_or(0, |last| last + 1);
    &bytes[..kept]
}

/// Appends a value of a column; NULL has no bytes.
pub fn put_cell(value: &Value, column: &ColumnType, out: &mut Vec<u8>) -> Result<(), BinlogError> {
    let wire = WireType::of(column);
    match value {
        Value::Null => {}
        Value::Int(number) => put_uint(*number as u64, integer_bytes(wire.code)?, out),
        Value::UInt(number) => put_uint(*number, integer_bytes(wire.code)?, out),
        Value::Float(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Decimal(number) => match column.kind {
            TypeKind::Decimal { precision, scale } => put_decimal(number, precision, scale, out)?,
            _ => return Err(BinlogError::Invalid("value of a row")),
        },
        Value::Bytes(bytes) => put_string(bytes, column, wire, out),
        Value::Date(date) => put_uint(u64::from(date.to_packed()), 3, out),
        Value::Time(time) => put_time(*time, column.kind.fsp(), out),
        Value::DateTime(moment) => put_datetime(*moment, column.kind.fsp(), out),
        Value::Timestamp(instant) => put_timestamp(*instant, column.kind.fsp(), out),
        Value::Year(year) => out.push(year.saturating_sub(1900) as u8),
        Value::Bit(bits) => {
            let [odd, whole] = wire.metadata.to_le_bytes();
            let width = usize::from(whole) + usize::from(odd > 0);
            out.extend_from_slice(&bits.to_be_bytes()[8 - width.min(8)..]);
        }
        Value::Enum(member) => put_uint(u64::from(*member), usize::from(wire.metadata.to_le_bytes()[1]), out),
        Value::Set(members) => put_uint(*members, usize::from(wire.metadata.to_le_bytes()[1]), out),
        Value::Json(text) => {
            let mut document = Vec::new();
            put_json(&json_of_stored(text), &mut document)?;
            put_text(&document, 4, out);
        }
    }
    Ok(())
}

fn put_string(bytes: &[u8], column: &ColumnType, wire: WireType, out: &mut Vec<u8>) {
    match wire.code {
        type_code::BLOB => put_text(bytes, usize::from(wire.metadata), out),
        type_code::VARCHAR => put_text(bytes, if wire.metadata > 255 { 2 } else { 1 }, out),
        _ => {
            let padding = if column.kind == TypeKind::Binary { 0 } else { b' ' };
            let length_bytes = if column.byte_length_max() > 255 { 2 } else { 1 };
            put_text(without_padding(bytes, padding), length_bytes, out);
        }
    }
}

fn integer_bytes(code: u8) -> Result<usize, BinlogError> {
    match code {
        type_code::TINY => Ok(1),
        type_code::SHORT => Ok(2),
        type_code::INT24 => Ok(3),
        type_code::LONG => Ok(4),
        type_code::LONG_LONG => Ok(8),
        _ => Err(BinlogError::Invalid("value of a row")),
    }
}

fn read_integer(reader: &mut Reader<'_>, code: u8, unsigned: bool) -> Result<Value, BinlogError> {
    let width = integer_bytes(code)?;
    let number = reader.uint(width)?;
    let unused = 64 - 8 * width as u32;
    Ok(if unsigned { Value::UInt(number) } else { Value::Int((number << unused) as i64 >> unused) })
}

/// The value at the reader's place, which is not NULL.
pub(crate) fn read_cell(reader: &mut Reader<'_>, wire: WireType) -> Result<Value, BinlogError> {
    use crate::type_code::*;
    let [low, high] = wire.metadata.to_le_bytes();
    Ok(match wire.real_code() {
        code @ (TINY | SHORT | INT24 | LONG | LONG_LONG) => read_integer(reader, code, wire.unsigned)?,
        NEW_DECIMAL => Value::Decimal(read_decimal(reader, low, high)?),
        FLOAT => Value::Float(f32::from_le_bytes(reader.array()?)),
        DOUBLE => Value::Double(f64::from_le_bytes(reader.array()?)),
        VARCHAR | VAR_STRING => {
            let length = reader.uint(if wire.metadata > 255 { 2 } else { 1 })?;
            Value::bytes(reader.take(length as usize)?)
        }
        STRING => {
            let length = reader.uint(if wire.string_bytes_max() > 255 { 2 } else { 1 })?;
            Value::bytes(reader.take(length as usize)?)
        }
        BLOB | GEOMETRY => {
            let length = reader.uint(usize::from(wire.metadata))?;
            Value::bytes(reader.take(length as usize)?)
        }
        JSON => {
            let length = reader.uint(usize::from(wire.metadata))?;
            Value::Json(json_text(&read_json(reader.take(length as usize)?)?).into())
        }
        DATE => {
            let date = Date::from_packed(reader.uint(3)? as u32);
            Value::Date(date.ok_or(BinlogError::Invalid("DATE"))?)
        }
        TIME2 => Value::Time(read_time(reader, low)?),
        DATETIME2 => Value::DateTime(read_datetime(reader, low)?),
        TIMESTAMP2 => Value::Timestamp(read_timestamp(reader, low)?),
        YEAR => match reader.u8()? {
            0 => Value::Year(0),
            year => Value::Year(1900 + u16::from(year)),
        },
        BIT => Value::Bit(reader.uint_be(usize::from(high) + usize::from(low > 0))?),
        ENUM => Value::Enum(reader.uint(usize::from(high))? as u16),
        SET => Value::Set(reader.uint(usize::from(high))?),
        _ => return Err(BinlogError::Unsupported("a column of an old or an unknown type")),
    })
}
