//! The literals of a text as the values of a plan that is shared by digest. Called for each text that has a kept plan.
use bumpalo::Bump;
use datum::{Decimal, Value};
use parser::{LiteralKind, LiteralSpan, unescape_string};

/// The value of a literal; `None` for one that must be parsed in full (the plan cache is then not used).
pub fn literal_value(text: &[u8], literal: &LiteralSpan, backslash_escapes: bool) -> Option<Value> {
    let bytes = literal.span.of(text);
    match literal.kind {
        LiteralKind::Integer => parse_unsigned(bytes).map(|number| Value::Int(number as i64)),
        LiteralKind::UnsignedInteger => parse_unsigned(bytes).map(Value::UInt),
        LiteralKind::Decimal => Decimal::parse(std::str::from_utf8(bytes).ok()?).map(Value::Decimal),
        LiteralKind::Float => {
            let number: f64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
            number.is_finite().then_some(Value::Double(number))
        }
        LiteralKind::String => string_value(bytes, literal.escaped, backslash_escapes).map(Value::Bytes),
        LiteralKind::NationalString | LiteralKind::Hex | LiteralKind::Bit => None,
    }
}

fn parse_unsigned(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// The content of a quoted string.
fn string_value(quoted: &[u8], escaped: bool, backslash_escapes: bool) -> Option<Vec<u8>> {
    if escaped {
        return Some(unescape_string(quoted, backslash_escapes, &Bump::new()).to_vec());
    }
    let (quote, rest) = quoted.split_first()?;
    rest.strip_suffix(&[*quote]).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parser::ast::Span;

    fn value(kind: LiteralKind, escaped: bool, text: &str) -> Option<Value> {
        let span = Span::new(0, text.len() as u32);
        literal_value(text.as_bytes(), &LiteralSpan { kind, escaped, span }, true)
    }

    #[test]
    fn literals_become_values() {
        assert_eq!(value(LiteralKind::Integer, false, "42"), Some(Value::Int(42)));
        let largest = value(LiteralKind::UnsignedInteger, false, "18446744073709551615");
        assert_eq!(largest, Some(Value::UInt(u64::MAX)));
        assert_eq!(value(LiteralKind::String, false, "'abc'"), Some(Value::bytes("abc")));
        assert_eq!(value(LiteralKind::String, true, r"'it''s\n\%'"), Some(Value::bytes("it's\n\\%")));
        assert_eq!(value(LiteralKind::String, true, r#""a""b""#), Some(Value::bytes("a\"b")));
        assert_eq!(value(LiteralKind::Float, false, "1e3"), Some(Value::Double(1000.0)));
        assert_eq!(value(LiteralKind::Float, false, "1e999"), None);
    }
}
