//! What statements did: figures by digest, by session and by account, the last statements of each session, latencies,
//! errors and waits. Always on.
//!
//! Invariant: a worker writes to memory that no other worker writes at the same time (its own shard of a digest, or its
//! session's figures), so counting waits for nobody but a reader that is just copying. Written by sessions at the end
//! of each statement, read by the tables of `performance_schema` and `sys`.
#![forbid(unsafe_code)]

mod accounts;
mod actors;
mod digests;
mod error_counts;
mod event;
mod figures;
mod histogram;
mod history;
pub mod instruments;
mod per_thread;
mod server;
mod single;
mod tables;
mod waits;
mod watching;

pub use accounts::{AccountFigures, Accounts};
pub use actors::{Actor, Actors};
pub use digests::{DigestEntry, DigestFigures, Digests, statement_digest};
pub use error_counts::{ErrorCounts, ErrorFigures};
pub use event::{StatementEvent, TransactionEvent};
pub use figures::{StatementFigures, StatementTotals, Timings};
pub use histogram::{BUCKET_COUNT, Histogram, bucket_high_ps, bucket_low_ps};
pub use history::{History, HistoryLong};
pub use instruments::{INSTRUMENTS, Instruments, wait_name};
pub use per_thread::{SessionFigures, ThreadFigures, TransactionTotals};
pub use server::{CONSUMERS, Consumers, Telemetry};
pub use single::{EventObject, Keeping, Long, Outer, Span, StageEvent, WaitEvent};
pub use tables::{RowCounts, TableCounts};
pub use waits::WaitTotals;
pub use watching::ToldWait;

/// Picoseconds, the unit of every time that `performance_schema` shows.
pub fn picoseconds(nanoseconds: u64) -> u64 {
    nanoseconds.saturating_mul(1000)
}
