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
