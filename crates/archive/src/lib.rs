//! The log kept elsewhere as it is written, and databases made of a backup and that log as of any moment (decision 0055).
//!
//! Invariant: what the archive has is valid log, and log is given free here only when the archive has it for certain. A restored
//! database is what a crash at that moment would have left; opening it is recovery. Reading order: `frame`, `manifest`, `folder`,
//! `archiver`, `restore`,
//! `backup_file` (decision 0056). The server starts the archiver; its commands restore.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod archiver;
mod backup_file;
mod error;
mod folder;
mod frame;
mod identifiers;
mod manifest;
mod page_rebuild;
mod restore;
mod retention;
#[cfg(test)]
mod tests;

pub use archiver::{Archive, ArchiveConfig, Reach, Severity, Tell, archived_to};
pub use backup_file::{
    BackupCheck, BackupKey, BackupReader, BackupWriter, check_backup, is_backup_file, restore_chain,
};
pub use error::ArchiveError;
pub use folder::{FolderCheck, check_folder, is_archive};
pub use manifest::ArchivedFile;
pub use page_rebuild::{PageSource, RebuiltPage, rebuild_page};
pub use restore::{Progress, Restored, Until, restore};
pub use retention::{KeepRule, Retention, keep_log_from};
