//! What others may look at of a session, and the list of its prepared statements.
//!
//! Invariant: the list names those that the session still has: it holds no reference that keeps one alive, and it is cleaned
//! whenever it would grow.
use std::sync::Arc;

use datum::Value;
use instance::{PreparedSight, SessionSight};

use crate::shared_state::SharedState;

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
