//! What is known of a full disk: when writing last failed for want of space, and what the administrator is told of it.
//!
//! Invariant: nobody waits long for room that a full disk will not give. Noted wherever such a failure becomes an `EngineError`; asked by
//! writers that are held back (`checkpoint`), and by the program for its log.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Default)]
pub(crate) struct FullDisk {
    failures: AtomicU64,
    told: AtomicU64,
}

impl FullDisk {
    pub fn note(&self) {
        self.failures.fetch_add(1, Relaxed);
    }

    /// Grows with each failure.
    pub fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }
}

impl crate::Engine {
    /// How often writing has failed for want of space since the last call.
    pub fn take_full_disk_news(&self) -> u64 {
        let failures = self.full_disk.failures();
        failures - self.full_disk.told.swap(failures, Relaxed)
    }

    pub(crate) fn disk_is_full(&self) -> crate::EngineError {
        self.full_disk.note();
        crate::EngineError::DiskFull
    }
}
