//! The memory a statement's sorts, groups, hash tables and kept rows may take.
//!
//! There is no spill to disk: over the limit the statement fails with a clear error instead of the server.
use datum::{SqlError, Value, error_code};

#[derive(Debug)]
pub struct MemoryBudget {
    limit_bytes: usize,
    used_bytes: usize,
}

impl MemoryBudget {
    pub fn new(limit_bytes: usize) -> MemoryBudget {
        MemoryBudget { limit_bytes, used_bytes: 0 }
    }

    pub fn take(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.used_bytes = self.used_bytes.saturating_add(bytes);
        if self.used_bytes > self.limit_bytes {
            return Err(error_code::ER_OUT_OF_SORTMEMORY.plain());
        }
        Ok(())
    }

    pub fn give_back(&mut self, bytes: usize) {
        self.used_bytes = self.used_bytes.saturating_sub(bytes);
    }
}

/// What one operator holds now. An operator that starts anew (the inner side of a join, a subquery run for each row)
/// gives back what it held before.
#[derive(Debug, Default)]
pub struct Held(usize);

impl Held {
    pub fn take(&mut self, bytes: usize, budget: &mut MemoryBudget) -> Result<(), SqlError> {
        self.0 += bytes;
        budget.take(bytes)
    }

    pub fn give_back(&mut self, bytes: usize, budget: &mut MemoryBudget) {
        let bytes = bytes.min(self.0);
        self.0 -= bytes;
        budget.give_back(bytes);
    }

    pub fn release(&mut self, budget: &mut MemoryBudget) {
        budget.give_back(std::mem::take(&mut self.0));
    }
}

/// About what a row of values occupies.
pub fn row_bytes(row: &[Value]) -> usize {
    let outside: usize = row
        .iter()
        .map(|value| match value {
            Value::Bytes(bytes) => bytes.capacity(),
            Value::Json(text) => text.len(),
            _ => 0,
        })
        .sum();
    size_of::<Vec<Value>>() + size_of_val(row) + outside
}
