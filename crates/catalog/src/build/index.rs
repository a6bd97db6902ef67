//! New indexes of a table: their entries from one snapshot of its rows, then what has changed since (`catch_up`).
use std::sync::Arc;

use datum::{SqlError, Value};
use engine::{AccessMode, Direction, EntryBatch, Isolation, KeyRange, ReadMode, Transaction, TreeId};
use table::{AttachedStream, ChangeStream, Projection, TableHandle, damaged, table_error};

use super::backlog::Backlog;
use super::sorted::{Entry, SortedIndex};
use super::{BATCH_ROWS, BuildWork, SORT_BYTES};
use crate::change::SchemaChange;
use crate::progress::Stage;

/// Some indexes of one table while they are built. Their trees exist, are empty and belong to the change.
pub struct IndexBuild {
    /// The table with the new indexes.
    pub(super) after: TableHandle,
    /// By position in the new definition.
    pub(super) indexes: Vec<usize>,
    /// The columns that their entries are made of and that were there before.
    pub(super) columns: Vec<usize>,
    pub(super) projection: Projection,
    /// Whoever reads the rows of the snapshot.
    reader: Option<Transaction>,
    /// None: nobody writes meanwhile.
    pub(super) stream: Option<AttachedStream>,
    pub(super) backlog: Backlog,
    pub(super) work: BuildWork,
}

impl IndexBuild {
    /// Begins while nobody writes to the table. `sources` says which columns of the table as it was those of `after` are. With `online`, writers may come once this is done.
    pub async fn begin(
        change: &SchemaChange,
        before: &Arc<TableHandle>,
        (after, sources): (TableHandle, &[Option<usize>]),
        indexes: Vec<usize>,
        online: bool,
        work: BuildWork,
    ) -> Result<IndexBuild, SqlError> {
        let layouts = indexes.iter().map(|index| &after.layout().indexes[*index]);
        let mut columns: Vec<usize> =
            layouts.flat_map(|layout| layout.parts.iter().map(|part| part.column)).collect();
        columns.sort_unstable();
        columns.dedup();
        let wanted: Vec<(usize, usize)> = columns.iter().map(|column| (*column, *column)).collect();
        let engine = change.shared_engine();
        let to_sql = |error| table_error(before.definition(), error);
        // What the last life left undone writes to the table as well.
        engine.wait_for_unfinished(before.layout().tree).await.map_err(to_sql)?;
        engine.settle_commits().await.map_err(to_sql)?;
        let known = |column: &usize| sources[*column].map(|before| (*column, before));
        let (columns, before_columns) = columns.iter().filter_map(known).unzip();
        let stream = online.then(|| before.attach_stream(ChangeStream::new(before_columns, false)));
        let mut reader = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
        reader.take_snapshot();
        let projection = after.layout().project_rows(&wanted);
        let backlog = Backlog::new(&work.space);
        Ok(IndexBuild { after, indexes, columns, projection, reader: Some(reader), stream, backlog, work })
    }

    /// Writes the entries of the snapshot's rows.
    pub async fn fill(&mut self, change: &mut SchemaChange) -> Result<(), SqlError> {
        self.work.progress.enter(Stage::Read);
        let memory = SORT_BYTES / self.indexes.len().max(1);
        let sorted = |index: &usize| SortedIndex::new(&self.after, *index, &self.work.space, memory);
        let mut sorted: Vec<SortedIndex> = self.indexes.iter().map(sorted).collect();
        self.read(&mut sorted).await?;
        self.work.progress.enter(Stage::Insert);
        for one in sorted {
            let index = one.index;
            if let Some((key, own)) = one.write(change, &self.after, &self.work.progress).await? {
                return Err(self.duplicate(index, &key[own..]).await?);
            }
            self.put_by().await?;
        }
        self.reader = None;
        Ok(())
    }

    async fn read(&mut self, sorted: &mut [SortedIndex]) -> Result<(), SqlError> {
        let Some(mut reader) = self.reader.take() else { return Ok(()) };
        let tree = TreeId(self.after.definition().tree);
        let mut cursor = reader.scan(tree, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
        let mut batch = EntryBatch::default();
        let mut row = self.empty_row();
        let mut entry = Entry::default();
        let mut more = true;
        while more {
            batch.clear();
            let read = cursor.next_batch(&mut reader, BATCH_ROWS, &mut batch).await;
            more = read.map_err(|error| table_error(self.after.definition(), error))?;
            for (key, value) in batch.iter() {
                self.decode(key, value, &mut row)?;
                for one in &mut *sorted {
                    entry.fill(&self.after, one.index, &row, key)?;
                    one.push(&entry).await?;
                }
            }
            self.work.progress.add(batch.len() as u64);
            self.put_by().await?;
            env::yield_now().await;
        }
        self.reader = Some(reader);
        Ok(())
    }

    /// A row of the values that rows have which are older than the columns.
    pub(super) fn empty_row(&self) -> Vec<Value> {
        let columns = self.after.definition().columns.iter();
        columns.map(|column| column.added_value.clone().unwrap_or(Value::Null)).collect()
    }

    pub(super) fn decode(&self, key: &[u8], value: &[u8], row: &mut [Value]) -> Result<(), SqlError> {
        let definition = self.after.definition();
        let decoded = self.after.layout().read_row(definition, &self.projection, key, value, row);
        decoded.map_err(|_| damaged(&definition.name))
    }

    /// Keeps what the stream has for later, so that its memory stays small.
    async fn put_by(&mut self) -> Result<(), SqlError> {
        if let Some(stream) = &self.stream {
            self.backlog.put(&stream.stream().take()).await?;
        }
        Ok(())
    }

    /// Error 1062 for the row at this key of the snapshot.
    async fn duplicate(&mut self, index: usize, row_key: &[u8]) -> Result<SqlError, SqlError> {
        let mut row = vec![Value::Null; self.after.definition().columns.len()];
        if let Some(reader) = &mut self.reader
            && let Some(found) = self.after.read_row_at(reader, row_key, ReadMode::Snapshot).await?
        {
            row = found;
        }
        Ok(self.after.duplicate_error(index, &row))
    }
}
