//! FROM: tables, derived tables and joins.
//!
//! `a JOIN b JOIN c ON x ON y` nests to the right: a condition belongs to the nearest join without one.
use super::core::{Parser, Result};
use crate::ast::{
    DerivedTable, Ident, IndexHint, IndexHintAction, IndexHintScope, Join, JoinConstraint, JoinKind,
    NamedTable, ObjectName, Query, TableReference,
};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

/// What parentheses in FROM turned out to hold.
#[derive(Clone, Copy)]
enum Enclosed<'a> {
    Tables(TableReference<'a>),
    Query(&'a Query<'a>),
}

impl<'a> Parser<'a> {
    /// A table with all joins that follow it.
    pub fn table_reference(&mut self) -> Result<TableReference<'a>> {
        self.nested(|parser| {
            let left = parser.table_factor()?;
            parser.joins(left)
        })
    }

    fn joins(&mut self, mut left: TableReference<'a>) -> Result<TableReference<'a>> {
        while let Some((kind, natural)) = self.join_operator()? {
            left = self.join(left, kind, natural)?;
        }
        Ok(left)
    }

    fn join(
        &mut self,
        left: TableReference<'a>,
        kind: JoinKind,
        natural: bool,
    ) -> Result<TableReference<'a>> {
        let mut right = self.table_factor()?;
        let constraint = if natural {
            JoinConstraint::Natural
        } else {
            // Inner joins that follow without a condition in between bind first when two conditions come after.
            right = self.inner_joins_before_condition(right)?;
            self.join_constraint(kind)?
        };
        let below = join_height(left).max(join_height(right));
        let height = self.height_above(below)?;
        Ok(TableReference::Join(self.alloc(Join { left, kind, right, constraint, height })))
    }

    /// In `a JOIN b JOIN c ON x ON y` the second join must be complete before the first can take its condition.
    /// It is taken here only when it is a join whose own condition is followed by another one.
    fn inner_joins_before_condition(&mut self, mut right: TableReference<'a>) -> Result<TableReference<'a>> {
        while self.conditions_wait() {
            let Some((kind, natural)) = self.join_operator()? else { break };
            right = self.nested(|parser| parser.join(right, kind, natural))?;
        }
        Ok(right)
    }

    /// Whether a join begins here and, of the joins and conditions that follow at this level, the conditions are as
    /// many as to serve a join that is still open.
    fn conditions_wait(&self) -> bool {
        if !self.at_join() {
            return false;
        }
        let mut open_joins = 0;
        let mut depth = 0;
        for ahead in 0.. {
            let token = self.peek_at(ahead);
            match token.kind {
                T::LeftParen => depth += 1,
                T::RightParen if depth == 0 => return false,
                T::RightParen => depth -= 1,
                T::Comma if depth == 0 => return false,
                T::End => return false,
                _ if depth > 0 => {}
                _ => match token.keyword {
                    K::Join | K::StraightJoin => {
                        let natural =
                            (1..=3).any(|back| ahead >= back && self.keyword_at(ahead - back) == K::Natural);
                        if !natural {
                            open_joins += 1;
                        }
                    }
                    K::On | K::Using if open_joins == 0 => return true,
                    K::On | K::Using => open_joins -= 1,
                    K::Where | K::Group | K::Having | K::Order | K::Limit | K::Union | K::Set => {
                        return false;
                    }
                    _ => {}
                },
            }
        }
        false
    }

    fn at_join(&self) -> bool {
        matches!(
            self.keyword(),
            K::Join | K::Inner | K::Cross | K::StraightJoin | K::Left | K::Right | K::Natural
        )
    }

    /// The words of a join: its kind, and whether it is NATURAL.
    fn join_operator(&mut self) -> Result<Option<(JoinKind, bool)>> {
        if !self.at_join() {
            return Ok(None);
        }
        let natural = self.accept_keyword(K::Natural);
        let kind = match self.keyword() {
            K::StraightJoin if !natural => {
                self.advance();
                return Ok(Some((JoinKind::Straight, false)));
            }
            K::Cross if natural => return Err(self.syntax_error()),
            K::Inner | K::Cross => {
                self.advance();
                JoinKind::Inner
            }
            K::Left | K::Right => {
                let kind = if self.advance().keyword == K::Left { JoinKind::Left } else { JoinKind::Right };
                self.accept_keyword(K::Outer);
                kind
            }
            _ => JoinKind::Inner,
        };
        self.expect_keyword(K::Join)?;
        Ok(Some((kind, natural)))
    }

    fn join_constraint(&mut self, kind: JoinKind) -> Result<JoinConstraint<'a>> {
        if self.accept_keyword(K::On) {
            let expr = self.expr()?;
            return Ok(JoinConstraint::On(self.alloc(expr)));
        }
        if kind != JoinKind::Straight && self.accept_keyword(K::Using) {
            return Ok(JoinConstraint::Using(self.ident_list()?));
        }
        match kind {
            JoinKind::Left | JoinKind::Right => Err(self.syntax_error()),
            _ => Ok(JoinConstraint::None),
        }
    }

    fn table_factor(&mut self) -> Result<TableReference<'a>> {
        match self.kind() {
            T::LeftParen => match self.nested(Self::enclosed)? {
                Enclosed::Tables(tables) => Ok(tables),
                Enclosed::Query(query) => self.derived_table(false, query),
            },
            T::LeftBrace => {
                // ODBC's `{oj a LEFT JOIN b ON ..}`.
                self.advance();
                self.ident()?;
                let inner = self.table_reference()?;
                self.expect(T::RightBrace)?;
                Ok(inner)
            }
            _ => match self.keyword() {
                K::Lateral => {
                    self.advance();
                    let query = self.parenthesized_query()?;
                    self.derived_table(true, query)
                }
                K::JsonTable => Ok(TableReference::JsonTable(self.json_table()?)),
                _ => {
                    let table = self.named_table(true)?;
                    Ok(TableReference::Table(self.alloc(table)))
                }
            },
        }
    }

    /// `( .. )` in FROM. `((SELECT 1) UNION SELECT 2) AS x` shows late that it is a query.
    fn enclosed(&mut self) -> Result<Enclosed<'a>> {
        self.expect(T::LeftParen)?;
        let start = self.start();
        let in_parens = self.at(T::LeftParen);
        let mut enclosed = if self.at_query_start(0) {
            Enclosed::Query(self.subquery()?)
        } else if in_parens {
            self.nested(Self::enclosed)?
        } else {
            Enclosed::Tables(self.table_reference()?)
        };
        if let (Enclosed::Query(query), true) = (enclosed, in_parens) {
            if self.at_query_continuation() {
                enclosed = Enclosed::Query(self.continue_query(query, start)?);
            } else if !self.at(T::RightParen) {
                enclosed = Enclosed::Tables(self.derived_table(false, query)?);
            }
        }
        if let Enclosed::Tables(first) = enclosed {
            enclosed = Enclosed::Tables(self.enclosed_tables(first)?);
        }
        self.expect(T::RightParen)?;
        Ok(enclosed)
    }

    /// The joins and further members after the first table in parentheses.
    fn enclosed_tables(&mut self, first: TableReference<'a>) -> Result<TableReference<'a>> {
        let first = self.joins(first)?;
        if !self.at(T::Comma) {
            return Ok(first);
        }
        let mut members = Vec::with_capacity_in(2, self.arena);
        members.push(first);
        while self.accept(T::Comma) {
            members.push(self.table_reference()?);
        }
        Ok(TableReference::List(members.into_bump_slice()))
    }

    fn derived_table(&mut self, lateral: bool, query: &'a Query<'a>) -> Result<TableReference<'a>> {
        let Some(alias) = self.alias(false)? else {
            return Err(self.rule_error(
                self.start(),
                1248,
                "42000",
                "Every derived table must have its own alias".to_owned(),
            ));
        };
        let columns: &[Ident<'a>] = if self.at(T::LeftParen) { self.ident_list()? } else { &[] };
        Ok(TableReference::Derived(self.alloc(DerivedTable { lateral, query, alias, columns })))
    }

    /// `name [PARTITION (..)] [alias] [hints]`
    pub fn named_table(&mut self, hints_allowed: bool) -> Result<NamedTable<'a>> {
        let start = self.start();
        let name: ObjectName<'a> = self.object_name()?;
        let partitions = self.partition_selection()?;
        if self.at_keyword(K::Tablesample) {
            return Err(self.not_supported("TABLESAMPLE"));
        }
        let alias = self.alias(false)?;
        let index_hints = if hints_allowed { self.index_hints()? } else { &[] };
        Ok(NamedTable { name, partitions, alias, index_hints, span: self.span_from(start) })
    }

    /// `PARTITION (p0, p1)`; empty without.
    pub fn partition_selection(&mut self) -> Result<&'a [Ident<'a>]> {
        if !self.accept_keyword(K::Partition) {
            return Ok(&[]);
        }
        self.ident_list()
    }

    fn index_hints(&mut self) -> Result<&'a [IndexHint<'a>]> {
        if !matches!(self.keyword(), K::Use | K::Ignore | K::Force) {
            return Ok(&[]);
        }
        let mut hints = Vec::new_in(self.arena);
        loop {
            let action = match self.keyword() {
                K::Use => IndexHintAction::Use,
                K::Ignore => IndexHintAction::Ignore,
                K::Force => IndexHintAction::Force,
                _ => return Ok(hints.into_bump_slice()),
            };
            self.advance();
            self.expect_one_of(&[K::Index, K::Key])?;
            let scope = self.index_hint_scope()?;
            self.expect(T::LeftParen)?;
            let mut indexes: &[Ident<'a>] = &[];
            if !self.at(T::RightParen) || action != IndexHintAction::Use {
                indexes = self.comma_list(Self::index_hint_name)?;
            }
            self.expect(T::RightParen)?;
            hints.push(IndexHint { action, scope, indexes });
        }
    }

    fn index_hint_scope(&mut self) -> Result<IndexHintScope> {
        if !self.accept_keyword(K::For) {
            return Ok(IndexHintScope::All);
        }
        let scope = match self.expect_one_of(&[K::Join, K::Order, K::Group])? {
            K::Join => return Ok(IndexHintScope::Join),
            K::Order => IndexHintScope::OrderBy,
            _ => IndexHintScope::GroupBy,
        };
        self.expect_keyword(K::By)?;
        Ok(scope)
    }

    fn index_hint_name(&mut self) -> Result<Ident<'a>> {
        if self.at_keyword(K::Primary) { self.ident_after_dot() } else { self.ident() }
    }
}

fn join_height(table: TableReference<'_>) -> u32 {
    match table {
        TableReference::Join(join) => join.height,
        TableReference::Derived(derived) => derived.query.height,
        TableReference::List(members) => {
            1 + members.iter().map(|&member| join_height(member)).max().unwrap_or(0)
        }
        TableReference::Table(_) | TableReference::JsonTable(_) => 1,
    }
}
