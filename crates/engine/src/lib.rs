//! The storage engine: transactions over ordered byte-key tables ("trees"), snapshots, row and range
//! locks, checkpoint and crash recovery. It knows no SQL: keys and values are bytes, keys order by memcmp.
//!
//! It can be used alone, as a library:
//!
//! ```
//! use engine::{AccessMode, Direction, Engine, EntryBatch, Isolation, KeyRange, ReadMode, Uniqueness, WaitPolicy};
//!
//! # fn main() -> Result<(), engine::EngineError> {
//! let wait = WaitPolicy::Wait { timeout_us: 1_000_000 };
//! // `Engine::open` does the same for a directory: see `examples/bank.rs`.
//! let engine = Engine::in_memory();
//! env::local::block_on(async {
//!     let mut writer = engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
//!     let tree = writer.create_tree().await?;
//!     writer.insert(tree, b"apple", b"red", Uniqueness::Key, wait).await?;
//!     writer.insert(tree, b"banana", b"yellow", Uniqueness::Key, wait).await?;
//!     writer.commit().await?;
//!
//!     let mut reader = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
//!     assert_eq!(reader.get(tree, b"apple", ReadMode::Snapshot).await?, Some(b"red".to_vec()));
//!     let mut writer = engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
//!     writer.delete(tree, b"apple", wait).await?;
//!     writer.commit().await?;
//!
//!     // The reader goes on to see what it saw at first.
//!     let mut cursor = reader.scan(tree, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
//!     let mut fruits = EntryBatch::default();
//!     while cursor.next_batch(&mut reader, 100, &mut fruits).await? {}
//!     assert_eq!(fruits.iter().map(|(key, _)| key).collect::<Vec<_>>(), [&b"apple"[..], b"banana"]);
//!     reader.commit().await?;
//!     assert_eq!(engine.stats().rows_inserted, 2);
//!     engine.close().await
//! })
//! # }
//! ```
//!
//! Every future of this crate may be dropped at any await (a killed query): the transaction stays usable,
//! at least for a rollback to a savepoint or of the whole.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ahead;
mod api;
mod backup;
mod backup_record;
mod backup_stream;
mod budget;
mod chains;
mod checkpoint;
mod commit;
mod damage;
mod deadlock;
mod engine;
mod error;
mod estimate;
mod events;
mod files;
mod forward;
mod full_disk;
mod ghosts;
mod history;
mod in_memory;
mod inspect;
mod intervals;
mod late;
mod load;
mod lock_wait;
mod log_record;
mod log_tap;
mod marks;
mod memory_disk;
mod merge;
mod meta_row;
mod observe;
mod open;
mod page_logs;
mod prepared;
mod prune;
mod read;
mod record;
mod recovery;
mod rollback;
mod row_table;
mod runs;
mod scan;
mod scan_access;
mod snapshot;
mod spill;
mod stats;
mod superblock;
mod survey;
mod temporary;
#[cfg(test)]
mod tests;
mod transaction;
mod transaction_state;
mod trees;
mod tuning;
mod undo_stack;
mod unique;
mod verify;
mod wait;
mod whole_tree;
mod write;
mod writers;

pub use ahead::Expected;
pub use api::{
    AccessMode, Direction, EngineOptions, EntryBatch, FlushAtCommit, Isolation, KeyRange, LockMode,
    PackedStats, Packing, ReadMode, Savepoint, TreeId, Uniqueness, WaitPolicy,
};
pub use backup::{Backup, BackupProgress};
pub use backup_record::{BackupBase, BackupEnd, BackupHead, BackupRecord};
pub use backup_stream::{BackupOptions, BackupStream};
pub use commit::UnsettledCommit;
pub use engine::Engine;
pub use env::{IoStats, WaitStats};
pub use error::EngineError;
pub use estimate::LeafSample;
pub use events::{CommittedEvents, EventNews, EventSource, LoggedEvents};
pub use inspect::{Inspected, inspect};
pub use log_record::is_engine_log_record;
pub use log_tap::{CopyExtent, LogTap, committed_at_us, copy_extent, log_begin};
pub use observe::{
    DeadlockMember, DeadlockObserver, DeadlockReport, LockInfo, LockWaitInfo, LockedItem, TransactionInfo,
};
pub use pagestore::ChangePoint;
pub use prepared::PreparedTransaction;
pub use scan::Cursor;
pub use stats::EngineStats;
pub use survey::{Fault, Survey};
pub use transaction::{LockMark, Transaction};
pub use trees::ChangeMark;
pub use tuning::{PoolResize, PoolWarmUp};
pub use verify::VerifyReport;
pub use wal::LogPin;
