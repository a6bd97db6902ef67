//! How many characters values take. Texts and decimals that are made of a function's whole number are as wide as it, and a
//! table that keeps one makes it INT or BIGINT by it. Called where the types of calls and of their arguments are found.
use datum::{ColumnType, TypeKind, Value, no_warning};

use crate::build::shown_width;
use crate::expr::{Expr, ExprKind};
use crate::interval::IntervalUnit;

/// The width of what EXTRACT takes from a moment.
pub fn width_of_part(unit: IntervalUnit) -> u32 {
    match unit {
        IntervalUnit::Quarter => 2,
        IntervalUnit::Day
        | IntervalUnit::Week
        | IntervalUnit::Month
        | IntervalUnit::Minute
        | IntervalUnit::Second => 3,
        IntervalUnit::Hour => 4,
        IntervalUnit::Year | IntervalUnit::MinuteSecond => 5,
        IntervalUnit::HourMinute => 6,
        IntervalUnit::Microsecond | IntervalUnit::YearMonth => 7,
        IntervalUnit::HourSecond => 8,
        IntervalUnit::DayHour | IntervalUnit::SecondMicrosecond => 9,
        IntervalUnit::DayMinute | IntervalUnit::MinuteMicrosecond => 11,
        IntervalUnit::DaySecond => 13,
        IntervalUnit::HourMicrosecond => 14,
        IntervalUnit::DayMicrosecond => 20,
    }
}

/// The characters of the text that a value becomes. A computed BIGINT of unknown width has one more than a column's.
pub fn text_width(expr: &Expr) -> u64 {
    const COMPUTED_BIGINT: u64 = 21;
    let column = &expr.ty.column;
    match column.kind {
        TypeKind::LongLong if matches!(expr.kind, ExprKind::Column(_)) => characters_max(column),
        TypeKind::LongLong if column.length == 0 => COMPUTED_BIGINT,
        ref kind if kind.is_integer() || kind.is_floating() => shown_width(column),
        ref kind if kind.is_large_object() => large_object_characters(column),
        // Four bytes each.
        TypeKind::Json => u64::from(u32::MAX / 4),
        _ => characters_max(column),
    }
}

/// The bytes of the text that a value is by itself: numbers and moments have one for each character.
pub fn own_bytes(expr: &Expr) -> u64 {
    let column = &expr.ty.column;
    let has_characters = column.kind.is_string() || column.kind.has_members();
    let per_character = match has_characters {
        true => u64::from(column.collation.charset().bytes_per_character_max()),
        false => 1,
    };
    text_width(expr).saturating_mul(per_character).min(u64::from(u32::MAX))
}

/// A number that is written in the statement, which other statements of the same plan may not have. NULL is 0.
pub fn written_number(expr: &Expr) -> Option<i64> {
    let ExprKind::Literal(value) = &expr.kind else { return None };
    let number = match value {
        Value::Null => 0,
        value => value.to_integer(&expr.ty.column, &mut no_warning)?,
    };
    i64::try_from(number).ok()
}

/// The characters of a TEXT or BLOB that a function reckons with: a column's bytes.
pub(crate) fn large_object_characters(column: &ColumnType) -> u64 {
    match column.length {
        0 => large_object_width(column) / u64::from(column.collation.charset().bytes_per_character_max()),
        length => u64::from(length),
    }
}

/// The most characters a value of the type shows.
pub fn characters_max(column: &ColumnType) -> u64 {
    let maximum = match &column.kind {
        TypeKind::Null => 0,
        TypeKind::Tiny => 4,
        TypeKind::Short => 6,
        TypeKind::Int24 => 9,
        TypeKind::Long => 11,
        TypeKind::LongLong => 20,
        TypeKind::Decimal { precision, scale } => u64::from(*precision) + if *scale > 0 { 2 } else { 1 },
        TypeKind::Float { .. } => 12,
        TypeKind::Double { .. } => 23,
        TypeKind::Char | TypeKind::VarChar | TypeKind::Binary | TypeKind::VarBinary => {
            u64::from(column.length)
        }
        kind if kind.is_large_object() => large_object_width(column),
        TypeKind::Json => u64::from(u32::MAX),
        TypeKind::Date => 10,
        TypeKind::Time { fsp } => 10 + fraction(*fsp),
        TypeKind::DateTime { fsp } | TypeKind::Timestamp { fsp } => 19 + fraction(*fsp),
        TypeKind::Year => 4,
        TypeKind::Enum(members) => members.iter().map(|member| member.len()).max().unwrap_or(0) as u64,
        TypeKind::Set(members) => {
            members.iter().map(|member| member.len() as u64 + 1).sum::<u64>().saturating_sub(1)
        }
        TypeKind::Bit(bits) => u64::from(*bits),
        _ => 0,
    };
    maximum.max(u64::from(column.length))
}

/// The characters of a TEXT or BLOB: what a computed one is long, or of a column as many as MySQL counts, for which each
/// byte may be a character of the greatest size.
pub fn large_object_width(column: &ColumnType) -> u64 {
    use TypeKind::{Blob, MediumBlob, MediumText, Text, TinyBlob, TinyText};
    if column.length > 0 {
        return u64::from(column.length);
    }
    let per_character = u64::from(column.collation.charset().bytes_per_character_max());
    let bytes = match column.kind {
        TinyText | TinyBlob => 255,
        Text | Blob => VARCHAR_BYTES_MAX,
        MediumText | MediumBlob => MEDIUM_BYTES_MAX,
        _ => u64::from(u32::MAX),
    };
    (bytes * per_character).min(u64::from(u32::MAX))
}

fn fraction(fsp: u8) -> u64 {
    if fsp == 0 { 0 } else { u64::from(fsp) + 1 }
}

/// Beyond so many bytes a text result is MEDIUMTEXT, and beyond those LONGTEXT, as a column of that size would have to be.
pub const VARCHAR_BYTES_MAX: u64 = 65_535;

pub const MEDIUM_BYTES_MAX: u64 = 16_777_215;
