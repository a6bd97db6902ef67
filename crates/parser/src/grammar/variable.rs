//! `@user` and `@@system` variables in expressions.
use super::core::{Parser, Result};
use crate::ast::{Expr, ExprKind, Ident, Span, SystemVariable, VariableScope};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// The name of `@name`, `@'name'`, `@"name"` or `` @`name` ``.
    pub fn user_variable(&mut self) -> Result<Ident<'a>> {
        if !self.at(T::AtName) {
            return Err(self.syntax_error());
        }
        let token = self.peek();
        if token.end == token.start + 1 {
            return Err(self.syntax_error_from(token.end));
        }
        let name = self.at_name()?;
        Ok(Ident { name, span: Span::new(token.start, token.end) })
    }

    /// The text after `@`, quotes removed.
    pub fn at_name(&mut self) -> Result<&'a str> {
        let token = self.expect(T::AtName)?;
        let start = token.start + 1;
        match self.text.get(start as usize) {
            Some(b'`') => self.unquote_name(start, token.end),
            Some(quote @ (b'\'' | b'"')) if token.end > start => {
                debug_assert!(matches!(quote, b'\'' | b'"'));
                let quoted = &self.text[start as usize..token.end as usize];
                let backslash = !self.mode.no_backslash_escapes;
                let bytes = super::literal::unescape_string(quoted, backslash, self.arena);
                std::str::from_utf8(bytes).map_err(|_| super::name::invalid_text(bytes, start as usize))
            }
            _ => self.text_at(start, token.end),
        }
    }

    pub fn user_variable_operand(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        let variable = self.user_variable()?;
        if !self.accept(T::Assign) {
            return self.node(ExprKind::UserVariable(variable), start, 0);
        }
        let expr = self.expr()?;
        let value = self.alloc(expr);
        self.node(ExprKind::AssignVariable { variable, value }, start, expr.height)
    }

    pub fn system_variable_operand(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        let variable = self.system_variable()?;
        let variable = self.alloc(variable);
        self.node(ExprKind::SystemVariable(variable), start, 0)
    }

    /// `@@name`, `@@scope.name`, `@@scope.instance.name`.
    pub fn system_variable(&mut self) -> Result<SystemVariable<'a>> {
        self.expect(T::AtAt)?;
        let scoped = self.peek_at(1).kind == T::Dot;
        let scope = match self.keyword() {
            K::Global if scoped => VariableScope::Global,
            K::Session | K::Local if scoped => VariableScope::Session,
            K::Persist if scoped => VariableScope::Persist,
            K::PersistOnly if scoped => VariableScope::PersistOnly,
            _ => VariableScope::Unspecified,
        };
        if scope != VariableScope::Unspecified {
            self.advance();
            self.advance();
        }
        let (instance, name) = self.variable_name()?;
        Ok(SystemVariable { scope, instance, name })
    }

    /// `name` or `instance.name`; `DEFAULT` is an instance too.
    pub fn variable_name(&mut self) -> Result<(Option<Ident<'a>>, Ident<'a>)> {
        let first = if self.at_keyword(K::Default) { self.ident_after_dot()? } else { self.ident()? };
        if !self.accept(T::Dot) {
            return Ok((None, first));
        }
        Ok((Some(first), self.ident_after_dot()?))
    }
}
