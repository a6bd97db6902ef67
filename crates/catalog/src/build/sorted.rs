//! Records of one new tree, sorted and then written into its tree leaf by leaf.
//!
//! Invariant: keys come out in ascending order and each once, as `Transaction::load_in_order` asks.
use datum::SqlError;
use engine::{EntryBatch, TreeId, Uniqueness};
use env::TemporarySpace;
use rowstore::{KeyOrder, Pause, Sorter};
use std::sync::Arc;
use table::{EntryKey, TableHandle, table_error};

use super::catch_up::CatchUp;
use crate::change::SchemaChange;

/// Records are handed over to the tree in pieces of this size: several leaves.
const PIECE_BYTES: usize = 128 << 10;
/// In the place of the length of what must not be there twice; keys are far shorter.
const NOT_UNIQUE: u16 = u16::MAX;

/// An entry of a secondary index as it is stored.
#[derive(Default)]
pub struct Entry {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// What must not be there twice.
    pub unique: Option<usize>,
}

impl Entry {
    pub fn uniqueness(&self) -> Uniqueness {
        self.unique.map_or(Uniqueness::Key, Uniqueness::Prefix)
    }
}

/// Makes the entries of rows.
#[derive(Default)]
pub struct EntryMaker {
    keys: Vec<EntryKey>,
}

impl EntryMaker {
    /// The entries of a row in a secondary index.
    pub fn entries_of(
        &mut self,
        table: &TableHandle,
        index: usize,
        row: &[datum::Value],
        row_key: &[u8],
    ) -> Result<impl Iterator<Item = Entry>, SqlError> {
        table.entry_keys(index, row, row_key, &mut self.keys)?;
        let mut value = Vec::new();
        table.layout().write_entry_value(row_key, &mut value);
        let is_unique = table.layout().indexes[index].unique;
        Ok(self.keys.drain(..).map(move |EntryKey { key, own, has_null }| {
            debug_assert!(own <= key.len(), "what is unique is a part of the key");
            let unique = (is_unique && !has_null).then_some(own);
            Entry { key, value: value.clone(), unique }
        }))
    }
}

/// An entry that another one shares its unique part with.
pub struct Rival {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    unique: usize,
}

impl Rival {
    /// Of an entry of a secondary index: the key of its row.
    pub fn behind_unique(&self) -> &[u8] {
        &self.key[self.unique..]
    }
}

/// Whether so much has come together that it is worth writing.
pub fn is_piece(records: &EntryBatch) -> bool {
    records.bytes_len() >= PIECE_BYTES
}

/// The records of one tree.
pub struct SortedTree {
    tree: TreeId,
    sorter: Sorter,
    row: Vec<u8>,
}

impl SortedTree {
    pub fn new(tree: TreeId, space: &Arc<TemporarySpace>, memory: usize) -> SortedTree {
        let sorter = Sorter::new(space, KeyOrder::Bytes, memory, usize::MAX);
        SortedTree { tree, sorter, row: Vec::new() }
    }

    pub async fn push(&mut self, entry: &Entry, beside: &mut CatchUp) -> Result<(), SqlError> {
        assert!(entry.key.len() < usize::from(NOT_UNIQUE), "keys are far shorter");
        let unique = entry.unique.map_or(NOT_UNIQUE, |own| own as u16);
        self.put((&entry.key, &entry.value), unique, beside).await
    }

    /// A row: its whole key is there once.
    pub async fn push_record(
        &mut self,
        key: &[u8],
        value: &[u8],
        beside: &mut CatchUp,
    ) -> Result<(), SqlError> {
        assert!(key.len() < usize::from(NOT_UNIQUE), "keys are far shorter");
        self.put((key, value), key.len() as u16, beside).await
    }

    async fn put(
        &mut self,
        (key, value): (&[u8], &[u8]),
        unique: u16,
        beside: &mut CatchUp,
    ) -> Result<(), SqlError> {
        self.row.clear();
        self.row.extend_from_slice(&unique.to_le_bytes());
        self.row.extend_from_slice(value);
        if self.sorter.push(key, &self.row) {
            self.sorter.spill(beside).await?;
        }
        Ok(())
    }

    /// Writes the tree, or up to the first record with a rival.
    pub async fn write(
        mut self,
        change: &mut SchemaChange,
        table: &TableHandle,
        beside: &mut CatchUp,
    ) -> Result<Option<Rival>, SqlError> {
        self.sorter.finish(beside).await?;
        let mut piece = EntryBatch::default();
        let mut previous: Vec<u8> = Vec::new();
        let mut more = true;
        while more {
            more = self.sorter.next().await?;
            if more {
                let key = self.sorter.key();
                let (unique, value) = self.sorter.row().split_first_chunk().ok_or_else(rowstore::damaged)?;
                let unique = u16::from_le_bytes(*unique);
                if unique != NOT_UNIQUE {
                    debug_assert!(*previous <= *key, "records come in the order of their keys");
                    let unique = usize::from(unique).min(key.len());
                    if previous == key[..unique] && !previous.is_empty() {
                        return Ok(Some(Rival { key: key.to_vec(), value: value.to_vec(), unique }));
                    }
                    previous.clear();
                    previous.extend_from_slice(&key[..unique]);
                }
                piece.push(key, value);
            }
            if is_piece(&piece) || !more && !piece.is_empty() {
                let loaded = change.transaction().load_in_order(self.tree, &piece).await;
                loaded.map_err(|error| table_error(table.definition(), error))?;
                beside.work.progress.add(piece.len() as u64);
                beside.pause(piece.len()).await?;
                piece.clear();
            }
        }
        debug_assert!(piece.is_empty(), "the last piece is written however small it is");
        Ok(None)
    }
}
