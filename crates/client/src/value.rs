//! Values that a statement is given, in the binary protocol's form or as literals.
//!
//! Invariant: a literal is read by any server, whatever its character set or sql_mode, as the value that it was
//! (bytes go in hexadecimal when they are not plain text). Called by `statement`.

use crate::field::put_field;

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    /// A DECIMAL of two places, as 100 times itself.
    Hundredths(i64),
    Double(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// The type's number in the protocol.
    pub(crate) fn kind(&self) -> [u8; 2] {
        match self {
            Self::Null => [6, 0],
            Self::Int(_) => [8, 0],
            Self::Hundredths(_) => [246, 0],
            Self::Double(_) => [5, 0],
            Self::Text(_) => [0xfd, 0],
            Self::Bytes(_) => [0xfc, 0],
        }
    }

    pub(crate) fn put_binary(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Hundredths(number) => put_field(out, hundredths(*number).as_bytes()),
            Self::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Text(text) => put_field(out, text.as_bytes()),
            Self::Bytes(bytes) => put_field(out, bytes),
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

/// Appends the value as a literal of SQL.
pub fn put_literal(out: &mut Vec<u8>, value: &Value<'_>) {
    use std::io::Write;
    // A write to memory cannot fail.
    let _ = match value {
        Value::Null => out.write_all(b"NULL"),
        Value::Int(number) => write!(out, "{number}"),
        Value::Hundredths(number) => out.write_all(hundredths(*number).as_bytes()),
        Value::Double(number) => write!(out, "{number:e}"),
        Value::Text(text) => {
            put_text(out, text.as_bytes());
            Ok(())
        }
        Value::Bytes(bytes) => {
            put_text(out, bytes);
            Ok(())
        }
    };
}

fn hundredths(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", number.unsigned_abs() / 100, number.unsigned_abs() % 100)
}

fn put_text(out: &mut Vec<u8>, bytes: &[u8]) {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\');
    if bytes.iter().all(is_plain) {
        out.push(b'\'');
        out.extend_from_slice(bytes);
        out.push(b'\'');
        return;
    }
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(if std::str::from_utf8(bytes).is_ok() { b"_utf8mb4 X'" } else { b"X'" });
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_survive_every_quote() {
        let literal = |value| {
            let mut out = Vec::new();
            put_literal(&mut out, &value);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(literal(Value::Int(-7)), "-7");
        assert_eq!(literal(Value::Hundredths(-1205)), "-12.05");
        assert_eq!(literal(Value::Null), "NULL");
        assert_eq!(literal(Value::Text("plain text")), "'plain text'");
        assert_eq!(literal(Value::Text("it's")), "_utf8mb4 X'69742773'");
        assert_eq!(literal(Value::Bytes(&[0xff, 0])), "X'FF00'");
    }
}
