//! A copy of a table into new trees: the rows of one snapshot, then what has changed since (`catch_up`).
//!
//! Invariant: with writers beside, either a row has the same key in the copy, or a tree that lives as long as the copying says which
//! key it has there. So the copy is found by the key of the row, whatever its values were and became.
use std::sync::Arc;

use datum::{SqlError, Value};
use engine::{Direction, EngineError, EntryBatch, KeyRange, ReadMode, Transaction, TreeId, Uniqueness};
use rowstore::Pause;
use table::{ChangeStream, ChangedRow, ReadyTable, TableHandle, damaged, table_error};

use super::catch_up::{CatchUp, Target};
use super::sorted::{EntryMaker, Rival, SortedTree};
use super::{BATCH_ROWS, BuildWork, SORT_BYTES};
use crate::change::SchemaChange;
use crate::progress::Stage;
use crate::rebuild::RowConverter;

/// How rows of the copy get their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopiedKeys {
    /// They keep those that they have.
    Same,
    /// From their values, which may be in another order.
    Made,
    /// New hidden row ids.
    Numbered,
}

/// A table while it is copied. The new trees exist, are empty and belong to the change.
pub struct TableCopy<'c> {
    rows: NewRows<'c>,
    reader: Option<Transaction>,
    catch_up: CatchUp,
}

struct NewRows<'c> {
    before: Arc<TableHandle>,
    after: ReadyTable,
    keys: CopiedKeys,
    converter: &'c mut dyn RowConverter,
    next_row_id: u64,
    /// The keys in the copy by those in the table, where they differ and writers may come.
    key_map: Option<TreeId>,
}

impl<'c> TableCopy<'c> {
    /// Begins while nobody writes to the table. With `online`, writers may come once this is done.
    pub async fn begin(
        change: &mut SchemaChange,
        (before, after): (&Arc<TableHandle>, &ReadyTable),
        (keys, converter): (CopiedKeys, &'c mut dyn RowConverter),
        online: bool,
        work: BuildWork,
    ) -> Result<TableCopy<'c>, SqlError> {
        let key_map = match online && keys != CopiedKeys::Same {
            true => Some(TreeId(change.create_tree(&before.definition().name).await?)),
            false => None,
        };
        let stream = online.then(|| ChangeStream::new(Vec::new(), true));
        let (catch_up, reader) = CatchUp::begin(change, before, stream, work).await?;
        let (before, after) = (before.clone(), after.clone());
        let rows = NewRows { before, after, keys, converter, next_row_id: 1, key_map };
        Ok(TableCopy { rows, reader: Some(reader), catch_up })
    }

    /// Writes the rows of the snapshot; gives their number.
    pub async fn fill(&mut self, change: &mut SchemaChange) -> Result<u64, SqlError> {
        let Some(mut reader) = self.reader.take() else { return Ok(0) };
        let (progress, space) = (self.catch_up.work.progress.clone(), self.catch_up.work.space.clone());
        progress.enter(Stage::Read);
        let layout = self.rows.after.layout();
        let clustering = layout.indexes.iter().position(|index| index.clustered);
        let memory = SORT_BYTES / (layout.indexes.len() + 1);
        let indexes: Vec<usize> =
            (0..layout.indexes.len()).filter(|index| Some(*index) != clustering).collect();
        let mut sorted: Vec<SortedTree> = indexes
            .iter()
            .map(|index| SortedTree::new(layout.indexes[*index].tree, &space, memory))
            .collect();
        let mut rows = SortedTree::new(layout.tree, &space, memory);
        let count = self.read(change, &mut reader, (&mut rows, &mut sorted), &indexes).await?;
        drop(reader);
        progress.enter(Stage::Insert);
        let after = self.rows.after.handle().clone();
        if let Some(rival) = rows.write(change, &after, &mut self.catch_up).await? {
            let row = self.rows.decode_new(&rival.key, &rival.value)?;
            return Err(after.duplicate_error(clustering.unwrap_or_default(), &row));
        }
        for (one, index) in sorted.into_iter().zip(indexes) {
            if let Some(rival) = one.write(change, &after, &mut self.catch_up).await? {
                return Err(self.rows.rival(change, index, &rival).await?);
            }
        }
        Ok(count)
    }

    /// Converts the rows; those whose order stays are written at once.
    async fn read(
        &mut self,
        change: &mut SchemaChange,
        reader: &mut Transaction,
        (rows, sorted): (&mut SortedTree, &mut [SortedTree]),
        indexes: &[usize],
    ) -> Result<u64, SqlError> {
        let (before, after) = (self.rows.before.clone(), self.rows.after.handle().clone());
        let tree = TreeId(before.definition().tree);
        let mut cursor = reader.scan(tree, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
        let (mut batch, mut ordered) = (EntryBatch::default(), EntryBatch::default());
        let (mut mapped, mut maker) = (EntryBatch::default(), EntryMaker::default());
        let (mut count, mut more) = (0, true);
        while more {
            batch.clear();
            let read = cursor.next_batch(reader, BATCH_ROWS, &mut batch).await;
            more = read.map_err(|error| table_error(before.definition(), error))?;
            for (key, value) in batch.iter() {
                let row = self.rows.convert(key, value)?;
                let new_key = self.rows.new_key(key, &row)?;
                let mut record = Vec::new();
                after.layout().write_row(&row, &mut record);
                if self.rows.keys == CopiedKeys::Made {
                    rows.push_record(&new_key, &record, &mut self.catch_up).await?;
                } else {
                    ordered.push(&new_key, &record);
                }
                if self.rows.key_map.is_some() {
                    mapped.push(key, &new_key);
                }
                for (one, index) in sorted.iter_mut().zip(indexes) {
                    for entry in maker.entries_of(&after, *index, &row, &new_key)? {
                        one.push(&entry, &mut self.catch_up).await?;
                    }
                }
            }
            load_piece(change, &after, after.layout().tree, (&mut ordered, more)).await?;
            if let Some(key_map) = self.rows.key_map {
                load_piece(change, &after, key_map, (&mut mapped, more)).await?;
            }
            count += batch.len() as u64;
            self.catch_up.work.progress.add(batch.len() as u64);
            self.catch_up.pause(batch.len()).await?;
        }
        Ok(count)
    }

    /// Takes up what has changed; gives how much that was.
    pub async fn catch_up(&mut self, change: &mut SchemaChange) -> Result<usize, SqlError> {
        self.catch_up.round(&mut self.rows, change).await
    }

    /// Takes up the rest while nobody writes.
    pub async fn finish(mut self, change: &mut SchemaChange) -> Result<(), SqlError> {
        self.catch_up.finish(&mut self.rows, change).await?;
        match self.rows.key_map {
            Some(key_map) => change.drop_tree(&self.rows.after.definition().name, key_map.0).await,
            None => Ok(()),
        }
    }
}

/// Writes records that come in the order of their keys, if they are many or the last.
async fn load_piece(
    change: &mut SchemaChange,
    table: &TableHandle,
    tree: TreeId,
    (records, more): (&mut EntryBatch, bool),
) -> Result<(), SqlError> {
    if more && !super::sorted::is_piece(records) || records.is_empty() {
        return Ok(());
    }
    let loaded = change.transaction().load_in_order(tree, records).await;
    loaded.map_err(|error| table_error(table.definition(), error))?;
    records.clear();
    Ok(())
}

impl NewRows<'_> {
    fn convert(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<Value>, SqlError> {
        let row = decode_all(&self.before, key, value)?;
        let mut converted = Vec::with_capacity(self.after.definition().columns.len());
        self.converter.convert(&row, &mut converted)?;
        self.after.observe_number(&converted);
        Ok(converted)
    }

    fn new_key(&mut self, key: &[u8], row: &[Value]) -> Result<Vec<u8>, SqlError> {
        let mut new_key = Vec::with_capacity(key.len());
        match self.keys {
            CopiedKeys::Same => new_key.extend_from_slice(key),
            CopiedKeys::Made | CopiedKeys::Numbered => {
                self.after.layout().write_row_key(row, self.next_row_id, &mut new_key)?;
                self.next_row_id += 1;
            }
        }
        Ok(new_key)
    }

    fn decode_new(&self, key: &[u8], value: &[u8]) -> Result<Vec<Value>, SqlError> {
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
    async fn rival(
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
    async fn remove(&mut self, change: &mut SchemaChange, record: &ChangedRow) -> Result<(), SqlError> {
        self.remove_copy(change, &record.row_key).await
    }

    async fn add(
        &mut self,
        change: &mut SchemaChange,
        reader: &mut Transaction,
        row_key: &[u8],
    ) -> Result<Option<SqlError>, SqlError> {
        let found = reader.get(self.before.layout().tree, row_key, ReadMode::Snapshot).await;
        let found = found.map_err(|error| table_error(self.before.definition(), error))?;
        let Some(found) = found else { return Ok(None) };
        let row = self.convert(row_key, &found)?;
        let new_key = self.new_key(row_key, &row)?;
        let mut record = Vec::new();
        self.after.layout().write_row(&row, &mut record);
        let tree = self.after.layout().tree;
        if !self.load(change, tree, (&new_key, &record), Uniqueness::Key).await? {
            return Ok(Some(self.after.duplicate_error(self.clustering(), &row)));
        }
        if let Some(key_map) = self.key_map {
            self.load(change, key_map, (row_key, &new_key), Uniqueness::Key).await?;
        }
        let (mut maker, mut entries) = (EntryMaker::default(), Vec::new());
        for (index, tree) in self.indexes() {
            let made = maker.entries_of(&self.after, index, &row, &new_key)?;
            entries.extend(made.map(|entry| (index, tree, entry)));
        }
        for (index, tree, entry) in entries {
            let uniqueness = entry.uniqueness();
            if !self.load(change, tree, (&entry.key, &entry.value), uniqueness).await? {
                // All or nothing, so that the row can be tried again.
                self.remove_copy(change, row_key).await?;
                return Ok(Some(self.after.duplicate_error(index, &row)));
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
