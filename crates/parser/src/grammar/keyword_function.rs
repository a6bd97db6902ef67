//! Functions whose names are keywords or whose arguments have a grammar of their own.
use super::core::{Parser, Result};
use crate::ast::{
    AggregateKind, CharFunction, ColumnReference, DateArithmetic, Expr, ExprKind, FullTextMatch,
    FullTextModifier, IntervalUnit, Trim, TrimSide, WeightString, WindowFunction,
};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// Whether the current keyword begins one of the functions of this file.
    pub fn at_keyword_function(&self) -> bool {
        let word = self.keyword();
        if matches!(
            word,
            K::CurrentUser
                | K::CurrentDate
                | K::CurrentTime
                | K::CurrentTimestamp
                | K::Localtime
                | K::Localtimestamp
                | K::UtcDate
                | K::UtcTime
                | K::UtcTimestamp
        ) {
            return true;
        }
        if self.peek_at(1).kind != T::LeftParen {
            return word == K::Match;
        }
        word.is_function_name()
            || aggregate_kind(word).is_some()
            || window_function(word).is_some()
            || matches!(
                word,
                K::Char
                    | K::Convert
                    | K::Default
                    | K::Database
                    | K::GetFormat
                    | K::Grouping
                    | K::If
                    | K::Insert
                    | K::JsonValue
                    | K::Left
                    | K::Match
                    | K::Mod
                    | K::Repeat
                    | K::Replace
                    | K::Right
                    | K::Schema
                    | K::Timestampadd
                    | K::Timestampdiff
                    | K::Values
                    | K::WeightString
            )
    }

    /// The function at the current keyword; the caller has asked `at_keyword_function`.
    pub fn keyword_function(&mut self, word: K) -> Result<Expr<'a>> {
        if let Some(kind) = aggregate_kind(word) {
            return self.aggregate(kind);
        }
        if let Some(function) = window_function(word) {
            return self.window_call(function);
        }
        let start = self.start();
        match word {
            K::Match => self.full_text_match(),
            K::Cast => self.cast(),
            K::Convert => self.convert(),
            K::JsonValue => self.json_value(),
            K::Default | K::Values => self.default_or_values(word),
            K::Extract => self.extract(),
            K::Trim => self.trim(),
            K::Substring | K::Substr | K::Mid => self.substring(),
            K::Position => self.position_function(),
            K::DateAdd | K::Adddate => self.date_function(word, false),
            K::DateSub | K::Subdate => self.date_function(word, true),
            K::Timestampadd | K::Timestampdiff => self.timestamp_function(word),
            K::GetFormat => self.get_format(),
            K::Char => self.char_function(),
            K::WeightString => self.weight_string(),
            K::CurrentUser | K::CurrentDate | K::UtcDate | K::Curdate => self.bare_function(),
            K::CurrentTimestamp
            | K::CurrentTime
            | K::Localtime
            | K::Localtimestamp
            | K::UtcTime
            | K::UtcTimestamp
            | K::Curtime
            | K::Now
            | K::Sysdate => self.clock_function(),
            _ => {
                let name = self.function_word()?;
                self.function_call(None, name, start)
            }
        }
    }

    /// A function without arguments, whose parentheses may be left out.
    fn bare_function(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        let name = self.function_word()?;
        if self.accept(T::LeftParen) {
            self.expect(T::RightParen)?;
        }
        self.builtin(name, &[], start)
    }

    /// NOW and its relatives: the only argument is a precision, which must be a plain number.
    pub fn clock_function(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        let name = self.function_word()?;
        if !self.accept(T::LeftParen) || self.accept(T::RightParen) {
            return self.builtin(name, &[], start);
        }
        if !self.at(T::Integer) {
            return Err(self.syntax_error());
        }
        self.literal_use.structural = true;
        let precision = self.primary()?;
        self.expect(T::RightParen)?;
        self.builtin(name, &[precision], start)
    }

    /// `DEFAULT(column)` and `VALUES(column)`.
    fn default_or_values(&mut self, word: K) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let column = self.column_reference()?;
        self.expect(T::RightParen)?;
        let kind = if word == K::Default { ExprKind::DefaultOf(column) } else { ExprKind::ValuesOf(column) };
        self.node(kind, start, 1)
    }

    fn extract(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let unit = self.interval_unit()?;
        self.expect_keyword(K::From)?;
        let expr = self.expr()?;
        self.expect(T::RightParen)?;
        let operand = self.alloc(expr);
        self.node(ExprKind::Extract { unit, operand }, start, expr.height)
    }

    /// `TRIM(x)`, `TRIM(y FROM x)`, `TRIM(LEADING [y] FROM x)`.
    fn trim(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let side = match self.accept_one_of(&[K::Leading, K::Trailing, K::Both]) {
            Some(K::Leading) => Some(TrimSide::Leading),
            Some(K::Trailing) => Some(TrimSide::Trailing),
            Some(_) => Some(TrimSide::Both),
            None => None,
        };
        let first = if self.at_keyword(K::From) && side.is_some() { None } else { Some(self.expr()?) };
        let (remove, operand) = match first {
            Some(operand) if side.is_none() && !self.at_keyword(K::From) => (None, operand),
            remove => {
                self.expect_keyword(K::From)?;
                (remove, self.expr()?)
            }
        };
        self.expect(T::RightParen)?;
        let below = operand.height.max(remove.map_or(0, |expr| expr.height));
        let trim = self.alloc(Trim { side: side.unwrap_or(TrimSide::Both), remove, operand });
        self.node(ExprKind::Trim(trim), start, below)
    }

    /// `SUBSTRING(x, a[, b])` and `SUBSTRING(x FROM a [FOR b])`.
    fn substring(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        let name = self.function_word()?;
        self.expect(T::LeftParen)?;
        let operand = self.expr()?;
        let by_words = self.accept_keyword(K::From);
        if !by_words {
            self.expect(T::Comma)?;
        }
        let from = self.expr()?;
        let has_length = if by_words { self.accept_keyword(K::For) } else { self.accept(T::Comma) };
        if !has_length {
            self.expect(T::RightParen)?;
            return self.builtin(name, &[operand, from], start);
        }
        let length = self.expr()?;
        self.expect(T::RightParen)?;
        self.builtin(name, &[operand, from, length], start)
    }

    /// `POSITION(part IN whole)`, which is LOCATE.
    fn position_function(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        let mut name = self.function_word()?;
        name.name = "locate";
        self.expect(T::LeftParen)?;
        // `IN` belongs to POSITION here, so the part is a bit expression.
        let part = self.operators(super::expression::power::BIT_OR)?;
        self.expect_keyword(K::In)?;
        let whole = self.expr()?;
        self.expect(T::RightParen)?;
        self.builtin(name, &[part, whole], start)
    }

    /// `DATE_ADD(date, INTERVAL n unit)`; ADDDATE and SUBDATE also take a number of days.
    fn date_function(&mut self, word: K, subtract: bool) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let date = self.expr()?;
        self.expect(T::Comma)?;
        let days_allowed = matches!(word, K::Adddate | K::Subdate);
        let (amount, unit) = if days_allowed && !self.at_interval() {
            (self.expr()?, IntervalUnit::Day)
        } else {
            self.interval()?
        };
        self.expect(T::RightParen)?;
        self.date_arithmetic_node(DateArithmetic { date, amount, unit, subtract }, start)
    }

    /// `TIMESTAMPADD(unit, n, date)` and `TIMESTAMPDIFF(unit, from, to)`.
    fn timestamp_function(&mut self, word: K) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let unit = self.timestamp_unit()?;
        self.expect(T::Comma)?;
        let first = self.expr()?;
        self.expect(T::Comma)?;
        let second = self.expr()?;
        self.expect(T::RightParen)?;
        let below = first.height.max(second.height);
        let (first, second) = (self.alloc(first), self.alloc(second));
        let kind = if word == K::Timestampadd {
            ExprKind::TimestampAdd { unit, amount: first, date: second }
        } else {
            ExprKind::TimestampDiff { unit, from: first, to: second }
        };
        self.node(kind, start, below)
    }

    /// A simple unit: those of two parts, which are reserved words, are not for TIMESTAMPADD.
    fn timestamp_unit(&mut self) -> Result<IntervalUnit> {
        if self.keyword().is_reserved() {
            return Err(self.syntax_error());
        }
        self.interval_unit()
    }

    fn get_format(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let of = match self.expect_one_of(&[K::Date, K::Time, K::Datetime, K::Timestamp])? {
            K::Timestamp => "DATETIME",
            word => word.name(),
        };
        self.expect(T::Comma)?;
        let expr = self.expr()?;
        self.expect(T::RightParen)?;
        let format = self.alloc(expr);
        self.node(ExprKind::GetFormat { of, format }, start, expr.height)
    }

    fn char_function(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let arguments = self.comma_list(Self::expr)?;
        let charset = if self.accept_keyword(K::Using) { Some(self.charset_name()?) } else { None };
        self.expect(T::RightParen)?;
        let below = super::primary::highest(arguments);
        let function = self.alloc(CharFunction { arguments, charset });
        self.node(ExprKind::Char(function), start, below)
    }

    fn weight_string(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let operand = self.expr()?;
        let (mut cast, mut measure) = (None, None);
        if self.accept_keyword(K::As) {
            match self.keyword() {
                K::Char | K::Binary => cast = Some(self.cast_type()?),
                _ => return Err(self.syntax_error()),
            }
        } else if self.accept(T::Comma) {
            let length = self.integer_option()?;
            self.expect(T::Comma)?;
            let weights = self.integer_option()?;
            self.expect(T::Comma)?;
            measure = Some([length, weights, self.integer_option()?]);
        }
        self.expect(T::RightParen)?;
        let function = self.alloc(WeightString { operand, cast, measure });
        self.node(ExprKind::WeightString(function), start, operand.height)
    }

    fn full_text_match(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        let columns: &[ColumnReference<'a>] = if self.at(T::LeftParen) {
            self.paren_list(Self::column_reference)?
        } else {
            self.comma_list(Self::column_reference)?
        };
        self.expect_keyword(K::Against)?;
        self.expect(T::LeftParen)?;
        let against = self.operators(super::expression::power::BIT_OR)?;
        let modifier = self.full_text_modifier()?;
        self.expect(T::RightParen)?;
        let full_text = self.alloc(FullTextMatch { columns, against, modifier });
        self.node(ExprKind::Match(full_text), start, against.height)
    }

    fn full_text_modifier(&mut self) -> Result<FullTextModifier> {
        if self.accept_keywords(&[K::In, K::Boolean, K::Mode]) {
            return Ok(FullTextModifier::Boolean);
        }
        let natural = self.accept_keyword(K::In);
        if natural {
            self.expect_keywords(&[K::Natural, K::Language, K::Mode])?;
        }
        if self.accept_keyword(K::With) {
            self.expect_keywords(&[K::Query, K::Expansion])?;
            return Ok(FullTextModifier::QueryExpansion);
        }
        Ok(FullTextModifier::NaturalLanguage)
    }
}

fn aggregate_kind(word: K) -> Option<AggregateKind> {
    let kind = match word {
        K::Count => AggregateKind::Count,
        K::Sum => AggregateKind::Sum,
        K::Avg => AggregateKind::Average,
        K::Min => AggregateKind::Minimum,
        K::Max => AggregateKind::Maximum,
        K::BitAnd => AggregateKind::BitAnd,
        K::BitOr => AggregateKind::BitOr,
        K::BitXor => AggregateKind::BitXor,
        K::Std | K::Stddev | K::StddevPop => AggregateKind::StandardDeviation,
        K::StddevSamp => AggregateKind::StandardDeviationSample,
        K::Variance | K::VarPop => AggregateKind::Variance,
        K::VarSamp => AggregateKind::VarianceSample,
        K::GroupConcat => AggregateKind::GroupConcat,
        K::JsonArrayagg => AggregateKind::JsonArray,
        K::JsonObjectagg => AggregateKind::JsonObject,
        K::AnyValue => AggregateKind::AnyValue,
        K::StCollect => AggregateKind::StCollect,
        _ => return None,
    };
    Some(kind)
}

fn window_function(word: K) -> Option<WindowFunction> {
    let function = match word {
        K::RowNumber => WindowFunction::RowNumber,
        K::Rank => WindowFunction::Rank,
        K::DenseRank => WindowFunction::DenseRank,
        K::PercentRank => WindowFunction::PercentRank,
        K::CumeDist => WindowFunction::CumulativeDistribution,
        K::Ntile => WindowFunction::NthTile,
        K::Lag => WindowFunction::Lag,
        K::Lead => WindowFunction::Lead,
        K::FirstValue => WindowFunction::FirstValue,
        K::LastValue => WindowFunction::LastValue,
        K::NthValue => WindowFunction::NthValue,
        _ => return None,
    };
    Some(function)
}
