//! A copy of a table into new trees: the rows of one snapshot, then what has changed since (`catch_up`).
//!
//! Invariant: with writers beside, either a row has the same key in the copy, or a tree that lives as long as the copying says which
//! key it has there. So the copy is found by the key of the row, whatever its values were and became.
use std::sync::Arc;

use datum::SqlError;
use engine::{Direction, EntryBatch, KeyRange, ReadMode, Transaction, TreeId};
use rowstore::Pause;
use table::{ChangeStream, ReadyTable, TableHandle, table_error};

use super::catch_up::CatchUp;
use super::copied_rows::NewRows;
use super::sorted::{EntryMaker, SortedTree};
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

impl<'c> TableCopy<'c> {
    /// Begins to follow those who write, with `online`.
    pub async fn attach(
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
        let catch_up = CatchUp::attach(before, stream, work, Vec::new());
        let (before, after) = (before.clone(), after.clone());
        let rows = NewRows::new((before, after), (keys, converter), key_map);
        Ok(TableCopy { rows, reader: None, catch_up })
    }

    /// When those have ended who wrote before the attachment.
    pub async fn take_snapshot(&mut self, change: &SchemaChange) -> Result<(), SqlError> {
        debug_assert!(self.reader.is_none(), "a copy is of one moment");
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
        debug_assert_eq!(sorted.len(), indexes.len(), "each index has its sort");
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
        debug_assert!(
            ordered.is_empty() && mapped.is_empty(),
            "the last piece is written however small it is"
        );
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
