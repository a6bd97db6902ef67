//! Rows of a table in the engine: row codec, primary and secondary index maintenance, scans.
//!
//! Invariant: after each call that returns `Ok`, every row has exactly one entry in each index of its table, made
//! from the row's current values; after an error the caller rolls back to its savepoint.
//! The executor reads and changes rows through it, the catalog builds indexes with it.
#![forbid(unsafe_code)]

mod auto_increment;
mod error;
mod handle;
mod resolver;

pub use auto_increment::AutoIncrement;
pub use error::engine_error;
pub use handle::TableHandle;
pub use resolver::TableResolver;
