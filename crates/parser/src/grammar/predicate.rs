//! Comparisons and predicates: `=`, IS, IN, LIKE, BETWEEN, REGEXP, SOUNDS LIKE, MEMBER OF.
use super::core::{Parser, Result};
use super::expression::{Operand, power};
use crate::ast::{BinaryOperator, Expr, ExprKind, IsTest, Quantified, Quantifier};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// `IS [NOT] NULL` keeps the level of a comparison; the truth tests close it, as in MySQL's grammar.
    pub fn is_test(&mut self, operand: Expr<'a>, start: u32) -> Result<Operand<'a>> {
        self.expect_keyword(K::Is)?;
        let negated = self.accept_keyword(K::Not);
        let (test, ceiling) = match self.keyword() {
            K::Null => (IsTest::Null, power::COMPARISON),
            K::True => (IsTest::True, power::AND),
            K::False => (IsTest::False, power::AND),
            K::Unknown => (IsTest::Unknown, power::AND),
            _ => return Err(self.syntax_error()),
        };
        self.advance();
        let inner = self.alloc(operand);
        let expr = self.node(ExprKind::Is { negated, operand: inner, test }, start, operand.height)?;
        Ok(Operand { expr, ceiling })
    }

    pub fn comparison(&mut self, operator: BinaryOperator, left: Expr<'a>, start: u32) -> Result<Expr<'a>> {
        self.advance();
        let quantifier = match self.keyword() {
            K::All => Some(Quantifier::All),
            K::Any | K::Some if self.peek_at(1).kind == T::LeftParen => Some(Quantifier::Any),
            _ => None,
        };
        let Some(quantifier) = quantifier else {
            let right = self.operators(power::PREDICATE)?;
            return self.binary_node(operator, left, right, start);
        };
        // MySQL has no `<=> ANY`: null-safe equality takes a plain operand only.
        if operator == BinaryOperator::NullSafeEqual {
            return Err(self.syntax_error());
        }
        self.advance();
        let query = self.parenthesized_query()?;
        let below = left.height.max(query.height);
        let left = self.alloc(left);
        let quantified = self.alloc(Quantified { left, operator, quantifier, query });
        self.node(ExprKind::Quantified(quantified), start, below)
    }

    pub fn predicate(&mut self, operand: Expr<'a>, start: u32) -> Result<Expr<'a>> {
        let negated = self.accept_keyword(K::Not);
        let word = self.advance().keyword;
        match word {
            K::In => self.in_predicate(negated, operand, start),
            K::Like => self.like(negated, operand, start),
            K::Between => self.between(negated, operand, start),
            K::Regexp | K::Rlike => {
                let pattern = self.operators(power::BIT_OR)?;
                let below = operand.height.max(pattern.height);
                let (operand, pattern) = (self.alloc(operand), self.alloc(pattern));
                self.node(ExprKind::Regexp { negated, operand, pattern }, start, below)
            }
            K::Sounds => {
                self.expect_keyword(K::Like)?;
                let right = self.operators(power::BIT_OR)?;
                self.binary_node(BinaryOperator::SoundsLike, operand, right, start)
            }
            K::Member => {
                self.accept_keyword(K::Of);
                self.expect(T::LeftParen)?;
                let right = self.expr()?;
                self.expect(T::RightParen)?;
                self.binary_node(BinaryOperator::MemberOf, operand, right, start)
            }
            _ => Err(self.syntax_error()),
        }
    }

    fn in_predicate(&mut self, negated: bool, operand: Expr<'a>, start: u32) -> Result<Expr<'a>> {
        if self.peek_at(1).kind != T::LeftParen && self.at_query_start(1) {
            let query = self.parenthesized_query()?;
            let below = operand.height.max(query.height);
            let operand = self.alloc(operand);
            return self.node(ExprKind::InSubquery { negated, operand, query }, start, below);
        }
        self.expect(T::LeftParen)?;
        // The first member may turn out to be a query in parentheses of its own.
        let first = self.nested(Self::expr_or_query)?;
        if let (ExprKind::Subquery(query), T::RightParen) = (first.kind, self.kind()) {
            self.advance();
            let below = operand.height.max(query.height);
            let operand = self.alloc(operand);
            return self.node(ExprKind::InSubquery { negated, operand, query }, start, below);
        }
        let mut below = operand.height.max(first.height);
        let mut list = bumpalo::collections::Vec::with_capacity_in(4, self.arena);
        list.push(first);
        while self.accept(T::Comma) {
            let member = self.expr()?;
            below = below.max(member.height);
            list.push(member);
        }
        self.expect(T::RightParen)?;
        let operand = self.alloc(operand);
        self.node(ExprKind::InList { negated, operand, list: list.into_bump_slice() }, start, below)
    }

    fn like(&mut self, negated: bool, operand: Expr<'a>, start: u32) -> Result<Expr<'a>> {
        let pattern = self.operators(power::BIT_OR)?;
        let mut below = operand.height.max(pattern.height);
        let mut escape = None;
        if self.accept_keyword(K::Escape) {
            let character = self.operators(power::CONCAT)?;
            below = below.max(character.height);
            escape = Some(self.alloc(character));
        }
        let (operand, pattern) = (self.alloc(operand), self.alloc(pattern));
        self.node(ExprKind::Like { negated, operand, pattern, escape }, start, below)
    }

    fn between(&mut self, negated: bool, operand: Expr<'a>, start: u32) -> Result<Expr<'a>> {
        let low = self.operators(power::BIT_OR)?;
        self.expect_keyword(K::And)?;
        // `a BETWEEN 1 AND 2 BETWEEN ..` nests to the right.
        let high = self.nested(|parser| parser.operators(power::PREDICATE))?;
        let below = operand.height.max(low.height).max(high.height);
        let (operand, low, high) = (self.alloc(operand), self.alloc(low), self.alloc(high));
        self.node(ExprKind::Between { negated, operand, low, high }, start, below)
    }
}
