//! The walk over a text that finds its literals.
//!
//! It follows the same rules as the lexer with the shapes of `lexer::scan`, so both number the literals alike
//! (property tests hold them together).
use super::hash::Hasher;
use super::{Digest, DigestOutput, DigestSeed, LiteralKind, LiteralSpan};
use crate::SqlMode;
use crate::ast::Span;
use crate::lexer::scan::{self, NumberShape};
use crate::limits::TEXT_LENGTH_MAX;

/// The tag of the end of the text; literals have tags from 1 on.
const END_TAG: u64 = 0;

/// Returns `None` when the text is no single statement that may be looked up: several statements, versioned
/// comments or optimizer hints, or something that does not lex.
pub fn digest(text: &[u8], mode: SqlMode, seed: DigestSeed, output: &mut DigestOutput) -> Option<Digest> {
    output.literals.clear();
    if text.len() > TEXT_LENGTH_MAX {
        return None;
    }
    let mut walk = Walk {
        text,
        backslash: !mode.no_backslash_escapes,
        ansi_quotes: mode.ansi_quotes,
        position: 0,
        gap: 0,
        output,
        hasher: Hasher::new(seed),
    };
    walk.run()?;
    let Walk { gap, mut hasher, .. } = walk;
    hasher.write(&text[gap..], END_TAG);
    Some(hasher.finish())
}

struct Walk<'t> {
    text: &'t [u8],
    backslash: bool,
    ansi_quotes: bool,
    position: usize,
    /// Where the text after the last literal begins.
    gap: usize,
    output: &'t mut DigestOutput,
    hasher: Hasher,
}

impl Walk<'_> {
    fn run(&mut self) -> Option<()> {
        while let Some(&byte) = self.text.get(self.position) {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => self.word(byte)?,
                b'0'..=b'9' => self.number()?,
                b'\'' => self.string(LiteralKind::String, 0)?,
                b'"' if !self.ansi_quotes => self.string(LiteralKind::String, 0)?,
                b'"' | b'`' => self.quoted_name()?,
                b'.' if self.text.get(self.position + 1).is_some_and(u8::is_ascii_digit) => self.number()?,
                b'@' => self.at()?,
                b'#' => self.position = scan::line_comment_end(self.text, self.position),
                b'-' if scan::is_dash_comment(self.text, self.position) => {
                    self.position = scan::line_comment_end(self.text, self.position);
                }
                b'/' if self.text.get(self.position + 1) == Some(&b'*') => self.comment()?,
                b';' => return self.text[self.position + 1..].trim_ascii().is_empty().then_some(()),
                _ => self.position += 1,
            }
        }
        Some(())
    }

    fn word(&mut self, first: u8) -> Option<()> {
        if self.text.get(self.position + 1) == Some(&b'\'') {
            match first {
                b'x' | b'X' => return self.digits_in_quotes(LiteralKind::Hex),
                b'b' | b'B' => return self.digits_in_quotes(LiteralKind::Bit),
                b'n' | b'N' => return self.string(LiteralKind::NationalString, 1),
                _ => {}
            }
        }
        let end = scan::word_end(self.text, self.position);
        self.name_rest(end, false)
    }

    /// After a name: a point binds the word that follows it, even one that looks like a number unless the name before
    /// the point is `quoted`.
    fn name_rest(&mut self, mut end: usize, mut quoted: bool) -> Option<()> {
        while self.text.get(end) == Some(&b'.') {
            match self.text.get(end + 1) {
                Some(byte) if quoted && byte.is_ascii_digit() => break,
                Some(&byte) if scan::is_word_byte(byte) => {
                    end = scan::word_end(self.text, end + 1);
                    quoted = false;
                }
                Some(&quote) if quote == b'`' || (quote == b'"' && self.ansi_quotes) => {
                    (end, _) = scan::quoted_end(self.text, end + 1, false)?;
                    quoted = true;
                }
                _ => {
                    end += 1;
                    break;
                }
            }
        }
        self.position = end;
        Some(())
    }

    fn quoted_name(&mut self) -> Option<()> {
        let (end, _) = scan::quoted_end(self.text, self.position, false)?;
        self.name_rest(end, true)
    }

    fn number(&mut self) -> Option<()> {
        let start = self.position;
        let (shape, end) = scan::number_end(self.text, start);
        let digits = &self.text[start..end];
        let (kind, detail) = match shape {
            NumberShape::Word => return self.name_rest(end, false),
            NumberShape::Integer => integer_kind(digits),
            NumberShape::Decimal => {
                // Precision and scale decide the type of what is calculated from it.
                let digits = without_leading_zeros(digits);
                let point = digits.iter().position(|&byte| byte == b'.').expect("a decimal has a point");
                (LiteralKind::Decimal, (point as u64) << 32 | (digits.len() - point) as u64)
            }
            NumberShape::Float => (LiteralKind::Float, 0),
            NumberShape::Hex => (LiteralKind::Hex, 0),
            NumberShape::Bit => (LiteralKind::Bit, 0),
        };
        self.literal(kind, false, end, detail);
        Some(())
    }

    fn string(&mut self, kind: LiteralKind, prefix: usize) -> Option<()> {
        let (end, escaped) = scan::quoted_end(self.text, self.position + prefix, self.backslash)?;
        self.literal(kind, escaped, end, 0);
        Some(())
    }

    fn digits_in_quotes(&mut self, kind: LiteralKind) -> Option<()> {
        let (end, _) = scan::quoted_end(self.text, self.position + 1, false)?;
        self.literal(kind, false, end, 0);
        Some(())
    }

    /// Hashes the text before the literal and the literal's kind, and goes on after it.
    fn literal(&mut self, kind: LiteralKind, escaped: bool, end: usize, detail: u64) {
        let start = self.position;
        self.hasher.write(&self.text[self.gap..start], (kind as u64 + 1) << 56 ^ detail);
        self.output.literals.push(LiteralSpan { kind, escaped, span: Span::new(start as u32, end as u32) });
        self.position = end;
        self.gap = end;
    }

    /// `@name`, `@'name'`: names, not literals.
    fn at(&mut self) -> Option<()> {
        let after = self.position + 1;
        match self.text.get(after) {
            Some(b'@') => self.position += 2,
            Some(&quote @ (b'\'' | b'"' | b'`')) => {
                (self.position, _) = scan::quoted_end(self.text, after, self.backslash && quote != b'`')?;
            }
            _ => {
                let is_name = |&byte: &u8| scan::is_word_byte(byte) || byte == b'.';
                let length = self.text[after..].iter().take_while(|byte| is_name(byte)).count();
                self.position = after + length;
            }
        }
        Some(())
    }

    fn comment(&mut self) -> Option<()> {
        if matches!(self.text.get(self.position + 2), Some(b'!' | b'+')) {
            return None;
        }
        self.position = scan::block_comment_end(self.text, self.position)?;
        Some(())
    }
}

/// The kind of whole digits; those beyond 64 bits are a decimal, whose length matters.
fn integer_kind(digits: &[u8]) -> (LiteralKind, u64) {
    // 18 digits always fit, so the usual literal is not evaluated here.
    if digits.len() <= 18 {
        return (LiteralKind::Integer, 0);
    }
    match scan::integer_value(digits) {
        Some(value) if value <= i64::MAX as u64 => (LiteralKind::Integer, 0),
        Some(_) => (LiteralKind::UnsignedInteger, 0),
        None => (LiteralKind::Decimal, (without_leading_zeros(digits).len() as u64) << 32),
    }
}

/// They count for no decimal's precision.
fn without_leading_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|&&byte| byte == b'0').count();
    &digits[zeros..]
}
