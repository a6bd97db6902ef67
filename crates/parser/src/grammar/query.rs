//! Query expressions: WITH, set operations, ORDER BY, LIMIT, locking clauses.
use super::core::{Parser, Result};
use crate::ParseError;
use crate::ast::{
    CommonTable, Expr, ExprKind, Ident, Into, Limit, LiteralValue, LockStrength, LockWait, Locking,
    ObjectName, OrderItem, Query, QueryBody, SetBranch, SetChain, SetOperator, With,
};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    /// Whether the token `ahead` of the current one begins a query (a parenthesis does not count).
    pub fn at_query_start(&self, ahead: usize) -> bool {
        match self.keyword_at(ahead) {
            K::Select | K::With | K::Table => true,
            K::Values => self.keyword_at(ahead + 1) == K::Row,
            _ => false,
        }
    }

    /// Whether what follows continues a query after its closing parenthesis.
    pub fn at_query_continuation(&self) -> bool {
        matches!(
            self.keyword(),
            K::Union | K::Except | K::Intersect | K::Order | K::Limit | K::For | K::Lock | K::Into
        )
    }

    /// A query that is part of an expression, a derived table, or another statement: it may not have INTO.
    pub fn subquery(&mut self) -> Result<&'a Query<'a>> {
        let start = self.start();
        let query = self.query()?;
        if query.into.is_some() {
            return Err(self.misplaced_into(start));
        }
        Ok(query)
    }

    fn misplaced_into(&self, position: u32) -> Box<ParseError> {
        let message = "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of \
                       UNION clauses.";
        self.rule_error(position, 3954, "HY000", message.to_owned())
    }

    /// A whole query expression.
    pub fn query(&mut self) -> Result<&'a Query<'a>> {
        let start = self.start();
        self.nested(|parser| {
            let outer_height = std::mem::take(&mut parser.height_max);
            let outer_select_lists = std::mem::take(&mut parser.select_list_depth);
            let outer_into = parser.pending_into.take();
            let with = parser.with_clause()?;
            let first = parser.intersect_chain()?;
            let body = parser.set_chain(first)?;
            parser.select_list_depth = outer_select_lists;
            let query = parser.query_tail(with, body, start, outer_height)?;
            parser.pending_into = outer_into;
            Ok(query)
        })
    }

    /// The rest of a query whose first operand was `(query)`.
    pub fn continue_query(&mut self, first: &'a Query<'a>, start: u32) -> Result<&'a Query<'a>> {
        let outer_height = std::mem::replace(&mut self.height_max, first.height);
        let outer_into = self.pending_into.take();
        let first = self.intersect_rest(parenthesized(first))?;
        let body = self.set_chain(first)?;
        let query = self.query_tail(None, body, start, outer_height)?;
        self.pending_into = outer_into;
        Ok(query)
    }

    fn query_tail(
        &mut self,
        with: Option<&'a With<'a>>,
        body: QueryBody<'a>,
        start: u32,
        outer_height: u32,
    ) -> Result<&'a Query<'a>> {
        let mut into = self.pending_into.take();
        let order_by = self.order_by()?;
        let limit = self.limit()?;
        self.trailing_into(&mut into)?;
        let locking = self.locking_clauses()?;
        self.trailing_into(&mut into)?;
        let height = self.height_above(self.height_max)?;
        self.height_max = height.max(outer_height);
        let span = self.span_from(start);
        Ok(self.alloc(Query { with, body, order_by, limit, locking, into, span, height }))
    }

    /// An INTO after the query's other clauses, unless there was one before.
    fn trailing_into(&mut self, into: &mut Option<&'a Into<'a>>) -> Result<()> {
        if into.is_some() && self.at_keyword(K::Into) {
            let message = "Multiple INTO clauses in one query block.".to_owned();
            return Err(self.rule_error(self.start(), 3953, "HY000", message));
        }
        if into.is_none() {
            *into = self.select_into()?;
        }
        Ok(())
    }

    pub fn with_clause(&mut self) -> Result<Option<&'a With<'a>>> {
        if !self.accept_keyword(K::With) {
            return Ok(None);
        }
        let recursive = self.accept_keyword(K::Recursive);
        let tables = self.comma_list(Self::common_table)?;
        Ok(Some(self.alloc(With { recursive, tables })))
    }

    fn common_table(&mut self) -> Result<CommonTable<'a>> {
        let name = self.ident()?;
        let columns: &[Ident<'a>] = if self.at(T::LeftParen) { self.ident_list()? } else { &[] };
        self.expect_keyword(K::As)?;
        let query = self.parenthesized_query()?;
        Ok(CommonTable { name, columns, query })
    }

    fn set_chain(&mut self, first: QueryBody<'a>) -> Result<QueryBody<'a>> {
        if !matches!(self.keyword(), K::Union | K::Except) {
            return Ok(first);
        }
        let mut rest = Vec::new_in(self.arena);
        while let Some(word) = self.accept_one_of(&[K::Union, K::Except]) {
            let operator = if word == K::Union { SetOperator::Union } else { SetOperator::Except };
            let all = self.set_quantifier();
            let start = self.start();
            let in_parens = self.at(T::LeftParen);
            let body = self.intersect_chain()?;
            if in_parens && self.pending_into.is_some() && !matches!(body, QueryBody::Set(_)) {
                return Err(self.misplaced_into(start));
            }
            rest.push(SetBranch { operator, all, body });
        }
        Ok(QueryBody::Set(self.alloc(SetChain { first, rest: rest.into_bump_slice() })))
    }

    fn intersect_chain(&mut self) -> Result<QueryBody<'a>> {
        let first = self.query_primary()?;
        self.intersect_rest(first)
    }

    fn intersect_rest(&mut self, first: QueryBody<'a>) -> Result<QueryBody<'a>> {
        if !self.at_keyword(K::Intersect) {
            return Ok(first);
        }
        let mut rest = Vec::new_in(self.arena);
        while self.accept_keyword(K::Intersect) {
            let all = self.set_quantifier();
            let start = self.start();
            let in_parens = self.at(T::LeftParen);
            let body = self.query_primary()?;
            if in_parens && self.pending_into.is_some() {
                return Err(self.misplaced_into(start));
            }
            rest.push(SetBranch { operator: SetOperator::Intersect, all, body });
        }
        Ok(QueryBody::Set(self.alloc(SetChain { first, rest: rest.into_bump_slice() })))
    }

    fn set_quantifier(&mut self) -> bool {
        if self.accept_keyword(K::All) {
            return true;
        }
        self.accept_keyword(K::Distinct);
        false
    }

    /// One operand of a set operation. An INTO inside it is taken by the query around it.
    fn query_primary(&mut self) -> Result<QueryBody<'a>> {
        if self.pending_into.is_some() {
            return Err(self.misplaced_into(self.start()));
        }
        match self.kind() {
            T::LeftParen => {
                self.advance();
                let query = self.query()?;
                self.expect(T::RightParen)?;
                if query.into.is_none() {
                    return Ok(parenthesized(query));
                }
                // `(SELECT 1 INTO @a)`: the INTO belongs to the statement, and only there it is looked for.
                self.pending_into = query.into;
                let inner = self.alloc(Query { into: None, ..*query });
                Ok(parenthesized(inner))
            }
            _ => match self.keyword() {
                K::Select => {
                    let select = self.select()?;
                    Ok(QueryBody::Select(select))
                }
                K::Table => {
                    self.advance();
                    let name: ObjectName<'a> = self.object_name()?;
                    Ok(QueryBody::Table(name))
                }
                K::Values => {
                    self.advance();
                    Ok(QueryBody::Values(self.comma_list(Self::values_row)?))
                }
                _ => Err(self.syntax_error()),
            },
        }
    }

    /// `ROW(a, DEFAULT, ..)`
    fn values_row(&mut self) -> Result<&'a [Expr<'a>]> {
        self.expect_keyword(K::Row)?;
        self.paren_list(Self::expr_or_default)
    }

    /// `ORDER BY ..`; empty without.
    pub fn order_by(&mut self) -> Result<&'a [OrderItem<'a>]> {
        if !self.accept_keyword(K::Order) {
            return Ok(&[]);
        }
        self.expect_keyword(K::By)?;
        self.comma_list(Self::order_item)
    }

    pub fn order_item(&mut self) -> Result<OrderItem<'a>> {
        let item = self.order_expr()?;
        let descending = self.accept_one_of(&[K::Asc, K::Desc]) == Some(K::Desc);
        Ok(OrderItem { expr: item.expr, descending })
    }

    /// A member of GROUP BY, which has had no ASC and DESC since MySQL 8.0.
    pub fn order_expr(&mut self) -> Result<OrderItem<'a>> {
        let expr = self.expr()?;
        if let ExprKind::Literal(literal) = expr.kind {
            self.literal_use.ordinal |= matches!(literal.value, LiteralValue::Integer(_));
        }
        Ok(OrderItem { expr, descending: false })
    }

    /// `LIMIT n`, `LIMIT offset, n`, `LIMIT n OFFSET offset`.
    pub fn limit(&mut self) -> Result<Option<Limit<'a>>> {
        if !self.accept_keyword(K::Limit) {
            return Ok(None);
        }
        let first = self.limit_value()?;
        if self.accept(T::Comma) {
            return Ok(Some(Limit { count: self.limit_value()?, offset: Some(first) }));
        }
        let offset = if self.accept_keyword(K::Offset) { Some(self.limit_value()?) } else { None };
        Ok(Some(Limit { count: first, offset }))
    }

    /// LIMIT without an offset, as UPDATE and DELETE have it.
    pub fn simple_limit(&mut self) -> Result<Option<Limit<'a>>> {
        if !self.accept_keyword(K::Limit) {
            return Ok(None);
        }
        Ok(Some(Limit { count: self.limit_value()?, offset: None }))
    }

    pub fn limit_value(&mut self) -> Result<Expr<'a>> {
        let whole_number = match self.kind() {
            T::Integer => true,
            T::Question => false,
            // A variable of a stored program.
            T::Word | T::QuotedIdent if self.at_ident() => false,
            _ => return Err(self.syntax_error()),
        };
        let token = self.peek();
        if !whole_number && token.kind != T::Question {
            let start = self.start();
            let column = self.column_reference()?;
            let local = match column.qualifier {
                None => self.local_variable(column.name),
                Some(_) => None,
            };
            if self.program.is_some() && local.is_none() {
                return Err(self.program_error(1327, format!("Undeclared variable: {}", column.name)));
            }
            return self.node(local.unwrap_or(ExprKind::Column(column)), start, 0);
        }
        let expr = self.primary()?;
        match expr.kind {
            ExprKind::Literal(literal) if matches!(literal.value, LiteralValue::Decimal(_)) => {
                Err(self.syntax_error_at(token))
            }
            _ => Ok(expr),
        }
    }

    fn locking_clauses(&mut self) -> Result<&'a [Locking<'a>]> {
        if self.accept_keywords(&[K::Lock, K::In]) {
            self.expect_keywords(&[K::Share, K::Mode])?;
            let locking = Locking { strength: LockStrength::Share, tables: &[], wait: LockWait::Wait };
            return Ok(self.arena.alloc_slice_copy(&[locking]));
        }
        if !self.at_locking() {
            return Ok(&[]);
        }
        let mut clauses = Vec::new_in(self.arena);
        while self.at_locking() {
            self.advance();
            let strength =
                if self.advance().keyword == K::Update { LockStrength::Update } else { LockStrength::Share };
            let tables: &[ObjectName<'a>] =
                if self.accept_keyword(K::Of) { self.comma_list(Self::object_name)? } else { &[] };
            let wait = if self.accept_keyword(K::Nowait) {
                LockWait::NoWait
            } else if self.accept_keyword(K::Skip) {
                self.expect_keyword(K::Locked)?;
                LockWait::SkipLocked
            } else {
                LockWait::Wait
            };
            clauses.push(Locking { strength, tables, wait });
        }
        Ok(clauses.into_bump_slice())
    }

    fn at_locking(&self) -> bool {
        self.at_keyword(K::For) && matches!(self.keyword_at(1), K::Update | K::Share)
    }
}

/// Parentheses around a query without clauses of its own mean nothing.
fn parenthesized<'a>(query: &'a Query<'a>) -> QueryBody<'a> {
    let is_bare = query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.locking.is_empty()
        && query.into.is_none();
    match query.body {
        QueryBody::Set(_) => QueryBody::Parenthesized(query),
        body if is_bare => body,
        _ => QueryBody::Parenthesized(query),
    }
}
