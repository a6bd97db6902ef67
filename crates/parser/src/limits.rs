//! The parser's limits and the version it answers to in versioned comments.

/// How deep expressions, subqueries, joins and parentheses may nest. At 1,000 levels the parser needs well under the
/// 2 MB of a worker's stack (see the tests in `tests/depth.rs`).
pub const NESTING_MAX: u32 = 1_000;

/// Text in `/*!NNNNN .. */` is executed when NNNNN is at most this version.
pub const VERSION: u32 = 90_700;

/// How much of the text an error message quotes, in bytes, as in MySQL.
pub const NEAR_LENGTH_MAX: usize = 80;
