//! The first words of a statement decide which rule reads it.
use super::core::{Parser, Result};
use super::show::routine_kind;
use crate::ast::{DropStored, Expr, Span, Statement, StatementKind};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    /// One whole statement up to its `End` token.
    pub fn complete_statement(&mut self) -> Result<Statement<'a>> {
        let start = self.start();
        if self.at(T::End) {
            return Ok(Statement { kind: StatementKind::Empty, span: Span::new(start, start), hints: &[] });
        }
        let statement = self.statement()?;
        if !self.at(T::End) {
            return Err(self.syntax_error());
        }
        Ok(statement)
    }

    pub fn statement(&mut self) -> Result<Statement<'a>> {
        let start = self.start();
        let kind = self.statement_kind()?;
        let hints = std::mem::replace(&mut self.hint_texts, Vec::new_in(self.arena)).into_bump_slice();
        Ok(Statement { kind, span: self.span_from(start), hints })
    }

    fn statement_kind(&mut self) -> Result<StatementKind<'a>> {
        match self.keyword() {
            K::Select | K::Table | K::Values => Ok(StatementKind::Query(self.query()?)),
            K::Insert | K::Replace => self.insert(),
            K::Update => self.update(None),
            K::Delete => self.delete(None),
            K::With => self.statement_with(),
            K::Begin => {
                self.advance();
                self.accept_keyword(K::Work);
                Ok(StatementKind::Begin)
            }
            K::Commit => self.commit(),
            K::Rollback => self.rollback(),
            K::Set => self.set(),
            _ if self.at(T::LeftParen) => Ok(StatementKind::Query(self.query()?)),
            _ => self.definition_statement(),
        }
    }

    /// Statements that define data or sessions.
    fn definition_statement(&mut self) -> Result<StatementKind<'a>> {
        match self.keyword() {
            K::Create => self.create(),
            K::Alter => self.alter(),
            K::Drop => self.drop(),
            K::Rename => {
                self.advance();
                if self.at_keyword(K::User) { self.rename_user() } else { self.rename_table() }
            }
            K::Truncate => self.truncate_table(),
            K::Use => self.use_database(),
            K::Start => {
                self.advance();
                if self.at_keyword(K::Transaction) {
                    self.start_transaction()
                } else {
                    self.replica_control("START")
                }
            }
            K::Savepoint => {
                self.advance();
                Ok(StatementKind::Savepoint(self.ident()?))
            }
            K::Release => {
                self.advance();
                self.expect_keyword(K::Savepoint)?;
                Ok(StatementKind::ReleaseSavepoint(self.ident()?))
            }
            K::Xa => self.xa(),
            K::Lock => self.lock(),
            K::Unlock => self.unlock(),
            K::Load => self.load(),
            K::Call => self.call(),
            K::Do => {
                self.advance();
                Ok(StatementKind::Do(self.comma_list(Self::do_item)?))
            }
            K::Handler => self.handler(),
            K::Prepare | K::Execute | K::Deallocate => self.prepared_statement(),
            _ => self.administration_statement(),
        }
    }

    fn administration_statement(&mut self) -> Result<StatementKind<'a>> {
        match self.keyword() {
            K::Show => self.show(),
            K::Explain | K::Describe | K::Desc => self.explain(),
            K::Grant => self.grant(),
            K::Revoke => self.revoke(),
            K::Kill => self.kill(),
            K::Flush => self.flush(),
            K::Analyze | K::Check | K::Checksum | K::Optimize | K::Repair => self.maintain_table(),
            K::Signal | K::Resignal => self.signal(),
            K::Get => self.get_diagnostics(),
            K::Change => self.change_replication(),
            K::Stop => {
                self.advance();
                self.replica_control("STOP")
            }
            K::Reset => self.reset(),
            K::Help => {
                self.advance();
                Ok(StatementKind::Help(self.ident_or_string()?.name))
            }
            K::Shutdown => {
                self.advance();
                Ok(StatementKind::Shutdown)
            }
            K::Restart => {
                self.advance();
                Ok(StatementKind::Restart)
            }
            _ => self.other_statement(),
        }
    }

    /// `WITH .. SELECT | UPDATE | DELETE`
    fn statement_with(&mut self) -> Result<StatementKind<'a>> {
        // UPDATE and DELETE take the clause themselves, so the verb after it is looked up first.
        let mut depth = 0;
        for ahead in 1.. {
            let token = self.peek_at(ahead);
            match token.kind {
                T::LeftParen => depth += 1,
                T::RightParen => depth -= 1,
                T::End => break,
                _ if depth > 0 => {}
                _ => match token.keyword {
                    K::Update | K::Delete => {
                        let with = self.with_clause()?;
                        return if self.at_keyword(K::Update) {
                            self.update(with)
                        } else {
                            self.delete(with)
                        };
                    }
                    K::Select | K::Table | K::Values => break,
                    _ => {}
                },
            }
        }
        Ok(StatementKind::Query(self.query()?))
    }

    fn create(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Create)?;
        match self.keyword() {
            K::Table => self.create_table(false),
            K::Temporary => {
                self.advance();
                self.create_table(true)
            }
            K::Unique | K::Fulltext | K::Index => self.create_index(),
            K::Spatial if self.keyword_at(1) == K::Index => self.create_index(),
            K::Database | K::Schema => self.create_database(),
            K::User => self.create_user(),
            K::Role => self.create_role(),
            K::Or if self.keyword_at(2) == K::Spatial => self.unsupported("CREATE SPATIAL REFERENCE SYSTEM"),
            K::Or | K::Algorithm | K::Definer | K::Sql | K::View => self.create_stored_or_view(false),
            K::Aggregate if self.keyword_at(1) == K::Function => self.unsupported("loadable functions"),
            K::Procedure | K::Function | K::Trigger | K::Event => self.create_program(None),
            _ => self.unsupported_object(K::Create),
        }
    }

    fn alter(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Alter)?;
        match self.keyword() {
            K::Table => self.alter_table(),
            K::Database | K::Schema => self.alter_database(),
            K::User => self.alter_user(),
            K::Algorithm | K::Definer | K::Sql | K::View => self.create_stored_or_view(true),
            K::Procedure | K::Function => self.alter_routine(),
            K::Event => self.alter_event(None),
            _ => self.unsupported_object(K::Alter),
        }
    }

    fn drop(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Drop)?;
        match self.keyword() {
            K::Table | K::Tables => Ok(StatementKind::DropTable(self.drop_table(false)?)),
            K::Temporary => {
                self.advance();
                if !matches!(self.keyword(), K::Table | K::Tables) {
                    return Err(self.syntax_error());
                }
                Ok(StatementKind::DropTable(self.drop_table(true)?))
            }
            K::View => Ok(StatementKind::DropView(self.drop_table(false)?)),
            K::Index => self.drop_index(),
            K::Database | K::Schema => self.drop_database(),
            K::User => Ok(StatementKind::DropUser(self.drop_user()?)),
            K::Role => Ok(StatementKind::DropRole(self.drop_user()?)),
            K::Procedure | K::Function | K::Trigger | K::Event => self.drop_stored(),
            K::Prepare => {
                self.advance();
                Ok(StatementKind::Deallocate(self.ident()?))
            }
            _ => self.unsupported_object(K::Drop),
        }
    }

    /// After DROP.
    fn drop_stored(&mut self) -> Result<StatementKind<'a>> {
        let kind = routine_kind(self.advance().keyword);
        self.refuse_definition_inside(kind, false)?;
        let if_exists = self.accept_if_exists()?;
        Ok(StatementKind::DropStored(DropStored { kind, if_exists, name: self.object_name()? }))
    }

    fn call(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Call)?;
        let procedure = self.object_name()?;
        let mut arguments: &[Expr<'a>] = &[];
        if self.accept(T::LeftParen) {
            if !self.at(T::RightParen) {
                arguments = self.comma_list(Self::expr)?;
            }
            self.expect(T::RightParen)?;
        }
        Ok(StatementKind::Call { procedure, arguments })
    }

    /// An expression of DO, which may have an alias that means nothing.
    fn do_item(&mut self) -> Result<Expr<'a>> {
        let expr = self.expr()?;
        self.alias(true)?;
        Ok(expr)
    }
}
