//! Copies of the database while it works: into a directory, or as a stream of parts.

pub(crate) mod backup;
pub(crate) mod backup_record;
pub(crate) mod backup_stream;
pub(crate) mod page_repair;
