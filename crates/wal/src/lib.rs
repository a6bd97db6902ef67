//! The write-ahead log: records, mini-transaction groups, group commit, and the reader that recovery uses.
//!
//! Invariant: bytes below `durable_lsn` never change on disk, and a group is replayed whole or not at all.
//! `format` has the layout of the files.

#![forbid(unsafe_code)]

mod admission;
mod copy;
mod error;
mod files;
mod flusher;
mod format;
mod fuzz;
mod group;
mod log;
mod lsn;
mod open;
mod options;
mod piece;
mod pin;
mod reader;
mod record;
mod segments;
mod space;
mod spacing;
mod staging;
mod stats;
mod waiters;
mod window;

pub use admission::Reservation;
pub use copy::LogCopy;
pub use error::{AppendError, WalError};
pub use files::{LogBuilder, LogFiles, segment_start};
pub use fuzz::fuzz_one;
pub use group::{GroupLsns, WalGroup};
pub use log::Wal;
pub use lsn::Lsn;
pub use options::{FlushMode, Priority, WalOptions};
pub use piece::{LogPiece, LogThread};
pub use pin::LogPin;
pub use reader::{LogGroup, LogTail, WalReader};
pub use record::{DecodeError, Record, RecordIter, decode_records};
pub use stats::WalStats;
