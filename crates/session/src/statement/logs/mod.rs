//! What statements leave behind: the binary log and its identifiers, the general, slow and audit log, events and profiles.

pub(super) mod binary_log;
pub(super) mod gtid_next;
pub(super) mod logging;
pub(super) mod observe;
pub(super) mod profile;
mod watch;
