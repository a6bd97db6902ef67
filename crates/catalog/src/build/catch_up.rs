//! Catching up with those who write: rounds over the records of the change stream.
//!
//! Invariant: a record goes back into the backlog while its transaction is open, and while the row's new entry has a rival in a
//! unique index. Otherwise, when it is done, the trees hold exactly the entries that the row has in a snapshot younger than
//! the record. Whatever changes the row later has a record of its own.
use std::collections::BTreeSet;

use datum::{SqlError, Value};
use engine::{AccessMode, EngineError, EntryBatch, Isolation, ReadMode, Transaction, TreeId};
use table::{ChangedRow, damaged, table_error};

use super::backlog::decode;
use super::index::IndexBuild;
use super::sorted::Entry;
use crate::change::SchemaChange;
use crate::progress::Stage;

/// Records of nobody: those that come again because of a rival.
const NO_WRITER: u64 = 0;

/// What a round has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundReport {
    /// Records that were there.
    pub records: usize,
    /// Rows that could not get their entries because of rivals.
    pub rivals: usize,
}

impl IndexBuild {
    /// One round; gives the number of records that it had.
    pub async fn catch_up(&mut self, change: &mut SchemaChange) -> Result<usize, SqlError> {
        if self.stream.is_none() {
            return Ok(0);
        }
        self.work.progress.enter(Stage::Apply);
        Ok(self.round(change).await?.records)
    }

    /// The last rounds: the caller keeps writers out. Error 1062 if two rows have the same values in a unique index.
    pub async fn finish(mut self, change: &mut SchemaChange) -> Result<(), SqlError> {
        let Some(attached) = &self.stream else { return Ok(()) };
        self.work.progress.enter(Stage::End);
        // Who has just ended may not have said so yet.
        while !attached.stream().open_writers().is_empty() {
            env::yield_now().await;
        }
        let mut rivals = usize::MAX;
        loop {
            let report = self.round(change).await?;
            if report.rivals == 0 {
                return Ok(());
            }
            if report.rivals >= rivals {
                return Err(self.first_rival(change).await?);
            }
            rivals = report.rivals;
        }
    }

    async fn round(&mut self, change: &mut SchemaChange) -> Result<RoundReport, SqlError> {
        let Some(attached) = &self.stream else { return Ok(RoundReport::default()) };
        let stream = attached.stream().clone();
        self.backlog.put(&stream.take()).await?;
        // Behind the records: whoever is not among these had ended, or writes later.
        let open = stream.open_writers();
        let engine = change.shared_engine();
        engine.settle_commits().await.map_err(|error| table_error(self.after.definition(), error))?;
        let mut reader = engine.begin(Isolation::ReadCommitted, AccessMode::ReadOnly);
        let mut round = self.backlog.begin_round().await?;
        let mut report = RoundReport { records: round.count, rivals: 0 };
        loop {
            let records = round.next().await?;
            if records.is_empty() {
                return Ok(report);
            }
            reader.begin_statement();
            report.rivals += self.apply(change, &mut reader, &records, &open).await?;
            self.backlog.put(&stream.take()).await?;
            env::yield_now().await;
        }
    }

    /// Brings the entries of these rows up to date: first the old ones go, then the new ones come. Gives the number of rows with
    /// rivals.
    async fn apply(
        &mut self,
        change: &mut SchemaChange,
        reader: &mut Transaction,
        records: &EntryBatch,
        open: &BTreeSet<u64>,
    ) -> Result<usize, SqlError> {
        let mut row = self.empty_row();
        let mut entry = Entry::default();
        let mut ended = Vec::new();
        for (key, rest) in records.iter() {
            let record = decode(key, rest)?;
            if open.contains(&record.writer) {
                self.backlog.put_one(key, rest).await?;
                continue;
            }
            if record.read_old(&self.columns, &mut row)? {
                for index in &self.indexes {
                    entry.fill(&self.after, *index, &row, key)?;
                    let tree = TreeId(self.after.definition().indexes[*index].tree);
                    let unloaded = change.transaction().unload(tree, &entry.key).await;
                    unloaded.map_err(|error| table_error(self.after.definition(), error))?;
                }
            }
            ended.push(record);
        }
        let mut rivals = 0;
        for (position, record) in ended.iter().enumerate() {
            // In the order of their keys: the last of a row's records does for all.
            if ended.get(position + 1).is_some_and(|next| next.row_key == record.row_key) {
                continue;
            }
            if self.add_entries(change, reader, record, &mut row).await?.is_some() {
                rivals += 1;
                let again = [&NO_WRITER.to_le_bytes()[..], &[0]].concat();
                self.backlog.put_one(&record.row_key, &again).await?;
            }
        }
        Ok(rivals)
    }

    /// Adds the entries that the row has now; gives the index in which another row stands in its way.
    async fn add_entries(
        &self,
        change: &mut SchemaChange,
        reader: &mut Transaction,
        record: &ChangedRow,
        row: &mut [Value],
    ) -> Result<Option<usize>, SqlError> {
        let definition = self.after.definition();
        let found = reader.get(TreeId(definition.tree), &record.row_key, ReadMode::Snapshot).await;
        let Some(found) = found.map_err(|error| table_error(definition, error))? else { return Ok(None) };
        self.decode(&record.row_key, &found, row)?;
        let mut entry = Entry::default();
        let mut rival = None;
        for index in &self.indexes {
            entry.fill(&self.after, *index, row, &record.row_key)?;
            let tree = TreeId(definition.indexes[*index].tree);
            match change.transaction().load(tree, &entry.key, &entry.value, entry.uniqueness()).await {
                Ok(()) => {}
                Err(EngineError::DuplicateKey { existing_key }) if existing_key == entry.key => {}
                Err(EngineError::DuplicateKey { .. }) => rival = Some(*index),
                Err(error) => return Err(table_error(definition, error)),
            }
        }
        Ok(rival)
    }

    /// Error 1062 for one of the rows that are left.
    async fn first_rival(&mut self, change: &mut SchemaChange) -> Result<SqlError, SqlError> {
        let mut round = self.backlog.begin_round().await?;
        let mut reader = change.shared_engine().begin(Isolation::ReadCommitted, AccessMode::ReadOnly);
        let mut row = self.empty_row();
        loop {
            let records = round.next().await?;
            for (key, rest) in records.iter() {
                let record = decode(key, rest)?;
                if let Some(index) = self.add_entries(change, &mut reader, &record, &mut row).await? {
                    return Ok(self.after.duplicate_error(index, &row));
                }
            }
            if records.is_empty() {
                return Err(damaged(&self.after.definition().name));
            }
        }
    }
}
