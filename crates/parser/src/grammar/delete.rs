//! DELETE.
use super::core::{Parser, Result};
use crate::ast::{Delete, DeleteTarget, ObjectName, StatementKind, TableReference, With};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    pub fn delete(&mut self, with: Option<&'a With<'a>>) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Delete)?;
        let number = self.next_block();
        let hints = self.hints(number)?;
        let (mut low_priority, mut quick, mut ignore) = (false, false, false);
        loop {
            match self.keyword() {
                K::LowPriority => low_priority = true,
                // QUICK is no reserved word: `DELETE quick FROM ..` is a table when a table list goes on.
                K::Quick if !matches!(self.peek_at(1).kind, T::Comma | T::Dot) => quick = true,
                K::Ignore => ignore = true,
                _ => break,
            }
            self.advance();
        }
        let target = self.delete_target()?;
        let filter = self.where_clause()?;
        let mut delete = Delete {
            number,
            with,
            hints,
            low_priority,
            quick,
            ignore,
            target,
            filter,
            order_by: &[],
            limit: None,
        };
        if matches!(target, DeleteTarget::Single(_)) {
            delete.order_by = self.order_by()?;
            delete.limit = self.simple_limit()?;
        }
        Ok(StatementKind::Delete(self.alloc(delete)))
    }

    fn delete_target(&mut self) -> Result<DeleteTarget<'a>> {
        if !self.accept_keyword(K::From) {
            let targets = self.comma_list(Self::delete_table)?;
            self.expect_keyword(K::From)?;
            let from: &[TableReference<'a>] = self.comma_list(Self::table_reference)?;
            return Ok(DeleteTarget::Multiple { targets, from });
        }
        if !self.at_delete_using() {
            let table = self.single_delete_table()?;
            return Ok(DeleteTarget::Single(table));
        }
        let targets = self.comma_list(Self::delete_table)?;
        self.expect_keyword(K::Using)?;
        let from: &[TableReference<'a>] = self.comma_list(Self::table_reference)?;
        Ok(DeleteTarget::Multiple { targets, from })
    }

    /// `t [AS alias] [PARTITION (..)]`: here the alias comes first.
    fn single_delete_table(&mut self) -> Result<&'a crate::ast::NamedTable<'a>> {
        let start = self.start();
        let name = self.object_name()?;
        let alias = self.alias(false)?;
        let partitions = self.partition_selection()?;
        let span = self.span_from(start);
        Ok(self.alloc(crate::ast::NamedTable { name, partitions, alias, index_hints: &[], span }))
    }

    /// Whether, after FROM, a list of tables with USING follows.
    fn at_delete_using(&self) -> bool {
        for ahead in 0.. {
            let token = self.peek_at(ahead);
            match token.kind {
                T::Comma => return true,
                T::Word if token.keyword == K::Using => return true,
                T::Word if token.keyword.is_reserved() => return false,
                T::Word | T::QuotedIdent | T::Dot | T::Star => {}
                _ => return false,
            }
        }
        false
    }

    /// `name` or `name.*`
    fn delete_table(&mut self) -> Result<ObjectName<'a>> {
        let first = self.ident()?;
        if !self.accept(T::Dot) {
            return Ok(ObjectName { database: None, name: first });
        }
        if self.accept(T::Star) {
            return Ok(ObjectName { database: None, name: first });
        }
        let name = self.ident_after_dot()?;
        if self.accept(T::Dot) {
            self.expect(T::Star)?;
        }
        Ok(ObjectName { database: Some(first), name })
    }
}
