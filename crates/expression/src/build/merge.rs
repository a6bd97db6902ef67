//! The common type of expressions that become one value or column: CASE, IF, COALESCE, GREATEST and UNION.
//!
//! Kinds are merged pair by pair from the left, lengths and digits are taken over all of them; the rules are those that
//! MySQL 9.7 answers for each pair of types. Callers: `conditional`, the functions of choice, and set operations.
use datum::{ColumnType, PRECISION_MAX, SCALE_MAX, TypeKind};

use TypeKind as K;

/// What the common type is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    /// The result of a function: strings are VARCHAR, VARBINARY, LONGTEXT or LONGBLOB.
    Value,
    /// A column of a set operation, which keeps CHAR and BINARY and the size of TEXT and BLOB.
    Column,
}

/// The type that all values become; of strings the length in characters, their collation is not known here.
pub(crate) fn merged_type(types: &[&ColumnType], merging: Merging) -> ColumnType {
    let nullable = types.iter().any(|column| column.nullable);
    let known: Vec<&ColumnType> = types.iter().copied().filter(|column| column.kind != K::Null).collect();
    let Some(first) = known.first() else {
        return if merging == Merging::Column { ColumnType::varbinary(0) } else { ColumnType::new(K::Null) };
    };
    let kind = known[1..].iter().fold(first.kind.clone(), |kind, column| merged_kind(&kind, &column.kind));
    // One TEXT alone is as it would be beside another.
    let kind = if merging == Merging::Value && kind.is_large_object() { K::LongText } else { kind };
    let column = match &kind {
        kind if kind.is_integer() => merged_integer(kind, &known, merging),
        K::Decimal { .. } => merged_decimal(&known),
        K::Float { .. } => with_digits(K::Float { digits: fixed_digits(&known) }),
        K::Double { .. } => with_digits(K::Double { digits: fixed_digits(&known) }),
        K::Bit(_) => with_digits(K::Bit(known.iter().map(|column| bits_of(column)).max().unwrap_or(1))),
        K::Year if merging == Merging::Value => ColumnType::chosen_year(),
        K::Date | K::Year | K::Json => with_digits(kind.clone()),
        K::Time { .. } => with_digits(K::Time { fsp: fraction_of(&known) }),
        K::DateTime { .. } => with_digits(K::DateTime { fsp: fraction_of(&known) }),
        K::Timestamp { .. } => with_digits(K::Timestamp { fsp: fraction_of(&known) }),
        _ => merged_string(kind, &known, merging),
    };
    ColumnType { nullable, ..column }
}

fn with_digits(kind: TypeKind) -> ColumnType {
    ColumnType::new(kind)
}

fn merged_kind(left: &TypeKind, right: &TypeKind) -> TypeKind {
    match (left, right) {
        (K::Year, K::Year) => K::Year,
        (K::Bit(_), K::Bit(_)) => left.clone(),
        (a, b) if a.is_numeric() && b.is_numeric() => merged_number_kind(a, b),
        (K::Date, K::Date) => K::Date,
        (K::Time { .. }, K::Time { .. }) => K::Time { fsp: 0 },
        (K::Timestamp { .. }, K::Timestamp { .. }) => K::Timestamp { fsp: 0 },
        (a, b) if a.is_temporal() && b.is_temporal() => K::DateTime { fsp: 0 },
        (K::Json, K::Json) => K::Json,
        (a, b) if is_large(a) || is_large(b) => K::LongText,
        (K::VarChar | K::VarBinary, _) | (_, K::VarChar | K::VarBinary) => K::VarChar,
        (K::Char | K::Binary, _) | (_, K::Char | K::Binary) => K::Char,
        _ => K::VarChar,
    }
}

fn is_large(kind: &TypeKind) -> bool {
    kind.is_large_object() || *kind == K::Json
}

fn merged_number_kind(left: &TypeKind, right: &TypeKind) -> TypeKind {
    let double = || K::Double { digits: None };
    match (left, right) {
        (K::Double { .. }, _) | (_, K::Double { .. }) => double(),
        (K::Float { .. }, K::Decimal { .. } | K::Bit(_) | K::Long) => double(),
        (K::Decimal { .. } | K::Bit(_) | K::Long | K::LongLong, K::Float { .. }) => double(),
        (K::Float { .. }, _) | (_, K::Float { .. }) => K::Float { digits: None },
        (K::Decimal { .. }, _) | (_, K::Decimal { .. }) => K::Decimal { precision: 0, scale: 0 },
        (K::Bit(_), _) | (_, K::Bit(_)) => K::LongLong,
        _ if integer_rank(left) >= integer_rank(right) => integer_of_rank(integer_rank(left)),
        _ => integer_of_rank(integer_rank(right)),
    }
}

fn integer_rank(kind: &TypeKind) -> usize {
    match kind {
        K::Tiny => 0,
        K::Short | K::Year => 1,
        K::Int24 => 2,
        K::Long => 3,
        _ => 4,
    }
}

fn integer_of_rank(rank: usize) -> TypeKind {
    [K::Tiny, K::Short, K::Int24, K::Long, K::LongLong][rank.min(4)].clone()
}

/// Where signs differ, a wider type holds both.
fn merged_integer(kind: &TypeKind, known: &[&ColumnType], merging: Merging) -> ColumnType {
    let is_unsigned = |column: &ColumnType| column.unsigned || matches!(column.kind, K::Year | K::Bit(_));
    let unsigned = known.iter().all(|column| is_unsigned(column));
    let is_mixed = !unsigned && known.iter().any(|column| is_unsigned(column));
    let is_full = |column: &&&ColumnType| {
        is_unsigned(column) && (column.kind == *kind || matches!(column.kind, K::Bit(_)))
    };
    let length = known.iter().map(|column| computed_width(column)).max().unwrap_or(0);
    if !is_mixed || !known.iter().any(|column| is_full(&column)) {
        let is_narrow = *kind == K::LongLong && merging == Merging::Value;
        let length = if is_narrow { length } else { 0 };
        return ColumnType { unsigned, length, ..ColumnType::new(kind.clone()) };
    }
    match integer_rank(kind) {
        4 => merged_decimal(known),
        rank => {
            let kind = integer_of_rank(rank + 1);
            let is_narrow = kind == K::LongLong && merging == Merging::Value;
            ColumnType { length: if is_narrow { length } else { 0 }, ..ColumnType::new(kind) }
        }
    }
}

/// The width of an integer expression whose values are known to be narrow; else 20.
fn computed_width(column: &ColumnType) -> u32 {
    match column.kind {
        K::LongLong if column.length > 0 => column.length,
        K::LongLong => 20,
        ref kind => {
            shown_width(&ColumnType { length: 0, ..ColumnType { kind: kind.clone(), ..column.clone() } })
                .min(20) as u32
        }
    }
}

/// Signed, even if all of them are not.
fn merged_decimal(known: &[&ColumnType]) -> ColumnType {
    let scale = known.iter().map(|column| column.scale()).max().unwrap_or(0).min(SCALE_MAX);
    let integer_digits = known.iter().map(|column| integer_digits(column)).max().unwrap_or(1);
    let precision = integer_digits.saturating_add(scale).clamp(1, PRECISION_MAX);
    ColumnType::decimal(precision, scale)
}

/// Digits before the point.
pub(crate) fn integer_digits(column: &ColumnType) -> u8 {
    match column.kind {
        K::Decimal { precision, scale } => precision - scale,
        K::Tiny => 3,
        K::Short => 5,
        K::Int24 => 8,
        K::Long => 10,
        K::Year => 4,
        K::Bit(bits) => bits,
        // A literal's or an expression's width has room for the sign.
        K::LongLong if column.length > 0 && column.length < 20 => {
            (column.length - u32::from(!column.unsigned)).max(1) as u8
        }
        _ if column.unsigned => 20,
        _ => 19,
    }
}

/// The most digits that a (M,D) can have.
const DIGITS_MAX: u8 = 255;

/// Digits of a floating point result: none are fixed unless all values have fixed ones.
fn fixed_digits(known: &[&ColumnType]) -> Option<(u8, u8)> {
    let scales = known.iter().map(|column| column.fixed_scale()).collect::<Option<Vec<u8>>>()?;
    let scale = scales.into_iter().max()?;
    let width = known.iter().map(|column| shown_width(column).min(u64::from(DIGITS_MAX)) as u8).max()?;
    Some((width.max(scale), scale))
}

fn fraction_of(known: &[&ColumnType]) -> u8 {
    known.iter().map(|column| column.kind.fsp()).max().unwrap_or(0)
}

fn bits_of(column: &ColumnType) -> u8 {
    match column.kind {
        K::Bit(bits) => bits,
        _ => 64,
    }
}

/// As many characters as the longest value shows.
fn merged_string(kind: TypeKind, known: &[&ColumnType], merging: Merging) -> ColumnType {
    let length = known.iter().map(|column| shown_width(column)).max().unwrap_or(0);
    let kind = match (kind, merging) {
        (K::LongText, Merging::Column) => K::LongText,
        (K::LongText, Merging::Value) => merged_text(known),
        (K::Char, Merging::Value) => K::Char,
        (K::Char | K::Binary, Merging::Column) => K::Char,
        _ => K::VarChar,
    };
    ColumnType { length: u32::try_from(length).unwrap_or(u32::MAX), ..ColumnType::new(kind) }
}

/// Columns of any size together are TEXT, beside longer computed texts these, and beside documents LONGTEXT.
fn merged_text(known: &[&ColumnType]) -> TypeKind {
    let is_computed = |column: &&&ColumnType| column.length > 0;
    let has = |kinds: [K; 2]| known.iter().filter(is_computed).any(|column| kinds.contains(&column.kind));
    match () {
        () if known.iter().any(|column| column.kind == K::Json) => K::LongText,
        () if has([K::LongText, K::LongBlob]) => K::LongText,
        () if has([K::MediumText, K::MediumBlob]) => K::MediumText,
        () => K::Text,
    }
}

/// The most characters a value of the type shows.
pub fn shown_width(column: &ColumnType) -> u64 {
    let fraction = |fsp: u8| if fsp == 0 { 0 } else { u64::from(fsp) + 1 };
    let sign = u64::from(!column.unsigned);
    match &column.kind {
        K::Null => 0,
        K::Tiny => 3 + sign,
        K::Short => 5 + sign,
        K::Int24 => 8 + sign,
        K::Long => 10 + sign,
        K::LongLong if column.length > 0 => u64::from(column.length),
        K::LongLong => 20,
        K::Decimal { precision, scale } => u64::from(*precision) + u64::from(*scale > 0) + sign,
        K::Float { digits } => digits.map_or(12, |(width, _)| u64::from(width)),
        K::Double { digits } => digits.map_or(22, |(width, _)| u64::from(width).max(22)),
        K::Char | K::VarChar | K::Binary | K::VarBinary => u64::from(column.length),
        kind if kind.is_large_object() => crate::call::width::large_object_width(column),
        K::Json => u64::from(u32::MAX),
        K::Date => 10,
        K::Time { fsp } => 10 + fraction(*fsp),
        K::DateTime { fsp } | K::Timestamp { fsp } => 19 + fraction(*fsp),
        K::Year => 4,
        K::Enum(members) => members.iter().map(|member| characters(member, column)).max().unwrap_or(0),
        K::Set(members) => {
            let all: u64 = members.iter().map(|member| characters(member, column)).sum();
            all + (members.len() as u64).saturating_sub(1)
        }
        K::Bit(bits) => u64::from(*bits),
        _ => 0,
    }
}

fn characters(member: &[u8], column: &ColumnType) -> u64 {
    column.collation.charset().character_count(member) as u64
}

/// The bytes of a value's text.
pub fn bytes_max(column: &ColumnType) -> u64 {
    let per_character = if column.is_text() || column.kind.has_members() {
        column.collation.charset().bytes_per_character_max()
    } else {
        1
    };
    let is_declared_in_bytes = column.kind.is_large_object() && column.length == 0;
    let per_character = if is_declared_in_bytes { 1 } else { per_character };
    shown_width(column).saturating_mul(u64::from(per_character))
}

/// The string type of so many characters for the collation that was found.
pub(crate) fn string_type(
    merged: &ColumnType,
    collation: collation::CollationId,
    bytes_max: u64,
    merging: Merging,
) -> ColumnType {
    let is_binary = collation == collation::CollationId::BINARY;
    let length = if is_binary { bytes_max } else { u64::from(merged.length) };
    let kind = match (&merged.kind, is_binary) {
        (K::LongText, _) if merging == Merging::Column => return sized_text(length, collation),
        (K::LongText | K::MediumText | K::Text, false) => merged.kind.clone(),
        (K::LongText, true) => K::LongBlob,
        (K::MediumText, true) => K::MediumBlob,
        (K::Text, true) => K::Blob,
        (K::Char, true) if merging == Merging::Value => K::VarBinary,
        (K::Char, true) => K::Binary,
        (K::Char, false) => K::Char,
        _ => return crate::call::infer::text_column(length, collation),
    };
    ColumnType { collation, length: u32::try_from(length).unwrap_or(u32::MAX), ..ColumnType::new(kind) }
}

/// The smallest TEXT or BLOB for so many characters.
fn sized_text(length: u64, collation: collation::CollationId) -> ColumnType {
    let bytes = length.saturating_mul(u64::from(collation.charset().bytes_per_character_max()));
    let (text, blob) = match bytes {
        0..=255 => (K::TinyText, K::TinyBlob),
        256..=65_535 => (K::Text, K::Blob),
        65_536..=16_777_215 => (K::MediumText, K::MediumBlob),
        _ => (K::LongText, K::LongBlob),
    };
    let kind = if collation == collation::CollationId::BINARY { blob } else { text };
    ColumnType { collation, ..ColumnType::new(kind) }
}
