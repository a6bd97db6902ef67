//! Literals: their values, and the plain strings and numbers that options want.
use super::core::{Parser, Result};
use super::name::invalid_text;
use crate::ast::{Literal, LiteralOrdinal, LiteralValue};
use crate::lexer::{Token, TokenKind, scan};
use bumpalo::collections::Vec;
use env::LONG_PIECE;

impl<'a> Parser<'a> {
    /// The literal at the current token, which is one (or an introducer before one).
    pub fn literal(&mut self) -> Result<Literal<'a>> {
        let charset = if self.at(TokenKind::Introducer) {
            let token = self.advance();
            Some(self.text_at(token.start + 1, token.end)?)
        } else {
            None
        };
        let token = self.peek();
        let value = match token.kind {
            TokenKind::String => {
                let bytes = self.string_bytes()?;
                LiteralValue::String { bytes, charset }
            }
            TokenKind::NationalString if charset.is_none() => {
                let bytes = self.string_bytes()?;
                LiteralValue::String { bytes, charset: Some("utf8mb3") }
            }
            TokenKind::Hex => LiteralValue::Hex { bytes: self.hex_bytes()?, charset },
            TokenKind::Bit => LiteralValue::Bit { bytes: self.bit_bytes()?, charset },
            _ if charset.is_some() => return Err(self.syntax_error()),
            TokenKind::Integer => {
                self.advance();
                self.integer_or_decimal(token)?
            }
            TokenKind::Decimal => {
                self.advance();
                LiteralValue::Decimal(self.text_at(token.start, token.end)?)
            }
            TokenKind::Float => {
                self.advance();
                LiteralValue::Float(self.text_at(token.start, token.end)?)
            }
            _ => return Err(self.syntax_error()),
        };
        if self.select_list_depth > 0 {
            self.literal_use.in_select_list = true;
        }
        Ok(Literal { value, ordinal: LiteralOrdinal(token.ordinal) })
    }

    fn integer_or_decimal(&self, token: Token) -> Result<LiteralValue<'a>> {
        let digits = &self.text[token.start as usize..token.end as usize];
        match scan::integer_value(digits) {
            Some(value) => Ok(LiteralValue::Integer(value)),
            None => Ok(LiteralValue::Decimal(self.text_at(token.start, token.end)?)),
        }
    }

    /// The content of a string, joined with the strings that follow it directly.
    fn string_bytes(&mut self) -> Result<&'a [u8]> {
        let first = self.advance();
        let bytes = self.unescape(first);
        if !self.at(TokenKind::String) {
            return Ok(bytes);
        }
        // The parts have ordinals of their own, but the tree keeps the first one only.
        self.literal_use.structural = true;
        let mut joined = Vec::from_iter_in(bytes.iter().copied(), self.arena);
        while self.at(TokenKind::String) {
            let next = self.advance();
            joined.extend_from_slice_copy(self.unescape(next));
        }
        Ok(joined.into_bump_slice())
    }

    fn unescape(&self, token: Token) -> &'a [u8] {
        let prefix = (token.kind == TokenKind::NationalString) as usize;
        let quoted = &self.text[token.start as usize + prefix..token.end as usize];
        unescape_string(quoted, !self.mode.no_backslash_escapes, self.arena)
    }

    fn hex_bytes(&mut self) -> Result<&'a [u8]> {
        let token = self.peek();
        let digits = self.prefixed_digits(token);
        let in_quotes = self.text[token.start as usize] != b'0';
        if in_quotes && digits.len() % 2 == 1 {
            return Err(self.syntax_error());
        }
        match hex_value(digits, self.arena) {
            Some(bytes) => {
                self.advance();
                Ok(bytes)
            }
            None => Err(self.syntax_error()),
        }
    }

    fn bit_bytes(&mut self) -> Result<&'a [u8]> {
        let token = self.peek();
        match bit_value(self.prefixed_digits(token), self.arena) {
            Some(bytes) => {
                self.advance();
                Ok(bytes)
            }
            None => Err(self.syntax_error()),
        }
    }

    /// The digits of `0x41`, `x'41'`, `0b01`, `b'01'`.
    fn prefixed_digits(&self, token: Token) -> &'a [u8] {
        let whole = &self.text[token.start as usize..token.end as usize];
        if whole[0] == b'0' { &whole[2..] } else { &whole[2..whole.len() - 1] }
    }

    /// A string that is an option's value: text, and part of the statement's structure.
    pub fn string_text(&mut self) -> Result<&'a str> {
        let position = self.start() as usize;
        let bytes = self.string_option()?;
        std::str::from_utf8(bytes).map_err(|_| invalid_text(bytes, position))
    }

    /// A string (or hexadecimal or bit literal) that is an option's value, as bytes.
    pub fn string_option(&mut self) -> Result<&'a [u8]> {
        self.literal_use.structural = true;
        match self.kind() {
            TokenKind::String => {
                let token = self.advance();
                Ok(self.unescape(token))
            }
            TokenKind::Hex => self.hex_bytes(),
            TokenKind::Bit => self.bit_bytes(),
            _ => Err(self.syntax_error()),
        }
    }

    /// A whole number that is an option's value.
    pub fn integer_option(&mut self) -> Result<u64> {
        let token = self.peek();
        let digits = &self.text[token.start as usize..token.end as usize];
        let value = match token.kind {
            TokenKind::Integer => scan::integer_value(digits),
            TokenKind::Hex => {
                let bytes = self.hex_bytes()?;
                self.literal_use.structural = true;
                let significant = bytes.iter().copied().skip_while(|&byte| byte == 0);
                if significant.clone().count() > 8 {
                    return Err(self.syntax_error_at(token));
                }
                return Ok(significant.fold(0, |value, byte| value << 8 | u64::from(byte)));
            }
            _ => None,
        };
        let Some(value) = value else { return Err(self.syntax_error()) };
        self.advance();
        self.literal_use.structural = true;
        Ok(value)
    }
}

/// The content of a string in quotes (the quotes included in `quoted`), with its escapes resolved. Borrows when
/// there are none.
pub fn unescape_string<'a>(quoted: &'a [u8], backslash: bool, arena: &'a bumpalo::Bump) -> &'a [u8] {
    let (quote, inner) = (quoted[0], &quoted[1..quoted.len() - 1]);
    let special = |byte: u8| byte == quote || (backslash && byte == b'\\');
    let Some(first) = inner.iter().position(|&byte| special(byte)) else { return inner };
    let mut output = Vec::with_capacity_in(inner.len(), arena);
    output.extend_from_slice_copy(&inner[..first]);
    let mut bytes = inner[first..].iter().copied();
    while let Some(byte) = bytes.next() {
        if output.len() % LONG_PIECE == LONG_PIECE - 1 {
            env::tick_long(LONG_PIECE);
        }
        if !special(byte) {
            output.push(byte);
            continue;
        }
        let Some(escaped) = bytes.next() else { break };
        if byte == quote {
            output.push(quote);
            continue;
        }
        match escaped {
            b'0' => output.push(0),
            b'b' => output.push(8),
            b'n' => output.push(b'\n'),
            b'r' => output.push(b'\r'),
            b't' => output.push(b'\t'),
            b'Z' => output.push(26),
            // The backslash stays, because LIKE reads it.
            b'%' | b'_' => output.extend_from_slice_copy(&[b'\\', escaped]),
            other => output.push(other),
        }
    }
    output.into_bump_slice()
}

/// Hexadecimal digits as bytes, an odd one standing alone in front; `None` when a character is no digit.
pub fn hex_value<'a>(digits: &[u8], arena: &'a bumpalo::Bump) -> Option<&'a [u8]> {
    let mut bytes = Vec::with_capacity_in(digits.len().div_ceil(2), arena);
    let (head, pairs) = digits.split_at(digits.len() % 2);
    for pair in std::iter::once(head).filter(|head| !head.is_empty()).chain(pairs.chunks(2)) {
        let mut byte = 0;
        for &digit in pair {
            byte = byte << 4 | (digit as char).to_digit(16)? as u8;
        }
        bytes.push(byte);
    }
    Some(bytes.into_bump_slice())
}

/// Binary digits as bytes, padded in front; `None` when a character is no binary digit.
pub fn bit_value<'a>(digits: &[u8], arena: &'a bumpalo::Bump) -> Option<&'a [u8]> {
    let mut bytes = Vec::with_capacity_in(digits.len().div_ceil(8), arena);
    let (head, octets) = digits.split_at(digits.len() % 8);
    for octet in std::iter::once(head).filter(|head| !head.is_empty()).chain(octets.chunks(8)) {
        let mut byte = 0;
        for &digit in octet {
            byte = byte << 1 | (digit as char).to_digit(2)? as u8;
        }
        bytes.push(byte);
    }
    Some(bytes.into_bump_slice())
}
