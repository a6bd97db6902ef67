//! The digest of a statement: a hash of its text without its literals, made in one pass.
//!
//! Two texts have the same digest when they are equal but for the values of their literals; the kinds of the
//! literals, the digits of decimals, white space, comments and letter case all count. So a plan found by its digest
//! needs no look at the text: `bind` gives the new literals their values.
//! The session asks for the digest before it parses; `LiteralUse` of the parsed text says whether a plan may be kept.
mod bind;
mod hash;
mod normal;
mod walk;

#[cfg(test)]
mod tests;

use crate::ast::Span;

pub use normal::normal_text;
pub use walk::digest;

/// A 128-bit keyed hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub u128);

/// The hash's key: random for each server start, so that nobody can prepare colliding texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestSeed(pub u64, pub u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LiteralKind {
    /// Fits `i64`.
    Integer,
    /// Fits `u64` but not `i64`.
    UnsignedInteger,
    /// Has a point, or is beyond 64 bits.
    Decimal,
    Float,
    /// A quoted string; its value may hold escapes (see `LiteralSpan::escaped`).
    String,
    /// `N'..'`
    NationalString,
    Hex,
    Bit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiteralSpan {
    pub kind: LiteralKind,
    /// The string holds backslashes or doubled quotes.
    pub escaped: bool,
    /// With quotes and prefix.
    pub span: Span,
}

/// Reused from statement to statement, so that a digest allocates nothing.
#[derive(Debug, Default)]
pub struct DigestOutput {
    /// In the order of the text: the index is the `LiteralOrdinal`.
    pub literals: Vec<LiteralSpan>,
}
