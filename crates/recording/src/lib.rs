//! Samples of a server and its host, second by second, in one compressed file that describes itself.
#![forbid(unsafe_code)]

/// Operations that all disks of this host have done.
#[must_use]
pub fn host_operations() -> Option<u64> {
    None
}
