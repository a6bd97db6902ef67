//! CREATE, ALTER and DROP DATABASE, and USE.
use super::core::{Parser, Result};
use crate::ast::{AlterDatabase, CreateDatabase, DatabaseOption, DropDatabase, StatementKind};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    /// After CREATE, at DATABASE or SCHEMA.
    pub fn create_database(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let if_not_exists = self.accept_if_not_exists()?;
        let name = self.ident()?;
        let options = self.database_options()?;
        Ok(StatementKind::CreateDatabase(CreateDatabase { if_not_exists, name, options }))
    }

    /// After ALTER, at DATABASE or SCHEMA.
    pub fn alter_database(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        // The name may be left out, and the options' first words can be names too.
        let name = if self.at_ident() && !self.at_database_option() { Some(self.ident()?) } else { None };
        let options = self.database_options()?;
        if options.is_empty() {
            return Err(self.syntax_error());
        }
        Ok(StatementKind::AlterDatabase(AlterDatabase { name, options }))
    }

    /// After DROP, at DATABASE or SCHEMA.
    pub fn drop_database(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let if_exists = self.accept_if_exists()?;
        Ok(StatementKind::DropDatabase(DropDatabase { if_exists, name: self.ident()? }))
    }

    pub fn use_database(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Use)?;
        Ok(StatementKind::Use(self.ident()?))
    }

    fn at_database_option(&self) -> bool {
        match self.keyword() {
            K::Charset | K::Encryption => {
                let next = self.peek_at(1);
                next.kind != T::End
                    && !matches!(next.keyword, K::Character | K::Charset | K::Collate | K::Default)
            }
            _ => false,
        }
    }

    fn database_options(&mut self) -> Result<&'a [DatabaseOption<'a>]> {
        let mut options = Vec::new_in(self.arena);
        loop {
            let default = self.accept_keyword(K::Default);
            let option = match self.keyword() {
                K::Character | K::Char | K::Charset => {
                    if self.advance().keyword != K::Charset {
                        self.expect_keyword(K::Set)?;
                    }
                    self.accept(T::Equal);
                    DatabaseOption::CharacterSet(self.charset_name()?)
                }
                K::Collate => {
                    self.advance();
                    self.accept(T::Equal);
                    DatabaseOption::Collate(self.collation_name()?)
                }
                K::Encryption => {
                    self.advance();
                    self.accept(T::Equal);
                    DatabaseOption::Encryption(self.string_text()?)
                }
                K::Read if !default => self.read_only_option()?,
                _ if default => return Err(self.syntax_error()),
                _ => return Ok(options.into_bump_slice()),
            };
            options.push(option);
        }
    }

    fn read_only_option(&mut self) -> Result<DatabaseOption<'a>> {
        self.expect_keywords(&[K::Read, K::Only])?;
        self.accept(T::Equal);
        if self.accept_keyword(K::Default) {
            return Ok(DatabaseOption::ReadOnly(None));
        }
        let token = self.peek();
        match self.integer_option()? {
            0 => Ok(DatabaseOption::ReadOnly(Some(false))),
            1 => Ok(DatabaseOption::ReadOnly(Some(true))),
            _ => Err(self.syntax_error_at(token)),
        }
    }
}
