//! The operators of expressions, with the spelling error messages use.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithmeticOperator {
    Add,
    Subtract,
    Multiply,
    /// `/`
    Divide,
    /// `DIV`
    IntegerDivide,
    /// `%` and `MOD`
    Modulo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOperator {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComparisonOperator {
    Equal,
    /// `<=>`
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What `IS [NOT] ...` asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TruthTest {
    Null,
    NotNull,
    True,
    NotTrue,
    False,
    NotFalse,
}

impl ArithmeticOperator {
    pub fn symbol(self) -> &'static str {
        match self {
            ArithmeticOperator::Add => "+",
            ArithmeticOperator::Subtract => "-",
            ArithmeticOperator::Multiply => "*",
            ArithmeticOperator::Divide => "/",
            ArithmeticOperator::IntegerDivide => "DIV",
            ArithmeticOperator::Modulo => "%",
        }
    }
}

impl BitOperator {
    pub fn symbol(self) -> &'static str {
        match self {
            BitOperator::And => "&",
            BitOperator::Or => "|",
            BitOperator::Xor => "^",
            BitOperator::ShiftLeft => "<<",
            BitOperator::ShiftRight => ">>",
        }
    }
}

impl ComparisonOperator {
    pub fn symbol(self) -> &'static str {
        match self {
            ComparisonOperator::Equal => "=",
            ComparisonOperator::NullSafeEqual => "<=>",
            ComparisonOperator::NotEqual => "<>",
            ComparisonOperator::Less => "<",
            ComparisonOperator::LessOrEqual => "<=",
            ComparisonOperator::Greater => ">",
            ComparisonOperator::GreaterOrEqual => ">=",
        }
    }

    /// The operator that gives the same answer with the operands swapped.
    #[must_use]
    pub fn swapped(self) -> ComparisonOperator {
        match self {
            ComparisonOperator::Less => ComparisonOperator::Greater,
            ComparisonOperator::LessOrEqual => ComparisonOperator::GreaterOrEqual,
            ComparisonOperator::Greater => ComparisonOperator::Less,
            ComparisonOperator::GreaterOrEqual => ComparisonOperator::LessOrEqual,
            symmetric => symmetric,
        }
    }

    /// Whether an ordering of left against right satisfies the operator.
    #[inline]
    pub fn accepts(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            ComparisonOperator::Equal | ComparisonOperator::NullSafeEqual => ordering.is_eq(),
            ComparisonOperator::NotEqual => ordering.is_ne(),
            ComparisonOperator::Less => ordering.is_lt(),
            ComparisonOperator::LessOrEqual => ordering.is_le(),
            ComparisonOperator::Greater => ordering.is_gt(),
            ComparisonOperator::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl TruthTest {
    pub fn text(self) -> &'static str {
        match self {
            TruthTest::Null => "is null",
            TruthTest::NotNull => "is not null",
            TruthTest::True => "is true",
            TruthTest::NotTrue => "is not true",
            TruthTest::False => "is false",
            TruthTest::NotFalse => "is not false",
        }
    }

    /// The answer for an operand whose truth is known, or `None` for NULL.
    pub fn answer(self, truth: Option<bool>) -> bool {
        match self {
            TruthTest::Null => truth.is_none(),
            TruthTest::NotNull => truth.is_some(),
            TruthTest::True => truth == Some(true),
            TruthTest::NotTrue => truth != Some(true),
            TruthTest::False => truth == Some(false),
            TruthTest::NotFalse => truth != Some(false),
        }
    }
}
