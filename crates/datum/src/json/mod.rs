//! JSON documents: the tree, and its stored text.
//!
//! A document is stored as MySQL's normal form: members sorted by length and then bytes, the last of equal keys,
//! ", " between elements and ": " after keys. Kinds that JSON's syntax has not (DECIMAL, dates, binary strings, and
//! integers that are unsigned though they need not be) have a control character before them, which no other text of
//! a document contains. Invariant: whoever shows a stored text takes it through `json_shown`, which leaves these
//! out. Callers: storing into JSON columns, CAST, comparison, the JSON functions.
mod convert;
mod order;
pub mod path;
mod read;
mod stored;
mod typed;
mod write;

#[cfg(test)]
mod tests;

pub use convert::{json_of, json_of_text};
pub(crate) use order::compare_json;
pub use order::{compare_documents, json_key};
pub use read::{InvalidJson, normalize_json, opaque_of, parse_json, read_json};
pub use stored::{StoredJson, stored_array};
pub use typed::{typed_elements, typed_value};
pub use write::{json_shown, json_shown_text, json_text, write_json_string};

use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, Time};

/// The deepest nesting of a document.
pub const JSON_DEPTH_MAX: usize = 100;

/// A parsed document.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    String(String),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// A value that JSON has no kind for, with the number of its field type.
    Opaque(u8, Vec<u8>),
    Array(Vec<Json>),
    Object(JsonMap),
}

/// The field types whose values are opaque.
pub mod opaque {
    pub const VARBINARY: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const BINARY: u8 = 254;
}

impl Json {
    pub fn is_array(&self) -> bool {
        matches!(self, Json::Array(_))
    }

    pub fn is_object(&self) -> bool {
        matches!(self, Json::Object(_))
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// 1 for a scalar; an empty array has the depth 1 too.
    pub fn depth(&self) -> usize {
        1 + match self {
            Json::Array(elements) => elements.iter().map(Json::depth).max().unwrap_or(0),
            Json::Object(members) => members.values().map(Json::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// The name that JSON_TYPE gives.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "NULL",
            Json::Bool(_) => "BOOLEAN",
            Json::Int(_) => "INTEGER",
            Json::UInt(_) => "UNSIGNED INTEGER",
            Json::Double(_) => "DOUBLE",
            Json::Decimal(_) => "DECIMAL",
            Json::String(_) => "STRING",
            Json::Date(_) => "DATE",
            Json::Time(_) => "TIME",
            Json::DateTime(_) => "DATETIME",
            Json::Opaque(opaque::BIT, _) => "BIT",
            Json::Opaque(..) => "BLOB",
            Json::Array(_) => "ARRAY",
            Json::Object(_) => "OBJECT",
        }
    }
}

/// The members of an object, sorted by the length of their keys and then the bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonMap {
    members: Vec<(String, Json)>,
}

fn key_order(left: &str, right: &str) -> std::cmp::Ordering {
    left.len().cmp(&right.len()).then_with(|| left.as_bytes().cmp(right.as_bytes()))
}

impl JsonMap {
    pub fn new() -> JsonMap {
        JsonMap::default()
    }

    fn place(&self, key: &str) -> Result<usize, usize> {
        self.members.binary_search_by(|(known, _)| key_order(known, key))
    }

    pub fn get(&self, key: &str) -> Option<&Json> {
        self.place(key).ok().map(|at| &self.members[at].1)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.place(key).ok().map(|at| &mut self.members[at].1)
    }

    /// Replaces the value of a key that is there.
    pub fn insert(&mut self, key: String, value: Json) {
        match self.place(&key) {
            Ok(at) => self.members[at].1 = value,
            Err(at) => self.members.insert(at, (key, value)),
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<Json> {
        self.place(key).ok().map(|at| self.members.remove(at).1)
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.members.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &Json> {
        self.members.iter().map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &Json)> {
        self.members.iter().map(|(key, value)| (key, value))
    }
}

/// The last of equal keys stays.
impl FromIterator<(String, Json)> for JsonMap {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> JsonMap {
        let mut members: Vec<(String, Json)> = members.into_iter().collect();
        members.sort_by(|(left, _), (right, _)| key_order(left, right));
        // `dedup_by` drops the later one, which therefore first gives its value to the earlier.
        members.dedup_by(|later, earlier| {
            let is_equal = later.0 == earlier.0;
            if is_equal {
                std::mem::swap(&mut later.1, &mut earlier.1);
            }
            is_equal
        });
        JsonMap { members }
    }
}

impl IntoIterator for JsonMap {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<(String, Json)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

/// The control characters that stand before the kinds that JSON's syntax has not.
mod mark {
    pub const UNSIGNED: u8 = 1;
    pub const DECIMAL: u8 = 2;
    pub const DATE: u8 = 3;
    pub const TIME: u8 = 4;
    pub const DATETIME: u8 = 5;
    pub const OPAQUE: u8 = 6;
    pub const LAST: u8 = OPAQUE;
}
