//! The memory a statement's sorts, groups, hash tables and kept rows may take: its share, and its session's part of the server's.
//!
//! Invariant: what a budget has taken from the session is given back when it is dropped. A `take` that fails has taken nothing: the operator
//! makes room (by writing rows to temporary files) or ends the statement with the error.
use std::sync::Arc;

use datum::{SqlError, Value, error_code};

use crate::session_memory::SessionMemory;

#[derive(Debug)]
pub struct MemoryBudget {
    limit_bytes: usize,
    used_bytes: usize,
    session: Arc<SessionMemory>,
}

impl MemoryBudget {
    /// The statement's share; the session's and the server's limits hold beside it.
    pub fn new(limit_bytes: usize, session: Arc<SessionMemory>) -> MemoryBudget {
        MemoryBudget { limit_bytes, used_bytes: 0, session }
    }

    pub fn take(&mut self, bytes: usize) -> Result<(), SqlError> {
        let used_bytes = self.used_bytes.saturating_add(bytes);
        if used_bytes > self.limit_bytes {
            return Err(error_code::ER_OUT_OF_SORTMEMORY.plain());
        }
        self.session.take(bytes)?;
        self.used_bytes = used_bytes;
        Ok(())
    }

    /// Three quarters are taken: the rest is for what cannot be written to disk.
    pub fn is_scarce(&self) -> bool {
        self.used_bytes > self.limit_bytes / 4 * 3
    }

    pub fn give_back(&mut self, bytes: usize) {
        let bytes = bytes.min(self.used_bytes);
        self.used_bytes -= bytes;
        self.session.give_back(bytes);
    }
}

impl Drop for MemoryBudget {
    fn drop(&mut self) {
        self.session.give_back(self.used_bytes);
    }
}

/// What one operator holds now. An operator that starts anew (the inner side of a join, a subquery run for each row)
/// gives back what it held before.
#[derive(Debug, Default)]
pub struct Held(usize);

impl Held {
    pub fn bytes(&self) -> usize {
        self.0
    }

    pub fn take(&mut self, bytes: usize, budget: &mut MemoryBudget) -> Result<(), SqlError> {
        budget.take(bytes)?;
        self.0 += bytes;
        Ok(())
    }

    pub fn give_back(&mut self, bytes: usize, budget: &mut MemoryBudget) {
        let bytes = bytes.min(self.0);
        self.0 -= bytes;
        budget.give_back(bytes);
    }

    /// Takes what there is room for. True when rows have to be written to disk: the operator holds more than its share, or
    /// there is little room left.
    pub fn take_or_spill(
        &mut self,
        bytes: usize,
        share: usize,
        budget: &mut MemoryBudget,
    ) -> Result<bool, SqlError> {
        Ok(self.has_no_room(bytes, budget)? || self.0 > share || budget.is_scarce())
    }

    /// Holds so much from now on, if there is room; true when there is little left.
    pub fn set_or_spill(&mut self, bytes: usize, budget: &mut MemoryBudget) -> Result<bool, SqlError> {
        self.release(budget);
        Ok(self.has_no_room(bytes, budget)? || budget.is_scarce())
    }

    /// Takes it if there is room. Beyond a limit of MySQL's the session ends, as there, though rows could be written to disk.
    fn has_no_room(&mut self, bytes: usize, budget: &mut MemoryBudget) -> Result<bool, SqlError> {
        match self.take(bytes, budget) {
            Ok(()) => Ok(false),
            Err(error) if budget.session.is_over() => Err(error),
            Err(_) => Ok(true),
        }
    }

    pub fn release(&mut self, budget: &mut MemoryBudget) {
        budget.give_back(std::mem::take(&mut self.0));
    }
}

/// About what a row of values occupies.
pub fn row_bytes(row: &[Value]) -> usize {
    let outside: usize = row.iter().map(outside_bytes).sum();
    size_of::<Vec<Value>>() + size_of_val(row) + outside
}

/// What a value holds outside of its place.
pub fn outside_bytes(value: &Value) -> usize {
    match value {
        Value::Bytes(bytes) => bytes.capacity(),
        Value::Json(text) => text.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session_memory::{MemoryLimits, ServerMemory};

    const MB: usize = 1 << 20;

    #[test]
    fn rows_go_to_disk_for_the_servers_bound_but_not_beyond_a_limit_of_mysqls() {
        let session = Arc::new(SessionMemory::new(Arc::new(ServerMemory::new(4 * MB as u64))));
        let mut budget = MemoryBudget::new(64 * MB, session.clone());
        let mut held = Held::default();
        assert_eq!(held.take_or_spill(MB, 2 * MB, &mut budget), Ok(false));
        assert_eq!(held.take_or_spill(8 * MB, 2 * MB, &mut budget), Ok(true), "no room in the server");
        assert!(!session.is_over());
        let limits =
            MemoryLimits { session_bytes: 2 * MB as u64, is_exempt: false, ..MemoryLimits::default() };
        session.set_limits(limits);
        let refused = held.take_or_spill(2 * MB, 8 * MB, &mut budget).map_err(|error| error.errno);
        assert_eq!((refused, held.bytes()), (Err(4082), MB));
        assert!(session.is_over(), "the session ends");
        let refused = held.set_or_spill(3 * MB, &mut budget).map_err(|error| error.errno);
        assert_eq!((refused, held.bytes()), (Err(4082), 0));
    }
}
