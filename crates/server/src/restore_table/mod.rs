//! One table as it was at a moment, of a backup and the archive of the log: the command `evenkeel restore-table`, which uses a running
//! server as a client does, and what RESTORE TABLE does inside of one (decision 0060).
//!
//! `table_copy` is what both do; `candidates` are the backups that a statement finds, `remains` what a kill leaves of it.
mod candidates;
mod command;
mod remains;
mod statement;
mod table_copy;

pub(crate) use candidates::{Candidate, find};
pub use command::{RestoreTablePlan, restore_table};
pub(crate) use remains::remove_remains;
pub(crate) use statement::{RestorePlaces, Restorer};
