//! The rows of a copy of a table: what they are made of, and how one that has changed is brought up to date.
//!
//! Invariant: a row is in the copy with all its entries or with none. Of one that is there already only what differs is written:
//! most changes leave most entries as they are. Called by `copy`.
use std::collections::VecDeque;
use std::sync::Arc;

use datum::{SqlError, Value};
use engine::{EngineError, ReadMode, Transaction, TreeId, Uniqueness};
use table::{ChangedRow, ReadyTable, TableHandle, damaged, table_error};

use super::catch_up::Target;
use super::copy::CopiedKeys;
use super::sorted::{Entry, EntryMaker, Rival};
use crate::change::SchemaChange;
use crate::rebuild::RowConverter;

pub(super) struct NewRows<'c> {
    pub before: Arc<TableHandle>,
    pub after: ReadyTable,
    pub keys: CopiedKeys,
    converter: &'c mut dyn RowConverter,
    next_row_id: u64,
    /// The keys in the copy by those in the table, where they differ and writers may come.
    pub key_map: Option<TreeId>,
    /// The new rows of a batch, in the order of their keys in the table: what is left to write of them.
    coming: VecDeque<ComingRow>,
}

/// A changed row as it is now.
struct ComingRow {
    /// In the table.
    row_key: Vec<u8>,
    /// In the copy.
    key: Vec<u8>,
    row: Vec<Value>,
    record: Vec<u8>,
    copied: Copied,
    /// Entries that the copy lacks: of these indexes, into these trees.
    entries: Vec<(usize, TreeId, Entry)>,
}

/// Whether the copy has the row already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copied {
    No,
    /// With other values.
    Otherwise,
    Same,
}

impl<'c> NewRows<'c> {
    pub fn new(
        (before, after): (Arc<TableHandle>, ReadyTable),
        (keys, converter): (CopiedKeys, &'c mut dyn RowConverter),
        key_map: Option<TreeId>,
    ) -> NewRows<'c> {
        NewRows { before, after, keys, converter, next_row_id: 1, key_map, coming: VecDeque::new() }
    }
}

impl NewRows<'_> {
    pub fn convert(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<Value>, SqlError> {
        let row = decode_all(&self.before, key, value)?;
        let mut converted = Vec::with_capacity(self.after.definition().columns.len());
        self.converter.convert(&row, &mut converted)?;
        debug_assert_eq!(converted.len(), self.after.definition().columns.len(), "a value for each column");
        self.after.observe_number(&converted);
        Ok(converted)
    }

    pub fn new_key(&mut self, key: &[u8], row: &[Value]) -> Result<Vec<u8>, SqlError> {
        let mut new_key = Vec::with_capacity(key.len());
        match self.keys {
            CopiedKeys::Same => new_key.extend_from_slice(key),
            CopiedKeys::Made | CopiedKeys::Numbered => {
                self.after.layout().write_row_key(row, self.next_row_id, &mut new_key)?;
                self.next_row_id += 1;
            }
        }
        debug_assert!(!new_key.is_empty(), "each row has a key");
        Ok(new_key)
    }

    pub fn decode_new(&self, key: &[u8], value: &[u8]) -> Result<Vec<Value>, SqlError> {
        decode_all(self.after.handle(), key, value)
    }

    fn sql_error(&self, error: EngineError) -> SqlError {
        table_error(self.after.definition(), error)
    }

    /// The copied row under this key of the copy.
    async fn copied(&self, change: &mut SchemaChange, key: &[u8]) -> Result<Option<Vec<Value>>, SqlError> {
        let found = change.transaction().get(self.after.layout().tree, key, ReadMode::Snapshot).await;
        let found = found.map_err(|error| self.sql_error(error))?;
        found.map(|value| self.decode_new(key, &value)).transpose()
    }

    /// The key that the copy of a row has, if there is one.
    async fn key_in_copy(
        &self,
        change: &mut SchemaChange,
        row_key: &[u8],
    ) -> Result<Option<Vec<u8>>, SqlError> {
        let Some(key_map) = self.key_map else { return Ok(Some(row_key.to_vec())) };
        let found = change.transaction().get(key_map, row_key, ReadMode::Snapshot).await;
        found.map_err(|error| self.sql_error(error))
    }

    /// Error 1062 for an entry that was refused.
    pub async fn rival(
        &self,
        change: &mut SchemaChange,
        index: usize,
        rival: &Rival,
    ) -> Result<SqlError, SqlError> {
        let row = self.copied(change, rival.behind_unique()).await?;
        let row = row.ok_or_else(|| damaged(&self.after.definition().name))?;
        Ok(self.after.duplicate_error(index, &row))
    }

    /// The position of the index whose entries are the rows.
    fn clustering(&self) -> usize {
        self.after.layout().indexes.iter().position(|index| index.clustered).unwrap_or_default()
    }

    /// The secondary indexes: positions and trees.
    fn indexes(&self) -> Vec<(usize, TreeId)> {
        let indexes = self.after.layout().indexes.iter().enumerate();
        indexes.filter(|(_, layout)| !layout.clustered).map(|(index, layout)| (index, layout.tree)).collect()
    }

    /// Takes the copy of a row away, if there is one.
    async fn remove_copy(&self, change: &mut SchemaChange, row_key: &[u8]) -> Result<(), SqlError> {
        let Some(key) = self.key_in_copy(change, row_key).await? else { return Ok(()) };
        let Some(row) = self.copied(change, &key).await? else { return Ok(()) };
        let mut maker = EntryMaker::default();
        let mut records = vec![(self.after.layout().tree, key.clone())];
        records.extend(self.key_map.map(|key_map| (key_map, row_key.to_vec())));
        for (index, tree) in self.indexes() {
            records.extend(maker.entries_of(&self.after, index, &row, &key)?.map(|entry| (tree, entry.key)));
        }
        for (tree, key) in records {
            let unloaded = change.transaction().unload(tree, &key).await;
            unloaded.map_err(|error| self.sql_error(error))?;
        }
        Ok(())
    }

    /// The entries of a row of the copy, with their indexes and trees.
    fn entries_of(&self, row: &[Value], key: &[u8]) -> Result<Vec<(usize, TreeId, Entry)>, SqlError> {
        let (mut maker, mut entries) = (EntryMaker::default(), Vec::new());
        for (index, tree) in self.indexes() {
            let made = maker.entries_of(&self.after, index, row, key)?;
            entries.extend(made.map(|entry| (index, tree, entry)));
        }
        Ok(entries)
    }

    /// For a row that keeps its key: takes away the entries that it has no more, and finds those that are missing.
    async fn renew(&self, change: &mut SchemaChange, coming: &mut ComingRow) -> Result<(), SqlError> {
        debug_assert!(
            coming.entries.is_empty() && coming.copied == Copied::No,
            "it was not looked for before"
        );
        let tree = self.after.layout().tree;
        let found = change.transaction().get(tree, &coming.key, ReadMode::Snapshot).await;
        let found = found.map_err(|error| self.sql_error(error))?;
        let Some(found) = found else {
            coming.entries = self.entries_of(&coming.row, &coming.key)?;
            return Ok(());
        };
        if found == coming.record {
            coming.copied = Copied::Same;
            return Ok(());
        }
        coming.copied = Copied::Otherwise;
        let old = self.decode_new(&coming.key, &found)?;
        let mut maker = EntryMaker::default();
        for (index, tree) in self.indexes() {
            let gone: Vec<Entry> = maker.entries_of(&self.after, index, &old, &coming.key)?.collect();
            let new: Vec<Entry> = maker.entries_of(&self.after, index, &coming.row, &coming.key)?.collect();
            let is_in = |entries: &[Entry], key: &[u8]| entries.iter().any(|entry| entry.key == key);
            for entry in gone.iter().filter(|entry| !is_in(&new, &entry.key)) {
                let unloaded = change.transaction().unload(tree, &entry.key).await;
                unloaded.map_err(|error| self.sql_error(error))?;
            }
            let missing = new.into_iter().filter(|entry| !is_in(&gone, &entry.key));
            coming.entries.extend(missing.map(|entry| (index, tree, entry)));
        }
        Ok(())
    }

    /// Writes a record; false where another one is in its way.
    async fn load(
        &self,
        change: &mut SchemaChange,
        tree: TreeId,
        (key, value): (&[u8], &[u8]),
        uniqueness: Uniqueness,
    ) -> Result<bool, SqlError> {
        match change.transaction().load(tree, key, value, uniqueness).await {
            Ok(()) => Ok(true),
            Err(EngineError::DuplicateKey { .. }) => Ok(false),
            Err(error) => Err(self.sql_error(error)),
        }
    }
}

impl Target for NewRows<'_> {
    async fn remove(
        &mut self,
        change: &mut SchemaChange,
        reader: &mut Transaction,
        record: &ChangedRow,
    ) -> Result<(), SqlError> {
        let row_key = &record.row_key;
        if self.coming.back().is_some_and(|coming| coming.row_key == *row_key) {
            return Ok(());
        }
        let found = reader.get(self.before.layout().tree, row_key, ReadMode::Snapshot).await;
        let found = found.map_err(|error| table_error(self.before.definition(), error))?;
        let Some(found) = found else { return self.remove_copy(change, row_key).await };
        let row = self.convert(row_key, &found)?;
        let old_key = self.key_in_copy(change, row_key).await?;
        let key = match (&old_key, self.keys) {
            (Some(key), CopiedKeys::Numbered) => key.clone(),
            _ => self.new_key(row_key, &row)?,
        };
        let mut new_record = Vec::new();
        self.after.layout().write_row(&row, &mut new_record);
        let mut coming = ComingRow {
            row_key: row_key.clone(),
            key,
            row,
            record: new_record,
            copied: Copied::No,
            entries: Vec::new(),
        };
        if old_key.as_ref() == Some(&coming.key) {
            self.renew(change, &mut coming).await?;
        } else {
            self.remove_copy(change, row_key).await?;
            coming.entries = self.entries_of(&coming.row, &coming.key)?;
        }
        debug_assert!(
            self.coming.back().is_none_or(|last| last.row_key < coming.row_key),
            "rows come in the order of their keys, each once"
        );
        self.coming.push_back(coming);
        Ok(())
    }

    async fn add(
        &mut self,
        change: &mut SchemaChange,
        _: &mut Transaction,
        row_key: &[u8],
    ) -> Result<Option<SqlError>, SqlError> {
        if self.coming.front().is_none_or(|coming| coming.row_key != row_key) {
            return Ok(None);
        }
        let Some(coming) = self.coming.pop_front() else { return Ok(None) };
        let tree = self.after.layout().tree;
        debug_assert!(
            coming.copied != Copied::Same || coming.entries.is_empty(),
            "the same row has its entries"
        );
        match coming.copied {
            Copied::Same => {}
            Copied::Otherwise => {
                let reloaded = change.transaction().reload(tree, &coming.key, &coming.record).await;
                reloaded.map_err(|error| self.sql_error(error))?;
            }
            Copied::No => {
                let record = (&coming.key[..], &coming.record[..]);
                if !self.load(change, tree, record, Uniqueness::Key).await? {
                    return Ok(Some(self.after.duplicate_error(self.clustering(), &coming.row)));
                }
                if let Some(key_map) = self.key_map {
                    self.load(change, key_map, (row_key, &coming.key), Uniqueness::Key).await?;
                }
            }
        }
        for (index, tree, entry) in &coming.entries {
            if !self.load(change, *tree, (&entry.key, &entry.value), entry.uniqueness()).await? {
                // All or nothing, so that the row can be tried again.
                self.remove_copy(change, row_key).await?;
                return Ok(Some(self.after.duplicate_error(*index, &coming.row)));
            }
        }
        Ok(None)
    }
}

pub(super) fn decode_all(table: &TableHandle, key: &[u8], value: &[u8]) -> Result<Vec<Value>, SqlError> {
    let definition = table.definition();
    let mut row = vec![Value::Null; definition.columns.len()];
    let wanted: Vec<(usize, usize)> = (0..row.len()).map(|column| (column, column)).collect();
    let decoded = table.layout().read_columns(definition, &wanted, key, value, &mut row);
    decoded.map_err(|error| error.of(definition))?;
    Ok(row)
}
