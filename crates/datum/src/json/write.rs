//! A document to text: stored, with marks, and as it is shown.
use std::borrow::Cow;

use env::LONG_PIECE;

use super::{Json, mark};
use crate::number_text::write_double;

/// The stored text of a document.
pub fn json_text(document: &Json) -> String {
    let mut text = String::new();
    write_json(document, true, &mut text);
    text
}

/// The text of a document as clients see it.
pub fn json_shown_text(document: &Json) -> String {
    let mut text = String::new();
    write_json(document, false, &mut text);
    text
}

/// A stored text as clients see it.
pub fn json_shown(text: &str) -> Cow<'_, str> {
    let has_mark = |piece: &[u8]| {
        env::tick_long(piece.len());
        piece.iter().any(|byte| *byte <= mark::LAST)
    };
    if text.as_bytes().chunks(LONG_PIECE).any(has_mark) {
        Cow::Owned(text.chars().filter(|character| *character > char::from(mark::LAST)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

fn write_json(document: &Json, is_stored: bool, text: &mut String) {
    let mut marked = |mark: u8| {
        if is_stored {
            text.push(char::from(mark));
        }
    };
    match document {
        Json::Null => text.push_str("null"),
        Json::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
        Json::Int(number) => text.push_str(&number.to_string()),
        Json::UInt(number) => {
            if i64::try_from(*number).is_ok() {
                marked(mark::UNSIGNED);
            }
            text.push_str(&number.to_string());
        }
        Json::Double(number) => write_json_double(*number, text),
        Json::Decimal(number) => {
            marked(mark::DECIMAL);
            text.push_str(&number.to_string());
        }
        Json::String(string) => write_json_string(string, text),
        Json::Date(date) => {
            marked(mark::DATE);
            quoted(text, |bytes| date.write_text(bytes));
        }
        Json::Time(time) => {
            marked(mark::TIME);
            quoted(text, |bytes| time.write_text(6, bytes));
        }
        Json::DateTime(moment) => {
            marked(mark::DATETIME);
            quoted(text, |bytes| moment.write_text(6, bytes));
        }
        Json::Opaque(kind, bytes) => {
            marked(mark::OPAQUE);
            text.push_str(&format!("\"base64:type{kind}:{}\"", base64(bytes)));
        }
        Json::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                count_element(index);
                text.push_str(if index > 0 { ", " } else { "" });
                write_json(element, is_stored, text);
            }
            text.push(']');
        }
        Json::Object(members) => {
            text.push('{');
            for (index, (key, member)) in members.iter().enumerate() {
                count_element(index);
                text.push_str(if index > 0 { ", " } else { "" });
                write_json_string(key, text);
                text.push_str(": ");
                write_json(member, is_stored, text);
            }
            text.push('}');
        }
    }
}

fn quoted(text: &mut String, write: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = Vec::new();
    write(&mut bytes);
    text.push('"');
    text.push_str(&String::from_utf8_lossy(&bytes));
    text.push('"');
}

/// Doubles keep a point, so that they stay doubles when read again.
fn write_json_double(number: f64, text: &mut String) {
    let mut digits = Vec::new();
    write_double(number, None, &mut digits);
    let digits = String::from_utf8(digits).expect("numbers are written in ASCII");
    text.push_str(&digits);
    if !digits.contains(['.', 'e']) {
        text.push_str(".0");
    }
}

/// Counts the work of a long array or object in pieces.
fn count_element(index: usize) {
    const PIECE: usize = 128;
    if index % PIECE == PIECE - 1 {
        env::tick_long(PIECE * 64);
    }
}

/// Writes a text as a JSON string, with its quotes.
pub fn write_json_string(string: &str, text: &mut String) {
    text.push('"');
    for (index, character) in string.chars().enumerate() {
        if index % LONG_PIECE == LONG_PIECE - 1 {
            env::tick_long(LONG_PIECE * 4);
        }
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            control if control < ' ' => text.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => text.push(other),
        }
    }
    text.push('"');
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A line break stands after each 76 characters, as TO_BASE64 has them, escaped as in any string.
fn base64(bytes: &[u8]) -> String {
    let mut encoded = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for (index, chunk) in bytes.chunks(3).enumerate() {
        if index > 0 && index % 19 == 0 {
            encoded.push_str("\\n");
        }
        let group =
            chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for position in 0..4 {
            let sextet = (group >> (18 - 6 * position)) as usize & 63;
            encoded.push(if position <= chunk.len() { char::from(BASE64[sextet]) } else { '=' });
        }
    }
    encoded
}

pub(super) fn base64_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let symbols = text.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'='));
    let sextets: Option<Vec<u32>> = symbols
        .map(|symbol| BASE64.iter().position(|known| *known == symbol).map(|sextet| sextet as u32))
        .collect();
    let mut bytes = Vec::new();
    for group in sextets?.chunks(4) {
        let bits = group.iter().fold(0, |bits, sextet| bits << 6 | sextet) << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}
