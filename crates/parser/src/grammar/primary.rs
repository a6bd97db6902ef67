//! Operands: literals, names, variables, parentheses, subqueries, CASE, and the way to the functions.
use super::core::{Parser, Result};
use super::expression::power;
use super::name::invalid_text;
use crate::ast::{
    Case, ColumnReference, DateArithmetic, Expr, ExprKind, Ident, IntervalUnit, JsonExtract, Literal,
    LiteralValue, Local, ParameterIndex, Query, TemporalKind, WhenThen,
};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    pub fn primary(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        match self.kind() {
            T::Word => self.word_operand(),
            T::QuotedIdent => self.name_operand(),
            T::Integer
            | T::Decimal
            | T::Float
            | T::String
            | T::NationalString
            | T::Hex
            | T::Bit
            | T::Introducer => {
                let literal = self.literal()?;
                self.node(ExprKind::Literal(literal), start, 0)
            }
            T::Question if self.parameters_allowed => {
                let index = ParameterIndex(self.advance().ordinal);
                self.node(ExprKind::Parameter(index), start, 0)
            }
            T::LeftParen => self.nested(Self::parenthesized),
            T::AtName => self.user_variable_operand(),
            T::AtAt => self.system_variable_operand(),
            T::LeftBrace => self.odbc_escape(),
            _ => Err(self.syntax_error()),
        }
    }

    fn word_operand(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        let word = self.keyword();
        match word {
            K::None => self.name_operand(),
            K::Null => self.constant(ExprKind::Null),
            K::True => self.constant(ExprKind::Boolean(true)),
            K::False => self.constant(ExprKind::Boolean(false)),
            K::Case => self.nested(Self::case),
            K::Exists => {
                self.advance();
                let query = self.parenthesized_query()?;
                self.node(ExprKind::Exists(query), start, query.height)
            }
            K::Row if self.peek_at(1).kind == T::LeftParen => self.nested(Self::row_constructor),
            K::Interval => self.nested(Self::interval_first),
            K::Date | K::Time | K::Timestamp if self.peek_at(1).kind == T::String => self.temporal_literal(),
            _ if self.at_keyword_function() => self.nested(|parser| parser.keyword_function(word)),
            _ if word.is_reserved() => Err(self.syntax_error()),
            _ => self.name_operand(),
        }
    }

    fn constant(&mut self, kind: ExprKind<'a>) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.node(kind, start, 0)
    }

    /// A column, a function call, or `column -> path`.
    fn name_operand(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        let first = self.ident()?;
        match self.kind() {
            T::LeftParen => return self.nested(|parser| parser.function_call(None, first, start)),
            T::Dot => {}
            T::Arrow | T::LongArrow => {
                return self.json_extract(ColumnReference { qualifier: None, name: first.name }, start);
            }
            _ => {
                let kind = self
                    .local_variable(first.name)
                    .unwrap_or(ExprKind::Column(ColumnReference { qualifier: None, name: first.name }));
                return self.node(kind, start, 0);
            }
        }
        let row = if self.program.is_some() { self.row_named(first.name) } else { None };
        self.advance();
        if self.peek_at(1).kind == T::LeftParen {
            let name = self.ident_after_dot()?;
            return self.nested(|parser| parser.function_call(Some(first), name, start));
        }
        if let Some(is_new) = row {
            let name = self.ident_after_dot()?;
            let slot = self.row_slot(is_new, name.name, false)?;
            let row = if is_new { "NEW" } else { "OLD" };
            let local = self.local(slot, format_args!("{row}.{}", name.name));
            return self.node(local, start, 0);
        }
        let column = self.column_after_dot(first)?;
        match self.kind() {
            T::Arrow | T::LongArrow => self.json_extract(column, start),
            _ => self.node(ExprKind::Column(column), start, 0),
        }
    }

    /// The variable of the program at hand that a name means.
    pub fn local_variable(&mut self, name: &str) -> Option<ExprKind<'a>> {
        let variable = self.program.as_ref()?.variable(name)?;
        Some(self.local(variable.slot, format_args!("{}@{}", variable.name, variable.place)))
    }

    fn local(&mut self, slot: u32, shown: std::fmt::Arguments<'_>) -> ExprKind<'a> {
        let index = ParameterIndex(self.names().use_slot(slot));
        ExprKind::Local(Local { index, shown: self.arena.alloc_str(&shown.to_string()) })
    }

    fn json_extract(&mut self, column: ColumnReference<'a>, start: u32) -> Result<Expr<'a>> {
        let local = match column.qualifier {
            None => self.local_variable(column.name),
            Some(_) => None,
        };
        let column = self.node(local.unwrap_or(ExprKind::Column(column)), start, 0)?;
        let unquote = self.advance().kind == T::LongArrow;
        let path = self.plain_string()?;
        let extract = self.alloc(JsonExtract { column, path, unquote });
        self.node(ExprKind::JsonExtract(extract), start, column.height)
    }

    /// A quoted string without introducer that is a literal of the tree but no expression (a path, a separator, a
    /// date): whoever plans the statement reads it then, so another text with the same digest needs another plan.
    pub fn plain_string(&mut self) -> Result<Literal<'a>> {
        self.literal_use.structural = true;
        if !self.at(T::String) {
            return Err(self.syntax_error());
        }
        let position = self.start() as usize;
        let literal = self.literal()?;
        match literal.value {
            LiteralValue::String { bytes, .. } if std::str::from_utf8(bytes).is_err() => {
                Err(invalid_text(bytes, position))
            }
            _ => Ok(literal),
        }
    }

    /// `(expr)`, `(a, b)`, `(query)`.
    fn parenthesized(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.expect(T::LeftParen)?;
        let first = self.expr_or_query()?;
        if !self.at(T::Comma) {
            self.expect(T::RightParen)?;
            return Ok(first);
        }
        let mut below = first.height;
        let mut members = Vec::with_capacity_in(2, self.arena);
        members.push(first);
        while self.accept(T::Comma) {
            let member = self.expr()?;
            below = below.max(member.height);
            members.push(member);
        }
        self.expect(T::RightParen)?;
        self.node(ExprKind::Row(members.into_bump_slice()), start, below)
    }

    /// After a `(`: an expression or a query; `((SELECT 1) UNION ..` shows only late that it is a query.
    pub fn expr_or_query(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        if self.at_query_start(0) {
            let query = self.subquery()?;
            return self.node(ExprKind::Subquery(query), start, query.height);
        }
        let is_parenthesized = self.at(T::LeftParen);
        let expr = self.expr()?;
        if let (true, ExprKind::Subquery(query)) = (is_parenthesized, expr.kind)
            && self.at_query_continuation()
        {
            let query = self.continue_query(query, start)?;
            return self.node(ExprKind::Subquery(query), start, query.height);
        }
        Ok(expr)
    }

    /// `(query)`, in any number of parentheses.
    pub fn parenthesized_query(&mut self) -> Result<&'a Query<'a>> {
        self.expect(T::LeftParen)?;
        let first = self.peek();
        let expr = self.nested(Self::expr_or_query)?;
        let ExprKind::Subquery(query) = expr.kind else { return Err(self.syntax_error_at(first)) };
        self.expect(T::RightParen)?;
        Ok(query)
    }

    fn row_constructor(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.expect_keyword(K::Row)?;
        let members = self.paren_list(Self::expr)?;
        if members.len() < 2 {
            return Err(self.syntax_error());
        }
        let below = highest(members);
        self.node(ExprKind::Row(members), start, below)
    }

    fn case(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.expect_keyword(K::Case)?;
        let mut below = 0;
        let mut operand = None;
        if !self.at_keyword(K::When) {
            let expr = self.expr()?;
            below = expr.height;
            operand = Some(self.alloc(expr));
        }
        let mut branches = Vec::with_capacity_in(2, self.arena);
        while self.accept_keyword(K::When) {
            let when = self.expr()?;
            self.expect_keyword(K::Then)?;
            let then = self.expr()?;
            below = below.max(when.height).max(then.height);
            branches.push(WhenThen { when, then });
        }
        if branches.is_empty() {
            return Err(self.syntax_error());
        }
        let mut otherwise = None;
        if self.accept_keyword(K::Else) {
            let expr = self.expr()?;
            below = below.max(expr.height);
            otherwise = Some(self.alloc(expr));
        }
        self.expect_keyword(K::End)?;
        let case = self.alloc(Case { operand, branches: branches.into_bump_slice(), otherwise });
        self.node(ExprKind::Case(case), start, below)
    }

    fn temporal_literal(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        let kind = match self.advance().keyword {
            K::Date => TemporalKind::Date,
            K::Time => TemporalKind::Time,
            _ => TemporalKind::Timestamp,
        };
        let literal = self.plain_string()?;
        self.node(ExprKind::Temporal { kind, literal }, start, 0)
    }

    /// `{d '2020-01-01'}`, `{t ..}`, `{ts ..}`; any other word leaves the expression as it is.
    fn odbc_escape(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.expect(T::LeftBrace)?;
        let word = self.ident()?;
        let kind = match word.name.to_ascii_lowercase().as_str() {
            "d" => Some(TemporalKind::Date),
            "t" => Some(TemporalKind::Time),
            "ts" => Some(TemporalKind::Timestamp),
            _ => None,
        };
        let inner = self.expr()?;
        self.expect(T::RightBrace)?;
        match (kind, inner.kind) {
            (Some(kind), ExprKind::Literal(literal)) => {
                self.literal_use.structural = true;
                self.node(ExprKind::Temporal { kind, literal }, start, 0)
            }
            _ => Ok(inner),
        }
    }

    /// Whether INTERVAL begins a number with a unit here, and not the function `INTERVAL(n, a, b)`.
    pub fn at_interval(&self) -> bool {
        if !self.at_keyword(K::Interval) {
            return false;
        }
        if self.peek_at(1).kind != T::LeftParen {
            return true;
        }
        let mut depth = 0;
        for ahead in 1.. {
            match self.peek_at(ahead).kind {
                T::LeftParen => depth += 1,
                T::RightParen if depth == 1 => return true,
                T::RightParen => depth -= 1,
                T::Comma if depth == 1 => return false,
                T::End => return true,
                _ => {}
            }
        }
        true
    }

    /// `INTERVAL n unit + date`, or the function INTERVAL.
    fn interval_first(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        if !self.at_interval() {
            let token = self.advance();
            let span = crate::ast::Span::new(token.start, token.end);
            return self.function_call(
                None,
                Ident { name: self.text_at(span.start, span.end)?, span },
                start,
            );
        }
        let (amount, unit) = self.interval()?;
        self.expect(T::Plus)?;
        let date = self.operators(power::MULTIPLY)?;
        self.date_arithmetic_node(DateArithmetic { date, amount, unit, subtract: false }, start)
    }

    pub fn date_arithmetic_after(&mut self, date: Expr<'a>, subtract: bool, start: u32) -> Result<Expr<'a>> {
        let (amount, unit) = self.interval()?;
        self.date_arithmetic_node(DateArithmetic { date, amount, unit, subtract }, start)
    }

    pub fn date_arithmetic_node(&mut self, arithmetic: DateArithmetic<'a>, start: u32) -> Result<Expr<'a>> {
        let below = arithmetic.date.height.max(arithmetic.amount.height);
        let arithmetic = self.alloc(arithmetic);
        self.node(ExprKind::DateArithmetic(arithmetic), start, below)
    }

    /// `INTERVAL n unit`
    pub fn interval(&mut self) -> Result<(Expr<'a>, IntervalUnit)> {
        self.expect_keyword(K::Interval)?;
        let amount = self.expr()?;
        Ok((amount, self.interval_unit()?))
    }

    pub fn interval_unit(&mut self) -> Result<IntervalUnit> {
        use IntervalUnit::*;
        let unit = match self.keyword() {
            K::Microsecond => Microsecond,
            K::Second | K::SqlTsiSecond => Second,
            K::Minute | K::SqlTsiMinute => Minute,
            K::Hour | K::SqlTsiHour => Hour,
            K::Day | K::SqlTsiDay => Day,
            K::Week | K::SqlTsiWeek => Week,
            K::Month | K::SqlTsiMonth => Month,
            K::Quarter | K::SqlTsiQuarter => Quarter,
            K::Year | K::SqlTsiYear => Year,
            K::SecondMicrosecond => SecondMicrosecond,
            K::MinuteMicrosecond => MinuteMicrosecond,
            K::MinuteSecond => MinuteSecond,
            K::HourMicrosecond => HourMicrosecond,
            K::HourSecond => HourSecond,
            K::HourMinute => HourMinute,
            K::DayMicrosecond => DayMicrosecond,
            K::DaySecond => DaySecond,
            K::DayMinute => DayMinute,
            K::DayHour => DayHour,
            K::YearMonth => YearMonth,
            _ => return Err(self.syntax_error()),
        };
        self.advance();
        Ok(unit)
    }
}

/// The height of the highest expression.
pub fn highest(exprs: &[Expr<'_>]) -> u32 {
    exprs.iter().map(|expr| expr.height).max().unwrap_or(0)
}
