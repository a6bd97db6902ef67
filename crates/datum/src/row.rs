//! The stored form of a row: every column can be read by its index without decoding the others.
//!
//! | part | bytes |
//! |---|---|
//! | flags | 1: bit 0 set when offsets have four bytes instead of two |
//! | column count | 2, little endian |
//! | NULL bitmap | one bit per column, set for NULL |
//! | end offsets | where each column's bytes end, counted from the start of the body |
//! | body | the columns' bytes in order |
//!
//! Numbers take only the bytes they need, because the offsets tell their length. A row written before columns were
//! added has fewer columns; reading those gives `None` and the caller supplies the default. Arbitrary bytes give
//! `InvalidRow`, never a panic.
use crate::column_type::{ColumnType, TypeKind};
use crate::decimal::{COMPUTED_DIGITS_MAX, Decimal};
use crate::temporal::{Date, DateTime, Time, Timestamp};
use crate::value::Value;

/// Marks offsets of four bytes.
const WIDE_OFFSETS: u8 = 1;
const HEADER_BYTES: usize = 3;
/// Marks a DECIMAL too wide for an i128; its digits are stored as in keys.
const WIDE_DECIMAL: u8 = 0x80;
/// Numbers and moments take no more.
const NUMBER_BYTES: usize = 9;
/// Nor do the widest decimals: 65 digits, packed nine to four bytes.
const DECIMAL_BYTES: usize = 40;

/// Bytes that are no row, or a column that is no value of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidRow;

/// Appends a row of these values, each of its column's type, as storing into the column makes it.
pub fn write_row<'v>(values: impl ExactSizeIterator<Item = &'v Value> + Clone, row: &mut Vec<u8>) {
    let body_max = values.clone().map(bytes_max).sum::<usize>();
    let is_wide = body_max > usize::from(u16::MAX);
    let end_bytes = if is_wide { 4 } else { 2 };
    let count = u16::try_from(values.len()).expect("a table has at most 4096 columns");
    let null_bytes = values.len().div_ceil(8);
    row.reserve(HEADER_BYTES + null_bytes + values.len() * end_bytes + body_max);
    row.push(if is_wide { WIDE_OFFSETS } else { 0 });
    row.extend_from_slice(&count.to_le_bytes());
    let nulls_at = row.len();
    let ends_at = nulls_at + null_bytes;
    let body_at = ends_at + values.len() * end_bytes;
    row.resize(body_at, 0);
    for (index, value) in values.enumerate() {
        if value.is_null() {
            row[nulls_at + index / 8] |= 1 << (index % 8);
        } else {
            write_value(value, row);
        }
        let end = row.len() - body_at;
        assert!(end <= body_max, "a value takes no more than was foreseen");
        let end = u32::try_from(end).expect("a row is smaller than 4 GiB").to_le_bytes();
        let at = ends_at + index * end_bytes;
        row[at..at + end_bytes].copy_from_slice(&end[..end_bytes]);
    }
}

/// The most bytes that a value takes in the body.
fn bytes_max(value: &Value) -> usize {
    match value {
        Value::Bytes(bytes) => bytes.len(),
        Value::Json(json) => json.len(),
        Value::Decimal(_) => DECIMAL_BYTES,
        _ => NUMBER_BYTES,
    }
}

/// Reads the columns of one stored row.
#[derive(Clone, Copy)]
pub struct RowReader<'a> {
    nulls: &'a [u8],
    offsets: &'a [u8],
    body: &'a [u8],
    count: usize,
    is_wide: bool,
}

impl<'a> RowReader<'a> {
    pub fn new(row: &'a [u8]) -> Result<RowReader<'a>, InvalidRow> {
        let [flags, low, high] = *row.first_chunk::<HEADER_BYTES>().ok_or(InvalidRow)?;
        if flags & !WIDE_OFFSETS != 0 {
            return Err(InvalidRow);
        }
        let is_wide = flags & WIDE_OFFSETS != 0;
        let count = usize::from(u16::from_le_bytes([low, high]));
        let rest = &row[HEADER_BYTES..];
        let (nulls, rest) = rest.split_at_checked(count.div_ceil(8)).ok_or(InvalidRow)?;
        let (offsets, body) = rest.split_at_checked(count * if is_wide { 4 } else { 2 }).ok_or(InvalidRow)?;
        Ok(RowReader { nulls, offsets, body, count, is_wide })
    }

    /// The number of columns the row was written with.
    pub fn column_count(&self) -> usize {
        self.count
    }

    /// A column's value; `None` when the row has no such column.
    #[inline]
    pub fn column(&self, index: usize, column: &ColumnType) -> Result<Option<Value>, InvalidRow> {
        if index >= self.count {
            return Ok(None);
        }
        if self.is_null(index) {
            return Ok(Some(Value::Null));
        }
        read_value(self.bytes(index)?, column).map(Some)
    }

    /// Whether a column that the row has is NULL.
    #[inline]
    pub fn is_null(&self, index: usize) -> bool {
        self.nulls[index / 8] >> (index % 8) & 1 == 1
    }

    /// The stored bytes of a column that the row has; of strings they are the string.
    #[inline]
    pub fn bytes(&self, index: usize) -> Result<&'a [u8], InvalidRow> {
        let start = if index == 0 { 0 } else { self.end(index - 1) };
        self.body.get(start..self.end(index)).ok_or(InvalidRow)
    }

    #[inline]
    fn end(&self, index: usize) -> usize {
        if self.is_wide {
            let at = index * 4;
            let bytes = self.offsets[at..at + 4].try_into().expect("the slice has four bytes");
            u32::from_le_bytes(bytes) as usize
        } else {
            let at = index * 2;
            usize::from(u16::from_le_bytes([self.offsets[at], self.offsets[at + 1]]))
        }
    }
}

fn write_value(value: &Value, body: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Int(number) => write_signed(i128::from(*number), body),
        Value::UInt(number) | Value::Bit(number) | Value::Set(number) => write_unsigned(*number, body),
        Value::Float(number) => body.extend_from_slice(&number.to_le_bytes()),
        Value::Double(number) => body.extend_from_slice(&number.to_le_bytes()),
        Value::Decimal(number) => match number.coefficient() {
            Some(coefficient) => {
                body.push(number.scale());
                write_signed(coefficient, body);
            }
            None => {
                body.push(number.scale() | WIDE_DECIMAL);
                number.write_key(body);
            }
        },
        Value::Bytes(bytes) => body.extend_from_slice(bytes),
        Value::Date(date) => write_unsigned(u64::from(date.to_packed()), body),
        Value::Time(time) => write_signed(i128::from(time.to_micros()), body),
        Value::DateTime(datetime) => write_unsigned(datetime.to_packed(), body),
        Value::Timestamp(timestamp) => write_signed(i128::from(timestamp.to_unix_micros()), body),
        Value::Year(number) | Value::Enum(number) => write_unsigned(u64::from(*number), body),
        Value::Json(json) => body.extend_from_slice(json.as_bytes()),
    }
}

/// Little endian without leading zero bytes; 0 takes none.
fn write_unsigned(number: u64, body: &mut Vec<u8>) {
    let count = 8 - number.leading_zeros() as usize / 8;
    body.extend_from_slice(&number.to_le_bytes()[..count]);
}

/// Little endian two's complement without redundant sign bytes; 0 takes none.
fn write_signed(number: i128, body: &mut Vec<u8>) {
    if number == 0 {
        return;
    }
    let significant = if number < 0 { !number } else { number };
    // One more bit than the magnitude for the sign.
    let bits = 128 - significant.leading_zeros() as usize + 1;
    body.extend_from_slice(&number.to_le_bytes()[..bits.div_ceil(8)]);
}

#[inline]
fn read_unsigned(bytes: &[u8]) -> Option<u64> {
    (bytes.len() <= 8).then(|| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[inline]
fn read_i64(bytes: &[u8]) -> Option<i64> {
    if bytes.len() > 8 {
        return None;
    }
    let sign = bytes.last().map_or(0, |byte| i64::from(*byte as i8 >> 7));
    Some(bytes.iter().rev().fold(sign, |number, byte| number << 8 | i64::from(*byte)))
}

fn read_signed(bytes: &[u8]) -> Option<i128> {
    let is_negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut padded = [if is_negative { 0xFF } else { 0 }; 16];
    padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i128::from_le_bytes(padded))
}

#[inline]
fn read_value(bytes: &[u8], column: &ColumnType) -> Result<Value, InvalidRow> {
    let value = match &column.kind {
        kind if kind.is_integer() && column.unsigned => read_unsigned(bytes).map(Value::UInt),
        kind if kind.is_integer() => read_i64(bytes).map(Value::Int),
        kind if kind.is_string() => Some(Value::Bytes(bytes.to_vec())),
        kind => read_other(bytes, kind),
    };
    value.ok_or(InvalidRow)
}

fn read_other(bytes: &[u8], kind: &TypeKind) -> Option<Value> {
    let unsigned = || read_unsigned(bytes);
    let signed = || read_i64(bytes);
    let small = || unsigned().and_then(|number| u16::try_from(number).ok());
    Some(match kind {
        TypeKind::Decimal { .. } => Value::Decimal(read_decimal(bytes)?),
        TypeKind::Float { .. } => {
            let number = f32::from_le_bytes(bytes.try_into().ok()?);
            Value::Float(number.is_finite().then_some(number)?)
        }
        TypeKind::Double { .. } => {
            let number = f64::from_le_bytes(bytes.try_into().ok()?);
            Value::Double(number.is_finite().then_some(number)?)
        }
        TypeKind::Date => Value::Date(Date::from_packed(u32::try_from(unsigned()?).ok()?)?),
        TypeKind::Time { .. } => Value::Time(Time::from_micros(signed()?)?),
        TypeKind::DateTime { .. } => Value::DateTime(DateTime::from_packed(unsigned()?)?),
        TypeKind::Timestamp { .. } => Value::Timestamp(Timestamp::from_unix_micros(signed()?)?),
        TypeKind::Year => Value::Year(small()?),
        TypeKind::Enum(_) => Value::Enum(small()?),
        TypeKind::Set(_) => Value::Set(unsigned()?),
        TypeKind::Bit(_) => Value::Bit(unsigned()?),
        TypeKind::Json => Value::Json(String::from_utf8(bytes.to_vec()).ok()?.into_boxed_str()),
        _ => return None,
    })
}

fn read_decimal(bytes: &[u8]) -> Option<Decimal> {
    let (scale, rest) = bytes.split_first()?;
    let digits = scale & !WIDE_DECIMAL;
    if digits > COMPUTED_DIGITS_MAX {
        return None;
    }
    if scale & WIDE_DECIMAL == 0 {
        return Some(Decimal::new(read_signed(rest)?, digits));
    }
    let (number, length) = Decimal::read_key(rest, digits)?;
    (length == rest.len()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<(ColumnType, Value)> {
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text).unwrap());
        let moment = DateTime::parse(b"2020-01-02 03:04:05.678", false).unwrap().value;
        vec![
            (ColumnType::int(), Value::Int(-129)),
            (ColumnType::int(), Value::Int(0)),
            (ColumnType::bigint(), Value::Int(i64::MIN)),
            (ColumnType::bigint_unsigned(), Value::UInt(u64::MAX)),
            (ColumnType::decimal(65, 2), decimal(&format!("-{}.25", "9".repeat(63)))),
            (ColumnType::decimal(10, 2), decimal("12.50")),
            (ColumnType::double(), Value::Double(-1.5)),
            (ColumnType::new(TypeKind::Float { digits: None }), Value::Float(2.5)),
            (ColumnType::varbinary(10), Value::bytes("")),
            (ColumnType::varbinary(10), Value::bytes("abc")),
            (ColumnType::varbinary(10), Value::Null),
            (ColumnType::new(TypeKind::Date), Value::Date(moment.date())),
            (ColumnType::new(TypeKind::DateTime { fsp: 3 }), Value::DateTime(moment)),
            (ColumnType::new(TypeKind::Time { fsp: 0 }), Value::Time(Time::MIN)),
            (ColumnType::new(TypeKind::Timestamp { fsp: 0 }), Value::Timestamp(Timestamp::ZERO)),
            (ColumnType::new(TypeKind::Year), Value::Year(2024)),
            (ColumnType::new(TypeKind::Bit(64)), Value::Bit(u64::MAX)),
            (ColumnType::new(TypeKind::Json), Value::Json("[1]".into())),
        ]
    }

    #[test]
    fn columns_read_back_by_index() {
        let columns = columns();
        let values: Vec<Value> = columns.iter().map(|(_, value)| value.clone()).collect();
        for padding in [0, 100_000] {
            let mut values = values.clone();
            values.push(Value::Bytes(vec![b'x'; padding]));
            let mut row = Vec::new();
            write_row(values.iter(), &mut row);
            let reader = RowReader::new(&row).unwrap();
            assert_eq!(reader.column_count(), values.len());
            for (index, (column, value)) in columns.iter().enumerate().rev() {
                assert_eq!(reader.column(index, column), Ok(Some(value.clone())), "{index}");
            }
            assert_eq!(reader.column(values.len(), &ColumnType::int()), Ok(None));
        }
    }

    #[test]
    fn a_row_is_appended() {
        let values = [Value::Int(1), Value::Null];
        let mut rows = Vec::new();
        write_row(values.iter(), &mut rows);
        write_row(values.iter(), &mut rows);
        assert_eq!(rows, [0, 2, 0, 2, 1, 0, 1, 0, 1, 0, 2, 0, 2, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn the_widest_numbers_take_what_is_foreseen() {
        let decimal = |text: String| Value::Decimal(Decimal::parse(&text).unwrap());
        let nines = |before, after| decimal(format!("-{}.{}", "9".repeat(before), "9".repeat(after)));
        let values = [
            nines(35, 30),
            nines(65, 0),
            nines(9, 29),
            nines(1, 30),
            decimal("0.".to_owned() + &"0".repeat(29) + "1"),
            Value::Int(i64::MIN),
            Value::UInt(u64::MAX),
            Value::Time(Time::MIN),
            Value::Double(f64::MAX),
        ];
        for value in values {
            let mut body = Vec::new();
            write_value(&value, &mut body);
            assert!(body.len() <= bytes_max(&value), "{value:?} takes {} bytes", body.len());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic() {
        let columns = columns();
        let values: Vec<Value> = columns.iter().map(|(_, value)| value.clone()).collect();
        let mut row = Vec::new();
        write_row(values.iter(), &mut row);
        let mut seed = 5u64;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            let mut damaged = row.clone();
            let at = (seed >> 32) as usize % damaged.len();
            damaged[at] = (seed >> 24) as u8;
            damaged.truncate(if seed & 1 == 0 { at } else { row.len() });
            let Ok(reader) = RowReader::new(&damaged) else { continue };
            for (index, (column, _)) in columns.iter().enumerate() {
                let _ = reader.column(index, column);
            }
        }
    }
}
