//! The prepared statements of a session that others may look at.
use instance::PreparedSight;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// The session's prepared statements, in the order in which they came.
#[derive(Default)]
pub struct PreparedList(Mutex<Vec<Weak<PreparedSight>>>);

impl PreparedList {
    pub fn add(&self, prepared: &Arc<PreparedSight>) {
        let mut list = self.0.lock();
        if list.len() == list.capacity() {
            list.retain(|one| one.strong_count() > 0);
            let more = (list.len() / 8).max(8);
            list.reserve_exact(more);
        }
        list.push(Arc::downgrade(prepared));
    }

    pub(super) fn all(&self) -> Vec<Arc<PreparedSight>> {
        self.0.lock().iter().filter_map(Weak::upgrade).collect()
    }
}
