//! The statements of a body: its own words, and pieces of SQL.
use crate::ParseError;
use crate::Piece;
use crate::ast::{
    Body, Code, CodeKind, ConditionValue, LoadColumn, ProgramStatement, RoutineKind, SetStatement, Statement,
    StatementKind,
};
use crate::grammar::core::{Parser, Result};
use crate::grammar::program::ProgramNames;
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    /// The names of the body at hand.
    pub fn names(&mut self) -> &mut ProgramNames<'a> {
        self.program.as_mut().expect("called inside of a program only")
    }

    pub fn program_error(&self, errno: u16, message: String) -> Box<ParseError> {
        let sqlstate = match errno {
            1303 => "2F003",
            1314 | 1415 => "0A000",
            1304..=1333 | 1337 | 1338 | 1407 | 1413 => "42000",
            _ => "HY000",
        };
        self.rule_error(self.start(), errno, sqlstate, message)
    }

    /// The body, up to the end of the statement.
    pub fn program_body(&mut self) -> Result<Body<'a>> {
        let start = self.start();
        let statement = self.body_statement()?;
        let span = self.span_from(start);
        let statement = self.alloc(statement);
        let arena = self.arena;
        let names = self.names();
        Ok(Body {
            statement,
            span,
            variables: arena.alloc_slice_copy(&names.variables),
            cursors: arena.alloc_slice_copy(&names.cursors),
            label_count: names.label_count,
            row_columns: arena.alloc_slice_copy(&names.row_columns),
            barred_inside: names.barred_inside,
        })
    }

    pub fn body_statement(&mut self) -> Result<ProgramStatement<'a>> {
        self.nested(Self::body_statement_here)
    }

    fn body_statement_here(&mut self) -> Result<ProgramStatement<'a>> {
        if self.at_ident() && self.peek_at(1).kind == T::Colon {
            let label = self.ident()?;
            self.advance();
            return match self.keyword() {
                K::Begin => self.block(Some(label.name)),
                K::Loop => self.loop_statement(Some(label.name)),
                K::While => self.while_statement(Some(label.name)),
                K::Repeat => self.repeat_statement(Some(label.name)),
                _ => Err(self.syntax_error()),
            };
        }
        match self.keyword() {
            K::Begin => self.block(None),
            K::Loop => self.loop_statement(None),
            K::While => self.while_statement(None),
            K::Repeat => self.repeat_statement(None),
            K::If => self.if_statement(),
            K::Case => self.case_statement(),
            K::Leave | K::Iterate => self.leave_or_iterate(),
            K::Return => self.return_statement(),
            K::Open => {
                self.advance();
                Ok(ProgramStatement::Open(self.cursor_name()?))
            }
            K::Close => {
                self.advance();
                Ok(ProgramStatement::Close(self.cursor_name()?))
            }
            K::Fetch => self.fetch(),
            K::Declare => Err(self.syntax_error()),
            K::Set => self.set_in_body(),
            _ => self.sql_statement(),
        }
    }

    /// Statements up to one of the words, each ended by a `;`.
    pub fn statements_until(&mut self, words: &[K]) -> Result<&'a [ProgramStatement<'a>]> {
        let mut statements = Vec::new_in(self.arena);
        while !words.contains(&self.keyword()) {
            statements.push(self.body_statement()?);
            self.expect_semicolon()?;
        }
        if statements.is_empty() {
            return Err(self.syntax_error());
        }
        Ok(statements.into_bump_slice())
    }

    pub fn expect_semicolon(&mut self) -> Result<()> {
        if self.pass_semicolon() { Ok(()) } else { Err(self.syntax_error()) }
    }

    fn sql_statement(&mut self) -> Result<ProgramStatement<'a>> {
        let start = self.start();
        let statement = self.statement()?;
        self.check_in_body(&statement.kind)?;
        Ok(ProgramStatement::Sql(self.code(CodeKind::Statement, start)))
    }

    /// The piece of SQL from `start` up to here.
    fn code(&mut self, kind: CodeKind, start: u32) -> Code<'a> {
        let span = self.span_from(start);
        let arena = self.arena;
        let names = self.names();
        names.used.clear();
        Code { kind, span, scope: names.scope(arena) }
    }

    /// A query that has been read from `start` on.
    pub fn code_from(&mut self, start: u32) -> Code<'a> {
        self.code(CodeKind::Statement, start)
    }

    pub fn expression_code(&mut self) -> Result<Code<'a>> {
        let start = self.start();
        self.expr()?;
        Ok(self.code(CodeKind::Expression, start))
    }

    /// SET of variables of any sort: each assignment is a statement of its own.
    fn set_in_body(&mut self) -> Result<ProgramStatement<'a>> {
        let is_assignment = match self.keyword_at(1) {
            K::Global | K::Session | K::Local | K::Persist | K::PersistOnly => {
                self.keyword_at(2) != K::Transaction
            }
            K::Transaction => !matches!(self.keyword_at(2), K::Isolation | K::Read),
            K::Password | K::Role | K::Default | K::Resource => {
                matches!(self.peek_at(2).kind, T::Equal | T::Assign)
            }
            _ => true,
        };
        if !is_assignment {
            return self.sql_statement();
        }
        self.advance();
        let mut statements = Vec::new_in(self.arena);
        loop {
            statements.push(self.assignment_in_body()?);
            if !self.accept(T::Comma) {
                break;
            }
        }
        if statements.len() == 1 {
            return Ok(statements[0]);
        }
        let label = self.names().new_label();
        Ok(ProgramStatement::Block { label, statements: statements.into_bump_slice() })
    }

    fn assignment_in_body(&mut self) -> Result<ProgramStatement<'a>> {
        if let Some(slot) = self.assigned_slot()? {
            if !self.accept(T::Assign) {
                self.expect(T::Equal)?;
            }
            if self.at_keyword(K::Default) {
                return Err(self.syntax_error());
            }
            return Ok(ProgramStatement::Assign { slot, value: self.expression_code()? });
        }
        let start = self.start();
        let assignment = self.variable_assignment()?;
        let assignments = self.alloc(assignment);
        let set = SetStatement { assignments: std::slice::from_ref(assignments), for_statement: None };
        self.check_in_body(&StatementKind::Set(set))?;
        Ok(ProgramStatement::Sql(self.code(CodeKind::Assignment, start)))
    }

    /// At the name of a variable or a column of NEW that is to be assigned; `None` at anything else.
    fn assigned_slot(&mut self) -> Result<Option<u32>> {
        if !self.at_ident() {
            return Ok(None);
        }
        if self.peek_at(1).kind == T::Dot {
            let Some(is_new) = self.row_word() else { return Ok(None) };
            self.advance();
            self.advance();
            let name = self.ident_after_dot()?;
            return self.row_slot(is_new, name.name, true).map(Some);
        }
        if !matches!(self.peek_at(1).kind, T::Equal | T::Assign) {
            return Ok(None);
        }
        let name = self.text_of_ident()?;
        let slot = self.names().slot(name);
        if slot.is_some() {
            self.advance();
        }
        Ok(slot)
    }

    /// Whether the current word is OLD or NEW in a trigger: true for NEW.
    fn row_word(&mut self) -> Option<bool> {
        let token = self.peek();
        self.row_named(std::str::from_utf8(&self.text[token.start as usize..token.end as usize]).ok()?)
    }

    /// The same for a word that has been read.
    pub fn row_named(&self, word: &str) -> Option<bool> {
        let names = self.program.as_ref()?;
        match word {
            _ if names.kind != RoutineKind::Trigger => None,
            word if word.eq_ignore_ascii_case("new") => Some(true),
            word if word.eq_ignore_ascii_case("old") => Some(false),
            _ => None,
        }
    }

    pub fn row_slot(&mut self, is_new: bool, name: &'a str, assigns: bool) -> Result<u32> {
        self.check_row_column(is_new, assigns)?;
        Ok(self.names().row_column(is_new, name, assigns))
    }

    pub fn text_of_ident(&mut self) -> Result<&'a str> {
        let token = self.peek();
        match token.kind {
            T::QuotedIdent => self.unquote_name(token.start, token.end),
            _ => self.text_at(token.start, token.end),
        }
    }

    /// A variable that takes a value: `None` outside of programs.
    pub fn receiving_slot(&mut self) -> Result<Option<LoadColumn<'a>>> {
        if self.program.is_none() {
            return Ok(None);
        }
        if self.peek_at(1).kind == T::Dot
            && let Some(is_new) = self.row_word()
        {
            self.advance();
            self.advance();
            let name = self.ident_after_dot()?;
            return Ok(Some(LoadColumn::Local(self.row_slot(is_new, name.name, true)?)));
        }
        let name = self.text_of_ident()?;
        match self.names().slot(name) {
            Some(slot) => {
                self.ident()?;
                Ok(Some(LoadColumn::Local(slot)))
            }
            None => Err(self.program_error(1327, format!("Undeclared variable: {name}"))),
        }
    }

    /// The condition that SIGNAL names; it must be one with an SQLSTATE.
    pub fn signalled_condition(&mut self, name: &str) -> Result<ConditionValue> {
        match self.named_condition(name)? {
            ConditionValue::Errno(_) => {
                let message = "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE".to_owned();
                Err(self.program_error(1646, message))
            }
            state => Ok(state),
        }
    }

    /// What a condition's name stands for.
    pub fn named_condition(&mut self, name: &str) -> Result<ConditionValue> {
        let known = self.program.as_ref().and_then(|names| names.condition(name));
        known.ok_or_else(|| self.program_error(1319, format!("Undefined CONDITION: {name}")))
    }

    /// A piece of SQL that stands alone.
    pub fn piece(&mut self, kind: CodeKind) -> Result<Piece<'a>> {
        let start = self.start();
        let piece = match kind {
            CodeKind::Statement => Piece::Statement(self.statement()?),
            CodeKind::Expression => Piece::Expression(self.expr()?),
            CodeKind::Assignment => {
                let assignment = self.variable_assignment()?;
                let assignments = std::slice::from_ref(self.alloc(assignment));
                let kind = StatementKind::Set(SetStatement { assignments, for_statement: None });
                Piece::Statement(Statement { kind, span: self.span_from(start), hints: &[] })
            }
        };
        if self.at(T::End) { Ok(piece) } else { Err(self.syntax_error()) }
    }
}
