//! A cell that answers otherwise than it was recorded.
use std::fmt;

/// A cell whose answer is not the recorded one.
pub struct Difference {
    pub template: &'static str,
    pub index: usize,
    pub cell: String,
    pub expected: String,
    pub answer: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { template, index, cell, expected, answer } = self;
        write!(formatter, "{template}\t{index}\t{cell}\n    {expected}\n    {answer}")
    }
}
