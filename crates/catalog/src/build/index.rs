//! New indexes of a table, and what its rows have to obey: entries and checks from one snapshot of its rows, then what has changed
//! since (`catch_up`).
use std::sync::Arc;

use datum::{SqlError, Value};
use engine::{Direction, EngineError, EntryBatch, KeyRange, ReadMode, Transaction, TreeId};
use rowstore::Pause;
use table::{ChangeStream, ChangedRow, Projection, TableHandle, table_error};

use super::catch_up::{CatchUp, Target};
use super::demand::{Demands, FollowedParent, LostKeys};
use super::sorted::{EntryMaker, SortedTree};
use super::{BATCH_ROWS, BuildWork, SORT_BYTES};
use crate::change::SchemaChange;
use crate::progress::Stage;

/// Some indexes of one table while they are built, or none where rows are only checked. Their trees exist, are empty and belong
/// to the change.
pub struct IndexBuild<'c> {
    indexes: NewIndexes<'c>,
    /// Whoever reads the rows of the snapshot.
    reader: Option<Transaction>,
    catch_up: CatchUp,
    /// Of the parents that `catch_up` follows, in the same order.
    lost_keys: Vec<LostKeys>,
}

/// What is built.
struct NewIndexes<'c> {
    /// The table with the new indexes.
    after: Arc<TableHandle>,
    /// By position in the new definition.
    indexes: Vec<usize>,
    demands: Demands<'c>,
    /// The columns that entries are made of or demands ask for, and that were there before.
    columns: Vec<usize>,
    projection: Projection,
}

impl<'c> IndexBuild<'c> {
    /// Begins to follow those who write, with `online`; then the parents that are demanded are `followed` already. `sources` says
    /// which columns of the table as it was those of `after` are.
    pub fn attach(
        before: &Arc<TableHandle>,
        (after, sources): (&Arc<TableHandle>, &[Option<usize>]),
        (indexes, demands): (Vec<usize>, Demands<'c>),
        (online, followed): (bool, Vec<FollowedParent>),
        work: BuildWork,
    ) -> IndexBuild<'c> {
        debug_assert_eq!(
            sources.len(),
            after.definition().columns.len(),
            "each column is an old one or a new one"
        );
        let layouts = indexes.iter().map(|index| &after.layout().indexes[*index]);
        let mut columns = demands.columns(after.definition().columns.len());
        columns.extend(layouts.flat_map(|layout| layout.parts.iter().map(|part| part.column)));
        columns.sort_unstable();
        columns.dedup();
        let wanted: Vec<(usize, usize)> = columns.iter().map(|column| (*column, *column)).collect();
        let projection = after.layout().project_rows(&wanted).strictly();
        let known = |column: &usize| sources[*column].map(|before| (*column, before));
        let (columns, before_columns) = columns.iter().filter_map(known).unzip();
        let stream = online.then(|| ChangeStream::new(before_columns, false));
        let (lost_keys, changes) = followed.into_iter().map(|parent| (parent.keys, parent.changes)).unzip();
        let catch_up = CatchUp::attach(before, stream, work, changes);
        let indexes = NewIndexes { after: after.clone(), indexes, demands, columns, projection };
        IndexBuild { indexes, reader: None, catch_up, lost_keys }
    }

    /// When those have ended who wrote before the attachment.
    pub async fn take_snapshot(&mut self, change: &SchemaChange) -> Result<(), SqlError> {
        debug_assert!(self.reader.is_none(), "entries are of one moment");
        self.reader = Some(self.catch_up.take_snapshot(change).await?);
        Ok(())
    }

    /// For who waits: keeps what those who write tell, who would wait themselves in the end.
    pub async fn put_by(&mut self) -> Result<(), SqlError> {
        self.catch_up.put_by().await
    }

    /// From now on rounds hold those who write, or do not.
    pub fn set_holding(&mut self, holds: bool) {
        self.catch_up.set_holding(holds);
    }

    /// Checks the snapshot's rows and writes their entries; gives their number.
    pub async fn fill(&mut self, change: &mut SchemaChange) -> Result<u64, SqlError> {
        let Some(mut reader) = self.reader.take() else { return Ok(0) };
        let (progress, space) = (self.catch_up.work.progress.clone(), self.catch_up.work.space.clone());
        progress.enter(Stage::Read);
        let memory = SORT_BYTES / self.indexes.indexes.len().max(1);
        let layout = self.indexes.after.layout();
        let sorted = |index: &usize| SortedTree::new(layout.indexes[*index].tree, &space, memory);
        let mut sorted: Vec<SortedTree> = self.indexes.indexes.iter().map(sorted).collect();
        let count = self.read(&mut reader, &mut sorted).await?;
        progress.enter(Stage::Insert);
        for (one, index) in sorted.into_iter().zip(self.indexes.indexes.clone()) {
            let after = &self.indexes.after;
            if let Some(rival) = one.write(change, after, &mut self.catch_up).await? {
                let row = after.read_row_at(&mut reader, rival.behind_unique(), ReadMode::Snapshot).await?;
                let row = row.unwrap_or_else(|| self.indexes.empty_row());
                return Err(after.duplicate_error(index, &row));
            }
        }
        Ok(count)
    }

    async fn read(&mut self, reader: &mut Transaction, sorted: &mut [SortedTree]) -> Result<u64, SqlError> {
        let indexes = &self.indexes;
        let definition = indexes.after.definition();
        let tree = TreeId(definition.tree);
        let mut cursor = reader.scan(tree, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
        debug_assert_eq!(sorted.len(), indexes.indexes.len(), "each index has its sort");
        let mut batch = EntryBatch::default();
        let mut row = indexes.empty_row();
        let mut maker = EntryMaker::default();
        let (mut count, mut more) = (0, true);
        while more {
            batch.clear();
            let read = cursor.next_batch(reader, BATCH_ROWS, &mut batch).await;
            more = read.map_err(|error| table_error(definition, error))?;
            for (key, value) in batch.iter() {
                indexes.decode(key, value, &mut row)?;
                indexes.demands.check(reader, &indexes.after, &row).await?;
                for (one, index) in sorted.iter_mut().zip(&indexes.indexes) {
                    for entry in maker.entries_of(&indexes.after, *index, &row, key)? {
                        one.push(&entry, &mut self.catch_up).await?;
                    }
                }
            }
            count += batch.len() as u64;
            self.catch_up.work.progress.add(batch.len() as u64);
            self.catch_up.pause(batch.len()).await?;
        }
        Ok(count)
    }

    /// Takes up what has changed; gives how much that was.
    pub async fn catch_up(&mut self, change: &mut SchemaChange) -> Result<usize, SqlError> {
        let mut records = self.catch_up.round(&mut self.indexes, change).await?;
        for (parent, keys) in self.catch_up.followed.iter_mut().zip(&mut self.lost_keys) {
            records += parent.round(keys, change).await?;
        }
        Ok(records)
    }

    /// Takes up the rest while nobody writes, to the parents neither.
    pub async fn finish(mut self, change: &mut SchemaChange) -> Result<(), SqlError> {
        let followed = std::mem::take(&mut self.catch_up.followed);
        self.catch_up.finish(&mut self.indexes, change).await?;
        debug_assert_eq!(followed.len(), self.lost_keys.len(), "each parent that is followed has lost keys");
        for (parent, mut keys) in followed.into_iter().zip(self.lost_keys) {
            parent.finish(&mut keys, change).await?;
        }
        Ok(())
    }
}

impl NewIndexes<'_> {
    /// A row of the values that rows have which are older than the columns.
    fn empty_row(&self) -> Vec<Value> {
        let columns = self.after.definition().columns.iter();
        columns.map(|column| column.added_value.clone().unwrap_or(Value::Null)).collect()
    }

    fn decode(&self, key: &[u8], value: &[u8], row: &mut [Value]) -> Result<(), SqlError> {
        let definition = self.after.definition();
        let decoded = self.after.layout().read_row(definition, &self.projection, key, value, row);
        decoded.map_err(|error| error.of(definition))
    }

    fn tree(&self, index: usize) -> TreeId {
        self.after.layout().indexes[index].tree
    }
}

impl Target for NewIndexes<'_> {
    async fn remove(
        &mut self,
        change: &mut SchemaChange,
        _: &mut Transaction,
        record: &ChangedRow,
    ) -> Result<(), SqlError> {
        let mut row = self.empty_row();
        if !record.read_old(&self.columns, &mut row)? {
            return Ok(());
        }
        let mut maker = EntryMaker::default();
        for index in &self.indexes {
            for entry in maker.entries_of(&self.after, *index, &row, &record.row_key)? {
                let unloaded = change.transaction().unload(self.tree(*index), &entry.key).await;
                unloaded.map_err(|error| table_error(self.after.definition(), error))?;
            }
        }
        Ok(())
    }

    async fn add(
        &mut self,
        change: &mut SchemaChange,
        reader: &mut Transaction,
        row_key: &[u8],
    ) -> Result<Option<SqlError>, SqlError> {
        let definition = self.after.definition();
        let found = reader.get(TreeId(definition.tree), row_key, ReadMode::Snapshot).await;
        let Some(found) = found.map_err(|error| table_error(definition, error))? else { return Ok(None) };
        let mut row = self.empty_row();
        self.decode(row_key, &found, &mut row)?;
        self.demands.check(reader, &self.after, &row).await?;
        let mut maker = EntryMaker::default();
        let mut rival = None;
        for index in &self.indexes {
            for entry in maker.entries_of(&self.after, *index, &row, row_key)? {
                let (key, value) = (&entry.key, &entry.value);
                match change.transaction().load(self.tree(*index), key, value, entry.uniqueness()).await {
                    Ok(()) => {}
                    Err(EngineError::DuplicateKey { existing_key }) if existing_key == entry.key => {}
                    Err(EngineError::DuplicateKey { .. }) => {
                        rival = Some(self.after.duplicate_error(*index, &row));
                    }
                    Err(error) => return Err(table_error(definition, error)),
                }
            }
        }
        Ok(rival)
    }
}
