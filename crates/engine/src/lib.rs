//! The storage engine: transactions over ordered byte-key tables ("trees"), snapshots, row and range
//! locks, checkpoint and crash recovery. It knows no SQL: keys and values are bytes, keys order by memcmp.
//!
//! Every future of this crate may be dropped at any await (a killed query): the transaction stays usable,
//! at least for a rollback to a savepoint or of the whole.

#![forbid(unsafe_code)]

mod api;
mod chains;
mod checkpoint;
mod commit;
mod deadlock;
mod engine;
mod error;
mod forward;
mod ghosts;
mod history;
mod in_memory;
mod intervals;
mod load;
mod lock_wait;
mod log_record;
mod memory_disk;
mod merge;
mod open;
mod prune;
mod read;
mod record;
mod recovery;
mod rollback;
mod row_table;
mod scan;
mod scan_access;
mod snapshot;
mod stats;
mod superblock;
#[cfg(test)]
mod tests;
mod transaction;
mod transaction_state;
mod trees;
mod tuning;
mod unique;
mod verify;
mod wait;
mod whole_tree;
mod write;
mod writers;

pub use api::{
    AccessMode, Direction, EngineOptions, EntryBatch, FlushAtCommit, Isolation, KeyRange, LockMode, ReadMode,
    Savepoint, SegmentOptions, StoreKind, TreeId, Uniqueness, WaitPolicy,
};
pub use engine::Engine;
pub use error::EngineError;
pub use log_record::is_engine_log_record;
pub use scan::Cursor;
pub use stats::{EngineStats, LockWaitInfo, TransactionInfo};
pub use transaction::Transaction;
pub use tuning::{PoolResize, PoolWarmUp};
pub use verify::VerifyReport;
