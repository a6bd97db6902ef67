//! SQL values as JSON values.
use collation::{Charset, CollationId};

use super::{Json, opaque, read_json};
use crate::column_type::{ColumnType, TypeKind};
use crate::value::Value;

/// What a value is in a document: text a string, NULL null, moments and binary strings what they are. A
/// `Value::Timestamp` is taken in UTC, so callers bring it into the session's zone before.
pub fn json_of(value: &Value, column: &ColumnType) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Int(number) => Json::Int(*number),
        Value::UInt(number) => Json::UInt(*number),
        Value::Double(number) => Json::Double(*number),
        Value::Float(number) => Json::Double(f64::from(*number)),
        Value::Decimal(number) => Json::Decimal(number.clone()),
        Value::Year(number) => Json::UInt(u64::from(*number)),
        Value::Date(date) => Json::Date(*date),
        Value::Time(time) => Json::Time(*time),
        Value::DateTime(moment) => Json::DateTime(*moment),
        Value::Timestamp(instant) => Json::DateTime(instant.in_zone(&crate::TimeZone::utc())),
        Value::Json(text) => read_json(text),
        Value::Bit(_) => Json::Opaque(opaque::BIT, value.to_text(column).into_owned()),
        Value::Bytes(bytes) if column.collation == CollationId::BINARY => {
            Json::Opaque(opaque_type(&column.kind), bytes.clone())
        }
        Value::Bytes(_) | Value::Enum(_) | Value::Set(_) => Json::String(json_of_text(value, column)),
    }
}

/// The UTF-8 text of a value of any type.
pub fn json_of_text(value: &Value, column: &ColumnType) -> String {
    let text = value.to_text(column);
    let charset = match value {
        Value::Bytes(_) | Value::Enum(_) | Value::Set(_) => column.collation.charset(),
        _ => Charset::Utf8mb4,
    };
    let utf8 = charset.convert_to(Charset::Utf8mb4, &text).bytes;
    String::from_utf8(utf8).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn opaque_type(kind: &TypeKind) -> u8 {
    match kind {
        TypeKind::TinyBlob => opaque::TINY_BLOB,
        TypeKind::MediumBlob => opaque::MEDIUM_BLOB,
        TypeKind::LongBlob => opaque::LONG_BLOB,
        TypeKind::Blob => opaque::BLOB,
        TypeKind::Binary => opaque::BINARY,
        _ => opaque::VARBINARY,
    }
}
