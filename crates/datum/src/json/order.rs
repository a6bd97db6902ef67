//! The order of documents: by kind first (the manual, "Comparison and Ordering of JSON Values"), then within the
//! kind; numbers of all kinds by value.
use std::cmp::Ordering;

use super::{Json, json_of};
use crate::compare::Operand;
use crate::decimal::Decimal;
use crate::value::Value;

/// JSON values and SQL values that are compared with them.
pub(crate) fn compare_json(left: Operand<'_>, right: Operand<'_>) -> Ordering {
    if let (Value::Json(left), Value::Json(right)) = (left.value, right.value)
        && left == right
    {
        return Ordering::Equal;
    }
    compare_documents(&json_of(left.value, left.column), &json_of(right.value, right.column))
}

/// MySQL's precedence of kinds, lowest first.
fn rank(document: &Json) -> u8 {
    match document {
        Json::Null => 0,
        Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => 1,
        Json::String(_) => 2,
        Json::Object(_) => 3,
        Json::Array(_) => 4,
        Json::Bool(_) => 5,
        Json::Date(_) => 6,
        Json::Time(_) => 7,
        Json::DateTime(_) => 8,
        Json::Opaque(..) => 9,
    }
}

pub fn compare_documents(left: &Json, right: &Json) -> Ordering {
    match (left, right) {
        (Json::String(left), Json::String(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Json::Bool(left), Json::Bool(right)) => left.cmp(right),
        (Json::Date(left), Json::Date(right)) => left.cmp(right),
        (Json::Time(left), Json::Time(right)) => left.cmp(right),
        (Json::DateTime(left), Json::DateTime(right)) => left.cmp(right),
        (Json::Opaque(kind, bytes), Json::Opaque(other_kind, others)) => {
            kind.cmp(other_kind).then_with(|| bytes.cmp(others))
        }
        (Json::Array(left), Json::Array(right)) => left
            .iter()
            .zip(right)
            .map(|(left, right)| compare_documents(left, right))
            .find(|ordering| ordering.is_ne())
            .unwrap_or_else(|| left.len().cmp(&right.len())),
        (Json::Object(left), Json::Object(right)) => left.len().cmp(&right.len()).then_with(|| {
            let members = left.iter().zip(right.iter());
            let differences = members.map(|((key, value), (other_key, other))| {
                key.cmp(other_key).then_with(|| compare_documents(value, other))
            });
            differences.fold(Ordering::Equal, Ordering::then)
        }),
        _ => match (rank(left), rank(right)) {
            (1, 1) => compare_numbers(left, right),
            (left, right) => left.cmp(&right),
        },
    }
}

fn compare_numbers(left: &Json, right: &Json) -> Ordering {
    if let (Json::Double(left), Json::Double(right)) = (left, right) {
        return left.partial_cmp(right).unwrap_or(Ordering::Equal);
    }
    match (exact(left), exact(right)) {
        (Ok(left), Ok(right)) => left.compare(&right),
        // A double beyond all DECIMALs.
        (Err(left), _) => left.total_cmp(&0.0),
        (_, Err(right)) => 0.0f64.total_cmp(&right),
    }
}

/// The number as a DECIMAL, or the double that is too large for one.
fn exact(number: &Json) -> Result<Decimal, f64> {
    match number {
        Json::Int(number) => Ok(Decimal::from_i64(*number)),
        Json::UInt(number) => Ok(Decimal::from_u64(*number)),
        Json::Decimal(number) => Ok(number.clone()),
        Json::Double(number) => Decimal::from_f64(*number).ok_or(*number),
        _ => Ok(Decimal::ZERO),
    }
}

/// Bytes that two stored texts share exactly when they compare as equal.
pub fn json_key(text: &str) -> Vec<u8> {
    let mut key = Vec::new();
    write_key(&super::read_json(text), &mut key);
    key
}

/// Numbers are written as DECIMALs without trailing zeros, anything else as it is stored.
fn write_key(document: &Json, key: &mut Vec<u8>) {
    match document {
        Json::Array(elements) => {
            key.push(b'[');
            for element in elements {
                write_key(element, key);
                key.push(b',');
            }
            key.push(b']');
        }
        Json::Object(members) => {
            key.push(b'{');
            for (name, member) in members.iter() {
                key.extend_from_slice(super::json_text(&Json::String(name.clone())).as_bytes());
                write_key(member, key);
                key.push(b',');
            }
            key.push(b'}');
        }
        number if rank(number) == 1 => match exact(number) {
            Ok(decimal) => {
                let text = decimal.to_string();
                let trimmed =
                    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
                key.extend_from_slice(if trimmed == "-0" { b"0" } else { trimmed.as_bytes() });
            }
            Err(double) => key.extend_from_slice(&double.to_be_bytes()),
        },
        other => key.extend_from_slice(super::json_text(other).as_bytes()),
    }
}
