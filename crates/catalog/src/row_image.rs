//! A row as MySQL's server keeps it in memory, which is what CHECKSUM TABLE sums up.
//!
//! Invariant: for the same definition and rows the checksum is MySQL's, so that copies can be compared across servers.
//!
//! The image is: the NULL bits (one for each nullable column in order; before them a bit that is always set, unless a
//! column's length varies; unused bits are set), then each column: numbers little-endian, DECIMAL, TIME, DATETIME and
//! TIMESTAMP in their order-preserving forms, texts of varying length without their length, CHAR and BINARY padded.
use datum::{ColumnType, Decimal, TypeKind, Value};
use schema::{ColumnDef, ColumnDefault, TableDef};

pub struct RowImage<'t> {
    table: &'t TableDef,
    /// Some column has no fixed length, so the image begins with no reserved bit.
    varies: bool,
    null_bit_count: usize,
}

impl<'t> RowImage<'t> {
    pub fn new(table: &'t TableDef) -> RowImage<'t> {
        let is_dynamic = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("row_format") && value.eq_ignore_ascii_case("dynamic")
        };
        let varies = table.columns.iter().any(|column| has_own_length(&column.column_type))
            || table.create_options.iter().any(is_dynamic);
        let nullable = table.columns.iter().filter(|column| column.nullable()).count();
        RowImage { table, varies, null_bit_count: nullable + usize::from(!varies) }
    }

    pub fn checksum(&self, row: &[Value]) -> u32 {
        debug_assert_eq!(row.len(), self.table.columns.len(), "a row has a value for each column");
        let mut image = self.null_bits(row);
        for (column, value) in self.table.columns.iter().zip(row) {
            write_column(column, value, &mut image);
        }
        crc32fast::hash(&image)
    }

    fn null_bits(&self, row: &[Value]) -> Vec<u8> {
        let mut bits = vec![0u8; self.null_bit_count.div_ceil(8)];
        if !self.varies {
            bits[0] |= 1;
        }
        let nullable = self.table.columns.iter().zip(row).filter(|(column, _)| column.nullable());
        for (position, (_, value)) in (usize::from(!self.varies)..).zip(nullable) {
            bits[position / 8] |= u8::from(value.is_null()) << (position % 8);
        }
        if let Some(last) = bits.last_mut() {
            // A full last byte is overwritten as well: so MySQL computes it.
            *last |= 0xFFu8 << (self.null_bit_count % 8);
        }
        bits
    }
}

fn has_own_length(column: &ColumnType) -> bool {
    use TypeKind::*;
    let is_text = matches!(column.kind, VarChar | TinyText | Text | MediumText | LongText);
    is_text || matches!(column.kind, VarBinary | TinyBlob | Blob | MediumBlob | LongBlob | Json)
}

/// Under a NULL lies the column's default, or zeros.
fn write_column(column: &ColumnDef, value: &Value, image: &mut Vec<u8>) {
    match (value, &column.default) {
        (Value::Null, ColumnDefault::Value { value, .. }) => write_value(&column.column_type, value, image),
        _ => write_value(&column.column_type, value, image),
    }
}

fn write_value(column: &ColumnType, value: &Value, image: &mut Vec<u8>) {
    match &column.kind {
        TypeKind::Decimal { precision, scale } => {
            let number = match value {
                Value::Decimal(number) => number.clone(),
                _ => Decimal::ZERO,
            };
            write_decimal(&number, *precision, *scale, image);
        }
        TypeKind::Float { .. } => {
            let number = if let Value::Float(number) = value { *number } else { 0.0 };
            image.extend_from_slice(&number.to_le_bytes());
        }
        TypeKind::Double { .. } => {
            let number = if let Value::Double(number) = value { *number } else { 0.0 };
            image.extend_from_slice(&number.to_le_bytes());
        }
        TypeKind::Char | TypeKind::Binary => write_padded(column, value, image),
        _ if has_own_length(column) => match value {
            Value::Bytes(text) => image.extend_from_slice(text),
            Value::Json(text) => image.extend_from_slice(datum::json_shown(text).as_bytes()),
            _ if column.kind == TypeKind::Json => image.extend_from_slice(b"null"),
            _ => {}
        },
        TypeKind::Bit(bits) => {
            let number = if let Value::Bit(number) = value { *number } else { 0 };
            image.extend_from_slice(&number.to_be_bytes()[8 - usize::from(*bits).div_ceil(8)..]);
        }
        TypeKind::Time { .. } | TypeKind::DateTime { .. } | TypeKind::Timestamp { .. } => {
            write_moment(&column.kind, value, image);
        }
        kind => image.extend_from_slice(&plain_number(value).to_le_bytes()[..width_of(kind)]),
    }
}

/// Bytes of the types that are little-endian numbers.
fn width_of(kind: &TypeKind) -> usize {
    match kind {
        TypeKind::Tiny | TypeKind::Year => 1,
        TypeKind::Short => 2,
        TypeKind::Int24 | TypeKind::Date => 3,
        TypeKind::Long => 4,
        TypeKind::Enum(members) => 1 + usize::from(members.len() > 255),
        TypeKind::Set(members) => match members.len().div_ceil(8) {
            bytes @ 0..=4 => bytes.max(1),
            _ => 8,
        },
        _ => 8,
    }
}

fn plain_number(value: &Value) -> u64 {
    match value {
        Value::Int(number) => *number as u64,
        Value::UInt(number) | Value::Set(number) => *number,
        Value::Enum(index) => u64::from(*index),
        Value::Year(year) => u64::from(year.saturating_sub(1900)),
        Value::Date(date) => {
            u64::from(date.day()) | u64::from(date.month()) << 5 | u64::from(date.year()) << 9
        }
        _ => 0,
    }
}

fn write_padded(column: &ColumnType, value: &Value, image: &mut Vec<u8>) {
    let is_text = column.kind == TypeKind::Char;
    let bytes_per_character = match is_text {
        true => column.collation.charset().bytes_per_character_max() as usize,
        false => 1,
    };
    let end = image.len() + column.length as usize * bytes_per_character;
    if let Value::Bytes(text) = value {
        image.extend_from_slice(text);
    }
    image.resize(end.max(image.len()), if is_text { b' ' } else { 0 });
}

/// Big-endian and offset so that their bytes sort as they do; behind them a fraction of `fsp` digits.
fn write_moment(kind: &TypeKind, value: &Value, image: &mut Vec<u8>) {
    let (whole, whole_bytes, micros, fsp) = match (kind, value) {
        (TypeKind::Time { fsp }, value) => {
            let time = if let Value::Time(time) = value { Some(time) } else { None };
            return write_time(time.map_or(0, |time| time.to_micros()), *fsp, image);
        }
        (TypeKind::Timestamp { fsp }, Value::Timestamp(at)) => {
            let micros = at.to_unix_micros();
            (micros.div_euclid(1_000_000), 4, micros.rem_euclid(1_000_000), *fsp)
        }
        (TypeKind::Timestamp { fsp }, _) => (0, 4, 0, *fsp),
        (TypeKind::DateTime { fsp }, Value::DateTime(at)) => {
            let date = at.date();
            let days = (i64::from(date.year()) * 13 + i64::from(date.month())) << 5 | i64::from(date.day());
            let clock = i64::from(at.hour()) << 12 | i64::from(at.minute()) << 6 | i64::from(at.second());
            ((days << 17 | clock) + (1 << 39), 5, i64::from(at.micros()), *fsp)
        }
        (kind, _) => (1 << 39, 5, 0, kind.fsp()),
    };
    debug_assert!(fsp <= 6, "a moment has six digits behind the point at most");
    image.extend_from_slice(&whole.to_be_bytes()[8 - whole_bytes..]);
    let fraction = micros / 10i64.pow(6 - u32::from(fsp.div_ceil(2) * 2));
    image.extend_from_slice(&fraction.to_be_bytes()[8 - usize::from(fsp.div_ceil(2))..]);
}

/// The clock and its fraction are one number, whose negative is taken as a whole.
fn write_time(micros: i64, fsp: u8, image: &mut Vec<u8>) {
    debug_assert!(fsp <= 6, "a time has six digits behind the point at most");
    let magnitude = micros.abs();
    let seconds = magnitude / 1_000_000;
    let clock = ((seconds / 3600) << 12) | ((seconds / 60 % 60) << 6) | (seconds % 60);
    let fraction_bytes = u32::from(fsp.div_ceil(2));
    let fraction = magnitude % 1_000_000 / 10i64.pow(6 - fraction_bytes * 2);
    let packed = clock << (8 * fraction_bytes) | fraction;
    let offset = 0x80_0000i64 << (8 * fraction_bytes);
    let number = offset + if micros < 0 { -packed } else { packed };
    image.extend_from_slice(&number.to_be_bytes()[5 - fraction_bytes as usize..]);
}

/// Groups of nine digits from the point outwards in four bytes each, the incomplete ones in fewer; the sign is the
/// inverted first bit, and all bytes of a negative number are inverted.
fn write_decimal(number: &Decimal, precision: u8, scale: u8, image: &mut Vec<u8>) {
    const BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
    let mut text = Vec::new();
    number.absolute().rescale(scale).unwrap_or_else(|_| number.absolute()).write_text(&mut text);
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let (whole, fraction) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    debug_assert!(scale <= precision, "the fraction is a part of the digits");
    let whole_digits = usize::from(precision - scale);
    let padding = whole_digits.saturating_sub(whole.len());
    let mut digits = vec![b'0'; padding];
    digits.extend_from_slice(&whole[(whole.len() + padding).saturating_sub(whole_digits)..]);
    let start = image.len();
    let (first, groups) = digits.split_at(whole_digits % 9);
    let (full, last) = fraction.split_at(fraction.len() / 9 * 9);
    let groups = groups.chunks(9).chain(full.chunks(9));
    for group in std::iter::once(first).chain(groups).chain(std::iter::once(last)) {
        debug_assert!(group.len() <= 9 && group.iter().all(u8::is_ascii_digit), "a group is of digits");
        let value = group.iter().fold(0u32, |value, digit| value * 10 + u32::from(digit - b'0'));
        image.extend_from_slice(&value.to_be_bytes()[4 - BYTES[group.len()]..]);
    }
    if number.is_negative() {
        image[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    if let Some(first) = image.get_mut(start) {
        *first ^= 0x80;
    }
}
