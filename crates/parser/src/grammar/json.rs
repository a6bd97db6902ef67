//! JSON_VALUE and JSON_TABLE.
use super::core::{Parser, Result};
use crate::ast::{Expr, ExprKind, JsonBehaviour, JsonTable, JsonTableColumn, JsonValue};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    pub fn json_value(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let document = self.expr()?;
        self.expect(T::Comma)?;
        let path = self.plain_string()?;
        let returning = if self.accept_keyword(K::Returning) { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.json_behaviours()?;
        self.expect(T::RightParen)?;
        let value = self.alloc(JsonValue { document, path, returning, on_empty, on_error });
        self.node(ExprKind::JsonValue(value), start, document.height)
    }

    /// `[.. ON EMPTY] [.. ON ERROR]`
    fn json_behaviours(&mut self) -> Result<(Option<JsonBehaviour<'a>>, Option<JsonBehaviour<'a>>)> {
        let mut on_empty = None;
        let mut on_error = None;
        while on_error.is_none() && matches!(self.keyword(), K::Null | K::Error | K::Default) {
            let behaviour = match self.advance().keyword {
                K::Null => JsonBehaviour::Null,
                K::Error => JsonBehaviour::Error,
                _ => {
                    self.literal_use.structural = true;
                    JsonBehaviour::Default(self.literal()?)
                }
            };
            self.expect_keyword(K::On)?;
            match self.keyword() {
                K::Empty if on_empty.is_none() => on_empty = Some(behaviour),
                K::Error => on_error = Some(behaviour),
                _ => return Err(self.syntax_error()),
            }
            self.advance();
        }
        Ok((on_empty, on_error))
    }

    /// `JSON_TABLE(document, path COLUMNS (..)) [AS] alias`
    pub fn json_table(&mut self) -> Result<&'a JsonTable<'a>> {
        self.expect_keyword(K::JsonTable)?;
        self.expect(T::LeftParen)?;
        let document = self.expr()?;
        self.expect(T::Comma)?;
        let path = self.plain_string()?;
        let columns = self.json_table_columns()?;
        self.expect(T::RightParen)?;
        self.accept_keyword(K::As);
        let alias = self.ident()?;
        Ok(self.alloc(JsonTable { document, path, columns, alias }))
    }

    fn json_table_columns(&mut self) -> Result<&'a [JsonTableColumn<'a>]> {
        self.expect_keyword(K::Columns)?;
        self.nested(|parser| parser.paren_list(|parser| parser.nested(Self::json_table_column)))
    }

    fn json_table_column(&mut self) -> Result<JsonTableColumn<'a>> {
        if self.at_keyword(K::Nested) && (self.keyword_at(1) == K::Path || self.peek_at(1).kind == T::String)
        {
            self.advance();
            self.expect_keyword(K::Path)?;
            let path = self.plain_string()?;
            return Ok(JsonTableColumn::Nested { path, columns: self.json_table_columns()? });
        }
        let name = self.ident()?;
        if self.accept_keyword(K::For) {
            self.expect_keyword(K::Ordinality)?;
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let mut data_type = self.data_type()?;
        if self.accept_keyword(K::Collate) {
            data_type.collation = Some(self.collation_name()?);
        }
        let exists = self.accept_keyword(K::Exists);
        self.expect_keyword(K::Path)?;
        let path = self.plain_string()?;
        let (on_empty, on_error) = self.json_behaviours()?;
        let data_type = self.alloc(data_type);
        Ok(JsonTableColumn::Path { name, data_type, exists, path, on_empty, on_error })
    }
}
