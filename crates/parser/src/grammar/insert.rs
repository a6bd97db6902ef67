//! INSERT and REPLACE.
use super::core::{Parser, Result};
use crate::ast::{
    Assignment, ColumnReference, Expr, ExprKind, Ident, Insert, InsertSource, Priority, RowAlias,
    StatementKind,
};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

/// The columns in parentheses, if there were any parentheses.
type ColumnList<'a> = Option<&'a [ColumnReference<'a>]>;

impl<'a> Parser<'a> {
    pub fn insert(&mut self) -> Result<StatementKind<'a>> {
        let replace = self.advance().keyword == K::Replace;
        // The query that gives the rows has the same number: it is the statement's first.
        let hints = self.hints(self.block_count + 1)?;
        let priority = match self.accept_one_of(&[K::LowPriority, K::HighPriority, K::Delayed]) {
            Some(K::LowPriority) => Some(Priority::Low),
            Some(K::Delayed) => Some(Priority::Delayed),
            Some(_) if replace => return Err(self.syntax_error()),
            Some(_) => Some(Priority::High),
            None => None,
        };
        let ignore = !replace && self.accept_keyword(K::Ignore);
        self.accept_keyword(K::Into);
        let table = self.object_name()?;
        let partitions = self.partition_selection()?;
        let (columns, source) = self.insert_source()?;
        let mut insert = Insert {
            replace,
            priority,
            ignore,
            hints,
            table,
            partitions,
            columns,
            source,
            row_alias: None,
            on_duplicate: &[],
        };
        if !matches!(source, InsertSource::Query(_)) {
            insert.row_alias = self.row_alias()?;
        }
        if !replace && self.accept_keyword(K::On) {
            self.expect_keywords(&[K::Duplicate, K::Key, K::Update])?;
            insert.on_duplicate = self.comma_list(Self::assignment)?;
        }
        Ok(StatementKind::Insert(self.alloc(insert)))
    }

    fn insert_source(&mut self) -> Result<(ColumnList<'a>, InsertSource<'a>)> {
        if self.accept_keyword(K::Set) {
            self.next_block();
            return Ok((None, InsertSource::Set(self.comma_list(Self::assignment)?)));
        }
        let mut columns = None;
        // `(` begins the list of columns, unless it begins the query: `INSERT INTO t (SELECT 1)`.
        if self.at(T::LeftParen) && !self.at_parenthesized_query() {
            columns = Some(self.insert_columns()?);
        }
        let is_values = match self.keyword() {
            K::Value => true,
            K::Values => self.keyword_at(1) != K::Row || self.values_rows_end_statement(),
            _ => false,
        };
        if is_values {
            self.next_block();
            self.advance();
            return Ok((columns, InsertSource::Values(self.comma_list(Self::insert_row)?)));
        }
        let query = self.subquery()?;
        Ok((columns, InsertSource::Query(query)))
    }

    /// `VALUES ROW(..), ..` is the source itself; only a clause that belongs to queries makes it one.
    fn values_rows_end_statement(&self) -> bool {
        let mut depth = 0;
        for ahead in 1.. {
            let token = self.peek_at(ahead);
            match token.kind {
                T::LeftParen => depth += 1,
                T::RightParen => depth -= 1,
                T::End => return true,
                _ if depth > 0 => {}
                _ => match token.keyword {
                    K::Union | K::Except | K::Intersect | K::Order | K::Limit => return false,
                    K::On | K::As => return true,
                    _ => {}
                },
            }
        }
        true
    }

    fn at_parenthesized_query(&self) -> bool {
        let mut ahead = 0;
        while self.peek_at(ahead).kind == T::LeftParen {
            ahead += 1;
        }
        self.at_query_start(ahead)
    }

    fn insert_columns(&mut self) -> Result<&'a [ColumnReference<'a>]> {
        self.expect(T::LeftParen)?;
        if self.accept(T::RightParen) {
            return Ok(&[]);
        }
        let columns = self.comma_list(Self::column_reference)?;
        self.expect(T::RightParen)?;
        Ok(columns)
    }

    /// `(a, DEFAULT)`, `()`, and `ROW(a)`.
    fn insert_row(&mut self) -> Result<&'a [Expr<'a>]> {
        self.accept_keyword(K::Row);
        self.expect(T::LeftParen)?;
        if self.accept(T::RightParen) {
            return Ok(&[]);
        }
        let mut row = Vec::with_capacity_in(8, self.arena);
        loop {
            row.push(self.expr_or_default()?);
            if !self.accept(T::Comma) {
                break;
            }
        }
        self.expect(T::RightParen)?;
        Ok(row.into_bump_slice())
    }

    fn row_alias(&mut self) -> Result<Option<RowAlias<'a>>> {
        if !self.accept_keyword(K::As) {
            return Ok(None);
        }
        let name = self.ident()?;
        let columns: &[Ident<'a>] = if self.at(T::LeftParen) { self.ident_list()? } else { &[] };
        Ok(Some(RowAlias { name, columns }))
    }

    /// `column = value`, also written `column := value`.
    pub fn assignment(&mut self) -> Result<Assignment<'a>> {
        let column = self.column_reference()?;
        if !self.accept(T::Assign) {
            self.expect(T::Equal)?;
        }
        Ok(Assignment { column, value: self.expr_or_default()? })
    }

    /// An expression, or a bare DEFAULT.
    pub fn expr_or_default(&mut self) -> Result<Expr<'a>> {
        if self.at_keyword(K::Default) && self.peek_at(1).kind != T::LeftParen {
            let start = self.start();
            self.advance();
            return self.node(ExprKind::DefaultValue, start, 0);
        }
        self.expr()
    }
}
