//! The server's own affairs: KILL, FLUSH, SHUTDOWN, backups, certificates, HELP and summaries that begin anew.

pub(super) mod administration;
pub(super) mod backup_instance;
pub(super) mod clone;
pub(super) mod help;
pub(super) mod instance;
pub(super) mod system_table;
