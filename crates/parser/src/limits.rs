//! The parser's limits and the version it answers to in versioned comments.

/// How deep expressions, subqueries, joins and parentheses may nest, and how high a tree may be (a chain `1+1+1+..`
/// is a tree too; chains of AND, OR, XOR and UNION are flat). At this depth the parser needs 0.9 MB of stack when it
/// is compiled with optimisation, and it leaves those who walk the tree 4 kB a level of a worker's 2 MB.
pub const NESTING_MAX: u32 = 500;

/// Text in `/*!NNNNN .. */` is executed when NNNNN is at most this version.
pub const VERSION: u32 = 90_700;

/// How much of the text an error message quotes, in bytes, as in MySQL.
pub const NEAR_LENGTH_MAX: usize = 80;

/// Spans are 32 bits wide. A packet is never this long.
pub const TEXT_LENGTH_MAX: usize = u32::MAX as usize - 1;
