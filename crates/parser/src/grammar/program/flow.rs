//! Blocks, loops and choices.
use crate::ast::{Branch, LabelId, ProgramStatement, RoutineKind};
use crate::grammar::core::{Parser, Result};
use crate::grammar::program::names::is_same;
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    pub fn block(&mut self, label: Option<&'a str>) -> Result<ProgramStatement<'a>> {
        self.expect_keyword(K::Begin)?;
        let id = self.open_label(label, false)?;
        let mark = self.names().mark();
        let mut statements = Vec::new_in(self.arena);
        self.declarations(mark, &mut statements)?;
        while !self.at_keyword(K::End) {
            statements.push(self.body_statement()?);
            self.expect_semicolon()?;
        }
        self.advance();
        self.names().leave(mark);
        self.close_label(label)?;
        Ok(ProgramStatement::Block { label: id, statements: statements.into_bump_slice() })
    }

    pub fn loop_statement(&mut self, label: Option<&'a str>) -> Result<ProgramStatement<'a>> {
        self.expect_keyword(K::Loop)?;
        let id = self.open_label(label, true)?;
        let statements = self.statements_until(&[K::End])?;
        self.expect_keywords(&[K::End, K::Loop])?;
        self.close_label(label)?;
        Ok(ProgramStatement::Loop { label: id, statements })
    }

    pub fn while_statement(&mut self, label: Option<&'a str>) -> Result<ProgramStatement<'a>> {
        self.expect_keyword(K::While)?;
        let id = self.open_label(label, true)?;
        let condition = self.expression_code()?;
        self.expect_keyword(K::Do)?;
        let statements = self.statements_until(&[K::End])?;
        self.expect_keywords(&[K::End, K::While])?;
        self.close_label(label)?;
        Ok(ProgramStatement::While { label: id, condition, statements })
    }

    pub fn repeat_statement(&mut self, label: Option<&'a str>) -> Result<ProgramStatement<'a>> {
        self.expect_keyword(K::Repeat)?;
        let id = self.open_label(label, true)?;
        let statements = self.statements_until(&[K::Until])?;
        self.expect_keyword(K::Until)?;
        let until = self.expression_code()?;
        self.expect_keywords(&[K::End, K::Repeat])?;
        self.close_label(label)?;
        Ok(ProgramStatement::Repeat { label: id, statements, until })
    }

    fn open_label(&mut self, label: Option<&'a str>, is_loop: bool) -> Result<LabelId> {
        if let Some(name) = label
            && self.names().label(name).is_some()
        {
            return Err(self.program_error(1309, format!("Redefining label {name}")));
        }
        let names = self.names();
        let id = names.new_label();
        names.labels.push((label, id, is_loop));
        Ok(id)
    }

    /// The label may stand once more at the end.
    fn close_label(&mut self, label: Option<&'a str>) -> Result<()> {
        self.names().labels.pop();
        if !self.at_ident() {
            return Ok(());
        }
        let end = self.ident()?;
        match label {
            Some(label) if is_same(label, end.name) => Ok(()),
            _ => Err(self.program_error(1310, format!("End-label {} without match", end.name))),
        }
    }

    pub fn leave_or_iterate(&mut self) -> Result<ProgramStatement<'a>> {
        let leaves = self.advance().keyword == K::Leave;
        let name = self.ident()?;
        match (self.names().label(name.name), leaves) {
            (Some((id, _)), true) => Ok(ProgramStatement::Leave(id)),
            (Some((id, true)), false) => Ok(ProgramStatement::Iterate(id)),
            _ => {
                let word = if leaves { "LEAVE" } else { "ITERATE" };
                Err(self.program_error(1308, format!("{word} with no matching label: {}", name.name)))
            }
        }
    }

    pub fn if_statement(&mut self) -> Result<ProgramStatement<'a>> {
        self.expect_keyword(K::If)?;
        let mut branches = Vec::new_in(self.arena);
        loop {
            let condition = self.expression_code()?;
            self.expect_keyword(K::Then)?;
            let statements = self.statements_until(&[K::Elseif, K::Else, K::End])?;
            branches.push(Branch { condition, statements });
            if !self.accept_keyword(K::Elseif) {
                break;
            }
        }
        let otherwise =
            if self.accept_keyword(K::Else) { Some(self.statements_until(&[K::End])?) } else { None };
        self.expect_keywords(&[K::End, K::If])?;
        Ok(ProgramStatement::If { branches: branches.into_bump_slice(), otherwise })
    }

    pub fn case_statement(&mut self) -> Result<ProgramStatement<'a>> {
        self.expect_keyword(K::Case)?;
        let mut operand = None;
        if !self.at_keyword(K::When) {
            let value = self.expression_code()?;
            operand = Some((self.names().hidden(), value));
        }
        let mut branches = Vec::new_in(self.arena);
        while self.accept_keyword(K::When) {
            let condition = self.expression_code()?;
            self.expect_keyword(K::Then)?;
            let statements = self.statements_until(&[K::When, K::Else, K::End])?;
            branches.push(Branch { condition, statements });
        }
        if branches.is_empty() {
            return Err(self.syntax_error());
        }
        let otherwise =
            if self.accept_keyword(K::Else) { Some(self.statements_until(&[K::End])?) } else { None };
        self.expect_keywords(&[K::End, K::Case])?;
        Ok(ProgramStatement::Case { operand, branches: branches.into_bump_slice(), otherwise })
    }

    pub fn return_statement(&mut self) -> Result<ProgramStatement<'a>> {
        if self.names().kind != RoutineKind::Function {
            return Err(self.program_error(1313, "RETURN is only allowed in a FUNCTION".to_owned()));
        }
        self.advance();
        self.names().has_return = true;
        Ok(ProgramStatement::Return(self.expression_code()?))
    }

    pub fn cursor_name(&mut self) -> Result<u32> {
        let name = self.ident()?;
        let known = self.names().cursor(name.name);
        known.ok_or_else(|| self.program_error(1324, format!("Undefined CURSOR: {}", name.name)))
    }

    pub fn fetch(&mut self) -> Result<ProgramStatement<'a>> {
        self.advance();
        if self.at_keyword(K::Next) && self.keyword_at(1) == K::From {
            self.advance();
        }
        self.accept_keyword(K::From);
        let cursor = self.cursor_name()?;
        self.expect_keyword(K::Into)?;
        let mut targets = Vec::new_in(self.arena);
        loop {
            let name = self.ident()?;
            let slot = self.names().slot(name.name);
            let slot =
                slot.ok_or_else(|| self.program_error(1327, format!("Undeclared variable: {}", name.name)))?;
            targets.push(slot);
            if !self.accept(T::Comma) {
                break;
            }
        }
        Ok(ProgramStatement::Fetch { cursor, targets: targets.into_bump_slice() })
    }
}
