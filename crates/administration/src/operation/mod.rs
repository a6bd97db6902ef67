//! The server's own affairs: KILL, FLUSH, SHUTDOWN, backups, certificates, HELP, binary logs that go, and summaries that begin
//! anew.

mod administration;
mod backup_instance;
mod binary_log_files;
mod clone;
pub(crate) mod help;
mod instance;
mod restore_table;
mod system_table;
