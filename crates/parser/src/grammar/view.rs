//! CREATE VIEW and ALTER VIEW, and the modifiers that views share with stored programs.
use super::core::{Parser, Result};
use crate::ast::{CreateView, Definer, Ident, SqlSecurity, StatementKind, ViewAlgorithm, ViewCheck};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// After CREATE or ALTER, at OR REPLACE, ALGORITHM, DEFINER, SQL SECURITY or VIEW.
    pub fn create_stored_or_view(&mut self, alter: bool) -> Result<StatementKind<'a>> {
        let or_replace = !alter && self.accept_keyword(K::Or);
        if or_replace {
            self.expect_keyword(K::Replace)?;
        }
        let algorithm = self.view_algorithm()?;
        let definer = self.definer()?;
        if !or_replace && algorithm.is_none() && !self.at_keyword(K::View) && !self.at_keyword(K::Sql) {
            if !alter {
                return self.create_program(definer);
            }
            if self.at_keyword(K::Event) {
                return self.alter_event(definer);
            }
        }
        let security = self.sql_security()?;
        self.expect_keyword(K::View)?;
        let if_not_exists = !alter && self.accept_if_not_exists()?;
        let name = self.object_name()?;
        let columns: &[Ident<'a>] = if self.at(T::LeftParen) { self.ident_list()? } else { &[] };
        self.expect_keyword(K::As)?;
        let used = self.program.as_ref().map_or(0, |names| names.used.len());
        let query = self.query()?;
        // What a statement names in a program is read again later: the error is the program's.
        if let Some(names) = &self.program {
            if query.into.is_some() {
                return Err(self.program_error(1350, "View's SELECT contains a 'INTO' clause".to_owned()));
            }
            if names.used.len() > used {
                let message = "View's SELECT contains a variable or parameter".to_owned();
                return Err(self.program_error(1351, message));
            }
        }
        let check = self.view_check()?;
        let view = CreateView {
            alter,
            or_replace,
            if_not_exists,
            algorithm,
            definer,
            security,
            name,
            columns,
            query,
            check,
        };
        Ok(StatementKind::CreateView(self.alloc(view)))
    }

    fn view_algorithm(&mut self) -> Result<Option<ViewAlgorithm>> {
        if !self.accept_keyword(K::Algorithm) {
            return Ok(None);
        }
        self.expect(T::Equal)?;
        Ok(Some(match self.expect_one_of(&[K::Undefined, K::Merge, K::Temptable])? {
            K::Undefined => ViewAlgorithm::Undefined,
            K::Merge => ViewAlgorithm::Merge,
            _ => ViewAlgorithm::TempTable,
        }))
    }

    fn definer(&mut self) -> Result<Option<Definer<'a>>> {
        if !self.accept_keyword(K::Definer) {
            return Ok(None);
        }
        self.expect(T::Equal)?;
        Ok(Some(Definer(self.user()?)))
    }

    pub fn sql_security(&mut self) -> Result<Option<SqlSecurity>> {
        if !self.accept_keyword(K::Sql) {
            return Ok(None);
        }
        self.expect_keyword(K::Security)?;
        Ok(Some(match self.expect_one_of(&[K::Definer, K::Invoker])? {
            K::Definer => SqlSecurity::Definer,
            _ => SqlSecurity::Invoker,
        }))
    }

    /// `WITH [CASCADED | LOCAL] CHECK OPTION`
    fn view_check(&mut self) -> Result<Option<ViewCheck>> {
        if !self.accept_keyword(K::With) {
            return Ok(None);
        }
        let word = self.accept_one_of(&[K::Cascaded, K::Local]);
        self.expect_keywords(&[K::Check, K::Option])?;
        Ok(Some(if word == Some(K::Local) { ViewCheck::Local } else { ViewCheck::Cascaded }))
    }
}
