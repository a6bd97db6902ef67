//! XML documents and the part of XPath 1.0 that MySQL has: EXTRACTVALUE and UPDATEXML.
//!
//! Invariant: documents and paths come from users, so every text is read, answered or refused, and none can make the
//! reader panic; nesting of paths is bounded. Callers: `functions::xml`.
mod document;
mod evaluate;
mod evaluation;
mod lexer;
mod names;
mod node_set;
mod parse;
mod path;

pub(crate) use document::{Document, Kind};
pub(crate) use evaluation::Evaluation;
pub(crate) use parse::{PathError, parse_path};
pub(crate) use path::Path;
