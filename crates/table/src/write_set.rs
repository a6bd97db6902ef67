//! The keys of the rows that a transaction has changed, as hashes: what the binary log needs to know which transactions a
//! replica may apply side by side.
//!
//! Invariant: of two transactions whose changes of a row, or of rows that take each other's place under a unique index, have an
//! order, either both have a hash in common or the keys of one are unknown. Equal hashes of different keys cost a wait only. What is
//! undone is not taken out again. Called by `change`.
use crate::handle::TableHandle;
use datum::{SqlError, Value};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A transaction with more keys is applied alone.
const KEYS_MAX: usize = 25_000;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct WriteSet {
    keys: Vec<u64>,
    is_unknown: bool,
    /// The bytes of one key, kept for the next.
    key: Vec<u8>,
}

impl WriteSet {
    /// Something was changed that has no key.
    pub fn give_up(&mut self) {
        self.is_unknown = true;
        self.keys = Vec::new();
    }

    /// The hashes, each once; `None` where the changes have to be applied alone.
    pub fn take(&mut self) -> Option<Vec<u64>> {
        let mut keys = std::mem::take(&mut self.keys);
        debug_assert!(!self.is_unknown || keys.is_empty(), "what was given up has no keys");
        keys.sort_unstable();
        keys.dedup();
        (!self.is_unknown).then_some(keys)
    }

    /// The keys of a row before or after its change.
    pub(super) fn add(&mut self, table: &TableHandle, row: &[Value]) -> Result<(), SqlError> {
        let layout = table.layout();
        // Rows without a key of their own are found by all their values; a child's parent has keys that are not known here.
        if layout.clustered.is_empty() || !table.definition().foreign_keys.is_empty() {
            self.give_up();
        }
        for index in layout.indexes.iter().filter(|index| index.unique) {
            if self.is_unknown || index.multi_valued || self.keys.len() >= KEYS_MAX {
                self.give_up();
                return Ok(());
            }
            // As often as one likes.
            if index.parts.iter().any(|part| row[part.column].is_null()) {
                continue;
            }
            self.key.clear();
            for part in &index.parts {
                part.write(&row[part.column], &mut self.key)?;
            }
            // The same in each process: after a crash the file of the log is written again.
            let mut hasher = DefaultHasher::new();
            (index.tree.0, index.clustered, &self.key).hash(&mut hasher);
            self.keys.push(hasher.finish());
        }
        Ok(())
    }
}
