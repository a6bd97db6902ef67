//! How many statements the sessions keep prepared, by COM_STMT_PREPARE and by SQL together.
//!
//! Invariant: never more than `max_prepared_stmt_count` allowed when they were made; a place is free again when its statement
//! is dropped, however that comes about. Every `PreparedStatement` holds one.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
pub(crate) struct PreparedPlaces {
    taken: Arc<AtomicU64>,
}

/// Given back when dropped.
#[derive(Debug)]
pub(crate) struct PreparedPlace(Arc<AtomicU64>);

impl PreparedPlaces {
    /// `None` when `max` are taken.
    pub(crate) fn take(&self, max: u64) -> Option<PreparedPlace> {
        let before = self.taken.fetch_add(1, Relaxed);
        let place = PreparedPlace(self.taken.clone());
        (before < max).then_some(place)
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }
}

impl Drop for PreparedPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
