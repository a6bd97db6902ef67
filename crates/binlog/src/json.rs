//! JSON documents in MySQL's binary form, as cells of JSON columns have them.
//!
//! | type | value |
//! |---|---|
//! | 0, 1 | object, with offsets of two or of four bytes |
//! | 2, 3 | array, the same |
//! | 4 | literal: 0 null, 1 true, 2 false |
//! | 5 to 10 | signed and unsigned integers of 16, 32 and 64 bits in turn |
//! | 11 | double |
//! | 12 | text behind its length, seven bits a byte |
//! | 15 | another type of field: its number, length, bytes |
//!
//! Invariant: reading goes no deeper than documents may be, and visits no byte range outside of its container.
use crate::BinlogError;
use crate::bytes::Reader;
use crate::decimal::{put_decimal, read_decimal};
use crate::temporal::{put_packed_datetime, put_packed_time, read_packed_datetime, read_packed_time};
use crate::type_code;
use datum::{JSON_DEPTH_MAX, Json, JsonMap};

const SMALL_OBJECT: u8 = 0;
const LARGE_OBJECT: u8 = 1;
const SMALL_ARRAY: u8 = 2;
const LARGE_ARRAY: u8 = 3;
const LITERAL: u8 = 4;
const INT16: u8 = 5;
const UINT16: u8 = 6;
const INT32: u8 = 7;
const UINT32: u8 = 8;
const INT64: u8 = 9;
const UINT64: u8 = 10;
const DOUBLE: u8 = 11;
const STRING: u8 = 12;
const OPAQUE: u8 = 15;

const WRONG: BinlogError = BinlogError::Invalid("JSON document");

/// Appends a document: its type, then its value.
pub(crate) fn put_json(document: &Json, out: &mut Vec<u8>) -> Result<(), BinlogError> {
    let place = out.len();
    out.push(0);
    out[place] = put_value(document, None, out)?.ok_or(WRONG)?;
    Ok(())
}

/// Appends a value and answers its type; `None` if `out` would grow beyond the limit, which a container with small offsets
/// sets for all that is in it. So each level of a document is tried once with small offsets, for 64 KB at most.
fn put_value(value: &Json, limit: Option<usize>, out: &mut Vec<u8>) -> Result<Option<u8>, BinlogError> {
    match value {
        Json::Object(members) => {
            let keys: Vec<&[u8]> = members.keys().map(|key| key.as_bytes()).collect();
            let values: Vec<&Json> = members.values().collect();
            put_container(Some(&keys), &values, limit, out)
        }
        Json::Array(elements) => put_container(None, &elements.iter().collect::<Vec<_>>(), limit, out),
        _ => put_scalar(value, out).map(|kind| limit.is_none_or(|limit| out.len() <= limit).then_some(kind)),
    }
}

fn put_scalar(value: &Json, out: &mut Vec<u8>) -> Result<u8, BinlogError> {
    match value {
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::UInt(_) => {
            let (kind, number, width) = number_form(value);
            out.extend_from_slice(&number.to_le_bytes()[..width]);
            return Ok(kind);
        }
        Json::Double(number) => {
            out.extend_from_slice(&number.to_le_bytes());
            return Ok(DOUBLE);
        }
        Json::String(text) => {
            put_length(text.len(), out);
            out.extend_from_slice(text.as_bytes());
            return Ok(STRING);
        }
        _ => {}
    }
    let mut bytes = Vec::new();
    let field = match value {
        Json::Decimal(number) => {
            let scale = number.scale();
            let precision = (number.integer_digit_count() as u8).saturating_add(scale).max(1);
            bytes.extend_from_slice(&[precision, scale]);
            put_decimal(number, precision, scale, &mut bytes)?;
            type_code::NEW_DECIMAL
        }
        Json::Date(date) => {
            put_packed_datetime(date.at_midnight(), &mut bytes);
            type_code::DATE
        }
        Json::DateTime(moment) => {
            put_packed_datetime(*moment, &mut bytes);
            type_code::DATETIME
        }
        Json::Time(time) => {
            put_packed_time(*time, &mut bytes);
            type_code::TIME
        }
        Json::Opaque(field, opaque) => {
            bytes.extend_from_slice(opaque);
            *field
        }
        _ => return Err(WRONG),
    };
    out.push(field);
    put_length(bytes.len(), out);
    out.extend_from_slice(&bytes);
    Ok(OPAQUE)
}

/// Type, bits and bytes of literals and integers.
fn number_form(value: &Json) -> (u8, u64, usize) {
    match *value {
        Json::Bool(truth) => (LITERAL, if truth { 1 } else { 2 }, 1),
        Json::Int(number) => {
            let bits = number as u64;
            match number {
                _ if i16::try_from(number).is_ok() => (INT16, bits, 2),
                _ if i32::try_from(number).is_ok() => (INT32, bits, 4),
                _ => (INT64, bits, 8),
            }
        }
        Json::UInt(number) => match number {
            0..=0xFFFF => (UINT16, number, 2),
            0x1_0000..=0xFFFF_FFFF => (UINT32, number, 4),
            _ => (UINT64, number, 8),
        },
        _ => (LITERAL, 0, 1),
    }
}

/// The bits of a value that stands in its container's table instead of behind it.
fn inlined(value: &Json, offset_bytes: usize) -> Option<(u8, u64)> {
    if !matches!(value, Json::Null | Json::Bool(_) | Json::Int(_) | Json::UInt(_)) {
        return None;
    }
    let (kind, bits, width) = number_form(value);
    // Literals and the signed are extended to the width of the place.
    (width <= offset_bytes).then_some((kind, bits))
}

fn put_container(
    keys: Option<&[&[u8]]>,
    values: &[&Json],
    limit: Option<usize>,
    out: &mut Vec<u8>,
) -> Result<Option<u8>, BinlogError> {
    let start = out.len();
    let (small, large) =
        if keys.is_some() { (SMALL_OBJECT, LARGE_OBJECT) } else { (SMALL_ARRAY, LARGE_ARRAY) };
    let small_end = start + usize::from(u16::MAX);
    if put_sized(keys, values, 2, Some(limit.map_or(small_end, |limit| limit.min(small_end))), out)? {
        return Ok(Some(small));
    }
    if limit.is_some() {
        return Ok(None);
    }
    out.truncate(start);
    if put_sized(keys, values, 4, None, out)? { Ok(Some(large)) } else { Err(WRONG) }
}

/// False if an offset does not fit in its bytes.
fn put_sized(
    keys: Option<&[&[u8]]>,
    values: &[&Json],
    width: usize,
    limit: Option<usize>,
    out: &mut Vec<u8>,
) -> Result<bool, BinlogError> {
    let start = out.len();
    let is_too_long = |end: usize| limit.is_some_and(|limit| end > limit) || end - start > u32::MAX as usize;
    let put =
        |number: usize, out: &mut Vec<u8>| out.extend_from_slice(&(number as u64).to_le_bytes()[..width]);
    put(values.len(), out);
    put(0, out);
    let keys = keys.unwrap_or_default();
    let entries = start + 2 * width + keys.len() * (width + 2);
    let mut place = 2 * width + keys.len() * (width + 2) + values.len() * (1 + width);
    if is_too_long(start + place) {
        return Ok(false);
    }
    for key in keys {
        put(place, out);
        let length = u16::try_from(key.len()).map_err(|_| WRONG)?;
        out.extend_from_slice(&length.to_le_bytes());
        place += key.len();
    }
    out.resize(entries + values.len() * (1 + width), 0);
    keys.iter().for_each(|key| out.extend_from_slice(key));
    debug_assert_eq!(out.len(), start + place, "tables and keys take what was counted");
    for (number, value) in values.iter().enumerate() {
        let entry = entries + number * (1 + width);
        let (kind, bits) = match inlined(value, width) {
            Some(inlined) => inlined,
            None => {
                let offset = (out.len() - start) as u64;
                let Some(kind) = put_value(value, limit, out)? else { return Ok(false) };
                (kind, offset)
            }
        };
        if is_too_long(out.len()) {
            return Ok(false);
        }
        debug_assert!(entry + width < out.len(), "a table lies before what it tells of");
        out[entry] = kind;
        out[entry + 1..=entry + width].copy_from_slice(&bits.to_le_bytes()[..width]);
    }
    let size = (out.len() - start) as u64;
    out[start + width..start + 2 * width].copy_from_slice(&size.to_le_bytes()[..width]);
    Ok(!is_too_long(out.len()))
}

fn put_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

fn read_length(reader: &mut Reader<'_>) -> Result<usize, BinlogError> {
    let mut length = 0usize;
    for shift in (0..35).step_by(7) {
        let byte = reader.u8()?;
        length |= usize::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(length);
        }
    }
    Err(WRONG)
}

/// The document of a cell; no bytes at all stand for null.
pub(crate) fn read_json(bytes: &[u8]) -> Result<Json, BinlogError> {
    match bytes.split_first() {
        // Offsets may overlap, so the bytes alone do not bound the work.
        Some((kind, value)) => read_value(*kind, value, 0, &mut (bytes.len() + 1)),
        None => Ok(Json::Null),
    }
}

/// `budget`: how many values may follow.
fn read_value(kind: u8, bytes: &[u8], depth: usize, budget: &mut usize) -> Result<Json, BinlogError> {
    *budget = budget.checked_sub(1).ok_or(WRONG)?;
    let mut reader = Reader(bytes);
    Ok(match kind {
        SMALL_OBJECT | LARGE_OBJECT | SMALL_ARRAY | LARGE_ARRAY => {
            if depth >= JSON_DEPTH_MAX {
                return Err(WRONG);
            }
            return read_container(kind, bytes, depth + 1, budget);
        }
        LITERAL => match reader.u8()? {
            0 => Json::Null,
            1 => Json::Bool(true),
            2 => Json::Bool(false),
            _ => return Err(WRONG),
        },
        INT16 => Json::Int(i64::from(reader.u16()? as i16)),
        UINT16 => Json::UInt(u64::from(reader.u16()?)),
        INT32 => Json::Int(i64::from(reader.u32()? as i32)),
        UINT32 => Json::UInt(u64::from(reader.u32()?)),
        INT64 => Json::Int(reader.u64()? as i64),
        UINT64 => Json::UInt(reader.u64()?),
        DOUBLE => match f64::from_bits(reader.u64()?) {
            number if number.is_finite() => Json::Double(number),
            _ => return Err(WRONG),
        },
        STRING => {
            let length = read_length(&mut reader)?;
            Json::String(crate::bytes::text(reader.take(length)?)?)
        }
        OPAQUE => {
            let field = reader.u8()?;
            let length = read_length(&mut reader)?;
            return read_opaque(field, reader.take(length)?);
        }
        _ => return Err(WRONG),
    })
}

fn read_opaque(field: u8, bytes: &[u8]) -> Result<Json, BinlogError> {
    let mut reader = Reader(bytes);
    Ok(match field {
        type_code::NEW_DECIMAL => {
            let (precision, scale) = (reader.u8()?, reader.u8()?);
            Json::Decimal(read_decimal(&mut reader, precision, scale)?)
        }
        type_code::DATE => Json::Date(read_packed_datetime(&mut reader)?.date()),
        type_code::DATETIME | type_code::TIMESTAMP => Json::DateTime(read_packed_datetime(&mut reader)?),
        type_code::TIME => Json::Time(read_packed_time(&mut reader)?),
        _ => Json::Opaque(field, bytes.to_vec()),
    })
}

fn read_container(kind: u8, bytes: &[u8], depth: usize, budget: &mut usize) -> Result<Json, BinlogError> {
    let width = if matches!(kind, LARGE_OBJECT | LARGE_ARRAY) { 4 } else { 2 };
    let is_object = matches!(kind, SMALL_OBJECT | LARGE_OBJECT);
    let mut reader = Reader(bytes);
    let count = reader.uint(width)? as usize;
    let size = reader.uint(width)? as usize;
    let bytes = bytes.get(..size).ok_or(BinlogError::Truncated)?;
    let mut keys = Vec::new();
    for _ in 0..if is_object { count } else { 0 } {
        let (offset, length) = (reader.uint(width)? as usize, usize::from(reader.u16()?));
        let end = offset.checked_add(length).ok_or(WRONG)?;
        keys.push(crate::bytes::text(bytes.get(offset..end).ok_or(BinlogError::Truncated)?)?);
    }
    let mut values = Vec::new();
    for _ in 0..count {
        let kind = reader.u8()?;
        let place = reader.0;
        let offset = reader.uint(width)? as usize;
        let stands_here =
            matches!(kind, LITERAL | INT16 | UINT16) || width == 4 && matches!(kind, INT32 | UINT32);
        let value =
            if stands_here { &place[..width] } else { bytes.get(offset..).ok_or(BinlogError::Truncated)? };
        values.push(read_value(kind, value, depth, budget)?);
    }
    match is_object {
        true => Ok(Json::Object(keys.into_iter().zip(values).collect::<JsonMap>())),
        false => Ok(Json::Array(values)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datum::parse_json;
    use proptest::prelude::*;

    fn check(text: &str) {
        let document = parse_json(text.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        put_json(&document, &mut bytes).unwrap();
        assert_eq!(read_json(&bytes), Ok(document));
    }

    #[test]
    fn documents_come_back() {
        check("null");
        check("[]");
        check("{}");
        check(
            r#"{"a":1,"bb":[1,2.5,"s",null,true,-70000,123456789012],"c":{"d":"e"},"u":18446744073709551615}"#,
        );
        check(&format!("[\"{}\", 70000, {{\"k\": [\"{}\"]}}]", "x".repeat(70_000), "y".repeat(300)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_document_or_an_error(bytes: Vec<u8>) {
            let _ = read_json(&bytes);
        }
    }
}
