//! Rows of a table in the engine: row codec, primary and secondary index maintenance, scans.
//!
//! Invariant: after each call that returns `Ok`, every row has exactly one entry in each index of its table, made
//! from the row's current values; after an error the caller rolls back to its savepoint.
//! The executor reads and changes rows through it, the catalog builds indexes with it.
#![forbid(unsafe_code)]

mod auto_increment;
mod change;
mod codec;
mod error;
mod handle;
mod index_codec;
mod layout;
mod range;
mod resolver;
mod row_codec;
mod scan;
mod statistics;

pub use auto_increment::AutoIncrement;
pub use change::{InsertOutcome, UpdateOutcome};
pub use codec::DecodeError;
pub use error::engine_error;
pub use handle::TableHandle;
pub use index_codec::IndexLayout;
pub use layout::{Projection, RowLayout};
pub use range::{Bound, encode_bound, encode_equal};
pub use resolver::TableResolver;
pub use scan::{IndexScan, ScanRequest};
pub use statistics::Statistics;
