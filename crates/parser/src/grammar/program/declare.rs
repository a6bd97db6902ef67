//! DECLARE: variables and conditions first, then cursors, then handlers.
use crate::ast::{
    ConditionValue, Cursor, HandledCondition, HandlerDeclaration, Ident, ProgramStatement, Variable,
};
use crate::grammar::core::{Parser, Result};
use crate::grammar::program::names::{Mark, is_same};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

/// What has been declared in a block so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Variables,
    Cursors,
    Handlers,
}

impl<'a> Parser<'a> {
    pub fn declarations(
        &mut self,
        block: Mark,
        statements: &mut Vec<'a, ProgramStatement<'a>>,
    ) -> Result<()> {
        let mut stage = Stage::Variables;
        let mut handled: std::vec::Vec<HandledCondition> = std::vec::Vec::new();
        while self.accept_keyword(K::Declare) {
            if matches!(self.keyword(), K::Continue | K::Exit | K::Undo) && self.keyword_at(1) == K::Handler {
                stage = Stage::Handlers;
                statements.push(self.declare_handler(&mut handled)?);
            } else if self.keyword_at(1) == K::Cursor {
                if stage > Stage::Cursors {
                    let message = "Cursor declaration after handler declaration".to_owned();
                    return Err(self.program_error(1338, message));
                }
                stage = Stage::Cursors;
                statements.push(self.declare_cursor(block)?);
            } else {
                let is_late = stage > Stage::Variables;
                let late = "Variable or condition declaration after cursor or handler declaration".to_owned();
                if self.keyword_at(1) == K::Condition {
                    self.declare_condition(block)?;
                } else {
                    statements.push(self.declare_variables(block)?);
                }
                if is_late {
                    return Err(self.program_error(1337, late));
                }
            }
            self.expect_semicolon()?;
        }
        Ok(())
    }

    fn declare_variables(&mut self, block: Mark) -> Result<ProgramStatement<'a>> {
        let names: &[Ident<'a>] = self.comma_list(Self::ident)?;
        let data_type = self.collated_type()?;
        let default = if self.accept_keyword(K::Default) { Some(self.expression_code()?) } else { None };
        let mut slots = Vec::with_capacity_in(names.len(), self.arena);
        for name in names {
            let known = &self.names().visible[block.visible..];
            if known.iter().any(|known| is_same(known.name, name.name)) {
                return Err(self.program_error(1331, format!("Duplicate variable: {}", name.name)));
            }
            slots.push(self.names().declare(Variable { name: name.name, data_type: Some(data_type) }));
        }
        Ok(ProgramStatement::Declare { slots: slots.into_bump_slice(), default })
    }

    fn declare_condition(&mut self, block: Mark) -> Result<()> {
        let name = self.ident()?;
        self.expect_keywords(&[K::Condition, K::For])?;
        let value = self.condition_value()?;
        let known = &self.names().conditions[block.conditions..];
        if known.iter().any(|(known, _)| is_same(known, name.name)) {
            return Err(self.program_error(1332, format!("Duplicate condition: {}", name.name)));
        }
        self.names().declare_condition(name.name, value);
        Ok(())
    }

    /// An error number or SQLSTATE.
    pub fn condition_value(&mut self) -> Result<ConditionValue> {
        if self.accept_keyword(K::Sqlstate) {
            self.accept_keyword(K::Value);
            let text = self.string_text()?;
            return Ok(ConditionValue::SqlState(self.sqlstate(text)?));
        }
        if !self.at(T::Integer) {
            return Err(self.syntax_error());
        }
        let number = self.integer_option()?;
        match u16::try_from(number) {
            Ok(number) if number > 0 => Ok(ConditionValue::Errno(number)),
            _ => {
                let message = format!("Incorrect CONDITION value: '{number}'");
                Err(self.rule_error(self.start(), 1525, "HY000", message))
            }
        }
    }

    pub fn sqlstate(&self, text: &str) -> Result<[u8; 5]> {
        let is_right = |state: &[u8; 5]| {
            state.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
                && !state.starts_with(b"00")
        };
        let state = <[u8; 5]>::try_from(text.as_bytes()).ok().filter(is_right);
        state.ok_or_else(|| self.program_error(1407, format!("Bad SQLSTATE: '{text}'")))
    }

    fn declare_cursor(&mut self, block: Mark) -> Result<ProgramStatement<'a>> {
        let name = self.ident()?;
        self.expect_keywords(&[K::Cursor, K::For])?;
        if !self.at_query_start(0) && !self.at(T::LeftParen) {
            return Err(self.syntax_error());
        }
        let start = self.start();
        let query = self.query()?;
        if query.into.is_some() {
            let message = "Cursor SELECT must not have INTO".to_owned();
            return Err(self.program_error(1323, message));
        }
        let query = self.code_from(start);
        let names = self.names();
        let known = &names.visible_cursors[block.cursors..];
        if known.iter().any(|(known, _)| is_same(known, name.name)) {
            return Err(self.program_error(1333, format!("Duplicate cursor: {}", name.name)));
        }
        let number = names.cursors.len() as u32;
        names.cursors.push(Cursor { name: name.name, query });
        names.visible_cursors.push((name.name, number));
        Ok(ProgramStatement::DeclareCursor(number))
    }

    fn declare_handler(
        &mut self,
        handled: &mut std::vec::Vec<HandledCondition>,
    ) -> Result<ProgramStatement<'a>> {
        let exits = match self.expect_one_of(&[K::Continue, K::Exit, K::Undo])? {
            K::Continue => false,
            K::Exit => true,
            _ => return Err(self.not_supported("UNDO handlers")),
        };
        self.expect_keywords(&[K::Handler, K::For])?;
        let conditions: &[HandledCondition] = self.comma_list(Self::handled_condition)?;
        for condition in conditions {
            if handled.contains(condition) {
                let message = "Duplicate handler declared in the same block".to_owned();
                return Err(self.program_error(1413, message));
            }
            handled.push(*condition);
        }
        // Labels around a handler are not its own to leave.
        let labels = std::mem::take(&mut self.names().labels);
        let body = self.body_statement();
        self.names().labels = labels;
        let body = body?;
        Ok(ProgramStatement::DeclareHandler(self.alloc(HandlerDeclaration { exits, conditions, body })))
    }

    fn handled_condition(&mut self) -> Result<HandledCondition> {
        match self.keyword() {
            K::Sqlexception => {
                self.advance();
                Ok(HandledCondition::Exception)
            }
            K::Sqlwarning => {
                self.advance();
                Ok(HandledCondition::Warning)
            }
            K::Not => {
                self.advance();
                self.expect_keyword(K::Found)?;
                Ok(HandledCondition::NotFound)
            }
            K::Sqlstate => self.condition_value().map(HandledCondition::Value),
            _ if self.at(T::Integer) => self.condition_value().map(HandledCondition::Value),
            _ => {
                let name = self.ident()?;
                self.named_condition(name.name).map(HandledCondition::Value)
            }
        }
    }
}
