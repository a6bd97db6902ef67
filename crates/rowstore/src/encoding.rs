//! The compact form of a row of values in memory and in temporary files.
//!
//! A value is a byte with its kind, and for numbers the count of their bytes, then the bytes. It tells its own kind, so
//! a frame reads back without its types. Bytes that are no row are an error.
use crate::failure::damaged;
use datum::{Date, DateTime, Decimal, SqlError, Time, Timestamp, Value};

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const DOUBLE: u8 = 4;
const DECIMAL: u8 = 5;
const WIDE_DECIMAL: u8 = 6;
const BYTES: u8 = 7;
const DATE: u8 = 8;
const TIME: u8 = 9;
const DATETIME: u8 = 10;
const TIMESTAMP: u8 = 11;
const YEAR: u8 = 12;
const BIT: u8 = 13;
const ENUM: u8 = 14;
const SET: u8 = 15;
const JSON: u8 = 16;
/// The kind takes the low five bits, the count of a number's bytes (0..=7, else 8) the high three.
const KIND_BITS: u32 = 5;
const KIND_MASK: u8 = (1 << KIND_BITS) - 1;

/// Appends a row.
pub fn write_row<'v>(values: impl IntoIterator<Item = &'v Value>, out: &mut Vec<u8>) {
    for value in values {
        write_value(value, out);
    }
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Int(number) => write_number(INT, zigzag(*number), out),
        Value::UInt(number) => write_number(UINT, *number, out),
        Value::Float(number) => {
            out.push(FLOAT);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Value::Double(number) => {
            out.push(DOUBLE);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Value::Decimal(number) => write_decimal(number, out),
        Value::Bytes(bytes) => write_bytes(BYTES, bytes, out),
        Value::Date(date) => write_number(DATE, u64::from(date.to_packed()), out),
        Value::Time(time) => write_number(TIME, zigzag(time.to_micros()), out),
        Value::DateTime(moment) => write_number(DATETIME, moment.to_packed(), out),
        Value::Timestamp(moment) => write_number(TIMESTAMP, zigzag(moment.to_unix_micros()), out),
        Value::Year(year) => write_number(YEAR, u64::from(*year), out),
        Value::Bit(bits) => write_number(BIT, *bits, out),
        Value::Enum(member) => write_number(ENUM, u64::from(*member), out),
        Value::Set(members) => write_number(SET, *members, out),
        Value::Json(text) => write_bytes(JSON, text.as_bytes(), out),
    }
}

fn write_number(kind: u8, number: u64, out: &mut Vec<u8>) {
    debug_assert!(kind <= KIND_MASK, "a kind leaves room for the count");
    let count = 8 - number.leading_zeros() as usize / 8;
    // Seven bytes are written as eight, so that the count fits.
    let (shown, count) = if count >= 7 { (7, 8) } else { (count as u8, count) };
    out.push(kind | shown << KIND_BITS);
    out.extend_from_slice(&number.to_le_bytes()[..count]);
}

fn write_bytes(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    write_number(kind, bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn write_decimal(number: &Decimal, out: &mut Vec<u8>) {
    match number.coefficient() {
        Some(coefficient) => {
            out.push(DECIMAL);
            out.push(number.scale());
            match i64::try_from(coefficient) {
                Ok(small) => write_number(INT, zigzag(small), out),
                Err(_) => {
                    out.push(DECIMAL);
                    out.extend_from_slice(&coefficient.to_le_bytes());
                }
            }
        }
        None => {
            out.push(WIDE_DECIMAL);
            out.push(number.scale());
            let mut key = Vec::new();
            number.write_key(&mut key);
            write_bytes(BYTES, &key, out);
        }
    }
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Reads a row of as many values as `row` has.
pub fn read_row_into(bytes: &[u8], row: &mut [Value]) -> Result<(), SqlError> {
    let mut input = Input(bytes);
    for value in row {
        *value = input.value().ok_or_else(damaged)?;
    }
    if input.0.is_empty() { Ok(()) } else { Err(damaged()) }
}

/// Reads a row of whatever width, behind the values that `row` has.
pub fn read_row(bytes: &[u8], row: &mut Vec<Value>) -> Result<(), SqlError> {
    let mut input = Input(bytes);
    while !input.0.is_empty() {
        row.push(input.value().ok_or_else(damaged)?);
    }
    Ok(())
}

/// What is left to read.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn number(&mut self, shown: u8) -> Option<u64> {
        let count = if shown == 7 { 8 } else { usize::from(shown) };
        let mut padded = [0; 8];
        padded[..count].copy_from_slice(self.take(count)?);
        Some(u64::from_le_bytes(padded))
    }

    fn bytes(&mut self, shown: u8) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number(shown)?).ok()?;
        self.take(length)
    }

    fn value(&mut self) -> Option<Value> {
        let first = self.byte()?;
        let shown = first >> KIND_BITS;
        Some(match first & KIND_MASK {
            NULL => Value::Null,
            INT => Value::Int(unzigzag(self.number(shown)?)),
            UINT => Value::UInt(self.number(shown)?),
            FLOAT => Value::Float(f32::from_le_bytes(self.take(4)?.try_into().ok()?)),
            DOUBLE => Value::Double(f64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            DECIMAL | WIDE_DECIMAL => Value::Decimal(self.decimal()?),
            BYTES => Value::Bytes(self.bytes(shown)?.to_vec()),
            DATE => Value::Date(Date::from_packed(u32::try_from(self.number(shown)?).ok()?)?),
            TIME => Value::Time(Time::from_micros(unzigzag(self.number(shown)?))?),
            DATETIME => Value::DateTime(DateTime::from_packed(self.number(shown)?)?),
            TIMESTAMP => Value::Timestamp(Timestamp::from_unix_micros(unzigzag(self.number(shown)?))?),
            YEAR => Value::Year(u16::try_from(self.number(shown)?).ok()?),
            BIT => Value::Bit(self.number(shown)?),
            ENUM => Value::Enum(u16::try_from(self.number(shown)?).ok()?),
            SET => Value::Set(self.number(shown)?),
            JSON => Value::Json(String::from_utf8(self.bytes(shown)?.to_vec()).ok()?.into_boxed_str()),
            _ => return None,
        })
    }

    /// Behind the kind: the scale, then the coefficient or the digits of a wide one.
    fn decimal(&mut self) -> Option<Decimal> {
        let scale = self.byte().filter(|scale| *scale <= datum::COMPUTED_DIGITS_MAX)?;
        let first = self.byte()?;
        match first & KIND_MASK {
            INT => Some(Decimal::new(i128::from(unzigzag(self.number(first >> KIND_BITS)?)), scale)),
            DECIMAL => Some(Decimal::new(i128::from_le_bytes(self.take(16)?.try_into().ok()?), scale)),
            BYTES => {
                let key = self.bytes(first >> KIND_BITS)?;
                let (number, length) = Decimal::read_key(key, scale)?;
                (length == key.len()).then_some(number)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<Value> {
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text).expect("a number"));
        let moment = DateTime::parse(b"2020-01-02 03:04:05.678", false).expect("a moment").value;
        let mut values: Vec<Value> = [0, 1, -1, 63, 64, -129, 1 << 40, 1 << 54, i64::MAX, i64::MIN]
            .into_iter()
            .map(Value::Int)
            .collect();
        values.extend([0, 255, 256, 1 << 55, u64::MAX].map(Value::UInt));
        values.extend([
            Value::Null,
            Value::Float(-2.5),
            Value::Double(f64::MIN_POSITIVE),
            decimal("0"),
            decimal("-12.50"),
            decimal("170141183460469231731687303715884105.727"),
            decimal(&format!("-{}.25", "9".repeat(63))),
            Value::bytes(""),
            Value::Bytes(vec![b'x'; 70_000]),
            Value::Date(moment.date()),
            Value::Date(Date::ZERO),
            Value::DateTime(moment),
            Value::Time(Time::MIN),
            Value::Timestamp(Timestamp::ZERO),
            Value::Year(2024),
            Value::Bit(u64::MAX),
            Value::Enum(0),
            Value::Set(5),
            Value::Json("[1]".into()),
        ]);
        values
    }

    #[test]
    fn rows_read_back() {
        let values = values();
        let mut bytes = Vec::new();
        write_row(&values, &mut bytes);
        let mut read = Vec::new();
        read_row(&bytes, &mut read).expect("a row");
        assert_eq!(read, values);
        let mut frame = vec![Value::Int(9); values.len()];
        read_row_into(&bytes, &mut frame).expect("a row");
        assert_eq!(frame, values);
        assert!(read_row_into(&bytes, &mut frame[1..]).is_err());
    }

    #[test]
    fn small_values_take_few_bytes() {
        let length = |value: Value| {
            let mut bytes = Vec::new();
            write_row([&value], &mut bytes);
            bytes.len()
        };
        assert_eq!(length(Value::Null), 1);
        assert_eq!(length(Value::Int(0)), 1);
        assert_eq!(length(Value::Int(-64)), 2);
        assert_eq!(length(Value::bytes("abc")), 5);
    }

    #[test]
    fn arbitrary_bytes_never_panic() {
        let mut values = values();
        values.retain(|value| !matches!(value, Value::Bytes(bytes) if bytes.len() > 1000));
        let mut row = Vec::new();
        write_row(&values, &mut row);
        let mut seed = 5u64;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            let mut damaged = row.clone();
            let at = (seed >> 32) as usize % damaged.len();
            damaged[at] = (seed >> 24) as u8;
            damaged.truncate(if seed & 1 == 0 { at } else { row.len() });
            let _ = read_row(&damaged, &mut Vec::new());
        }
    }
}
