//! Storing into character, binary, ENUM, SET and JSON columns.
use std::borrow::Cow;

use collation::{Charset, CollationId};

use super::{ConversionProblem, Outcome};
use crate::column_type::{ColumnType, Members, TypeKind};
use crate::json::{InvalidJson, normalize_json};
use crate::number::no_warning;
use crate::value::Value;

/// The character set a value's text is in.
fn text_charset(value: &Value, from: &ColumnType, to: Charset) -> Charset {
    match value {
        Value::Bytes(_) | Value::Enum(_) | Value::Set(_) => from.collation.charset(),
        Value::Bit(_) => Charset::Binary,
        Value::Json(_) => Charset::Utf8mb4,
        // Numbers and moments are ASCII, which every set contains.
        _ => to,
    }
}

/// The text in the column's character set, cut before the first character that the set lacks.
fn converted<'a>(
    value: &'a Value,
    from: &ColumnType,
    target: Charset,
) -> (Cow<'a, [u8]>, Option<ConversionProblem>) {
    let text = value.to_text(from);
    let source = text_charset(value, from, target);
    if target == Charset::Binary {
        return (text, None);
    }
    // Bytes claimed to be text of the target (or of no set) must be valid there.
    let is_same_bytes = source == target || source == Charset::Binary;
    let checked = if is_same_bytes { target } else { source };
    let valid = checked.valid_prefix_length(&text);
    if valid < text.len() {
        let problem = ConversionProblem::Incorrect { type_name: "string", text: hex_shown(&text[valid..]) };
        return (Cow::Owned(text[..valid].to_vec()), Some(problem));
    }
    if is_same_bytes {
        return (text, None);
    }
    let result = source.convert_to(target, &text);
    let problem = result.is_lossy.then(|| ConversionProblem::Incorrect {
        type_name: "string",
        text: hex_shown(first_lost(source, target, &text)),
    });
    (Cow::Owned(result.bytes), problem)
}

/// The text from its first character that the target set lacks.
fn first_lost(source: Charset, target: Charset, text: &[u8]) -> &[u8] {
    let mut at = 0;
    for character in source.characters(text) {
        if source.convert_to(target, character).is_lossy {
            break;
        }
        at += character.len();
    }
    &text[at..]
}

/// Up to six bytes as \xNN (printable ASCII as itself), as error 1366 shows them.
fn hex_shown(bytes: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 6;
    let mut shown = String::new();
    for byte in bytes.iter().take(SHOWN_BYTES_MAX) {
        if byte.is_ascii() && !byte.is_ascii_control() {
            shown.push(char::from(*byte));
        } else {
            shown.push_str(&format!("\\x{byte:02X}"));
        }
    }
    if bytes.len() > SHOWN_BYTES_MAX {
        shown.push_str("...");
    }
    shown
}

pub(super) fn to_string_column(value: &Value, from: &ColumnType, to: &ColumnType) -> Outcome {
    let charset = to.collation.charset();
    let (text, mut problem) = converted(value, from, charset);
    let end = match to.kind {
        TypeKind::Char | TypeKind::VarChar | TypeKind::Binary | TypeKind::VarBinary => {
            charset.byte_offset(&text, to.length as usize)
        }
        _ => {
            // A limit in bytes may fall inside a character.
            let limit = usize::try_from(to.byte_length_max()).unwrap_or(usize::MAX).min(text.len());
            if limit < text.len() { charset.valid_prefix_length(&text[..limit]) } else { limit }
        }
    };
    let is_text = charset != Charset::Binary;
    if problem.is_none() && end < text.len() {
        let only_spaces = is_text && text[end..].iter().all(|byte| *byte == b' ');
        problem = match () {
            () if only_spaces && to.kind == TypeKind::Char => None,
            () if only_spaces => Some(ConversionProblem::Shortened),
            () => Some(ConversionProblem::TooLong),
        };
    }
    let mut bytes = text.into_owned();
    bytes.truncate(end);
    match to.kind {
        // CHAR does not keep trailing spaces, BINARY is filled up.
        TypeKind::Char => {
            let kept = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
            bytes.truncate(kept);
        }
        TypeKind::Binary => bytes.resize(to.length as usize, 0),
        _ => {}
    }
    Outcome { value: Value::Bytes(bytes), problem }
}

/// The index of a member equal to the text, from 0; trailing spaces do not count.
fn member_index(members: &Members, collation: CollationId, text: &[u8]) -> Option<usize> {
    let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    members.iter().position(|member| collation.equal(member, &text[..end]))
}

/// A whole number of digits only, as an index or mask written as text.
fn digits_only(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// The number that ENUM and SET take from non-text values.
fn member_number(value: &Value, from: &ColumnType) -> Option<u64> {
    let number = match value {
        Value::Double(number) => number.trunc() as i128,
        Value::Float(number) => number.trunc() as i128,
        other => other.to_integer(from, &mut no_warning)?,
    };
    u64::try_from(number).ok()
}

/// Digits of a number that is written as text.
const INDEX_DIGITS_MAX: usize = 5;

fn has_text(value: &Value) -> bool {
    matches!(value, Value::Bytes(_) | Value::Enum(_) | Value::Set(_) | Value::Json(_))
}

pub(super) fn to_enum_column(
    value: &Value,
    from: &ColumnType,
    to: &ColumnType,
    members: &Members,
) -> Outcome {
    // What is no member stays none, whatever member is the empty text.
    if matches!(value, Value::Enum(0)) {
        return Outcome::exact(Value::Enum(0));
    }
    let is_index = |number: &u64| (1..=members.len() as u64).contains(number);
    let index = if has_text(value) {
        let (text, _) = converted(value, from, to.collation.charset());
        match member_index(members, to.collation, &text) {
            Some(index) => Some(index as u64 + 1),
            // A number of a few digits is an index, also the one of no member.
            None if text.len() <= INDEX_DIGITS_MAX => {
                digits_only(&text).filter(|number| *number == 0 || is_index(number))
            }
            None => None,
        }
    } else {
        member_number(value, from).filter(is_index)
    };
    match index {
        Some(index) => Outcome::exact(Value::Enum(index as u16)),
        None => Outcome::with(Value::Enum(0), ConversionProblem::Truncated),
    }
}

pub(super) fn to_set_column(value: &Value, from: &ColumnType, to: &ColumnType, members: &Members) -> Outcome {
    let all = if members.len() >= 64 { u64::MAX } else { (1 << members.len()) - 1 };
    if !has_text(value) {
        return match member_number(value, from) {
            Some(mask) if mask <= all => Outcome::exact(Value::Set(mask)),
            other => Outcome::with(Value::Set(other.unwrap_or(0) & all), ConversionProblem::Truncated),
        };
    }
    let (text, _) = converted(value, from, to.collation.charset());
    if text.is_empty() {
        return Outcome::exact(Value::Set(0));
    }
    let mut mask = 0u64;
    let mut has_unknown = false;
    for word in text.split(|byte| *byte == b',') {
        match member_index(members, to.collation, word) {
            Some(index) => mask |= 1 << index,
            None => has_unknown = true,
        }
    }
    match digits_only(&text) {
        Some(number) if has_unknown && number <= all => Outcome::exact(Value::Set(number)),
        _ if has_unknown => Outcome::with(Value::Set(mask), ConversionProblem::Truncated),
        _ => Outcome::exact(Value::Set(mask)),
    }
}

pub(super) fn to_json_column(value: &Value, from: &ColumnType) -> Outcome {
    match value {
        Value::Json(json) => Outcome::exact(Value::Json(json.clone())),
        Value::Bytes(_) if from.collation == CollationId::BINARY => {
            Outcome::with(Value::Null, ConversionProblem::JsonCharset { charset: "binary" })
        }
        Value::Bytes(text) => {
            let utf8 = from.collation.charset().convert_to(Charset::Utf8mb4, text).bytes;
            match normalize_json(&utf8) {
                Ok(json) => Outcome::exact(Value::Json(json)),
                Err(invalid) => Outcome::with(Value::Null, ConversionProblem::InvalidJson(invalid)),
            }
        }
        _ => {
            let invalid = InvalidJson { reason: "not a JSON text, may need CAST", position: 0 };
            Outcome::with(Value::Null, ConversionProblem::InvalidJson(invalid))
        }
    }
}
