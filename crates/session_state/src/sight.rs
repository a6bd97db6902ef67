//! What others may look at of a session, and the list of its prepared statements.
//!
//! Invariant: the list names those that the session still has: it holds no reference that keeps one alive, and it is cleaned
//! whenever it would grow.
use std::sync::{Arc, Weak};

use datum::Value;
use instance::{PreparedSight, SessionSight};
use parking_lot::Mutex;

use crate::shared_state::SharedState;

/// The session's prepared statements, in the order in which they came.
#[derive(Default)]
pub struct PreparedList(Mutex<Vec<Weak<PreparedSight>>>);

impl PreparedList {
    pub fn add(&self, prepared: &Arc<PreparedSight>) {
        let mut list = self.0.lock();
        if list.len() == list.capacity() {
            list.retain(|one| one.strong_count() > 0);
        }
        list.push(Arc::downgrade(prepared));
    }

    fn all(&self) -> Vec<Arc<PreparedSight>> {
        self.0.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

impl SessionSight for SharedState {
    fn user_variables(&self) -> Vec<(String, Option<Vec<u8>>)> {
        let text = |(name, value, column_type): (String, Value, datum::ColumnType)| {
            let text = (!value.is_null()).then(|| value.to_text(&column_type).into_owned());
            (name, text)
        };
        self.all_user_variables().into_iter().map(text).collect()
    }

    fn memory_bytes(&self) -> u64 {
        self.memory.used()
    }

    fn prepared(&self) -> Vec<Arc<PreparedSight>> {
        self.prepared.all()
    }
}
