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

mod api;
mod budget;
mod checkpoints;
mod checks;
mod copies;
mod engine;
mod error;
mod full_disk;
mod life;
mod locks;
mod log;
mod open;
mod reads;
mod recovery;
mod row_table;
mod runs;
mod spill;
mod stats;
mod storage;
#[cfg(test)]
mod tests;
mod transactions;
mod tuning;
mod versions;
mod writes;

pub use api::{
    AccessMode, Direction, EngineOptions, EntryBatch, FlushAtCommit, Isolation, KeyRange, LockMode,
    PackedStats, Packing, ReadMode, Savepoint, TreeId, Uniqueness, WaitPolicy,
};
pub use btree::redo::PageRebuild;
pub use btree::{InMemory, Leaves};
pub use buffer::PageRepairer;
pub use checks::inspect::{Inspected, inspect};
pub use checks::survey::{Fault, Survey};
pub use checks::verify::VerifyReport;
pub use copies::backup::{Backup, BackupProgress};
pub use copies::backup_record::{BackupBase, BackupEnd, BackupHead, BackupRecord};
pub use copies::backup_stream::{BackupOptions, BackupStream};
pub use copies::page_repair::copy_page;
pub use engine::Engine;
pub use env::{IoStats, WaitStats};
pub use error::EngineError;
pub use log::event_file::{EventFile, EventFileWriter};
pub use log::events::{CommittedEvents, EventNews, EventSource};
pub use log::log_record::is_engine_log_record;
pub use log::log_tap::{CopyExtent, LogTap, committed_at_us, copy_extent, log_begin};
pub use log::logged_events::{EventRecord, LoggedEvents, event_records};
pub use pagestore::{ChangePoint, CorruptPage, PageFault, PageId};
pub use reads::ahead::Expected;
pub use reads::estimate::LeafSample;
pub use reads::scan::Cursor;
pub use stats::EngineStats;
pub use storage::trees::ChangeMark;
pub use transactions::commit::UnsettledCommit;
pub use transactions::held_commits::HoldPoint;
pub use transactions::observe::{
    DeadlockMember, DeadlockObserver, DeadlockReport, LockInfo, LockWaitInfo, LockedItem, TransactionInfo,
};
pub use transactions::prepared::PreparedTransaction;
pub use transactions::transaction::{LockMark, Transaction};
pub use tuning::{PoolResize, PoolWarmUp};
pub use wal::LogPin;
