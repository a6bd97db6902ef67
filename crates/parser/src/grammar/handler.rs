//! HANDLER.
use super::core::{Parser, Result};
use crate::ast::{Handler, HandlerAction, HandlerRead, StatementKind};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    pub fn handler(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let table = self.object_name()?;
        // An open table goes by one name.
        if table.database.is_some() && !self.at_keyword(K::Open) {
            return Err(self.syntax_error());
        }
        let action = match self.expect_one_of(&[K::Open, K::Close, K::Read])? {
            K::Open => HandlerAction::Open { alias: self.alias(false)? },
            K::Close => HandlerAction::Close,
            _ => {
                let read = self.handler_read()?;
                HandlerAction::Read(self.alloc(read))
            }
        };
        Ok(StatementKind::Handler(self.alloc(Handler { table, action })))
    }

    fn handler_read(&mut self) -> Result<HandlerRead<'a>> {
        let mut read = HandlerRead { index: None, direction: "", values: &[], filter: None, limit: None };
        if !matches!(self.keyword(), K::First | K::Next) || self.peek_at(1).kind == T::Equal {
            read.index = Some(self.ident()?);
        }
        let comparison = match self.kind() {
            T::Equal => Some("="),
            T::Less => Some("<"),
            T::LessOrEqual => Some("<="),
            T::Greater => Some(">"),
            T::GreaterOrEqual => Some(">="),
            _ => None,
        };
        if let (Some(comparison), Some(_)) = (comparison, read.index) {
            self.advance();
            read.direction = comparison;
            read.values = self.paren_list(Self::expr_or_default)?;
        } else if read.index.is_some() {
            read.direction = self.expect_one_of(&[K::First, K::Next, K::Prev, K::Last])?.name();
        } else {
            read.direction = self.expect_one_of(&[K::First, K::Next])?.name();
        }
        read.filter = self.where_clause()?;
        read.limit = self.limit()?;
        Ok(read)
    }
}
