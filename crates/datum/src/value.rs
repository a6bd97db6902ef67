//! One SQL value.
//!
//! A value does not carry its type: fractional digits of temporals, members of ENUM and SET, collation of text
//! are in the `ColumnType` that travels beside it. Text is stored in the character set of that type's collation.
use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, Time, Timestamp};

const _: () =
    assert!(size_of::<Value>() <= 32, "rows are vectors of values, so their size is memory traffic");

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    #[default]
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Decimal(Decimal),
    /// CHAR, VARCHAR, TEXT, BINARY, VARBINARY and BLOB.
    Bytes(Vec<u8>),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// A TIMESTAMP as stored: UTC. Expressions see it as a `DateTime` of the session's zone.
    Timestamp(Timestamp),
    /// 0 is the year '0000', others are 1901..=2155.
    Year(u16),
    Bit(u64),
    /// The 1-based index of the member; 0 is the empty string that stands for an invalid value.
    Enum(u16),
    /// Bit i is member i.
    Set(u64),
    /// Valid JSON text in MySQL's normal form.
    Json(Box<str>),
}

impl Value {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Text or binary string from anything that is bytes.
    pub fn bytes(text: impl AsRef<[u8]>) -> Value {
        Value::Bytes(text.as_ref().to_vec())
    }

    /// MySQL's booleans are the integers 0 and 1.
    pub fn boolean(truth: bool) -> Value {
        Value::Int(i64::from(truth))
    }
}
