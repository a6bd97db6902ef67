//! The values of the literals that a digest found.
use super::{LiteralKind, LiteralSpan};
use crate::SqlMode;
use crate::ast::LiteralValue;
use crate::grammar::literal::{bit_value, hex_value, unescape_string};
use crate::lexer::scan;
use bumpalo::Bump;

impl LiteralSpan {
    /// The literal's value, as the parser would give it but for the character set of an introducer, which the plan
    /// keeps. Borrows from `text` where it can. `None` when the literal is malformed (`x'4'`, `b'2'`, a number that
    /// is not text): the statement must be parsed for the error.
    pub fn value<'a>(&self, text: &'a [u8], mode: SqlMode, arena: &'a Bump) -> Option<LiteralValue<'a>> {
        let whole = self.span.of(text);
        let as_text = || std::str::from_utf8(whole).ok();
        match self.kind {
            LiteralKind::Integer | LiteralKind::UnsignedInteger => {
                scan::integer_value(whole).map(LiteralValue::Integer)
            }
            LiteralKind::Decimal => as_text().map(LiteralValue::Decimal),
            LiteralKind::Float => as_text().map(LiteralValue::Float),
            LiteralKind::String => {
                Some(LiteralValue::String { bytes: self.string_bytes(whole, mode, arena), charset: None })
            }
            LiteralKind::NationalString => {
                let bytes = self.string_bytes(&whole[1..], mode, arena);
                Some(LiteralValue::String { bytes, charset: Some("utf8mb3") })
            }
            LiteralKind::Hex => {
                let in_quotes = whole[0] != b'0';
                let digits = if in_quotes { &whole[2..whole.len() - 1] } else { &whole[2..] };
                if in_quotes && digits.len() % 2 == 1 {
                    return None;
                }
                hex_value(digits, arena).map(|bytes| LiteralValue::Hex { bytes, charset: None })
            }
            LiteralKind::Bit => {
                let in_quotes = whole[0] != b'0';
                let digits = if in_quotes { &whole[2..whole.len() - 1] } else { &whole[2..] };
                bit_value(digits, arena).map(|bytes| LiteralValue::Bit { bytes, charset: None })
            }
        }
    }

    fn string_bytes<'a>(&self, quoted: &'a [u8], mode: SqlMode, arena: &'a Bump) -> &'a [u8] {
        if !self.escaped {
            return &quoted[1..quoted.len() - 1];
        }
        unescape_string(quoted, !mode.no_backslash_escapes, arena)
    }
}
