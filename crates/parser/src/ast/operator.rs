//! Operators and interval units.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    /// `NOT x` and `!x`; they differ in precedence only.
    Not,
    Minus,
    /// Kept although it changes nothing, because the original text names the column.
    Plus,
    BitNot,
    /// `BINARY x`: a cast to a binary string.
    Binary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `DIV`
    IntegerDivide,
    /// `%` and `MOD`
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Equal,
    /// `<=>`
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// `||` under PIPES_AS_CONCAT
    Concat,
    SoundsLike,
    /// `x MEMBER OF (json)`
    MemberOf,
}

impl BinaryOperator {
    /// `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=`.
    pub fn is_comparison(self) -> bool {
        use BinaryOperator::*;
        matches!(self, Equal | NullSafeEqual | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual)
    }
}

/// Operators whose chains are flattened, because generated conditions have thousands of operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogicalOperator {
    And,
    Or,
    Xor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}
