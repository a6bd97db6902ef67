//! Stored programs: their CREATE is recognised by its leading words, their DROP is read in full.
use super::core::{Parser, Result};
use super::show::routine_kind;
use crate::ast::{DropStored, StatementKind};
use crate::lexer::Keyword as K;

impl<'a> Parser<'a> {
    /// At PROCEDURE, FUNCTION, TRIGGER or EVENT after CREATE and its modifiers.
    pub fn create_program(&mut self) -> Result<StatementKind<'a>> {
        let family = match self.keyword() {
            K::Procedure => "CREATE PROCEDURE",
            K::Function => "CREATE FUNCTION",
            K::Aggregate if self.keyword_at(1) == K::Function => "CREATE FUNCTION",
            K::Trigger => "CREATE TRIGGER",
            K::Event => "CREATE EVENT",
            _ => return Err(self.syntax_error()),
        };
        if self.advance().keyword == K::Aggregate {
            self.advance();
        }
        self.accept_if_not_exists()?;
        self.object_name()?;
        self.unsupported_program(family)
    }

    /// After DROP.
    pub fn drop_stored(&mut self) -> Result<StatementKind<'a>> {
        let kind = routine_kind(self.advance().keyword);
        let if_exists = self.accept_if_exists()?;
        Ok(StatementKind::DropStored(DropStored { kind, if_exists, name: self.object_name()? }))
    }
}
