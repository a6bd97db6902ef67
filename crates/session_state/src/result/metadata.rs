//! The protocol's description of a column, from its type and origin.
//!
//! Lengths are what MySQL sends: display widths for numbers, bytes in the result's character set for text.
use std::sync::Arc;

use collation::{Charset, CollationId};
use datum::{ColumnType, TypeKind};
use plan::{Kept, OutputColumn};

use instance::{ColumnMeta, ColumnTypeCode, ResultShape};
use variables::Settings;

const NOT_NULL: u16 = 1;
const PRIMARY_KEY: u16 = 2;
const UNIQUE_KEY: u16 = 4;
const MULTIPLE_KEY: u16 = 8;
const BLOB: u16 = 16;
const UNSIGNED: u16 = 32;
const ZEROFILL: u16 = 64;
const BINARY: u16 = 128;
const ENUM: u16 = 256;
const AUTO_INCREMENT: u16 = 512;
const TIMESTAMP: u16 = 1024;
const SET: u16 = 2048;
const NO_DEFAULT_VALUE: u16 = 4096;
const ON_UPDATE_NOW: u16 = 8192;

/// `decimals` of a floating point column without a declared scale, and of computed text.
const DECIMALS_NOT_FIXED: u8 = 31;

pub fn shape_of(columns: &[OutputColumn], settings: &Settings) -> Arc<ResultShape> {
    let columns = columns.iter().map(|column| column_meta(column, settings)).collect();
    Arc::new(ResultShape { id: super::next_shape_id(), columns })
}

pub fn column_meta(column: &OutputColumn, settings: &Settings) -> ColumnMeta {
    let column_type = &column.column_type;
    // A table's documents are told as binary, computed ones as text.
    let is_stored_document = column_type.kind == TypeKind::Json && !column.original_name.is_empty();
    let collation = match is_stored_document {
        true => CollationId::BINARY,
        false => client_collation(column_type, settings),
    };
    ColumnMeta {
        schema: column.database.clone(),
        table: column.table_alias.clone(),
        org_table: column.table.clone(),
        name: column.name.clone(),
        org_name: column.original_name.clone(),
        collation_id: collation.number(),
        length: display_length(column_type, collation.charset()),
        column_type: match column_type.kind {
            // Computed text tells its size, that of columns does not.
            TypeKind::LongText | TypeKind::LongBlob if column.original_name.is_empty() => ColumnTypeCode(251),
            TypeKind::MediumText | TypeKind::MediumBlob
                if column.original_name.is_empty() && column_type.length > 0 =>
            {
                ColumnTypeCode(250)
            }
            TypeKind::Enum(_) if is_computed_member(column) => ColumnTypeCode(247),
            TypeKind::Set(_) if is_computed_member(column) => ColumnTypeCode(248),
            ref kind => type_code(kind),
        },
        flags: flags_of(column),
        decimals: decimals_of(column),
    }
}

/// Whether a function gives a member of an ENUM or SET, whose type is told then.
fn is_computed_member(column: &OutputColumn) -> bool {
    column.kept == Kept::Computed && column.column_type.kind.has_members()
}

/// The collation in which the client gets the column: text in its own character set, the rest binary.
pub fn client_collation(column_type: &ColumnType, settings: &Settings) -> CollationId {
    if column_type.kind == TypeKind::Json {
        return settings.results_charset.map_or(CollationId::UTF8MB4_BIN, |_| settings.results_collation);
    }
    if column_type.collation == CollationId::BINARY {
        return CollationId::BINARY;
    }
    match settings.results_charset {
        None | Some(Charset::Binary) => column_type.collation,
        Some(_) => settings.results_collation,
    }
}

pub fn type_code(kind: &TypeKind) -> ColumnTypeCode {
    use TypeKind::*;
    ColumnTypeCode(match kind {
        Null => 6,
        Tiny => 1,
        Short => 2,
        Int24 => 9,
        Long => 3,
        LongLong => 8,
        Decimal { .. } => 246,
        Float { .. } => 4,
        Double { .. } => 5,
        // ENUM and SET arrive as text; their flags tell what they are.
        Char | Binary | Enum(_) | Set(_) => 254,
        VarChar | VarBinary => 253,
        TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob => 252,
        Date => 10,
        Time { .. } => 11,
        DateTime { .. } => 12,
        Timestamp { .. } => 7,
        Year => 13,
        Bit(_) => 16,
        Json => 245,
    })
}

/// Text that is computed has no fixed digits; that of a column has none.
fn decimals_of(column: &OutputColumn) -> u8 {
    use TypeKind::*;
    let kind = &column.column_type.kind;
    let is_computed = column.original_name.is_empty();
    match kind {
        _ if column.column_type.is_hex_literal() => 0,
        _ if is_computed_member(column) => DECIMALS_NOT_FIXED,
        Json if is_computed => DECIMALS_NOT_FIXED,
        kind if is_computed && kind.is_string() => DECIMALS_NOT_FIXED,
        Decimal { scale, .. } => *scale,
        Float { digits } | Double { digits } => digits.map_or(DECIMALS_NOT_FIXED, |(_, scale)| scale),
        Time { fsp } | DateTime { fsp } | Timestamp { fsp } => *fsp,
        Null | Tiny | Short | Int24 | Long | LongLong | Date | Year | Bit(_) => 0,
        Char | VarChar | Enum(_) | Set(_) | Binary | VarBinary => 0,
        TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob | Json => 0,
    }
}

fn flags_of(column: &OutputColumn) -> u16 {
    use TypeKind::*;
    let column_type = &column.column_type;
    let mut flags = 0;
    let mut set = |condition: bool, flag: u16| flags |= if condition { flag } else { 0 };
    set(!column_type.nullable, NOT_NULL);
    set(column.primary_key, PRIMARY_KEY);
    set(column.unique_key, UNIQUE_KEY);
    set(column.multiple_key, MULTIPLE_KEY);
    let is_bits = column_type.is_bit_literal();
    set((column_type.unsigned && !is_bits) || matches!(column_type.kind, Bit(_) | Year), UNSIGNED);
    let is_padded_year = column_type.kind == Year && !column_type.is_computed_year();
    set((column_type.zerofill && !is_bits) || is_padded_year, ZEROFILL);
    set(column.auto_increment, AUTO_INCREMENT);
    set(column.no_default, NO_DEFAULT_VALUE);
    set(column.on_update_now, ON_UPDATE_NOW);
    match column_type.kind {
        TinyBlob | Blob | MediumBlob | LongBlob | Json => set(true, BLOB | BINARY),
        TinyText | Text | MediumText | LongText => set(true, BLOB),
        Enum(_) => set(true, ENUM),
        Set(_) => set(true, SET),
        Timestamp { .. } => set(column.on_update_now, TIMESTAMP),
        Binary | VarBinary => set(true, BINARY),
        _ => {}
    }
    let is_binary_text =
        column_type.collation != CollationId::BINARY && column_type.collation.name().ends_with("_bin");
    let is_temporal = matches!(column_type.kind, Date | Time { .. } | DateTime { .. } | Timestamp { .. });
    let is_computed_number = column.original_name.is_empty() && column_type.collation == CollationId::BINARY;
    set(is_binary_text || is_temporal || is_computed_number, BINARY);
    flags
}

/// Characters of numbers, bytes of text in the character set.
pub fn display_length(column_type: &ColumnType, charset: Charset) -> u32 {
    use TypeKind::*;
    let width = charset.bytes_per_character_max();
    let fraction = |base: u32, fsp: u8| if fsp == 0 { base } else { base + 1 + u32::from(fsp) };
    let unsigned = column_type.unsigned;
    if column_type.kind.is_large_object() && column_type.length > 0 {
        let width = if column_type.is_text() { width } else { 1 };
        return column_type.length.saturating_mul(width);
    }
    let integer = |signed_width: u32, unsigned_width: u32| match column_type.length {
        0 if unsigned => unsigned_width,
        0 => signed_width,
        declared => declared,
    };
    match &column_type.kind {
        Null => 0,
        Tiny => integer(4, 3),
        Short => integer(6, 5),
        Int24 => integer(9, 8),
        Long => integer(11, 10),
        LongLong => integer(20, 20),
        Decimal { precision, scale } => u32::from(*precision) + u32::from(*scale > 0) + u32::from(!unsigned),
        Float { digits } => digits.map_or(12, |(length, _)| u32::from(length)),
        Double { digits } => digits.map_or(22, |(length, _)| u32::from(length)),
        Char | VarChar => column_type.length.saturating_mul(width),
        Binary | VarBinary => column_type.length,
        TinyText => 255 * width,
        Text => 65_535 * width,
        MediumText => 16_777_215_u32.saturating_mul(width),
        LongText | LongBlob | Json => u32::MAX,
        TinyBlob => 255,
        Blob => 65_535,
        MediumBlob => 16_777_215,
        Date => 10,
        Time { fsp } => fraction(10, *fsp),
        DateTime { fsp } | Timestamp { fsp } => fraction(19, *fsp),
        Year if column_type.is_computed_year() => column_type.length,
        Year => 4,
        Enum(members) => {
            let longest = members.iter().map(|member| characters(member, column_type)).max();
            longest.unwrap_or(0).saturating_mul(width)
        }
        Set(members) => {
            let all: u32 = members.iter().map(|member| characters(member, column_type)).sum();
            (all + (members.len() as u32).saturating_sub(1)).saturating_mul(width)
        }
        Bit(bits) => u32::from(*bits),
    }
}

fn characters(member: &[u8], column_type: &ColumnType) -> u32 {
    column_type.collation.charset().character_count(member) as u32
}
