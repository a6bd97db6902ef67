//! The storage engine: transactions over ordered byte-key tables ("trees"), snapshots, row and range
//! locks, checkpoint and crash recovery. It knows no SQL: keys and values are bytes, keys order by memcmp.
//!
//! Every future of this crate may be dropped at any await (a killed query): the transaction stays usable,
//! at least for a rollback to a savepoint or of the whole.

#![forbid(unsafe_code)]

mod api;
mod error;
mod stats;
mod engine;
mod open;
mod in_memory;
mod memory_disk;
mod transaction;
mod transaction_state;
mod writers;
mod snapshot;
mod row_table;
mod intervals;
mod wait;
mod lock_wait;
mod deadlock;
mod record;
mod read;
mod scan;
mod write;
mod unique;
mod chains;
mod trees;
mod whole_tree;
mod commit;
mod rollback;
mod history;
mod prune;
mod ghosts;
mod log_record;
mod superblock;
mod checkpoint;
mod forward;
mod recovery;
mod verify;
#[cfg(test)]
mod tests;

pub use api::{
    AccessMode, Direction, EngineOptions, EntryBatch, FlushAtCommit, Isolation, KeyRange, LockMode, ReadMode,
    Savepoint, TreeId, Uniqueness, WaitPolicy,
};
pub use engine::Engine;
pub use error::EngineError;
pub use scan::Cursor;
pub use stats::{EngineStats, LockWaitInfo, TransactionInfo};
pub use transaction::Transaction;
pub use verify::VerifyReport;
