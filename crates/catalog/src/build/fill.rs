//! Rows that come one after the other into a new table: CREATE TABLE .. SELECT, and changes that fill an empty table.
//!
//! Invariant: rows whose keys ascend go into the tree as they come, all other records are sorted first, so leaves are filled in
//! order. The trees are the change's own and are undone as one. What is refused is what would have been refused if the rows had
//! been inserted one by one: the first row that has the values of an earlier one in a unique index. With IGNORE each such row is
//! left out; then no other index may be unique than the clustered one, since a row that is left out refuses no others.
use std::sync::Arc;

use datum::{SqlError, Value};
use engine::{EngineError, EntryBatch, ReadMode, Uniqueness};
use env::TemporarySpace;
use rowstore::{KeyOrder, Sorter};
use table::{ReadyTable, damaged, table_error};

use super::left_out::LeftOut;
use super::numbered::{Group, Numbered, Refusal, earliest};
use super::sorted::{EntryMaker, is_piece};
use super::{SORT_BYTES, Turns};
use crate::change::SchemaChange;

/// A new table that takes rows. Its trees exist, are empty and belong to the change.
pub struct TableFill {
    after: ReadyTable,
    space: Arc<TemporarySpace>,
    memory: usize,
    /// How many rows came.
    count: u64,
    /// Rows in the order of their keys that are not in the tree yet.
    ordered: EntryBatch,
    /// The greatest key among those that came in order.
    last_key: Vec<u8>,
    /// Whether rows that came in order are in the tree.
    has_loaded: bool,
    /// Those that did not.
    unordered: Option<Sorter>,
    /// The secondary indexes with their entries.
    entries: Vec<(usize, Sorter)>,
    /// What IGNORE leaves out; nothing is left out without it.
    left_out: Option<LeftOut>,
    maker: EntryMaker,
    row_key: Vec<u8>,
    record: Vec<u8>,
    numbered: Vec<u8>,
}

impl TableFill {
    pub fn new(after: &ReadyTable, space: &Arc<TemporarySpace>) -> TableFill {
        let indexes = after.layout().indexes.iter().enumerate();
        let secondary = indexes.filter(|(_, index)| !index.clustered).map(|(index, _)| index);
        let memory = SORT_BYTES / (after.layout().indexes.len() + 1);
        let sorter = |index| (index, Sorter::new(space, KeyOrder::Bytes, memory, usize::MAX));
        TableFill {
            entries: secondary.map(sorter).collect(),
            after: after.clone(),
            space: space.clone(),
            memory,
            count: 0,
            ordered: EntryBatch::default(),
            last_key: Vec::new(),
            has_loaded: false,
            unordered: None,
            left_out: None,
            maker: EntryMaker::default(),
            row_key: Vec::new(),
            record: Vec::new(),
            numbered: Vec::new(),
        }
    }

    /// Leaves out rows whose keys are there already.
    pub fn leaving_out_duplicates(mut self) -> TableFill {
        self.left_out = Some(LeftOut::default());
        self
    }

    /// The table that is filled.
    pub fn table(&self) -> &ReadyTable {
        &self.after
    }

    /// Takes the next row: a value of the column's type for every column.
    pub async fn push(&mut self, change: &mut SchemaChange, row: &[Value]) -> Result<(), SqlError> {
        debug_assert_eq!(
            row.len(),
            self.after.definition().columns.len(),
            "a row has a value for each column"
        );
        self.count += 1;
        self.after.observe_number(row);
        let layout = self.after.handle().layout();
        self.row_key.clear();
        self.record.clear();
        layout.write_row_key(row, self.count, &mut self.row_key)?;
        layout.write_row(row, &mut self.record);
        for (index, sorter) in &mut self.entries {
            for entry in self.maker.entries_of(self.after.handle(), *index, row, &self.row_key)? {
                Numbered::write(entry.unique, self.count, &entry.value, &mut self.numbered);
                if sorter.push(&entry.key, &self.numbered) {
                    sorter.spill(&mut Turns).await?;
                }
            }
        }
        if self.count == 1 || self.row_key > self.last_key {
            return self.push_ordered(change).await;
        }
        self.begin_sorting().await?;
        self.push_unordered().await
    }

    async fn push_ordered(&mut self, change: &mut SchemaChange) -> Result<(), SqlError> {
        self.last_key.clone_from(&self.row_key);
        if self.unordered.is_some() && !self.has_loaded {
            return self.push_unordered().await;
        }
        self.ordered.push(&self.row_key, &self.record);
        match is_piece(&self.ordered) {
            true => self.load_ordered(change).await,
            false => Ok(()),
        }
    }

    /// A row did not come in order. If nothing has been written so far, all are sorted.
    async fn begin_sorting(&mut self) -> Result<(), SqlError> {
        if self.unordered.is_some() {
            return Ok(());
        }
        let mut sorter = Sorter::new(&self.space, KeyOrder::Bytes, self.memory, usize::MAX);
        if !self.has_loaded {
            for (number, (key, record)) in (1..).zip(self.ordered.iter()) {
                Numbered::write(Some(key.len()), number, record, &mut self.numbered);
                if sorter.push(key, &self.numbered) {
                    sorter.spill(&mut Turns).await?;
                }
            }
            self.ordered.clear();
        }
        self.unordered = Some(sorter);
        Ok(())
    }

    async fn push_unordered(&mut self) -> Result<(), SqlError> {
        let sorter = self.unordered.as_mut().expect("it was begun");
        Numbered::write(Some(self.row_key.len()), self.count, &self.record, &mut self.numbered);
        match sorter.push(&self.row_key, &self.numbered) {
            true => sorter.spill(&mut Turns).await,
            false => Ok(()),
        }
    }

    async fn load_ordered(&mut self, change: &mut SchemaChange) -> Result<(), SqlError> {
        let loaded = change.transaction().load_in_order(self.after.layout().tree, &self.ordered).await;
        loaded.map_err(|error| table_error(self.after.definition(), error))?;
        self.has_loaded |= !self.ordered.is_empty();
        self.ordered.clear();
        Ok(())
    }

    /// Writes what is left; gives the number of rows that came and those of them that are left out. Error 1062 if a row was
    /// refused: then the change has to be dropped.
    pub async fn finish(mut self, change: &mut SchemaChange) -> Result<(u64, LeftOut), SqlError> {
        if !self.ordered.is_empty() {
            self.load_ordered(change).await?;
        }
        let mut refusals = Vec::new();
        if let Some(sorter) = self.unordered.take() {
            refusals.extend(self.write_rows(change, sorter).await?);
        }
        for (index, sorter) in std::mem::take(&mut self.entries) {
            refusals.extend(self.write_entries(change, index, sorter).await?);
        }
        debug_assert!(self.left_out.is_none() || refusals.is_empty(), "what is left out is not refused");
        match earliest(refusals) {
            Some(refusal) => Err(self.error_of(change, refusal).await?),
            None => Ok((self.count, self.left_out.unwrap_or_default())),
        }
    }

    /// Rows that were sorted: those before the last one that came in order find their places one by one.
    async fn write_rows(
        &mut self,
        change: &mut SchemaChange,
        mut sorter: Sorter,
    ) -> Result<Option<Refusal>, SqlError> {
        sorter.finish(&mut Turns).await?;
        let clustering = self.after.layout().indexes.iter().position(|index| index.clustered);
        let last = if self.has_loaded { std::mem::take(&mut self.last_key) } else { Vec::new() };
        let mut groups = Group::of(clustering.unwrap_or_default());
        let mut is_over = false;
        while !is_over {
            let next = next_record(&mut sorter).await?;
            is_over = next.is_none();
            let Some(kept) = groups.next(next) else {
                self.leave_out(&mut groups)?;
                continue;
            };
            if kept.key > last {
                self.ordered.push(&kept.key, &kept.value);
                if is_piece(&self.ordered) {
                    self.load_ordered(change).await?;
                    env::yield_now().await;
                }
                continue;
            }
            let tree = self.after.layout().tree;
            match change.transaction().load(tree, &kept.key, &kept.value, Uniqueness::Key).await {
                Ok(()) => {}
                Err(EngineError::DuplicateKey { .. }) => {
                    let refused = kept.clone();
                    groups.refuse(refused);
                }
                Err(error) => return Err(table_error(self.after.definition(), error)),
            }
            self.leave_out(&mut groups)?;
        }
        self.load_ordered(change).await?;
        debug_assert!(self.ordered.is_empty(), "the last piece is written however small it is");
        Ok(groups.refusal())
    }

    /// Notes the row that was refused last, if rows are left out.
    fn leave_out(&mut self, groups: &mut Group) -> Result<(), SqlError> {
        let Some(left_out) = &mut self.left_out else { return Ok(()) };
        let Some(refusal) = groups.take_refusal() else { return Ok(()) };
        let row = super::copied_rows::decode_all(self.after.handle(), &refusal.key, &refusal.value)?;
        left_out.add(refusal.number, self.after.handle().duplicate_error(refusal.index, &row));
        Ok(())
    }

    async fn write_entries(
        &mut self,
        change: &mut SchemaChange,
        index: usize,
        mut sorter: Sorter,
    ) -> Result<Option<Refusal>, SqlError> {
        sorter.finish(&mut Turns).await?;
        let (tree, unique) = {
            let layout = &self.after.layout().indexes[index];
            (layout.tree, layout.unique)
        };
        let mut groups = Group::of(index);
        let mut piece = EntryBatch::default();
        let mut is_over = false;
        while !is_over {
            let next = next_record(&mut sorter).await?;
            is_over = next.is_none();
            match next {
                Some((_, record))
                    if self.left_out.as_ref().is_some_and(|rows| rows.contains(record.number)) => {}
                Some((key, record)) if !unique => piece.push(key, record.value),
                next => {
                    if let Some(kept) = groups.next(next) {
                        piece.push(&kept.key, &kept.value);
                    }
                }
            }
            if is_piece(&piece) || is_over && !piece.is_empty() {
                let loaded = change.transaction().load_in_order(tree, &piece).await;
                loaded.map_err(|error| table_error(self.after.definition(), error))?;
                piece.clear();
                env::yield_now().await;
            }
        }
        debug_assert!(piece.is_empty(), "the last piece is written however small it is");
        Ok(groups.refusal())
    }

    /// What the row is told that was refused.
    async fn error_of(&self, change: &mut SchemaChange, refusal: Refusal) -> Result<SqlError, SqlError> {
        let table = self.after.handle();
        let definition = table.definition();
        let index = &table.layout().indexes[refusal.index];
        let row = if index.clustered {
            super::copied_rows::decode_all(table, &refusal.key, &refusal.value)?
        } else {
            let start = table.layout().suffix_start(&refusal.key, &refusal.value);
            let start = start.map_err(|_| damaged(&definition.name))?;
            let row_key = refusal.key.get(start..).ok_or_else(|| damaged(&definition.name))?;
            let row = table.read_row_at(change.transaction(), row_key, ReadMode::Snapshot).await?;
            row.ok_or_else(|| damaged(&definition.name))?
        };
        Ok(table.duplicate_error(refusal.index, &row))
    }
}

/// The next record with its key.
async fn next_record(sorter: &mut Sorter) -> Result<Option<(&[u8], Numbered<'_>)>, SqlError> {
    if !sorter.next().await? {
        return Ok(None);
    }
    Ok(Some((sorter.key(), Numbered::read(sorter.row())?)))
}
