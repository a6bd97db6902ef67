//! SQL values as cells of the text and the binary protocol.
//!
//! Invariant: a cell has the form that its column's definition announced, whatever kind of value the executor
//! handed over: a fixed-width binary cell is never replaced by text, because a client would misread all that
//! follows. Called by `reply`.

use std::io::Write;

use datum::{Date, DateTime, Time, TimeZone, Value, json_shown, pad_with_zeros, write_double, write_float};
use env::LONG_PIECE;
use instance::ColumnMeta;
use wire::{BinaryRow, ColumnFlags, ColumnType, DateTimeValue, TextRow, TimeValue};

/// `decimals` of a floating-point column without a declared scale.
const NOT_FIXED: u8 = 31;
/// What a cell costs at least.
const TICKS_PER_CELL: usize = 16;
const VECTOR: &str = "writing to memory cannot fail";

/// What the cells of long values take, so that the buffer is not moved for each of them.
fn reserve(out: &mut Vec<u8>, values: &[Value]) {
    const CELL_HEAD_MAX: usize = 9;
    let length = |value: &Value| match value {
        Value::Bytes(bytes) => bytes.len(),
        Value::Json(text) => text.len(),
        _ => 0,
    };
    let bytes: usize = values.iter().map(|value| length(value) + CELL_HEAD_MAX).sum();
    if bytes > LONG_PIECE {
        out.reserve(bytes);
    }
}

pub(crate) fn text_row(out: &mut Vec<u8>, columns: &[ColumnMeta], values: &[Value]) {
    env::tick(values.len() * TICKS_PER_CELL);
    reserve(out, values);
    let mut row = TextRow::new(out);
    for (column, value) in columns.iter().zip(values) {
        match value {
            Value::Null => row.null(),
            Value::Int(value) if !is_zerofill(column) => row.signed(*value),
            Value::UInt(value) if !is_zerofill(column) => row.unsigned(*value),
            Value::Bytes(bytes) => row.bytes(bytes),
            Value::Json(text) => row.bytes(json_shown(text).as_bytes()),
            value => row.formatted(|out| write_text(value, column, out)),
        }
    }
}

pub(super) fn binary_row(out: &mut Vec<u8>, columns: &[ColumnMeta], values: &[Value]) {
    env::tick(values.len() * TICKS_PER_CELL);
    reserve(out, values);
    let mut row = BinaryRow::new(out, columns.len());
    let mut scratch = Vec::new();
    for (column, value) in columns.iter().zip(values) {
        if value.is_null() {
            row.null();
        } else {
            binary_cell(&mut row, column, value, &mut scratch);
        }
    }
}

fn binary_cell(row: &mut BinaryRow<'_>, column: &ColumnMeta, value: &Value, scratch: &mut Vec<u8>) {
    // As in the definition: an unknown code was announced as a string.
    let column_type = ColumnType::from_code(column.column_type.0).unwrap_or(ColumnType::VarString);
    match column_type {
        // The low bytes of the two's complement are the cell, signed or not.
        ColumnType::Tiny => row.integer8(integer(value) as u8),
        ColumnType::Short | ColumnType::Year => row.integer16(integer(value) as u16),
        ColumnType::Long | ColumnType::Int24 => row.integer32(integer(value) as u32),
        ColumnType::LongLong => row.integer64(integer(value)),
        ColumnType::Float => row.float(float(value)),
        ColumnType::Double => row.double(double(value)),
        ColumnType::Date => row.date(&calendar(value)),
        ColumnType::DateTime | ColumnType::Timestamp => row.date_time(&calendar(value)),
        ColumnType::Time => row.time(&clock(value)),
        ColumnType::Null => row.null(),
        ColumnType::Decimal
        | ColumnType::NewDecimal
        | ColumnType::VarChar
        | ColumnType::VarString
        | ColumnType::String
        | ColumnType::Bit
        | ColumnType::Json
        | ColumnType::Enum
        | ColumnType::Set
        | ColumnType::TinyBlob
        | ColumnType::MediumBlob
        | ColumnType::LongBlob
        | ColumnType::Blob
        | ColumnType::Geometry => match value {
            Value::Bytes(bytes) => row.bytes(bytes),
            Value::Json(text) => row.bytes(json_shown(text).as_bytes()),
            value => {
                scratch.clear();
                write_text(value, column, scratch);
                row.bytes(scratch);
            }
        },
    }
}

fn is_zerofill(column: &ColumnMeta) -> bool {
    column.flags & ColumnFlags::ZEROFILL.0 != 0
}

fn write_text(value: &Value, column: &ColumnMeta, out: &mut Vec<u8>) {
    let digits = (column.decimals < NOT_FIXED).then_some((0, column.decimals));
    // The fractional digits of a column that is no moment (a string, say) are not in its definition.
    let fraction = if column.decimals <= 6 { column.decimals } else { 6 };
    let from = out.len();
    match value {
        Value::Null => {}
        Value::Int(number) => write_integer(&number, *number < 0, column, out),
        Value::UInt(number) => write_integer(&number, false, column, out),
        Value::Float(number) => write_float(*number, digits, out),
        Value::Double(number) => write_double(*number, digits, out),
        Value::Decimal(number) => number.write_text(out),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
        Value::Date(date) => date.write_text(out),
        Value::Time(time) => time.write_text(fraction, out),
        Value::DateTime(moment) => moment.write_text(fraction, out),
        Value::Timestamp(moment) => moment.in_zone(&TimeZone::utc()).write_text(fraction, out),
        Value::Year(year) if is_zerofill(column) => write!(out, "{year:04}").expect(VECTOR),
        Value::Year(year) => write!(out, "{year}").expect(VECTOR),
        Value::Bit(bits) => {
            let byte_count = (column.length as usize).div_ceil(8).clamp(1, 8);
            out.extend_from_slice(&bits.to_be_bytes()[8 - byte_count..]);
        }
        // The session turns members into text; what remains are their numbers.
        Value::Enum(index) => write!(out, "{index}").expect(VECTOR),
        Value::Set(members) => write!(out, "{members}").expect(VECTOR),
        Value::Json(text) => out.extend_from_slice(json_shown(text).as_bytes()),
    }
    if matches!(value, Value::Float(_) | Value::Double(_) | Value::Decimal(_)) && is_zerofill(column) {
        pad_with_zeros(out, from, column.length as usize);
    }
}

fn write_integer(number: &dyn std::fmt::Display, is_negative: bool, column: &ColumnMeta, out: &mut Vec<u8>) {
    if is_zerofill(column) && !is_negative {
        let width = column.length as usize;
        write!(out, "{number:0>width$}").expect(VECTOR);
    } else {
        write!(out, "{number}").expect(VECTOR);
    }
}

/// The value as two's complement.
fn integer(value: &Value) -> u64 {
    match value {
        Value::Int(number) => number.cast_unsigned(),
        Value::UInt(number) | Value::Bit(number) | Value::Set(number) => *number,
        Value::Year(year) => u64::from(*year),
        Value::Enum(index) => u64::from(*index),
        other => (double(other).round() as i64).cast_unsigned(),
    }
}

fn float(value: &Value) -> f32 {
    match value {
        Value::Float(number) => *number,
        other => double(other) as f32,
    }
}

fn double(value: &Value) -> f64 {
    match value {
        Value::Double(number) => *number,
        Value::Float(number) => f64::from(*number),
        Value::Int(number) => *number as f64,
        Value::UInt(number) | Value::Bit(number) | Value::Set(number) => *number as f64,
        Value::Year(year) => f64::from(*year),
        Value::Enum(index) => f64::from(*index),
        Value::Decimal(number) => number.to_string().parse().unwrap_or_default(),
        Value::Bytes(bytes) => {
            std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
        }
        Value::Date(date) => date.to_number() as f64,
        Value::DateTime(moment) => moment.to_number() as f64,
        Value::Time(time) => time.to_number() as f64,
        Value::Null | Value::Timestamp(_) | Value::Json(_) => 0.0,
    }
}

/// A moment as the protocol has it; text that is a moment is read.
fn calendar(value: &Value) -> DateTimeValue {
    match value {
        Value::Date(date) => from_date(*date),
        Value::DateTime(moment) => from_date_time(*moment),
        Value::Timestamp(moment) => from_date_time(moment.in_zone(&TimeZone::utc())),
        Value::Bytes(bytes) => DateTime::parse(bytes, true)
            .map_or_else(DateTimeValue::default, |parsed| from_date_time(parsed.value)),
        _ => DateTimeValue::default(),
    }
}

fn from_date(date: Date) -> DateTimeValue {
    DateTimeValue { year: date.year(), month: date.month(), day: date.day(), ..DateTimeValue::default() }
}

fn from_date_time(moment: DateTime) -> DateTimeValue {
    DateTimeValue {
        hour: moment.hour(),
        minute: moment.minute(),
        second: moment.second(),
        microsecond: moment.micros(),
        ..from_date(moment.date())
    }
}

fn clock(value: &Value) -> TimeValue {
    let time = match value {
        Value::Time(time) => Some(*time),
        Value::DateTime(moment) => Some(moment.time()),
        Value::Bytes(bytes) => Time::parse(bytes).map(|parsed| parsed.value),
        _ => None,
    };
    time.map_or_else(TimeValue::default, |time| TimeValue {
        negative: time.is_negative(),
        days: u32::from(time.hours() / 24),
        hours: (time.hours() % 24) as u8,
        minutes: time.minutes(),
        seconds: time.seconds(),
        microsecond: time.micros(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datum::Decimal;
    use instance::ColumnTypeCode;

    fn column(column_type: ColumnType, decimals: u8) -> ColumnMeta {
        ColumnMeta {
            column_type: ColumnTypeCode(column_type as u8),
            decimals,
            length: 10,
            ..ColumnMeta::default()
        }
    }

    fn check_text(column: &ColumnMeta, value: Value, expected: &str) {
        let mut out = Vec::new();
        text_row(&mut out, std::slice::from_ref(column), std::slice::from_ref(&value));
        assert_eq!(String::from_utf8_lossy(&out[1..]), expected);
        assert_eq!(usize::from(out[0]), expected.len());
    }

    fn check_binary(column: &ColumnMeta, value: Value, expected: &[u8]) {
        let mut out = Vec::new();
        binary_row(&mut out, std::slice::from_ref(column), std::slice::from_ref(&value));
        assert_eq!(&out[..2], &[0, 0]);
        assert_eq!(&out[2..], expected, "{value:?}");
    }

    #[test]
    fn text_cells() {
        let number = column(ColumnType::LongLong, 0);
        check_text(&number, Value::Int(-5), "-5");
        let zerofill = ColumnMeta { flags: ColumnFlags::ZEROFILL.0, length: 5, ..number.clone() };
        check_text(&zerofill, Value::UInt(42), "00042");
        check_text(&column(ColumnType::NewDecimal, 2), Value::Decimal(Decimal::new(-150, 2)), "-1.50");
        check_text(&column(ColumnType::Double, NOT_FIXED), Value::Double(0.1), "0.1");
        check_text(&column(ColumnType::Double, 3), Value::Double(0.1), "0.100");
        let date = Date::new(2024, 2, 29).expect("a date");
        check_text(&column(ColumnType::Date, 0), Value::Date(date), "2024-02-29");
        let moment = DateTime::new(date, 1, 2, 3, 40_000).expect("a moment");
        check_text(&column(ColumnType::DateTime, 2), Value::DateTime(moment), "2024-02-29 01:02:03.04");
        let time = Time::new(true, 838, 59, 59, 0).expect("a time");
        check_text(&column(ColumnType::Time, 0), Value::Time(time), "-838:59:59");
        check_text(&column(ColumnType::Year, 0), Value::Year(0), "0");
        let padded = ColumnMeta { flags: ColumnFlags::ZEROFILL.0, ..column(ColumnType::Year, 0) };
        check_text(&padded, Value::Year(0), "0000");
        check_text(&column(ColumnType::Bit, 0), Value::Bit(0x161), "\u{1}a");
    }

    #[test]
    fn binary_cells_have_the_announced_width() {
        check_binary(&column(ColumnType::Tiny, 0), Value::Int(-1), &[255]);
        check_binary(&column(ColumnType::Short, 0), Value::UInt(65_535), &[255, 255]);
        check_binary(&column(ColumnType::Long, 0), Value::Int(-2), &[254, 255, 255, 255]);
        check_binary(&column(ColumnType::LongLong, 0), Value::Double(2.6), &[3, 0, 0, 0, 0, 0, 0, 0]);
        check_binary(&column(ColumnType::Year, 0), Value::Year(2155), &[107, 8]);
        check_binary(&column(ColumnType::Double, NOT_FIXED), Value::Int(1), &1f64.to_le_bytes());
        check_binary(&column(ColumnType::Float, NOT_FIXED), Value::Double(1.5), &1.5f32.to_le_bytes());
        check_binary(&column(ColumnType::NewDecimal, 1), Value::Decimal(Decimal::new(15, 1)), b"\x031.5");
        check_binary(&column(ColumnType::VarString, 0), Value::Int(12), b"\x0212");
        let time = Time::new(true, 26, 1, 2, 0).expect("a time");
        check_binary(&column(ColumnType::Time, 0), Value::Time(time), &[8, 1, 1, 0, 0, 0, 2, 1, 2]);
        check_binary(&column(ColumnType::Date, 0), Value::bytes("2024-02-29"), &[4, 0xe8, 7, 2, 29]);
    }
}
