//! What a value of a program's expression is for.

/// What the value of an expression is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ValueUse {
    Assigned,
    /// The operand of a CASE, of which no warning is an error by itself.
    Operand,
    Test(Test),
}

/// What a condition asks of its expression: that it is true, or that it equals a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Test {
    pub equals: Option<usize>,
}
