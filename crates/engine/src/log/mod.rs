//! The log as the engine uses it: its records, what travels with commits, and pieces for whoever keeps it elsewhere.

pub(crate) mod event_file;
pub(crate) mod events;
pub(crate) mod log_record;
pub(crate) mod log_tap;
pub(crate) mod logged_events;
