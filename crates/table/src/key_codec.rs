//! One part of a key: bytes whose order under memcmp is the SQL order of the values.
//!
//! | part | bytes |
//! |---|---|
//! | nullable columns | 00 for NULL (nothing follows), 01 before a value |
//! | integers | big-endian in their width, sign bit inverted when signed |
//! | FLOAT, DOUBLE | IEEE bits, all inverted when negative, else the sign bit set |
//! | DECIMAL | `Decimal::write_key` |
//! | strings | `CollationId::write_sort_key` |
//! | DATE, DATETIME, YEAR, ENUM, SET, BIT | big-endian |
//! | TIME, TIMESTAMP | big-endian, sign bit inverted |
//!
//! A descending part has all its bytes inverted. No part is a prefix of another of the same column.
use crate::storage_kind::{StorageKind, integer_of, mismatch};
use collation::CollationId;
use datum::{Date, DateTime, Decimal, SqlError, Time, Timestamp, Value};

const NULL_TAG: u8 = 0;
const VALUE_TAG: u8 = 1;

/// What is needed to write and read one part.
#[derive(Clone, Copy, Debug)]
pub struct KeyPart {
    pub column: usize,
    pub kind: StorageKind,
    pub nullable: bool,
    pub descending: bool,
    /// Characters (bytes for binary strings) that are indexed.
    pub prefix_length: Option<u32>,
    /// The column holds an array, whose elements are the values of the part.
    pub array: bool,
}

/// The bytes of a key are not what its parts say: a damaged page or a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError;

impl KeyPart {
    pub fn is_decodable(&self) -> bool {
        !self.array && self.prefix_length.is_none() && self.kind.is_decodable_from_key()
    }

    /// Bytes of every value of this part, `None` when it varies.
    pub fn fixed_width(&self) -> Option<usize> {
        if self.nullable { None } else { self.kind.fixed_width() }
    }

    pub fn write(&self, value: &Value, key: &mut Vec<u8>) -> Result<(), SqlError> {
        let start = key.len();
        if value.is_null() {
            if !self.nullable {
                return Err(mismatch(self.kind, value));
            }
            key.push(NULL_TAG);
        } else {
            if self.nullable {
                key.push(VALUE_TAG);
            }
            match (self.prefix_length, value) {
                (Some(length), Value::Bytes(bytes)) => {
                    write_value(self.kind, &Value::bytes(self.truncated(bytes, length)), key)?;
                }
                _ => write_value(self.kind, value, key)?,
            }
        }
        if self.descending {
            key[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        debug_assert!(
            self.fixed_width().is_none_or(|width| width == key.len() - start),
            "parts of one width have it"
        );
        debug_assert!(
            self.length(&key[start..]).is_none_or(|length| length == key.len() - start),
            "a part is as long as it is read"
        );
        Ok(())
    }

    fn truncated<'b>(&self, bytes: &'b [u8], length: u32) -> &'b [u8] {
        let end = match self.kind {
            StorageKind::Text(collation) => collation.charset().byte_offset(bytes, length as usize),
            _ => length as usize,
        };
        &bytes[..end.min(bytes.len())]
    }

    /// Whether truncation made this value's key shorter than the value.
    pub fn truncates(&self, value: &Value) -> bool {
        match (self.prefix_length, value) {
            (Some(length), Value::Bytes(bytes)) => self.truncated(bytes, length).len() < bytes.len(),
            _ => false,
        }
    }

    /// Reads a decodable part; the second result is the number of key bytes.
    pub fn read(&self, key: &[u8]) -> Result<(Value, usize), DecodeError> {
        if self.descending {
            let inverted: Vec<u8> = key.iter().map(|byte| !byte).collect();
            return self.read_ascending(&inverted);
        }
        self.read_ascending(key)
    }

    /// How many bytes of the key are this part; `None` for bytes that no part is.
    pub fn length(&self, key: &[u8]) -> Option<usize> {
        if let Some(width) = self.fixed_width() {
            return (width <= key.len()).then_some(width);
        }
        if self.descending {
            let inverted: Vec<u8> = key.iter().map(|byte| !byte).collect();
            return self.length_ascending(&inverted);
        }
        self.length_ascending(key)
    }

    fn length_ascending(&self, key: &[u8]) -> Option<usize> {
        if !self.nullable {
            return value_length(self.kind, key);
        }
        match *key.first()? {
            NULL_TAG => Some(1),
            VALUE_TAG => Some(1 + value_length(self.kind, &key[1..])?),
            _ => None,
        }
    }

    fn read_ascending(&self, key: &[u8]) -> Result<(Value, usize), DecodeError> {
        if !self.nullable {
            return read_value(self.kind, key);
        }
        match key.first() {
            Some(&NULL_TAG) => Ok((Value::Null, 1)),
            Some(&VALUE_TAG) => {
                let (value, length) = read_value(self.kind, &key[1..])?;
                Ok((value, length + 1))
            }
            _ => Err(DecodeError),
        }
    }

    /// The key bytes of NULL.
    pub fn write_null(&self, key: &mut Vec<u8>) {
        let tag = if self.descending { !NULL_TAG } else { NULL_TAG };
        key.push(tag);
    }

    /// What every non-NULL value of the part starts with.
    pub fn write_not_null(&self, key: &mut Vec<u8>) {
        if self.nullable {
            key.push(if self.descending { !VALUE_TAG } else { VALUE_TAG });
        }
    }

    /// What the keys of all strings that start with `head` begin with; `None` when the part is no string.
    pub fn write_text_head(&self, head: &[u8], key: &mut Vec<u8>) -> Option<()> {
        let collation = match self.kind {
            StorageKind::Text(collation) => collation,
            StorageKind::Binary => CollationId::BINARY,
            _ => return None,
        };
        // How a run of spaces is written depends on what follows it, so the head ends before one.
        let spaces = head.iter().rev().take_while(|byte| **byte == b' ').count();
        let head = if collation == CollationId::BINARY { head } else { &head[..head.len() - spaces] };
        let head = match self.prefix_length {
            Some(length) => self.truncated(head, length),
            None => head,
        };
        let start = key.len();
        self.write_not_null_ascending(key);
        let mut terminator = Vec::new();
        collation.write_sort_key(b"", &mut terminator);
        collation.write_sort_key(head, key);
        debug_assert!(key.len() >= start + terminator.len(), "a key ends with its terminator");
        key.truncate(key.len() - terminator.len());
        if self.descending {
            key[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        Some(())
    }

    fn write_not_null_ascending(&self, key: &mut Vec<u8>) {
        if self.nullable {
            key.push(VALUE_TAG);
        }
    }
}

fn write_value(kind: StorageKind, value: &Value, key: &mut Vec<u8>) -> Result<(), SqlError> {
    match (kind, value) {
        (StorageKind::Signed(width), _) => {
            let number = integer_of(value).and_then(|number| i64::try_from(number).ok());
            let number = number.ok_or_else(|| mismatch(kind, value))?;
            debug_assert!(fits_signed(number, width), "a number fits the width of its column");
            let bits = (number as u64) ^ (1 << (u32::from(width) * 8 - 1));
            key.extend_from_slice(&bits.to_be_bytes()[8 - usize::from(width)..]);
        }
        (StorageKind::Unsigned(width), _) => {
            let number = integer_of(value).and_then(|number| u64::try_from(number).ok());
            let number = number.ok_or_else(|| mismatch(kind, value))?;
            debug_assert!(width == 8 || number >> (8 * width) == 0, "a number fits the width of its column");
            key.extend_from_slice(&number.to_be_bytes()[8 - usize::from(width)..]);
        }
        (StorageKind::Float, Value::Float(number)) => {
            let bits = if *number == 0.0 { 0 } else { number.to_bits() };
            let bits = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
            key.extend_from_slice(&bits.to_be_bytes());
        }
        (StorageKind::Double, Value::Double(number)) => {
            let bits = if *number == 0.0 { 0 } else { number.to_bits() };
            let bits = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            key.extend_from_slice(&bits.to_be_bytes());
        }
        (StorageKind::Decimal { .. }, Value::Decimal(number)) => number.write_key(key),
        (StorageKind::Binary, Value::Bytes(bytes)) => CollationId::BINARY.write_sort_key(bytes, key),
        (StorageKind::Text(collation), Value::Bytes(bytes)) => collation.write_sort_key(bytes, key),
        (StorageKind::Date, Value::Date(date)) => key.extend_from_slice(&date.to_packed().to_be_bytes()),
        (StorageKind::Time, Value::Time(time)) => {
            key.extend_from_slice(&((time.to_micros() as u64) ^ (1 << 63)).to_be_bytes());
        }
        (StorageKind::DateTime, Value::DateTime(at)) => key.extend_from_slice(&at.to_packed().to_be_bytes()),
        (StorageKind::Timestamp, Value::Timestamp(at)) => {
            key.extend_from_slice(&((at.to_unix_micros() as u64) ^ (1 << 63)).to_be_bytes());
        }
        (StorageKind::Year, Value::Year(year)) => key.extend_from_slice(&year.to_be_bytes()),
        (StorageKind::Enum, Value::Enum(index)) => key.extend_from_slice(&index.to_be_bytes()),
        (StorageKind::Set, Value::Set(bits)) | (StorageKind::Bit, Value::Bit(bits)) => {
            key.extend_from_slice(&bits.to_be_bytes());
        }
        _ => return Err(mismatch(kind, value)),
    }
    Ok(())
}

fn fits_signed(number: i64, width: u8) -> bool {
    matches!(number >> (8 * width - 1), 0 | -1)
}

fn value_length(kind: StorageKind, key: &[u8]) -> Option<usize> {
    match kind {
        StorageKind::Text(collation) => collation.sort_key_length(key),
        StorageKind::Binary => CollationId::BINARY.sort_key_length(key),
        StorageKind::Json => None,
        StorageKind::Decimal { .. } => read_value(kind, key).ok().map(|(_, length)| length),
        _ => kind.fixed_width().filter(|width| *width <= key.len()),
    }
}

fn array<const N: usize>(key: &[u8]) -> Result<[u8; N], DecodeError> {
    key.get(..N).and_then(|bytes| bytes.try_into().ok()).ok_or(DecodeError)
}

fn big_endian(key: &[u8], width: usize) -> Result<u64, DecodeError> {
    debug_assert!((1..=8).contains(&width), "a number has one to eight bytes");
    let bytes = key.get(..width).ok_or(DecodeError)?;
    Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn read_value(kind: StorageKind, key: &[u8]) -> Result<(Value, usize), DecodeError> {
    let value = match kind {
        StorageKind::Signed(width) => {
            let bits = u32::from(width) * 8;
            let number = big_endian(key, usize::from(width))? ^ (1 << (bits - 1));
            // Shifting up and down again spreads the sign.
            Value::Int((number << (64 - bits)) as i64 >> (64 - bits))
        }
        StorageKind::Unsigned(width) => Value::UInt(big_endian(key, usize::from(width))?),
        StorageKind::Float => {
            let bits = u32::from_be_bytes(array(key)?);
            Value::Float(f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits }))
        }
        StorageKind::Double => {
            let bits = u64::from_be_bytes(array(key)?);
            Value::Double(f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits }))
        }
        StorageKind::Decimal { scale } => {
            let (number, length) = Decimal::read_key(key, scale).ok_or(DecodeError)?;
            return Ok((Value::Decimal(number), length));
        }
        StorageKind::Binary => {
            let (bytes, length) = collation::read_escaped(key).ok_or(DecodeError)?;
            return Ok((Value::Bytes(bytes), length));
        }
        StorageKind::Text(_) | StorageKind::Json => return Err(DecodeError),
        StorageKind::Date => {
            Value::Date(Date::from_packed(u32::from_be_bytes(array(key)?)).ok_or(DecodeError)?)
        }
        StorageKind::Time => {
            let micros = (u64::from_be_bytes(array(key)?) ^ (1 << 63)) as i64;
            Value::Time(Time::from_micros(micros).ok_or(DecodeError)?)
        }
        StorageKind::DateTime => {
            Value::DateTime(DateTime::from_packed(u64::from_be_bytes(array(key)?)).ok_or(DecodeError)?)
        }
        StorageKind::Timestamp => {
            let micros = (u64::from_be_bytes(array(key)?) ^ (1 << 63)) as i64;
            Value::Timestamp(Timestamp::from_unix_micros(micros).ok_or(DecodeError)?)
        }
        StorageKind::Year => Value::Year(u16::from_be_bytes(array(key)?)),
        StorageKind::Enum => Value::Enum(u16::from_be_bytes(array(key)?)),
        StorageKind::Set => Value::Set(u64::from_be_bytes(array(key)?)),
        StorageKind::Bit => Value::Bit(u64::from_be_bytes(array(key)?)),
    };
    Ok((value, kind.fixed_width().expect("kinds of varying width have returned")))
}

#[cfg(test)]
mod tests;
