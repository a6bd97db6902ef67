//! The binary log as files: written from the engine's log behind the commits, kept, sent to those who read it.
//!
//! Invariant: everything in the files is durable in the engine's log or was synced here; what a crash takes from a file is
//! written again in the same bytes (decision 0048). The server opens it before the first session; sessions ask it.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod dependencies;
mod error;
mod files;
mod log;
mod position;
mod replicas;
mod semi_sync;
mod stream;
#[cfg(test)]
mod tests;
mod writer;

pub use error::SourceError;
pub use files::base_on_disk;
pub use log::{BinaryLog, BinaryLogConfig, LiveSettings, LogFile};
pub use position::{POSITION_FILE, Position, load_position, store_position};
pub use replicas::{Registration, Replica};
pub use semi_sync::{SemiSyncFigures, SemiSyncReplica, SemiSyncSettings};
pub use stream::{EventStream, StreamOptions, StreamedEvent};
