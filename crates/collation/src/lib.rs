//! Character sets and collations with MySQL's ids, names and orders.
//!
//! Strings are byte strings in the character set of their collation; nothing here allocates unless it must
//! return a new string. Invalid bytes never panic: they count, compare and convert one by one.
#![forbid(unsafe_code)]

mod charset;
mod registry;

mod unicode;
mod weight_string;
mod weight_table;
mod weights;

mod compare;
mod sort_key;

mod like;
mod text;

mod convert;
mod latin1;

pub use charset::Charset;
pub use convert::Converted;
pub use like::LikePattern;
pub use registry::{Collation, CollationId, PadAttribute, all_collations};
pub use sort_key::read_escaped;
pub use text::{Characters, valid_utf8_length};
