//! The bits of `sql_mode` that change how text is read.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SqlMode {
    /// `"x"` is an identifier, not a string.
    pub ansi_quotes: bool,
    /// `||` concatenates instead of meaning OR.
    pub pipes_as_concat: bool,
    /// A backslash in a string is an ordinary character.
    pub no_backslash_escapes: bool,
    /// `NOT a BETWEEN b AND c` is `(NOT a) BETWEEN b AND c`.
    pub high_not_precedence: bool,
    /// A space may stand between a built-in function's name and its parenthesis.
    pub ignore_space: bool,
    /// REAL is FLOAT, not DOUBLE.
    pub real_as_float: bool,
}
