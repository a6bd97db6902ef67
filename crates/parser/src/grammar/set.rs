//! SET of variables, NAMES and CHARACTER SET, and the way to the other SET statements.
use super::core::{Parser, Result};
use crate::ast::{SetStatement, SetValue, StatementKind, VariableAssignment, VariableScope, VariableTarget};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    pub fn set(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Set)?;
        match (self.keyword(), self.keyword_at(1)) {
            (K::Transaction, K::Isolation | K::Read) => {
                return self.set_transaction(VariableScope::Unspecified);
            }
            (word @ (K::Global | K::Session | K::Local), K::Transaction) => {
                self.advance();
                let scope = if word == K::Global { VariableScope::Global } else { VariableScope::Session };
                return self.set_transaction(scope);
            }
            (K::Password, _) if !self.assigns_at(1) || self.peek_at(2).kind != T::AtName => {
                return self.set_password();
            }
            (K::Role, _) if !self.assigns_at(1) => return self.set_role(),
            (K::Default, K::Role) => return self.set_default_role(),
            (K::Resource, K::Group) => return self.unsupported("SET RESOURCE GROUP"),
            _ => {}
        }
        if self.at_keyword(K::Statement) && !self.assigns_at(1) {
            self.advance();
            let assignments = self.comma_list(Self::variable_assignment)?;
            self.expect_keyword(K::For)?;
            let statement = self.nested(Self::statement)?;
            let for_statement = Some(self.alloc(statement));
            return Ok(StatementKind::Set(SetStatement { assignments, for_statement }));
        }
        let mut assignments = Vec::new_in(self.arena);
        loop {
            assignments.push(self.variable_assignment()?);
            if !self.accept(T::Comma) {
                break;
            }
        }
        Ok(StatementKind::Set(SetStatement {
            assignments: assignments.into_bump_slice(),
            for_statement: None,
        }))
    }

    /// Whether the token `ahead` is `=` or `:=`.
    fn assigns_at(&self, ahead: usize) -> bool {
        matches!(self.peek_at(ahead).kind, T::Equal | T::Assign)
    }

    pub fn variable_assignment(&mut self) -> Result<VariableAssignment<'a>> {
        if self.at_keyword(K::Names) {
            return self.set_names();
        }
        let charset_words = match self.keyword() {
            K::Charset if !self.assigns_at(1) => 1,
            K::Character | K::Char if self.keyword_at(1) == K::Set => 2,
            _ => 0,
        };
        if charset_words > 0 {
            for _ in 0..charset_words {
                self.advance();
            }
            let charset =
                if self.accept_keyword(K::Default) { None } else { Some(self.charset_name()?.name) };
            return Ok(VariableAssignment::CharacterSet(charset));
        }
        let target = self.variable_target()?;
        if !self.accept(T::Assign) {
            self.expect(T::Equal)?;
        }
        let value = self.set_value(&target)?;
        Ok(VariableAssignment::Variable { target, value })
    }

    fn set_names(&mut self) -> Result<VariableAssignment<'a>> {
        self.advance();
        if self.accept_keyword(K::Default) {
            return Ok(VariableAssignment::Names { charset: None, collation: None });
        }
        let charset = Some(self.charset_name()?.name);
        let collation =
            if self.accept_keyword(K::Collate) { Some(self.collation_name()?.name) } else { None };
        Ok(VariableAssignment::Names { charset, collation })
    }

    fn variable_target(&mut self) -> Result<VariableTarget<'a>> {
        if self.at(T::AtName) {
            return Ok(VariableTarget::User(self.user_variable()?));
        }
        if self.at(T::AtAt) {
            let variable = self.system_variable()?;
            let (scope, instance, name) = (variable.scope, variable.instance, variable.name);
            return Ok(VariableTarget::System { scope, instance, name, has_at_signs: true });
        }
        let mut scope = VariableScope::Unspecified;
        if !self.assigns_at(1) && self.peek_at(1).kind != T::Dot {
            scope = match self.keyword() {
                K::Global => VariableScope::Global,
                K::Session | K::Local => VariableScope::Session,
                K::Persist => VariableScope::Persist,
                K::PersistOnly => VariableScope::PersistOnly,
                _ => VariableScope::Unspecified,
            };
            if scope != VariableScope::Unspecified {
                self.advance();
            }
        }
        // `SET GLOBAL @@x` is no MySQL, so a name follows.
        let (instance, name) = self.variable_name()?;
        Ok(VariableTarget::System { scope, instance, name, has_at_signs: false })
    }

    fn set_value(&mut self, target: &VariableTarget<'a>) -> Result<SetValue<'a>> {
        if matches!(target, VariableTarget::User(_)) {
            return Ok(SetValue::Expr(self.expr()?));
        }
        let next = self.peek_at(1);
        let stands_alone = matches!(next.kind, T::Comma | T::End) || next.keyword == K::For;
        match self.keyword() {
            K::Default if stands_alone => {
                self.advance();
                Ok(SetValue::Default)
            }
            K::On | K::All | K::Binary | K::Row | K::System if stands_alone => {
                let word = self.ident_after_dot()?;
                Ok(SetValue::Keyword(word.name))
            }
            _ => Ok(SetValue::Expr(self.expr()?)),
        }
    }
}
