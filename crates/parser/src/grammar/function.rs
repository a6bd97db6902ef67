//! Plain function calls, aggregates and window functions.
use super::argument_count::counted;
use super::core::{Parser, Result};
use super::primary::highest;
use crate::ast::{
    Aggregate, AggregateKind, Expr, ExprKind, FunctionCall, Ident, NullTreatment, ObjectName, OrderItem,
    Span, WindowCall, WindowFunction,
};
use crate::error::ParseError;
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    /// `(arguments)` after a function's name.
    pub fn function_call(
        &mut self,
        database: Option<Ident<'a>>,
        name: Ident<'a>,
        start: u32,
    ) -> Result<Expr<'a>> {
        self.expect(T::LeftParen)?;
        let mut arguments = Vec::new_in(self.arena);
        let mut aliases = Vec::new_in(self.arena);
        let (least, most) = match database {
            None => counted(name.name).unwrap_or((0, usize::MAX)),
            Some(_) => (0, usize::MAX),
        };
        while !self.at(T::RightParen) && most > 0 {
            arguments.push(self.expr()?);
            // Only a loadable function may name its arguments, but which function this is shows later.
            if let Some(alias) = self.alias(true)? {
                aliases.resize(arguments.len() - 1, None);
                aliases.push(Some(alias));
            }
            if arguments.len() == most || !self.accept(T::Comma) {
                break;
            }
            if self.at(T::RightParen) {
                return Err(self.syntax_error());
            }
        }
        if arguments.len() < least {
            return Err(self.syntax_error());
        }
        self.expect(T::RightParen)?;
        if !aliases.is_empty() {
            aliases.resize(arguments.len(), None);
        }
        self.call_node(
            ObjectName { database, name },
            arguments.into_bump_slice(),
            aliases.into_bump_slice(),
            start,
        )
    }

    fn call_node(
        &mut self,
        name: ObjectName<'a>,
        arguments: &'a [Expr<'a>],
        aliases: &'a [Option<Ident<'a>>],
        start: u32,
    ) -> Result<Expr<'a>> {
        let below = highest(arguments);
        let call = self.alloc(FunctionCall { name, arguments, aliases });
        self.node(ExprKind::Function(call), start, below)
    }

    /// A call of the built-in function `name` whose arguments had a grammar of their own.
    pub fn builtin(&mut self, name: Ident<'a>, arguments: &[Expr<'a>], start: u32) -> Result<Expr<'a>> {
        let arguments = self.arena.alloc_slice_copy(arguments);
        self.call_node(ObjectName { database: None, name }, arguments, &[], start)
    }

    /// Takes the current word as a function's name.
    pub fn function_word(&mut self) -> Result<Ident<'a>> {
        let token = self.advance();
        Ok(Ident { name: self.text_at(token.start, token.end)?, span: Span::new(token.start, token.end) })
    }

    pub fn aggregate(&mut self, kind: AggregateKind) -> Result<Expr<'a>> {
        let start = self.start();
        let name = self.function_word()?;
        self.expect(T::LeftParen)?;
        let mut aggregate = Aggregate {
            kind,
            name,
            distinct: false,
            arguments: &[],
            order_by: &[],
            separator: None,
            over: None,
        };
        if kind == AggregateKind::Count && self.accept(T::Star) {
            aggregate.kind = AggregateKind::CountAll;
        } else {
            self.aggregate_arguments(&mut aggregate)?;
        }
        self.expect(T::RightParen)?;
        let mut below = highest(aggregate.arguments).max(highest_item(aggregate.order_by));
        if self.at_keyword(K::Over) {
            if matches!(kind, AggregateKind::GroupConcat) {
                return Err(self.not_supported("group_concat as window function"));
            }
            aggregate.over = Some(self.over(&mut below)?);
        }
        let aggregate = self.alloc(aggregate);
        self.node(ExprKind::Aggregate(aggregate), start, below)
    }

    fn aggregate_arguments(&mut self, aggregate: &mut Aggregate<'a>) -> Result<()> {
        use AggregateKind::*;
        let kind = aggregate.kind;
        let may_be_distinct =
            matches!(kind, Count | Sum | Average | Minimum | Maximum | GroupConcat | StCollect);
        if may_be_distinct {
            aggregate.distinct = self.accept_one_of(&[K::Distinct, K::Distinctrow]).is_some();
        }
        if kind == AnyValue && self.at(T::RightParen) {
            return Err(self.wrong_count(aggregate.name.name));
        }
        aggregate.arguments = if kind == GroupConcat || (kind == Count && aggregate.distinct) {
            self.comma_list(Self::expr)?
        } else {
            let first = self.aggregate_argument()?;
            if kind == JsonObject {
                self.expect(T::Comma)?;
                let second = self.aggregate_argument()?;
                self.arena.alloc_slice_copy(&[first, second])
            } else {
                self.arena.alloc_slice_copy(&[first])
            }
        };
        if kind == AnyValue && self.at(T::Comma) {
            return Err(self.wrong_count(aggregate.name.name));
        }
        if kind == GroupConcat {
            aggregate.order_by = self.order_by()?;
            if self.accept_keyword(K::Separator) {
                aggregate.separator = Some(self.plain_string()?);
            }
        }
        Ok(())
    }

    /// What MySQL says of a function that its grammar does not know.
    fn wrong_count(&self, name: &str) -> Box<ParseError> {
        const ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT: u16 = 1582;
        let message = format!("Incorrect parameter count in the call to native function '{name}'");
        self.rule_error(self.start(), ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, "42000", message)
    }

    /// `[ALL] expr`
    fn aggregate_argument(&mut self) -> Result<Expr<'a>> {
        self.accept_keyword(K::All);
        self.expr()
    }

    /// A function that needs OVER.
    pub fn window_call(&mut self, function: WindowFunction) -> Result<Expr<'a>> {
        use WindowFunction::*;
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let arguments: &[Expr<'a>] = match function {
            RowNumber | Rank | DenseRank | PercentRank | CumulativeDistribution => &[],
            NthTile => self.arena.alloc_slice_copy(&[self.row_independent_number()?]),
            FirstValue | LastValue => self.arena.alloc_slice_copy(&[self.expr()?]),
            NthValue => {
                let value = self.expr()?;
                self.expect(T::Comma)?;
                self.arena.alloc_slice_copy(&[value, self.expr()?])
            }
            Lag | Lead => self.neighbour_arguments()?,
        };
        self.expect(T::RightParen)?;
        let mut from_last = false;
        if function == NthValue && self.accept_keyword(K::From) {
            from_last = self.expect_one_of(&[K::First, K::Last])? == K::Last;
        }
        let has_nulls = matches!(function, Lag | Lead | FirstValue | LastValue | NthValue);
        let nulls = if has_nulls { self.null_treatment()? } else { None };
        let mut below = highest(arguments);
        let over = self.over(&mut below)?;
        let call = self.alloc(WindowCall { function, arguments, from_last, nulls, over });
        self.node(ExprKind::Window(call), start, below)
    }

    /// `value [, distance [, default]]`
    fn neighbour_arguments(&mut self) -> Result<&'a [Expr<'a>]> {
        let value = self.expr()?;
        if !self.accept(T::Comma) {
            return Ok(self.arena.alloc_slice_copy(&[value]));
        }
        let distance = self.row_independent_number()?;
        if !self.accept(T::Comma) {
            return Ok(self.arena.alloc_slice_copy(&[value, distance]));
        }
        Ok(self.arena.alloc_slice_copy(&[value, distance, self.expr()?]))
    }

    /// A whole number, `?`, `@variable` or the name of a stored program's variable.
    fn row_independent_number(&mut self) -> Result<Expr<'a>> {
        if matches!(self.peek().kind, T::Integer | T::Question | T::AtName) || self.at_ident() {
            // The number is looked at before the first row.
            self.literal_use.structural = true;
            return self.primary();
        }
        Err(self.syntax_error())
    }

    fn null_treatment(&mut self) -> Result<Option<NullTreatment>> {
        let treatment = match self.keyword() {
            K::Respect => NullTreatment::Respect,
            K::Ignore => NullTreatment::Ignore,
            _ => return Ok(None),
        };
        self.advance();
        self.expect_keyword(K::Nulls)?;
        Ok(Some(treatment))
    }
}

/// The height of the highest expression of an ORDER BY.
pub fn highest_item(items: &[OrderItem<'_>]) -> u32 {
    items.iter().map(|item| item.expr.height).max().unwrap_or(0)
}
