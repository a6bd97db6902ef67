//! Arrays whose elements are all of one SQL type: what multi-valued indexes keep of a document.
//!
//! Invariant: `typed_elements` reads back what `CAST(.. AS type ARRAY)` has made; of anything else it gives nothing. Called
//! for each row whose table has such an index.
use super::{Json, read_json};
use crate::column_type::{ColumnType, TypeKind};
use crate::value::Value;

/// The elements of the stored array as values of `element`; `None` for a text that is no such array.
pub fn typed_elements(text: &str, element: &ColumnType) -> Option<Vec<Value>> {
    match read_json(text) {
        Json::Array(elements) => elements.into_iter().map(|value| typed_value(value, element)).collect(),
        _ => None,
    }
}

/// A scalar as a value of the type that it was converted to.
pub fn typed_value(scalar: Json, element: &ColumnType) -> Option<Value> {
    let value = match (&element.kind, scalar) {
        (TypeKind::LongLong, Json::Int(number)) if element.unsigned => {
            Value::UInt(u64::try_from(number).ok()?)
        }
        (TypeKind::LongLong, Json::Int(number)) => Value::Int(number),
        (TypeKind::LongLong, Json::UInt(number)) if element.unsigned => Value::UInt(number),
        (TypeKind::Decimal { .. }, Json::Decimal(number)) => Value::Decimal(number),
        (TypeKind::VarChar, Json::String(text)) => Value::Bytes(text.into_bytes()),
        (TypeKind::VarBinary, Json::Opaque(_, bytes)) => Value::Bytes(bytes),
        (TypeKind::Date, Json::Date(date)) => Value::Date(date),
        (TypeKind::Time { .. }, Json::Time(time)) => Value::Time(time),
        (TypeKind::DateTime { .. }, Json::DateTime(moment)) => Value::DateTime(moment),
        _ => return None,
    };
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_back_as_values_of_their_type() {
        let unsigned = ColumnType::bigint_unsigned();
        let values = typed_elements("[1, 2]", &unsigned);
        assert_eq!(values, Some(vec![Value::UInt(1), Value::UInt(2)]));
        assert_eq!(typed_elements("[]", &unsigned), Some(Vec::new()));
        assert_eq!(typed_elements("[-1]", &unsigned), None, "not what a cast makes");
        assert_eq!(typed_elements("[\"x\"]", &unsigned), None);
        assert_eq!(typed_elements("3", &unsigned), None);
        assert_eq!(typed_elements("[-1]", &ColumnType::bigint()), Some(vec![Value::Int(-1)]));
    }
}
