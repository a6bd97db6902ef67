//! OVER, window specifications and frames.
use super::core::{Parser, Result};
use super::function::highest_item;
use super::primary::highest;
use crate::ast::{Expr, FrameBound, FrameUnit, IntervalUnit, WindowFrame, WindowName, WindowSpecification};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// `OVER name` and `OVER (..)`. Raises `below` to the height of what it holds.
    pub fn over(&mut self, below: &mut u32) -> Result<WindowName<'a>> {
        self.expect_keyword(K::Over)?;
        if !self.at(T::LeftParen) {
            return Ok(WindowName::Named(self.ident()?));
        }
        let specification = self.window_specification(below)?;
        Ok(WindowName::Inline(self.alloc(specification)))
    }

    /// `([base] [PARTITION BY ..] [ORDER BY ..] [frame])`
    pub fn window_specification(&mut self, below: &mut u32) -> Result<WindowSpecification<'a>> {
        self.expect(T::LeftParen)?;
        let base = if self.at_ident() { Some(self.ident()?) } else { None };
        let mut partition_by: &[Expr<'a>] = &[];
        if self.accept_keyword(K::Partition) {
            self.expect_keyword(K::By)?;
            partition_by = self.comma_list(Self::expr)?;
        }
        let order_by = self.order_by()?;
        *below = (*below).max(highest(partition_by)).max(highest_item(order_by));
        let frame = self.window_frame(below)?;
        self.expect(T::RightParen)?;
        Ok(WindowSpecification { base, partition_by, order_by, frame })
    }

    fn window_frame(&mut self, below: &mut u32) -> Result<Option<WindowFrame<'a>>> {
        let unit = match self.keyword() {
            K::Rows => FrameUnit::Rows,
            K::Range => FrameUnit::Range,
            K::Groups => FrameUnit::Groups,
            _ => return Ok(None),
        };
        self.advance();
        let frame = if self.accept_keyword(K::Between) {
            let start = self.frame_bound(below)?;
            self.expect_keyword(K::And)?;
            WindowFrame { unit, start, end: Some(self.frame_bound(below)?) }
        } else {
            WindowFrame { unit, start: self.frame_bound(below)?, end: None }
        };
        if self.at_keyword(K::Exclude) {
            return Err(self.not_supported("EXCLUDE"));
        }
        Ok(Some(frame))
    }

    fn frame_bound(&mut self, below: &mut u32) -> Result<FrameBound<'a>> {
        if self.accept_keyword(K::Current) {
            self.expect_keyword(K::Row)?;
            return Ok(FrameBound::CurrentRow);
        }
        if self.accept_keyword(K::Unbounded) {
            return match self.expect_one_of(&[K::Preceding, K::Following])? {
                K::Preceding => Ok(FrameBound::UnboundedPreceding),
                _ => Ok(FrameBound::UnboundedFollowing),
            };
        }
        let (amount, unit): (Expr<'a>, Option<IntervalUnit>) = if self.at_keyword(K::Interval) {
            let (amount, unit) = self.interval()?;
            (amount, Some(unit))
        } else if matches!(self.peek().kind, T::Integer | T::Decimal | T::Float | T::Question) {
            (self.primary()?, None)
        } else {
            return Err(self.syntax_error());
        };
        *below = (*below).max(amount.height);
        // Planners want to know how wide a frame is.
        self.literal_use.structural = true;
        let amount = self.alloc(amount);
        match self.expect_one_of(&[K::Preceding, K::Following])? {
            K::Preceding => Ok(FrameBound::Preceding { amount, unit }),
            _ => Ok(FrameBound::Following { amount, unit }),
        }
    }
}
