//! The entries of a row in a secondary index: one, or as many as the array of a multi-valued index has elements.
//!
//! Invariant: the keys ascend and each is there once, also where elements that differ have the same key. An array that is NULL
//! has one entry with NULL in its place, an empty one has none. Whoever writes, builds or checks indexes asks here.
use crate::error::damaged;
use crate::handle::TableHandle;
use datum::{SqlError, Value, typed_elements};

/// One entry.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct EntryKey {
    pub key: Vec<u8>,
    /// The bytes of the index's own parts.
    pub own: usize,
    /// One of them is NULL: such entries are never duplicates.
    pub has_null: bool,
}

impl TableHandle {
    /// Gives the keys of the row's entries in an index; `keys` is used again.
    pub fn entry_keys(
        &self,
        index: usize,
        row: &[Value],
        row_key: &[u8],
        keys: &mut Vec<EntryKey>,
    ) -> Result<(), SqlError> {
        let layout = &self.layout().indexes[index];
        if !layout.multi_valued {
            keys.resize_with(1, EntryKey::default);
            let entry = &mut keys[0];
            entry.key.clear();
            (entry.own, entry.has_null) =
                self.layout().write_entry_key(index, row, row_key, &mut entry.key)?;
            return Ok(());
        }
        keys.clear();
        let array = layout.parts.iter().find(|part| part.array).map(|part| part.column);
        let array = array.ok_or_else(|| damaged(&self.definition().name))?;
        for element in self.elements(array, &row[array])? {
            let mut entry = EntryKey::default();
            for part in &layout.parts {
                let value = if part.array { &element } else { &row[part.column] };
                entry.has_null |= value.is_null();
                part.write(value, &mut entry.key)?;
            }
            entry.own = entry.key.len();
            entry.key.extend_from_slice(row_key);
            keys.push(entry);
        }
        keys.sort_by(|left, right| left.key.cmp(&right.key));
        keys.dedup_by(|left, right| left.key == right.key);
        debug_assert!(
            keys.iter().all(|entry| entry.key.len() == entry.own + row_key.len()),
            "an entry ends with the row's key"
        );
        Ok(())
    }

    fn elements(&self, column: usize, array: &Value) -> Result<Vec<Value>, SqlError> {
        let table = self.definition();
        match (array, &table.columns[column].array_of) {
            (Value::Null, _) => Ok(vec![Value::Null]),
            (Value::Json(text), Some(element)) => {
                typed_elements(text, element).ok_or_else(|| damaged(&table.name))
            }
            _ => Err(damaged(&table.name)),
        }
    }
}
