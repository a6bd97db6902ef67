//! JSON values as text: validation, MySQL's normal form, and their order.
//!
//! The normal form has object keys sorted by length and then bytes, the last of equal keys, ", " between elements
//! and ": " after keys. Callers: storing into JSON columns, CAST, the JSON functions.
use std::cmp::Ordering;

/// A parsed document.
pub use serde_json::Value as Json;

/// The members of an object.
pub type JsonMap = serde_json::Map<String, Json>;

use crate::column_type::{ColumnType, TypeKind};
use crate::compare::Operand;
use crate::number_text::write_double;
use crate::value::Value;

/// Why a text is no JSON document, with the byte position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidJson {
    pub reason: &'static str,
    pub position: usize,
}

/// Validates a text and gives its normal form.
pub fn normalize_json(text: &[u8]) -> Result<Box<str>, InvalidJson> {
    let document = parse_json(text)?;
    Ok(json_text(&document).into_boxed_str())
}

/// Parses a text into a document; nesting is limited by the parser's recursion limit.
pub fn parse_json(text: &[u8]) -> Result<Json, InvalidJson> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(InvalidJson { reason: "The document is empty.", position: 0 });
    }
    serde_json::from_slice(text).map_err(|error| {
        let line_start: usize = text
            .split_inclusive(|byte| *byte == b'\n')
            .take(error.line().saturating_sub(1))
            .map(<[u8]>::len)
            .sum();
        let position = (line_start + error.column().saturating_sub(1)).min(text.len());
        // The parser only fails after a complete document when something follows it.
        let has_document = serde_json::from_slice::<Json>(&text[..position]).is_ok();
        let reason = match () {
            () if has_document => "The document root must not be followed by other values.",
            () if error.is_eof() => "Missing a closing bracket, quote or value.",
            () => "Invalid value.",
        };
        InvalidJson { reason, position }
    })
}

/// What a moment is in a document: its text with all six digits of the fraction, whatever its type shows.
pub fn json_moment(moment: &Value) -> Json {
    let six_digits = ColumnType::new(TypeKind::DateTime { fsp: 6 });
    Json::String(String::from_utf8_lossy(&moment.to_text(&six_digits)).into_owned())
}

/// MySQL's text of a document.
pub fn json_text(document: &Json) -> String {
    let mut text = String::new();
    write_json(document, &mut text);
    text
}

fn write_json(document: &Json, text: &mut String) {
    match document {
        Json::Null => text.push_str("null"),
        Json::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => text.push_str(&integer.to_string()),
            (None, Some(integer)) => text.push_str(&integer.to_string()),
            (None, None) => write_json_double(number.as_f64().unwrap_or(0.0), text),
        },
        Json::String(string) => write_json_string(string, text),
        Json::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                write_json(element, text);
            }
            text.push(']');
        }
        Json::Object(members) => {
            let mut sorted: Vec<(&String, &Json)> = members.iter().collect();
            sorted.sort_by(|(left, _), (right, _)| {
                left.len().cmp(&right.len()).then_with(|| left.as_bytes().cmp(right.as_bytes()))
            });
            text.push('{');
            for (index, (key, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                write_json_string(key, text);
                text.push_str(": ");
                write_json(member, text);
            }
            text.push('}');
        }
    }
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

fn write_json_string(string: &str, text: &mut String) {
    // serde_json escapes what MySQL escapes: quotes, backslashes and control characters.
    text.push_str(&Json::String(string.to_owned()).to_string());
}

/// The order of JSON values and of SQL values compared with them: by kind first, then within the kind.
pub(crate) fn compare_json(left: Operand<'_>, right: Operand<'_>) -> Ordering {
    match sql_rank(left).cmp(&sql_rank(right)) {
        Ordering::Equal => compare_documents(&as_document(left), &as_document(right)),
        unequal => unequal,
    }
}

/// SQL values that JSON has no kind for are above all JSON kinds (0).
fn sql_rank(operand: Operand<'_>) -> u8 {
    match operand.value {
        Value::Date(_) => 1,
        Value::Time(_) => 2,
        Value::DateTime(_) | Value::Timestamp(_) => 3,
        Value::Bit(_) => 4,
        Value::Bytes(_) if operand.column.collation == collation::CollationId::BINARY => 5,
        _ => 0,
    }
}

fn as_document(operand: Operand<'_>) -> Json {
    match operand.value {
        Value::Json(text) => parse_json(text.as_bytes()).unwrap_or(Json::Null),
        Value::Int(number) => Json::from(*number),
        Value::UInt(number) => Json::from(*number),
        Value::Double(number) => Json::from(*number),
        Value::Float(number) => Json::from(f64::from(*number)),
        Value::Decimal(number) => Json::from(number.to_f64()),
        other => Json::String(String::from_utf8_lossy(&other.to_text(operand.column)).into_owned()),
    }
}

/// MySQL's precedence of JSON kinds, lowest first.
fn rank(document: &Json) -> u8 {
    match document {
        Json::Null => 0,
        Json::Number(_) => 1,
        Json::String(_) => 2,
        Json::Object(_) => 3,
        Json::Array(_) => 4,
        Json::Bool(_) => 5,
    }
}

pub fn compare_documents(left: &Json, right: &Json) -> Ordering {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
        },
        (Json::String(left), Json::String(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Json::Bool(left), Json::Bool(right)) => left.cmp(right),
        (Json::Array(left), Json::Array(right)) => left
            .iter()
            .zip(right)
            .map(|(left, right)| compare_documents(left, right))
            .find(|ordering| ordering.is_ne())
            .unwrap_or_else(|| left.len().cmp(&right.len())),
        (Json::Object(_), Json::Object(_)) => {
            let (left, right) = (json_text(left), json_text(right));
            left.len().cmp(&right.len()).then_with(|| left.cmp(&right))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_form() {
        for (text, expected) in [
            (r#"{"b":1, "aa":[1,2 ,3.0,"x"], "a":null}"#, r#"{"a": null, "b": 1, "aa": [1, 2, 3.0, "x"]}"#),
            ("1e2", "100.0"),
            ("  5 ", "5"),
            ("18446744073709551615", "18446744073709551615"),
            (r#""a\u0041\n""#, r#""aA\n""#),
            (r#"{"a":1,"a":2}"#, r#"{"a": 2}"#),
            ("[]", "[]"),
        ] {
            assert_eq!(normalize_json(text.as_bytes()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn errors_have_positions() {
        for (text, reason, position) in [
            ("abc", "Invalid value.", 0),
            ("12abc", "The document root must not be followed by other values.", 2),
            ("", "The document is empty.", 0),
            ("2020-01-02", "The document root must not be followed by other values.", 4),
        ] {
            assert_eq!(normalize_json(text.as_bytes()), Err(InvalidJson { reason, position }), "{text}");
        }
        assert!(normalize_json("[".repeat(100_000).as_bytes()).is_err());
    }
}
