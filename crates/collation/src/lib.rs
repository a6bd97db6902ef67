//! Character sets and collations with MySQL's ids, names and orders.
//!
//! Strings are byte strings in the character set of their collation; nothing here allocates unless it must
//! return a new string. Invalid bytes never panic: they compare and convert as MySQL's replacement rules say.
#![forbid(unsafe_code)]

mod charset;
mod latin1;
mod registry;

pub use charset::Charset;
pub use registry::{Collation, CollationId, PadAttribute, all_collations};
