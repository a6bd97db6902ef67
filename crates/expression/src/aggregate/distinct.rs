//! What a DISTINCT aggregate has already counted.
//!
//! Invariant: two values have the same key exactly when SQL calls them equal (under the type's collation).
use std::collections::HashSet;

use datum::Value;

use crate::expr::ExprType;

/// What a key costs beside its bytes.
const ENTRY_BYTES: usize = 48;

#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    keys: HashSet<Vec<u8>>,
    bytes: usize,
}

impl Seen {
    /// Whether the values are new; they are remembered.
    pub fn is_new<'v>(&mut self, values: impl Iterator<Item = (&'v Value, &'v ExprType)>) -> bool {
        let key = key_of(values);
        let length = key.len();
        let new = self.keys.insert(key);
        if new {
            self.bytes += length + ENTRY_BYTES;
        }
        new
    }

    /// The key of values that are new; they are not remembered.
    pub fn unseen_key<'v>(&self, values: impl Iterator<Item = (&'v Value, &'v ExprType)>) -> Option<Vec<u8>> {
        let key = key_of(values);
        (!self.keys.contains(&key)).then_some(key)
    }

    pub fn memory_bytes(&self) -> usize {
        self.bytes
    }
}

fn key_of<'v>(values: impl Iterator<Item = (&'v Value, &'v ExprType)>) -> Vec<u8> {
    let mut key = Vec::new();
    for (value, ty) in values {
        write_key(value, ty, &mut key);
    }
    key
}

/// Self-delimiting, so that the keys of several values can follow each other.
fn write_key(value: &Value, ty: &ExprType, key: &mut Vec<u8>) {
    let mut tagged = |tag: u8, bytes: &[u8]| {
        key.push(tag);
        key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        key.extend_from_slice(bytes);
    };
    match value {
        Value::Null => tagged(0, &[]),
        Value::Int(number) => tagged(1, &i128::from(*number).to_le_bytes()),
        Value::UInt(number) => tagged(1, &i128::from(*number).to_le_bytes()),
        Value::Float(number) => tagged(2, &float_key(f64::from(*number))),
        Value::Double(number) => tagged(2, &float_key(*number)),
        Value::Decimal(number) => {
            let mut bytes = Vec::new();
            number.write_key(&mut bytes);
            tagged(3, &bytes);
        }
        Value::Bytes(text) => {
            let mut weights = Vec::new();
            ty.collation().write_sort_key(text, &mut weights);
            tagged(4, &weights);
        }
        Value::Date(date) => tagged(5, &date.to_packed().to_le_bytes()),
        Value::Time(time) => tagged(6, &time.to_micros().to_le_bytes()),
        Value::DateTime(moment) => tagged(7, &moment.to_packed().to_le_bytes()),
        Value::Timestamp(instant) => tagged(8, &instant.to_unix_micros().to_le_bytes()),
        Value::Year(year) => tagged(9, &year.to_le_bytes()),
        Value::Bit(bits) => tagged(10, &bits.to_le_bytes()),
        Value::Enum(member) => tagged(11, &member.to_le_bytes()),
        Value::Set(members) => tagged(12, &members.to_le_bytes()),
        Value::Json(text) => tagged(13, &datum::json_key(text)),
    }
}

/// -0.0 equals 0.0.
fn float_key(number: f64) -> [u8; 8] {
    (number + 0.0).to_bits().to_le_bytes()
}
