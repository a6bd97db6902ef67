//! The optional fields of TABLE_MAP: signs, character sets, names, members, the primary key, visibility.
//!
//! Invariant: fields are written in the order of MySQL's servers, and each only if the columns have what it says.
use crate::BinlogError;
use crate::bytes::{Reader, put_bitmap, put_packed, put_packed_bytes, read_bitmap, text};
use crate::map_column::{MapColumn, TableMap};
use crate::type_code;

const SIGNEDNESS: u8 = 1;
const DEFAULT_CHARSET: u8 = 2;
const COLUMN_CHARSET: u8 = 3;
const COLUMN_NAME: u8 = 4;
const SET_MEMBERS: u8 = 5;
const ENUM_MEMBERS: u8 = 6;
const SIMPLE_PRIMARY_KEY: u8 = 8;
const PRIMARY_KEY_WITH_PREFIX: u8 = 9;
const MEMBER_DEFAULT_CHARSET: u8 = 10;
const MEMBER_COLUMN_CHARSET: u8 = 11;
const VISIBILITY: u8 = 12;

fn is_characters(column: &MapColumn) -> bool {
    column.wire.is_character()
}

fn is_numeric(column: &MapColumn) -> bool {
    column.wire.is_numeric()
}

fn is_member_type(column: &MapColumn) -> bool {
    matches!(column.wire.real_code(), type_code::ENUM | type_code::SET)
}

pub(crate) fn encode_optional(map: &TableMap, out: &mut Vec<u8>) {
    let mut put = |number: u8, value: Vec<u8>| {
        if !value.is_empty() {
            out.push(number);
            put_packed_bytes(&value, out);
        }
    };
    let columns = &map.columns;
    let mut signs = Vec::new();
    put_bits_from_the_top(
        columns.iter().filter(|column| is_numeric(column)).map(|one| one.wire.unsigned),
        &mut signs,
    );
    put(SIGNEDNESS, signs);
    let (number, value) = collations(columns, is_characters, [DEFAULT_CHARSET, COLUMN_CHARSET]);
    put(number, value);
    let mut names = Vec::new();
    columns
        .iter()
        .flat_map(|column| &column.name)
        .for_each(|name| put_packed_bytes(name.as_bytes(), &mut names));
    put(COLUMN_NAME, names);
    let (number, value) =
        collations(columns, is_member_type, [MEMBER_DEFAULT_CHARSET, MEMBER_COLUMN_CHARSET]);
    put(number, value);
    for (number, code) in [(SET_MEMBERS, type_code::SET), (ENUM_MEMBERS, type_code::ENUM)] {
        let mut all = Vec::new();
        for members in columns.iter().filter(|one| one.wire.real_code() == code).flat_map(|one| &one.members)
        {
            put_packed(members.len() as u64, &mut all);
            members.iter().for_each(|member| put_packed_bytes(member, &mut all));
        }
        put(number, all);
    }
    let with_prefix = map.primary_key.iter().any(|(_, prefix)| *prefix != 0);
    let mut key = Vec::new();
    for (column, prefix) in &map.primary_key {
        put_packed(*column, &mut key);
        if with_prefix {
            put_packed(*prefix, &mut key);
        }
    }
    put(if with_prefix { PRIMARY_KEY_WITH_PREFIX } else { SIMPLE_PRIMARY_KEY }, key);
    let mut visible = Vec::new();
    put_bits_from_the_top(columns.iter().filter_map(|column| column.visible), &mut visible);
    put(VISIBILITY, visible);
    map.unknown_fields.iter().for_each(|(number, value)| put(*number, value.clone()));
}

fn put_bits_from_the_top(bits: impl Iterator<Item = bool>, out: &mut Vec<u8>) {
    put_bitmap(bits, out);
    out.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
}

/// The collations of the columns of a kind: the most frequent one and the others' places, or all in turn when the
/// others are many.
fn collations(columns: &[MapColumn], is_kind: fn(&MapColumn) -> bool, numbers: [u8; 2]) -> (u8, Vec<u8>) {
    let all: Vec<u32> = columns.iter().filter(|one| is_kind(one)).filter_map(|one| one.collation).collect();
    let count_of = |collation: u32| all.iter().filter(|one| **one == collation).count();
    let mut value = Vec::new();
    // The lowest of those that are equally frequent.
    let common = all.iter().copied().max_by_key(|&one| (count_of(one), std::cmp::Reverse(one)));
    let Some(common) = common else { return (numbers[0], value) };
    if 2 * (all.len() - count_of(common)) < all.len() {
        put_packed(u64::from(common), &mut value);
        for (place, collation) in all.iter().enumerate().filter(|(_, one)| **one != common) {
            put_packed(place as u64, &mut value);
            put_packed(u64::from(*collation), &mut value);
        }
        return (numbers[0], value);
    }
    all.iter().for_each(|collation| put_packed(u64::from(*collation), &mut value));
    (numbers[1], value)
}

pub(crate) fn decode_optional(map: &mut TableMap, bytes: &[u8]) -> Result<(), BinlogError> {
    let mut reader = Reader(bytes);
    while !reader.is_empty() {
        let number = reader.u8()?;
        let value = reader.packed_bytes()?;
        decode_field(map, number, value)?;
    }
    Ok(())
}

fn decode_field(map: &mut TableMap, number: u8, value: &[u8]) -> Result<(), BinlogError> {
    let mut reader = Reader(value);
    let columns = &mut map.columns;
    match number {
        SIGNEDNESS => {
            let numeric: Vec<&mut MapColumn> =
                columns.iter_mut().filter(|column| is_numeric(column)).collect();
            let bits = read_bits_from_the_top(value, numeric.len())?;
            numeric.into_iter().zip(bits).for_each(|(column, bit)| column.wire.unsigned = bit);
        }
        DEFAULT_CHARSET => decode_default_charset(columns, is_characters, &mut reader)?,
        MEMBER_DEFAULT_CHARSET => decode_default_charset(columns, is_member_type, &mut reader)?,
        COLUMN_CHARSET => decode_charsets(columns, is_characters, &mut reader)?,
        MEMBER_COLUMN_CHARSET => decode_charsets(columns, is_member_type, &mut reader)?,
        COLUMN_NAME => {
            for column in columns {
                column.name = Some(text(reader.packed_bytes()?)?);
            }
        }
        SET_MEMBERS => decode_members(columns, type_code::SET, &mut reader)?,
        ENUM_MEMBERS => decode_members(columns, type_code::ENUM, &mut reader)?,
        SIMPLE_PRIMARY_KEY | PRIMARY_KEY_WITH_PREFIX => {
            while !reader.is_empty() {
                let column = reader.packed()?;
                let prefix = if number == PRIMARY_KEY_WITH_PREFIX { reader.packed()? } else { 0 };
                map.primary_key.push((column, prefix));
            }
        }
        VISIBILITY => {
            let bits = read_bits_from_the_top(value, columns.len())?;
            columns.iter_mut().zip(bits).for_each(|(column, bit)| column.visible = Some(bit));
        }
        _ => map.unknown_fields.push((number, value.to_vec())),
    }
    Ok(())
}

fn read_bits_from_the_top(bytes: &[u8], count: usize) -> Result<Vec<bool>, BinlogError> {
    let reversed: Vec<u8> = bytes.iter().map(|byte| byte.reverse_bits()).collect();
    read_bitmap(&mut Reader(&reversed), count)
}

fn decode_default_charset(
    columns: &mut [MapColumn],
    is_kind: fn(&MapColumn) -> bool,
    reader: &mut Reader<'_>,
) -> Result<(), BinlogError> {
    let mut of_kind: Vec<&mut MapColumn> = columns.iter_mut().filter(|column| is_kind(column)).collect();
    let common = reader.packed()? as u32;
    of_kind.iter_mut().for_each(|column| column.collation = Some(common));
    while !reader.is_empty() {
        let (place, collation) = (reader.packed_len()?, reader.packed()? as u32);
        let column = of_kind.get_mut(place).ok_or(BinlogError::Invalid("place of a column"))?;
        column.collation = Some(collation);
    }
    Ok(())
}

fn decode_charsets(
    columns: &mut [MapColumn],
    is_kind: fn(&MapColumn) -> bool,
    reader: &mut Reader<'_>,
) -> Result<(), BinlogError> {
    for column in columns.iter_mut().filter(|column| is_kind(column)) {
        column.collation = Some(reader.packed()? as u32);
    }
    Ok(())
}

fn decode_members(columns: &mut [MapColumn], code: u8, reader: &mut Reader<'_>) -> Result<(), BinlogError> {
    for column in columns.iter_mut().filter(|column| column.wire.real_code() == code) {
        let mut members = Vec::new();
        for _ in 0..reader.packed()? {
            members.push(reader.packed_bytes()?.to_vec());
        }
        column.members = Some(members);
    }
    Ok(())
}
