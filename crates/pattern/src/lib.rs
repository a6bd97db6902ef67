//! Regular expressions in the syntax MySQL takes (ICU's), matched in time linear in the text.
//!
//! A pattern is parsed to a tree, compiled to a small program and run by following all of its threads at once, so
//! no pattern can make matching explode. What needs backtracking (back references, look-around, possessive and
//! atomic groups) is refused with error 3690. Callers: the REGEXP functions, JSON schemas, and the context of expressions, which
//! keeps the compiled patterns of a statement.
#![forbid(unsafe_code)]

mod compile;
mod matcher;
mod parse;
mod set;

#[cfg(test)]
mod tests;

use datum::{ErrorCode, error_code};

/// Why a pattern cannot be used; each is one MySQL error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexpError {
    IllegalArgument,
    /// The character of the pattern, from 1.
    Syntax {
        position: usize,
    },
    BadEscape,
    Unimplemented,
    MismatchedParenthesis,
    BadInterval,
    MaximumBelowMinimum,
    UnclosedBracket,
    InvalidRange,
    TooBig,
    /// A replacement names a group that the pattern does not have.
    NoSuchGroup,
}

impl RegexpError {
    pub fn to_error(self) -> datum::SqlError {
        let plain = |code: ErrorCode| code.plain();
        match self {
            RegexpError::IllegalArgument => plain(error_code::ER_REGEXP_ILLEGAL_ARGUMENT),
            RegexpError::Syntax { position } => error_code::ER_REGEXP_RULE_SYNTAX.with(&[&1, &position]),
            RegexpError::BadEscape => plain(error_code::ER_REGEXP_BAD_ESCAPE_SEQUENCE),
            RegexpError::Unimplemented => plain(error_code::ER_REGEXP_UNIMPLEMENTED),
            RegexpError::MismatchedParenthesis => plain(error_code::ER_REGEXP_MISMATCHED_PAREN),
            RegexpError::BadInterval => plain(error_code::ER_REGEXP_BAD_INTERVAL),
            RegexpError::MaximumBelowMinimum => plain(error_code::ER_REGEXP_MAX_LT_MIN),
            RegexpError::UnclosedBracket => plain(error_code::ER_REGEXP_MISSING_CLOSE_BRACKET),
            RegexpError::InvalidRange => plain(error_code::ER_REGEXP_INVALID_RANGE),
            RegexpError::TooBig => plain(error_code::ER_REGEXP_PATTERN_TOO_BIG),
            RegexpError::NoSuchGroup => plain(error_code::ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR),
        }
    }
}

/// The letters of the match type argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flags {
    /// `i` and `c`.
    pub ignores_case: bool,
    /// `m`: ^ and $ match at line breaks inside the text.
    pub is_multiline: bool,
    /// `n`: the dot matches line breaks.
    pub dot_matches_newline: bool,
    /// `u`: only \n is a line break.
    pub unix_lines: bool,
}

/// The positions of the groups of a match, group 0 the whole; positions count characters.
pub type Groups = Vec<Option<(usize, usize)>>;

/// A compiled pattern.
#[derive(Debug)]
pub struct Regexp {
    program: compile::Program,
    flags: Flags,
}

impl Regexp {
    pub fn new(pattern: &str, flags: Flags) -> Result<Regexp, RegexpError> {
        if pattern.is_empty() {
            return Err(RegexpError::IllegalArgument);
        }
        let (tree, group_count) = parse::parse(pattern, flags)?;
        Ok(Regexp { program: compile::compile(&tree, group_count)?, flags })
    }

    /// The first match at or after a position.
    pub fn find(&self, text: &[char], start: usize) -> Option<Groups> {
        matcher::find(&self.program, self.flags, text, start)
    }
}

/// The simple case folding that ignoring case compares by.
pub fn fold(character: char) -> char {
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(single), None) => single,
        _ => character,
    }
}
