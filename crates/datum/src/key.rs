//! The order-preserving encoding of values in index keys and sort keys.
//!
//! Invariant: comparing the bytes of two keys of one type gives `compare_in_type`; no encoded value is a prefix of
//! another of its type, so values of several columns simply follow each other.
//!
//! | kind | bytes |
//! |---|---|
//! | NULL | 00; every other value starts with 01 |
//! | integers, TIME, TIMESTAMP | big-endian, sign bit inverted |
//! | unsigned integers, temporals, YEAR, BIT, ENUM, SET | big-endian |
//! | FLOAT, DOUBLE | IEEE bits, negative inverted, positive with the sign bit set |
//! | DECIMAL | see `decimal::key` |
//! | text | weights of the collation, see `collation` |
//! | binary strings | bytes, escaped and terminated |
//!
//! Descending columns have every byte inverted, the NULL byte included.
use collation::{CollationId, read_escaped};

use crate::column_type::{ColumnType, TypeKind};
use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, Time, Timestamp};
use crate::value::Value;

const NULL: u8 = 0;
const PRESENT: u8 = 1;

/// Bytes that are no key of the expected type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidKey;

/// Appends a value's key. The value must be of the column's type (as `store` makes it) or NULL.
pub fn encode_key(value: &Value, column: &ColumnType, is_descending: bool, key: &mut Vec<u8>) {
    encode_key_prefix(value, column, None, is_descending, key);
}

/// As `encode_key`, with strings cut to `prefix_length` characters (bytes for binary strings).
pub fn encode_key_prefix(
    value: &Value,
    column: &ColumnType,
    prefix_length: Option<u32>,
    is_descending: bool,
    key: &mut Vec<u8>,
) {
    let start = key.len();
    match value {
        Value::Null => key.push(NULL),
        Value::Bytes(bytes) => {
            key.push(PRESENT);
            let bytes = match prefix_length {
                Some(length) => {
                    let end = column.collation.charset().byte_offset(bytes, length as usize);
                    &bytes[..end]
                }
                None => bytes.as_slice(),
            };
            column.collation.write_sort_key(bytes, key);
        }
        other => {
            key.push(PRESENT);
            encode_fixed(other, column, key);
        }
    }
    if is_descending {
        key[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn encode_fixed(value: &Value, column: &ColumnType, key: &mut Vec<u8>) {
    match value {
        Value::Null | Value::Bytes(_) => unreachable!("handled by the caller"),
        // An integer that came in the other signedness still sorts by value within its column.
        Value::Int(number) if column.unsigned => key.extend_from_slice(&(*number).max(0).to_be_bytes()),
        Value::UInt(number) if !column.unsigned && column.kind.is_integer() => {
            let number = i64::try_from(*number).unwrap_or(i64::MAX);
            key.extend_from_slice(&(number as u64 ^ 1 << 63).to_be_bytes());
        }
        Value::Int(number) => key.extend_from_slice(&(*number as u64 ^ 1 << 63).to_be_bytes()),
        Value::UInt(number) | Value::Bit(number) | Value::Set(number) => {
            key.extend_from_slice(&number.to_be_bytes());
        }
        Value::Float(number) => {
            // Adding 0 turns -0 into 0, which it equals.
            let bits = (number + 0.0).to_bits();
            let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
            key.extend_from_slice(&ordered.to_be_bytes());
        }
        Value::Double(number) => {
            let bits = (number + 0.0).to_bits();
            let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            key.extend_from_slice(&ordered.to_be_bytes());
        }
        Value::Decimal(number) => number.write_key(key),
        Value::Date(date) => key.extend_from_slice(&date.to_packed().to_be_bytes()),
        Value::Time(time) => key.extend_from_slice(&(time.to_micros() as u64 ^ 1 << 63).to_be_bytes()),
        Value::DateTime(datetime) => key.extend_from_slice(&datetime.to_packed().to_be_bytes()),
        Value::Timestamp(timestamp) => {
            key.extend_from_slice(&(timestamp.to_unix_micros() as u64 ^ 1 << 63).to_be_bytes());
        }
        Value::Year(number) | Value::Enum(number) => key.extend_from_slice(&number.to_be_bytes()),
        Value::Json(json) => CollationId::BINARY.write_sort_key(json.as_bytes(), key),
    }
}

/// Whether `decode_key` gives back every value of the type: text loses case and accents to its weights.
pub fn is_decodable(column: &ColumnType) -> bool {
    !column.kind.is_string()
        || matches!(column.collation, CollationId::BINARY | CollationId::UTF8MB4_0900_BIN)
}

/// Reads a value back and tells how many bytes it took. `Err` for bytes that are no key of this type and for types
/// that are not decodable.
pub fn decode_key(
    key: &[u8],
    column: &ColumnType,
    is_descending: bool,
) -> Result<(Value, usize), InvalidKey> {
    if is_descending {
        // A terminator is found only after inverting, so the rest of the key is inverted as a whole.
        let inverted: Vec<u8> = key.iter().map(|byte| !byte).collect();
        return decode_ascending(&inverted, column).ok_or(InvalidKey);
    }
    decode_ascending(key, column).ok_or(InvalidKey)
}

fn decode_ascending(key: &[u8], column: &ColumnType) -> Option<(Value, usize)> {
    let (first, rest) = key.split_first()?;
    match *first {
        NULL => return Some((Value::Null, 1)),
        PRESENT => {}
        _ => return None,
    }
    let (value, length) = decode_present(rest, column)?;
    Some((value, length + 1))
}

fn decode_present(rest: &[u8], column: &ColumnType) -> Option<(Value, usize)> {
    let eight = || rest.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes));
    let four = || rest.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes));
    let two = || rest.first_chunk::<2>().map(|bytes| u16::from_be_bytes(*bytes));
    let signed = |bits: u64| (bits ^ 1 << 63) as i64;
    let (value, length) = match &column.kind {
        kind if kind.is_integer() && column.unsigned => (Value::UInt(eight()?), 8),
        kind if kind.is_integer() => (Value::Int(signed(eight()?)), 8),
        TypeKind::Decimal { scale, .. } => {
            let (number, length) = Decimal::read_key(rest, *scale)?;
            (Value::Decimal(number), length)
        }
        TypeKind::Float { .. } => {
            let ordered = four()?;
            let bits = if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered };
            (Value::Float(f32::from_bits(bits)), 4)
        }
        TypeKind::Double { .. } => {
            let ordered = eight()?;
            let bits = if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered };
            (Value::Double(f64::from_bits(bits)), 8)
        }
        TypeKind::Date => (Value::Date(Date::from_packed(four()?)?), 4),
        TypeKind::Time { .. } => (Value::Time(Time::from_micros(signed(eight()?))?), 8),
        TypeKind::DateTime { .. } => (Value::DateTime(DateTime::from_packed(eight()?)?), 8),
        TypeKind::Timestamp { .. } => (Value::Timestamp(Timestamp::from_unix_micros(signed(eight()?))?), 8),
        TypeKind::Year => (Value::Year(two()?), 2),
        TypeKind::Enum(_) => (Value::Enum(two()?), 2),
        TypeKind::Set(_) => (Value::Set(eight()?), 8),
        TypeKind::Bit(_) => (Value::Bit(eight()?), 8),
        TypeKind::Json => {
            let (bytes, length) = read_escaped(rest)?;
            (Value::Json(String::from_utf8(bytes).ok()?.into_boxed_str()), length)
        }
        kind if kind.is_string() && is_decodable(column) => {
            let (bytes, length) = read_escaped(rest)?;
            (Value::Bytes(bytes), length)
        }
        _ => return None,
    };
    Some((value, length))
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::sync::Arc;

    use super::*;
    use crate::compare::compare_in_type;

    fn moment(text: &str) -> DateTime {
        DateTime::parse(text.as_bytes(), false).unwrap().value
    }

    fn samples() -> Vec<(ColumnType, Vec<Value>)> {
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text).unwrap());
        let bytes = |text: &str| Value::bytes(text);
        let members: crate::Members = Arc::from([Box::from(&b"x"[..]), Box::from(&b"y"[..])]);
        vec![
            (ColumnType::bigint(), [i64::MIN, -1, 0, 1, i64::MAX].map(Value::Int).to_vec()),
            (ColumnType::bigint_unsigned(), [0, 1, 1 << 63, u64::MAX].map(Value::UInt).to_vec()),
            (ColumnType::decimal(10, 2), ["-10.50", "-0.01", "0.00", "9.99", "10.00"].map(decimal).to_vec()),
            (ColumnType::double(), [-1e300, -1.5, 0.0, 1e-300, 2.0].map(Value::Double).to_vec()),
            (
                ColumnType::new(TypeKind::Float { digits: None }),
                [-1.5f32, 0.0, 2.0].map(Value::Float).to_vec(),
            ),
            (ColumnType::varbinary(10), ["", "\0", "\0a", "a", "a\0", "ab", "b"].map(bytes).to_vec()),
            (
                ColumnType::varchar(10, CollationId::UTF8MB4_0900_AI_CI),
                ["", "a", "a b", "ab", "b", "é", "z"].map(bytes).to_vec(),
            ),
            (
                ColumnType::new(TypeKind::DateTime { fsp: 6 }),
                ["0000-00-00", "1000-01-01", "2020-01-02 03:04:05.6", "9999-12-31"]
                    .map(|text| Value::DateTime(moment(text)))
                    .to_vec(),
            ),
            (
                ColumnType::new(TypeKind::Date),
                ["0000-00-00", "2020-01-02"].map(|text| Value::Date(moment(text).date())).to_vec(),
            ),
            (
                ColumnType::new(TypeKind::Time { fsp: 0 }),
                [-5, 0, 7].map(|micros| Value::Time(Time::from_micros(micros).unwrap())).to_vec(),
            ),
            (
                ColumnType::new(TypeKind::Timestamp { fsp: 0 }),
                [0, 1_000_000, 2_000_000]
                    .map(|micros| Value::Timestamp(Timestamp::from_unix_micros(micros).unwrap()))
                    .to_vec(),
            ),
            (ColumnType::new(TypeKind::Year), [0, 1901, 2155].map(Value::Year).to_vec()),
            (ColumnType::new(TypeKind::Enum(members.clone())), [0, 1, 2].map(Value::Enum).to_vec()),
            (ColumnType::new(TypeKind::Set(members)), [0, 1, 3].map(Value::Set).to_vec()),
            (ColumnType::new(TypeKind::Bit(8)), [0, 1, 255].map(Value::Bit).to_vec()),
        ]
    }

    #[test]
    fn keys_order_and_decode() {
        for (column, mut values) in samples() {
            values.insert(0, Value::Null);
            for is_descending in [false, true] {
                for (left_index, left) in values.iter().enumerate() {
                    let mut left_key = Vec::new();
                    encode_key(left, &column, is_descending, &mut left_key);
                    for (right_index, right) in values.iter().enumerate() {
                        let mut right_key = Vec::new();
                        encode_key(right, &column, is_descending, &mut right_key);
                        let expected = left_index.cmp(&right_index);
                        assert_eq!(compare_in_type(left, right, &column), expected, "{left:?} {right:?}");
                        let expected = if is_descending { expected.reverse() } else { expected };
                        assert_eq!(left_key.cmp(&right_key), expected, "{left:?} {right:?} {column:?}");
                    }
                    if is_decodable(&column) {
                        let length = left_key.len();
                        left_key.extend_from_slice(&[7, 8, 9]);
                        assert_eq!(decode_key(&left_key, &column, is_descending), Ok((left.clone(), length)));
                    }
                }
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic() {
        let mut seed = 3u64;
        for (column, _) in samples() {
            for _ in 0..2_000 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                let bytes = seed.to_be_bytes();
                let key = [&[1][..], &bytes[..(seed >> 60) as usize / 2], &bytes].concat();
                let _ = decode_key(&key, &column, seed & 1 == 0);
            }
        }
    }

    #[test]
    fn prefixes_cut_characters() {
        let column = ColumnType::varchar(10, CollationId::UTF8MB4_BIN);
        let key = |text: &str, prefix| {
            let mut key = Vec::new();
            encode_key_prefix(&Value::bytes(text), &column, prefix, false, &mut key);
            key
        };
        assert_eq!(key("éab", Some(2)), key("éa", None));
        assert_eq!(key("b", Some(2)).cmp(&key("éa", Some(2))), Ordering::Less);
    }
}
