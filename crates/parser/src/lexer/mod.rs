//! The lexer: a statement's bytes into tokens, up to the `;` that ends it.
//!
//! It never fails: what it cannot read becomes a token of kind `Unknown`, so that the syntax error is reported in
//! the order of the text. `token` has the vocabulary, `tokenize` the rules, `scan` the shapes shared with `digest`.
mod all_keywords;
mod keyword;
mod keyword_table;
pub mod scan;
mod token;
mod tokenize;

pub(crate) use all_keywords::keyword;
pub use all_keywords::keywords;
pub use keyword::Keyword;
pub use token::{Token, TokenKind};
pub use tokenize::{Tokens, tokenize, tokenize_all};
