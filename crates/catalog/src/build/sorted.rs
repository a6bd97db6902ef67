//! Entries of one new index, sorted and then written into its tree leaf by leaf.
//!
//! Invariant: keys come out in ascending order and each once, as `Transaction::load_in_order` asks.
use datum::SqlError;
use engine::{EntryBatch, TreeId, Uniqueness};
use env::TemporarySpace;
use rowstore::{KeyOrder, Sorter};
use std::sync::Arc;
use table::{TableHandle, table_error};

use super::Turns;
use crate::change::SchemaChange;
use crate::progress::Progress;

/// Records are handed over to the tree in pieces of this size: several leaves.
const PIECE_BYTES: usize = 128 << 10;

/// An entry of a secondary index as it is stored.
#[derive(Default)]
pub struct Entry {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// What must not be there twice.
    pub unique: Option<usize>,
}

impl Entry {
    /// Makes the entry of a row.
    pub fn fill(
        &mut self,
        table: &TableHandle,
        index: usize,
        row: &[datum::Value],
        row_key: &[u8],
    ) -> Result<(), SqlError> {
        self.key.clear();
        self.value.clear();
        let (own, has_null) = table.layout().write_entry_key(index, row, row_key, &mut self.key)?;
        table.layout().write_entry_value(row_key, &mut self.value);
        self.unique = (table.layout().indexes[index].unique && !has_null).then_some(own);
        Ok(())
    }

    pub fn uniqueness(&self) -> Uniqueness {
        self.unique.map_or(Uniqueness::Key, Uniqueness::Prefix)
    }
}

/// The entries of one index.
pub struct SortedIndex {
    pub index: usize,
    tree: TreeId,
    sorter: Sorter,
    row: Vec<u8>,
}

impl SortedIndex {
    pub fn new(table: &TableHandle, index: usize, space: &Arc<TemporarySpace>, memory: usize) -> SortedIndex {
        let sorter = Sorter::new(space, KeyOrder::Bytes, memory, usize::MAX);
        SortedIndex { index, tree: table.layout().indexes[index].tree, sorter, row: Vec::new() }
    }

    pub async fn push(&mut self, entry: &Entry) -> Result<(), SqlError> {
        self.row.clear();
        let unique = entry.unique.map_or(u16::MAX, |own| own as u16);
        self.row.extend_from_slice(&unique.to_le_bytes());
        self.row.extend_from_slice(&entry.value);
        if self.sorter.push(&entry.key, &self.row) {
            self.sorter.spill(&mut Turns).await?;
        }
        Ok(())
    }

    /// Writes the tree. The result: the key of an entry that another one shares its unique part with, and that part's length.
    pub async fn write(
        mut self,
        change: &mut SchemaChange,
        table: &TableHandle,
        progress: &Progress,
    ) -> Result<Option<(Vec<u8>, usize)>, SqlError> {
        self.sorter.finish(&mut Turns).await?;
        let mut piece = EntryBatch::default();
        let mut previous: Vec<u8> = Vec::new();
        let mut more = true;
        while more {
            more = self.sorter.next().await?;
            if more {
                let key = self.sorter.key();
                let (unique, value) = self.sorter.row().split_first_chunk().ok_or_else(rowstore::damaged)?;
                let own = usize::from(u16::from_le_bytes(*unique));
                if own != usize::from(u16::MAX) {
                    if previous.len() == own && key.get(..own) == Some(&previous[..]) {
                        return Ok(Some((key.to_vec(), own)));
                    }
                    previous.clear();
                    previous.extend_from_slice(&key[..own.min(key.len())]);
                }
                piece.push(key, value);
            }
            if piece.bytes_len() >= PIECE_BYTES || !more && !piece.is_empty() {
                let loaded = change.transaction().load_in_order(self.tree, &piece).await;
                loaded.map_err(|error| table_error(table.definition(), error))?;
                progress.add(piece.len() as u64);
                piece.clear();
                env::yield_now().await;
            }
        }
        Ok(None)
    }
}
