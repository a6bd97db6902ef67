//! MySQL's SQL text into an arena-allocated syntax tree, and statement digests.
//!
//! `parse_one` reads one statement of a text and says where it ended; `digest` reads the same text without building
//! anything and gives the key under which a plan for it can be found, with the literals to bind to that plan.
//! Invariant: the n-th literal of `digest` is the literal with ordinal n in the tree.
#![forbid(unsafe_code)]

pub mod ast;
mod digest;
mod entry;
mod error;
mod fuzz;
mod grammar;
pub mod hints;
mod lexer;
mod limits;
mod mode;
mod places;
mod restore;

pub use digest::{Digest, DigestOutput, DigestSeed, LiteralKind, LiteralSpan, digest, normal_text};
pub use entry::{LiteralUse, ParseOptions, Parsed, ParsedPiece, Piece, parse, parse_one, parse_piece};
pub use error::{ParseError, ParseErrorKind};
pub use fuzz::fuzz_one;
pub use grammar::{ProgramNames, unescape_string};
pub use lexer::keywords;
pub use limits::{NESTING_MAX, VERSION};
pub use mode::SqlMode;
pub use places::{parameter_places, span_with_comments};
pub use restore::{
    NamedColumn, NamedTable, ResolvedNames, RestoreOptions, RestoredExpr, RestoredQuery, ViewText,
    is_condition, restore, restore_query,
};
