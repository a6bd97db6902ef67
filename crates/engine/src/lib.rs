//! The storage engine: transactions over ordered byte-key tables ("trees"), snapshots, row and range
//! locks, checkpoint and crash recovery. It knows no SQL: keys and values are bytes, keys order by memcmp.
//!
//! Every future of this crate may be dropped at any await (a killed query): the transaction stays usable,
//! at least for a rollback to a savepoint or of the whole.

#![forbid(unsafe_code)]

mod api;
mod error;
mod wait;
mod transaction_state;
mod row_table;
mod intervals;
mod deadlock;
mod snapshot;
mod log_record;
mod stand_in;

pub use api::{
    AccessMode, Direction, EngineOptions, EntryBatch, FlushAtCommit, Isolation, KeyRange, LockMode, ReadMode,
    Savepoint, TreeId, Uniqueness, WaitPolicy,
};
pub use error::EngineError;
pub use stand_in::{Cursor, Engine, Transaction};
