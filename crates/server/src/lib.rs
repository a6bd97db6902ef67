//! The evenkeel program: options, start-up, listeners, workers and the wire between client and session.
//!
//! Reading order: `options` says what was asked for, `start` brings everything up and down again, `worker` runs
//! tasks on threads, `listener` accepts clients, `connection` serves one of them.
#![forbid(unsafe_code)]

pub mod options;

mod folder;
mod log;
mod machine;
mod open_store;
mod pid_file;
mod random;
mod version;

mod attachment;
mod backup_file;
mod backup_folder;
mod binary_log;
mod certificate;
mod copy_directory;
mod data_directory;
mod doctor;
mod events;
mod listener;
mod log_archive;
mod log_files;
mod metrics;
mod page_repair;
mod panics;
mod prune;
mod repeated;
mod replication;
mod restore;
mod restore_table;
mod server_uuid;
mod service_manager;
mod shared;
mod signals;
mod start;
mod stop;
mod verify;
mod worker;

mod connection;

/// The statements that stand in crates above `session`, which every session of this program gets.
pub(crate) const FAMILIES: &dyn session::Families = &statements::Statements;

pub use doctor::examine;
pub use prune::{PrunePlan, prune};
pub use restore::{RestorePlan, restore};
pub use restore_table::{RestoreTablePlan, restore_table};
pub use start::run;
pub use verify::{inspect, verify};
pub use version::version_text;
