//! Operator precedence: a loop over infix operators with binding powers.
//!
//! The powers are MySQL's. Its grammar has levels rather than one list: what stands right of a comparison is a
//! predicate, a predicate's left side is a bit expression, so `a IN (1) IN (2)` and `a = NOT b` are errors.
//! `Operand::ceiling` carries that: no operator of a higher power may follow.
use super::core::{Parser, Result};
use crate::ast::{BinaryOperator, Expr, ExprKind, LogicalOperator, UnaryOperator};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

pub mod power {
    pub const OR: u8 = 1;
    pub const XOR: u8 = 2;
    pub const AND: u8 = 3;
    pub const NOT: u8 = 4;
    pub const COMPARISON: u8 = 5;
    pub const PREDICATE: u8 = 6;
    pub const BIT_OR: u8 = 7;
    pub const BIT_AND: u8 = 8;
    pub const SHIFT: u8 = 9;
    pub const ADD: u8 = 10;
    pub const MULTIPLY: u8 = 11;
    pub const BIT_XOR: u8 = 12;
    pub const CONCAT: u8 = 13;
    pub const UNARY: u8 = 14;
    pub const COLLATE: u8 = 15;
    pub const ANY: u8 = u8::MAX;
}

/// An operator between two operands, or after one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Infix {
    Logical(LogicalOperator),
    Is,
    Comparison(BinaryOperator),
    /// IN, LIKE, BETWEEN, REGEXP, SOUNDS LIKE, MEMBER OF, with or without NOT.
    Predicate,
    Binary(BinaryOperator, u8),
    Collate,
}

impl Infix {
    fn power(self) -> u8 {
        match self {
            Infix::Logical(LogicalOperator::Or) => power::OR,
            Infix::Logical(LogicalOperator::Xor) => power::XOR,
            Infix::Logical(LogicalOperator::And) => power::AND,
            Infix::Is | Infix::Comparison(_) => power::COMPARISON,
            Infix::Predicate => power::PREDICATE,
            Infix::Binary(_, power) => power,
            Infix::Collate => power::COLLATE,
        }
    }
}

/// An expression that is not complete yet.
pub struct Operand<'a> {
    pub expr: Expr<'a>,
    /// The greatest power of an operator that may take this as its left side.
    pub ceiling: u8,
}

impl<'a> Parser<'a> {
    /// Any expression.
    pub fn expr(&mut self) -> Result<Expr<'a>> {
        self.nested(|parser| parser.operators(power::OR))
    }

    /// An expression whose operators bind at least as tight as `minimum`.
    pub fn operators(&mut self, minimum: u8) -> Result<Expr<'a>> {
        let start = self.start();
        let mut left = self.prefixed(minimum)?;
        while let Some(infix) = self.infix() {
            let power = infix.power();
            if power < minimum || power > left.ceiling {
                break;
            }
            left = self.infix_operand(infix, left.expr, start)?;
        }
        Ok(left.expr)
    }

    /// Makes a node that ends with the last token taken. `below` is the height of its highest child.
    pub fn node(&mut self, kind: ExprKind<'a>, start: u32, below: u32) -> Result<Expr<'a>> {
        let height = self.height_above(below)?;
        Ok(Expr { kind, span: self.span_from(start), height })
    }

    fn infix(&self) -> Option<Infix> {
        use BinaryOperator::*;
        let infix = match self.kind() {
            T::Word => return self.infix_word(),
            T::Equal => Infix::Comparison(Equal),
            T::NullSafeEqual => Infix::Comparison(NullSafeEqual),
            T::NotEqual => Infix::Comparison(NotEqual),
            T::Less => Infix::Comparison(Less),
            T::LessOrEqual => Infix::Comparison(LessOrEqual),
            T::Greater => Infix::Comparison(Greater),
            T::GreaterOrEqual => Infix::Comparison(GreaterOrEqual),
            T::AndAnd => Infix::Logical(LogicalOperator::And),
            T::PipePipe if self.mode.pipes_as_concat => Infix::Binary(Concat, power::CONCAT),
            T::PipePipe => Infix::Logical(LogicalOperator::Or),
            T::Pipe => Infix::Binary(BitOr, power::BIT_OR),
            T::Ampersand => Infix::Binary(BitAnd, power::BIT_AND),
            T::ShiftLeft => Infix::Binary(ShiftLeft, power::SHIFT),
            T::ShiftRight => Infix::Binary(ShiftRight, power::SHIFT),
            T::Plus => Infix::Binary(Add, power::ADD),
            T::Minus => Infix::Binary(Subtract, power::ADD),
            T::Star => Infix::Binary(Multiply, power::MULTIPLY),
            T::Slash => Infix::Binary(Divide, power::MULTIPLY),
            T::Percent => Infix::Binary(Modulo, power::MULTIPLY),
            T::Caret => Infix::Binary(BitXor, power::BIT_XOR),
            _ => return None,
        };
        Some(infix)
    }

    fn infix_word(&self) -> Option<Infix> {
        let infix = match self.keyword() {
            K::And => Infix::Logical(LogicalOperator::And),
            K::Or => Infix::Logical(LogicalOperator::Or),
            K::Xor => Infix::Logical(LogicalOperator::Xor),
            K::Is => Infix::Is,
            K::In | K::Like | K::Between | K::Regexp | K::Rlike => Infix::Predicate,
            K::Not if matches!(self.keyword_at(1), K::In | K::Like | K::Between | K::Regexp | K::Rlike) => {
                Infix::Predicate
            }
            K::Sounds if self.keyword_at(1) == K::Like => Infix::Predicate,
            K::Member if self.keyword_at(1) == K::Of || self.peek_at(1).kind == T::LeftParen => {
                Infix::Predicate
            }
            K::Div => Infix::Binary(BinaryOperator::IntegerDivide, power::MULTIPLY),
            K::Mod => Infix::Binary(BinaryOperator::Modulo, power::MULTIPLY),
            K::Collate => Infix::Collate,
            _ => return None,
        };
        Some(infix)
    }

    /// Reads the operator and what stands right of it.
    fn infix_operand(&mut self, infix: Infix, left: Expr<'a>, start: u32) -> Result<Operand<'a>> {
        let (expr, ceiling) = match infix {
            Infix::Logical(operator) => (self.logical_chain(operator, left, start)?, infix.power()),
            Infix::Is => return self.is_test(left, start),
            Infix::Comparison(operator) => (self.comparison(operator, left, start)?, power::COMPARISON),
            Infix::Predicate => (self.nested(|parser| parser.predicate(left, start))?, power::COMPARISON),
            Infix::Binary(operator, power) => (self.binary(operator, power, left, start)?, power::ANY),
            Infix::Collate => {
                self.advance();
                let collation = self.collation_name()?;
                let operand = self.alloc(left);
                (self.node(ExprKind::Collate { operand, collation }, start, left.height)?, power::ANY)
            }
        };
        Ok(Operand { expr, ceiling })
    }

    /// All operands of `a AND b AND c` at once: chains of thousands must not become thousands of levels.
    fn logical_chain(&mut self, operator: LogicalOperator, first: Expr<'a>, start: u32) -> Result<Expr<'a>> {
        let power = Infix::Logical(operator).power();
        let mut below = first.height;
        let mut operands = Vec::with_capacity_in(2, self.arena);
        operands.push(first);
        while self.infix() == Some(Infix::Logical(operator)) {
            self.advance();
            let operand = self.operators(power + 1)?;
            below = below.max(operand.height);
            operands.push(operand);
        }
        self.node(ExprKind::Logical { operator, operands: operands.into_bump_slice() }, start, below)
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        power: u8,
        left: Expr<'a>,
        start: u32,
    ) -> Result<Expr<'a>> {
        self.advance();
        let adds = matches!(operator, BinaryOperator::Add | BinaryOperator::Subtract);
        if adds && self.at_interval() {
            return self.date_arithmetic_after(left, operator == BinaryOperator::Subtract, start);
        }
        let right = self.operators(power + 1)?;
        self.binary_node(operator, left, right, start)
    }

    pub fn binary_node(
        &mut self,
        operator: BinaryOperator,
        left: Expr<'a>,
        right: Expr<'a>,
        start: u32,
    ) -> Result<Expr<'a>> {
        let below = left.height.max(right.height);
        let (left, right) = (self.alloc(left), self.alloc(right));
        self.node(ExprKind::Binary { operator, left, right }, start, below)
    }

    /// An operand with the operators before it.
    fn prefixed(&mut self, minimum: u8) -> Result<Operand<'a>> {
        let operator = match self.kind() {
            T::Minus => UnaryOperator::Minus,
            T::Plus => UnaryOperator::Plus,
            T::Tilde => UnaryOperator::BitNot,
            T::Bang => UnaryOperator::Not,
            T::Word => match self.keyword() {
                K::Binary => UnaryOperator::Binary,
                K::Not if self.mode.high_not_precedence => UnaryOperator::Not,
                K::Not if minimum <= power::NOT => return self.logical_not(),
                _ => return self.primary_operand(),
            },
            _ => return self.primary_operand(),
        };
        let expr = self.unary(operator, power::UNARY)?;
        Ok(Operand { expr, ceiling: power::ANY })
    }

    fn primary_operand(&mut self) -> Result<Operand<'a>> {
        Ok(Operand { expr: self.primary()?, ceiling: power::ANY })
    }

    fn logical_not(&mut self) -> Result<Operand<'a>> {
        let expr = self.unary(UnaryOperator::Not, power::NOT)?;
        Ok(Operand { expr, ceiling: power::AND })
    }

    fn unary(&mut self, operator: UnaryOperator, power: u8) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        let operand = self.nested(|parser| parser.operators(power))?;
        let inner = self.alloc(operand);
        self.node(ExprKind::Unary { operator, operand: inner }, start, operand.height)
    }
}
