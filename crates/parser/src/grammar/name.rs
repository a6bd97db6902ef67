//! Identifiers and names with points.
use super::core::{Parser, Result};
use crate::ast::{ColumnReference, Ident, ObjectName};
use crate::lexer::{Keyword as K, Token, TokenKind};
use crate::{ParseError, ParseErrorKind};

impl<'a> Parser<'a> {
    /// Whether the current token can be an identifier.
    pub fn at_ident(&self) -> bool {
        is_ident(self.peek())
    }

    pub fn ident(&mut self) -> Result<Ident<'a>> {
        if !self.at_ident() {
            return Err(self.syntax_error());
        }
        self.any_ident()
    }

    /// An identifier where reserved words are allowed too (after a point).
    pub fn ident_after_dot(&mut self) -> Result<Ident<'a>> {
        match self.kind() {
            TokenKind::Word | TokenKind::QuotedIdent | TokenKind::Introducer => self.any_ident(),
            _ => Err(self.syntax_error()),
        }
    }

    fn any_ident(&mut self) -> Result<Ident<'a>> {
        let token = self.advance();
        let span = crate::ast::Span::new(token.start, token.end);
        if token.kind != TokenKind::QuotedIdent {
            return Ok(Ident { name: self.text_at(token.start, token.end)?, span });
        }
        let name = self.unquote_name(token.start, token.end)?;
        // Empty names are the concern of whoever looks them up; as an alias they are fine.
        if name.contains('\0') {
            return Err(self.syntax_error_at(token));
        }
        Ok(Ident { name, span })
    }

    /// The name between quotes; a doubled quote stands for one.
    pub fn unquote_name(&mut self, start: u32, end: u32) -> Result<&'a str> {
        let quote = self.text[start as usize] as char;
        let inner = self.text_at(start + 1, end - 1)?;
        if !inner.contains(quote) {
            return Ok(inner);
        }
        let single = quote.to_string();
        Ok(self.arena.alloc_str(&inner.replace(&single.repeat(2), &single)))
    }

    /// A part of the text as a string; the error of MySQL when it is not valid UTF-8.
    pub fn text_at(&self, start: u32, end: u32) -> Result<&'a str> {
        let (start, end) = (start as usize, end as usize);
        if let Some(part) = self.utf8.and_then(|text| text.get(start..end)) {
            return Ok(part);
        }
        std::str::from_utf8(&self.text[start..end]).map_err(|_| invalid_text(&self.text[start..end], start))
    }

    /// An identifier, or a string in its place (aliases, character sets, collations, engines).
    pub fn ident_or_string(&mut self) -> Result<Ident<'a>> {
        if !self.at(TokenKind::String) {
            return self.ident();
        }
        let token = self.peek();
        let name = self.string_text()?;
        Ok(Ident { name, span: crate::ast::Span::new(token.start, token.end) })
    }

    /// An optional alias: `AS x`, `AS 'x'`, `x`, `'x'`.
    pub fn alias(&mut self, string_allowed: bool) -> Result<Option<Ident<'a>>> {
        if self.accept_keyword(K::As) {
            return if string_allowed { self.ident_or_string().map(Some) } else { self.ident().map(Some) };
        }
        if self.at_ident() {
            return self.ident().map(Some);
        }
        if string_allowed && self.at(TokenKind::String) {
            return self.ident_or_string().map(Some);
        }
        Ok(None)
    }

    /// `name` or `database.name`.
    pub fn object_name(&mut self) -> Result<ObjectName<'a>> {
        let first = self.ident()?;
        if !self.accept(TokenKind::Dot) {
            return Ok(ObjectName { database: None, name: first });
        }
        Ok(ObjectName { database: Some(first), name: self.ident_after_dot()? })
    }

    /// `column`, `table.column`, `database.table.column`.
    pub fn column_reference(&mut self) -> Result<ColumnReference<'a>> {
        let first = self.ident()?;
        if !self.accept(TokenKind::Dot) {
            return Ok(ColumnReference { qualifier: None, name: first.name });
        }
        self.column_after_dot(first)
    }

    /// The rest of a column reference after its first part and a point.
    pub fn column_after_dot(&mut self, first: Ident<'a>) -> Result<ColumnReference<'a>> {
        let second = self.ident_after_dot()?;
        if !self.accept(TokenKind::Dot) {
            let qualifier = self.alloc(ObjectName { database: None, name: first });
            return Ok(ColumnReference { qualifier: Some(qualifier), name: second.name });
        }
        let column = self.ident_after_dot()?;
        let qualifier = self.alloc(ObjectName { database: Some(first), name: second });
        Ok(ColumnReference { qualifier: Some(qualifier), name: column.name })
    }

    /// `(a, b, c)` of plain names.
    pub fn ident_list(&mut self) -> Result<&'a [Ident<'a>]> {
        self.paren_list(Self::ident)
    }

    pub fn accept_if_exists(&mut self) -> Result<bool> {
        if !self.accept_keyword(K::If) {
            return Ok(false);
        }
        self.expect_keyword(K::Exists)?;
        Ok(true)
    }

    pub fn accept_if_not_exists(&mut self) -> Result<bool> {
        if !self.accept_keyword(K::If) {
            return Ok(false);
        }
        self.expect_keywords(&[K::Not, K::Exists])?;
        Ok(true)
    }
}

pub fn is_ident(token: Token) -> bool {
    match token.kind {
        TokenKind::Word => !token.keyword.is_reserved() && !token.keyword.is_function_name(),
        TokenKind::QuotedIdent => true,
        _ => false,
    }
}

pub fn invalid_text(bytes: &[u8], position: usize) -> Box<ParseError> {
    let valid = std::str::from_utf8(bytes).err().map_or(0, |error| error.valid_up_to());
    let shown: String = bytes[valid..].iter().take(6).map(|byte| format!("{byte:02X}")).collect();
    Box::new(ParseError { kind: ParseErrorKind::InvalidText { bytes: shown }, position: position + valid })
}
