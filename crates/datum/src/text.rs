//! The text of a value, as results show it and as it takes part in string operations.
//!
//! Text values keep the character set of their type; every other kind gives ASCII, except members of ENUM and SET
//! and JSON, which are in their type's character set and utf8mb4.
use std::borrow::Cow;
use std::io::Write;

use crate::column_type::{ColumnType, TypeKind};
use crate::json::json_shown;
use crate::number_text::{write_double_as_text, write_float};
use crate::value::Value;

impl Value {
    /// Appends the text; nothing for NULL. A `Timestamp` is written in UTC: convert it to the session's zone first.
    pub fn write_text(&self, column: &ColumnType, text: &mut Vec<u8>) {
        match self {
            Value::Null => {}
            Value::Int(number) => write_integer(number, number.is_negative(), column, text),
            Value::UInt(number) => write_integer(number, false, column, text),
            Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
                let from = text.len();
                match self {
                    Value::Float(number) => write_float(*number, float_digits(column), text),
                    Value::Double(number) => write_double_as_text(*number, float_digits(column), text),
                    Value::Decimal(number) => number.write_text(text),
                    _ => {}
                }
                if column.zerofill {
                    pad_with_zeros(text, from, fraction_width(column));
                }
            }
            Value::Bytes(bytes) => text.extend_from_slice(bytes),
            Value::Date(date) => date.write_text(text),
            Value::Time(time) => time.write_text(column.kind.fsp(), text),
            Value::DateTime(datetime) => datetime.write_text(column.kind.fsp(), text),
            Value::Timestamp(timestamp) => {
                let utc = timestamp.in_zone(&crate::TimeZone::utc());
                utc.write_text(column.kind.fsp(), text);
            }
            Value::Year(year) if column.is_computed_year() => write!(text, "{year}").expect(VECTOR),
            Value::Year(year) => write!(text, "{year:04}").expect(VECTOR),
            Value::Bit(bits) => {
                let byte_count = match column.kind {
                    TypeKind::Bit(bits) => usize::from(bits).div_ceil(8),
                    _ => 8,
                };
                text.extend_from_slice(&bits.to_be_bytes()[8 - byte_count.min(8)..]);
            }
            Value::Enum(index) => {
                if let (TypeKind::Enum(members), Some(at)) =
                    (&column.kind, usize::from(*index).checked_sub(1))
                {
                    text.extend_from_slice(members.get(at).map_or(&b""[..], |member| member));
                }
            }
            Value::Set(mask) => write_set(*mask, column, text),
            Value::Json(json) => text.extend_from_slice(json_shown(json).as_bytes()),
        }
    }

    /// The text without copying strings.
    pub fn to_text<'a>(&'a self, column: &ColumnType) -> Cow<'a, [u8]> {
        match self {
            Value::Bytes(bytes) => Cow::Borrowed(bytes),
            Value::Json(json) => match json_shown(json) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
            other => {
                let mut text = Vec::new();
                other.write_text(column, &mut text);
                Cow::Owned(text)
            }
        }
    }
}

const VECTOR: &str = "writing to a vector cannot fail";

fn float_digits(column: &ColumnType) -> Option<(u8, u8)> {
    match column.kind {
        TypeKind::Float { digits } | TypeKind::Double { digits } => digits,
        _ => None,
    }
}

/// ZEROFILL pads to the display width, which integers have a default for.
fn write_integer(number: &dyn std::fmt::Display, is_negative: bool, column: &ColumnType, text: &mut Vec<u8>) {
    if column.zerofill && !is_negative {
        let width = if column.length > 0 { column.length as usize } else { default_width(&column.kind) };
        write!(text, "{number:0>width$}").expect(VECTOR);
    } else {
        write!(text, "{number}").expect(VECTOR);
    }
}

fn default_width(kind: &TypeKind) -> usize {
    match kind {
        TypeKind::Tiny => 3,
        TypeKind::Short => 5,
        TypeKind::Int24 => 8,
        TypeKind::Long => 10,
        TypeKind::LongLong => 20,
        _ => 0,
    }
}

/// The characters to which ZEROFILL pads a number that may have a fraction.
fn fraction_width(column: &ColumnType) -> usize {
    match column.kind {
        TypeKind::Decimal { precision, scale } => usize::from(precision) + usize::from(scale > 0),
        TypeKind::Float { digits } => digits.map_or(12, |(width, _)| usize::from(width)),
        TypeKind::Double { digits } => digits.map_or(22, |(width, _)| usize::from(width)),
        _ => 0,
    }
}

/// Puts zeros before what begins at `from`, up to the width.
pub fn pad_with_zeros(text: &mut Vec<u8>, from: usize, width: usize) {
    let missing = width.saturating_sub(text.len() - from);
    text.splice(from..from, std::iter::repeat_n(b'0', missing));
}

fn write_set(mask: u64, column: &ColumnType, text: &mut Vec<u8>) {
    let TypeKind::Set(members) = &column.kind else { return };
    let mut is_first = true;
    for (index, member) in members.iter().enumerate().take(64) {
        if mask >> index & 1 == 1 {
            if !is_first {
                text.push(b',');
            }
            text.extend_from_slice(member);
            is_first = false;
        }
    }
}
