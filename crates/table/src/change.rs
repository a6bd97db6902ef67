//! Inserting, updating and deleting rows with all their index entries.
//!
//! Invariant: a call that reports a duplicate or an error may have written some entries; the caller rolls back to a
//! savepoint taken before the call. `InsertOutcome::Duplicate` has done that itself.
use crate::entries::EntryKey;
use crate::error::{damaged, table_error};
use crate::handle::TableHandle;
use crate::ready::ReadyTable;
use crate::row_events::are_noted;
use datum::{SqlError, Value};
use engine::{EngineError, LockMode, ReadMode, Transaction, Uniqueness, WaitPolicy};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeOutcome {
    Done,
    /// Another row has the same values in a unique index; nothing of this change is left. The other row's clustered
    /// key is given.
    Duplicate {
        index: usize,
        row_key: Vec<u8>,
    },
}

/// Where a unique index refused an entry.
enum Refusal {
    Duplicate { index: usize, row_key: Vec<u8> },
    Error(SqlError),
}

/// Entries of `others` whose keys are not among `entries`; both are in order.
fn missing_from<'e>(entries: &'e [EntryKey], others: &'e [EntryKey]) -> impl Iterator<Item = &'e EntryKey> {
    debug_assert!(entries.is_sorted_by(|one, other| one.key <= other.key), "entries are looked up in order");
    others.iter().filter(|entry| !has_key(entries, &entry.key))
}

fn has_key(entries: &[EntryKey], key: &[u8]) -> bool {
    entries.binary_search_by(|entry| entry.key.as_slice().cmp(key)).is_ok()
}

impl From<SqlError> for Refusal {
    fn from(error: SqlError) -> Refusal {
        Refusal::Error(error)
    }
}

impl ReadyTable {
    /// Adds a row; `row` has a value of the column's type for every column.
    pub async fn insert_row(
        &self,
        transaction: &mut Transaction,
        row: &[Value],
        wait: WaitPolicy,
    ) -> Result<ChangeOutcome, SqlError> {
        self.wait_for_build().await;
        let savepoint = transaction.savepoint();
        match self.add_row(transaction, row, wait).await {
            Ok(()) => {
                self.note(transaction, None, Some(row)).await?;
                Ok(ChangeOutcome::Done)
            }
            Err(refusal) => self.refused(transaction, savepoint, refusal).await,
        }
    }

    async fn add_row(
        &self,
        transaction: &mut Transaction,
        row: &[Value],
        wait: WaitPolicy,
    ) -> Result<(), Refusal> {
        self.counters.check()?;
        let row_id = if self.layout().clustered.is_empty() { self.counters.take_row_id() } else { 0 };
        let mut row_key = Vec::with_capacity(32);
        self.layout().write_row_key(row, row_id, &mut row_key)?;
        self.insert_entries(transaction, row, &row_key, wait).await?;
        self.tell_change(transaction, (&row_key, None), (&row_key, row));
        self.counters.count_rows(1);
        self.statistics().count_change();
        Ok(())
    }
}

impl TableHandle {
    async fn insert_entries(
        &self,
        transaction: &mut Transaction,
        row: &[Value],
        row_key: &[u8],
        wait: WaitPolicy,
    ) -> Result<(), Refusal> {
        self.insert_record(transaction, row, row_key, wait).await?;
        let mut keys = Vec::new();
        for (index, layout) in self.layout().indexes.iter().enumerate() {
            if !layout.clustered {
                self.entry_keys(index, row, row_key, &mut keys)?;
                for entry in &keys {
                    self.insert_entry(transaction, index, entry, row_key, wait).await?;
                }
            }
        }
        Ok(())
    }

    async fn insert_record(
        &self,
        transaction: &mut Transaction,
        row: &[Value],
        row_key: &[u8],
        wait: WaitPolicy,
    ) -> Result<(), Refusal> {
        let mut value = Vec::new();
        self.layout().write_row(row, &mut value);
        let tree = self.layout().tree;
        self.keep_number(transaction, row);
        match transaction.insert(tree, row_key, &value, Uniqueness::Key, wait).await {
            Ok(()) => {
                // The snapshot may show the entries of a row that had this key before.
                transaction.passes_snapshot(tree, row_key);
                Ok(())
            }
            Err(EngineError::DuplicateKey { existing_key }) => {
                let index = self.layout().indexes.iter().position(|index| index.clustered);
                let index = index.ok_or_else(|| Refusal::Error(damaged(&self.definition().name)))?;
                Err(Refusal::Duplicate { index, row_key: existing_key })
            }
            Err(error) => Err(Refusal::Error(table_error(self.definition(), error))),
        }
    }

    async fn insert_entry(
        &self,
        transaction: &mut Transaction,
        index: usize,
        entry: &EntryKey,
        row_key: &[u8],
        wait: WaitPolicy,
    ) -> Result<(), Refusal> {
        let EntryKey { ref key, own: own_length, has_null } = *entry;
        debug_assert!(key.get(own_length..) == Some(row_key), "the row's key follows the entry's own parts");
        let layout = &self.layout().indexes[index];
        let unique =
            if layout.unique && !has_null { Uniqueness::Prefix(own_length) } else { Uniqueness::Key };
        let mut value = Vec::new();
        self.layout().write_entry_value(row_key, &mut value);
        let added = match layout.unique {
            // The row is new under its key or locked, so it cannot have this entry yet.
            false => transaction.insert_unseen(layout.tree, key, &value, wait).await,
            true => transaction.insert(layout.tree, key, &value, unique, wait).await,
        };
        match added {
            Ok(()) => Ok(()),
            Err(EngineError::DuplicateKey { existing_key }) if matches!(unique, Uniqueness::Prefix(_)) => {
                // The own parts of both keys are equal, so the other's clustered key begins at the same place.
                let row_key = existing_key.get(own_length..);
                let row_key = row_key.ok_or_else(|| damaged(&self.definition().name))?.to_vec();
                Err(Refusal::Duplicate { index, row_key })
            }
            Err(EngineError::DuplicateKey { .. }) => Err(Refusal::Error(damaged(&self.definition().name))),
            Err(error) => Err(Refusal::Error(table_error(self.definition(), error))),
        }
    }

    async fn refused(
        &self,
        transaction: &mut Transaction,
        savepoint: engine::Savepoint,
        refusal: Refusal,
    ) -> Result<ChangeOutcome, SqlError> {
        match refusal {
            Refusal::Error(error) => Err(error),
            Refusal::Duplicate { index, row_key } => {
                let undone = transaction.rollback_to(savepoint).await;
                undone.map_err(|error| table_error(self.definition(), error))?;
                Ok(ChangeOutcome::Duplicate { index, row_key })
            }
        }
    }

    /// Gives the row at `row_key` new values. Only what differs is written.
    pub async fn update_row(
        &self,
        transaction: &mut Transaction,
        row_key: &[u8],
        old: &[Value],
        new: &[Value],
        wait: WaitPolicy,
    ) -> Result<ChangeOutcome, SqlError> {
        self.wait_for_build().await;
        let savepoint = transaction.savepoint();
        match self.update_entries(transaction, row_key, old, new, wait).await {
            Ok(()) => {
                self.note(transaction, Some(old), Some(new)).await?;
                Ok(ChangeOutcome::Done)
            }
            Err(refusal) => self.refused(transaction, savepoint, refusal).await,
        }
    }

    async fn update_entries(
        &self,
        transaction: &mut Transaction,
        old_key: &[u8],
        old: &[Value],
        new: &[Value],
        wait: WaitPolicy,
    ) -> Result<(), Refusal> {
        let table = self.definition();
        let mut written_key = Vec::new();
        // Equal values have equal keys, and so may others: those that a collation takes for equal.
        let keeps_key = self.layout().clustered.iter().all(|part| old[part.column] == new[part.column]);
        let new_key = if keeps_key {
            old_key
        } else {
            self.layout().write_row_key(new, 0, &mut written_key)?;
            &written_key
        };
        let moved = new_key != old_key;
        // A row that the snapshot does not show as it is now becomes visible by this change, and with it all entries.
        let renewed = transaction.passes_snapshot(self.layout().tree, old_key);
        if moved {
            // The new place is checked first: its refusal is what the user sees.
            self.insert_record(transaction, new, new_key, wait).await?;
            let deleted = transaction.delete(self.layout().tree, old_key, wait).await;
            deleted.map_err(|error| table_error(table, error))?;
        } else {
            let mut value = Vec::new();
            self.layout().write_row(new, &mut value);
            if self.counters.number_in(new) != self.counters.number_in(old) {
                self.keep_number(transaction, new);
            }
            let updated = transaction.update(self.layout().tree, old_key, &value, wait).await;
            updated.map_err(|error| table_error(table, error))?;
        }
        let (mut old_entries, mut new_entries) = (Vec::new(), Vec::new());
        let mut changes_index = moved;
        for (index, layout) in self.layout().indexes.iter().enumerate() {
            let touched = moved || layout.parts.iter().any(|part| old[part.column] != new[part.column]);
            if layout.clustered || !touched && !renewed {
                continue;
            }
            self.entry_keys(index, old, old_key, &mut old_entries)?;
            self.entry_keys(index, new, new_key, &mut new_entries)?;
            for entry in missing_from(&new_entries, &old_entries) {
                changes_index = true;
                let deleted = self.delete_entry(transaction, index, &entry.key, old_key, wait).await;
                deleted.map_err(|error| table_error(table, error))?;
            }
            for entry in missing_from(&old_entries, &new_entries) {
                changes_index = true;
                self.insert_entry(transaction, index, entry, new_key, wait).await?;
            }
            if renewed {
                let mut value = Vec::new();
                self.layout().write_entry_value(new_key, &mut value);
                for entry in new_entries.iter().filter(|entry| has_key(&old_entries, &entry.key)) {
                    let updated = transaction.update(layout.tree, &entry.key, &value, wait).await;
                    updated.map_err(|error| table_error(table, error))?;
                }
            }
        }
        self.tell_change(transaction, (old_key, Some(old)), (new_key, new));
        if changes_index {
            self.statistics().count_change();
        }
        Ok(())
    }

    /// Removes the entry of a row that the caller has locked and that has it.
    async fn delete_entry(
        &self,
        transaction: &mut Transaction,
        index: usize,
        key: &[u8],
        row_key: &[u8],
        wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        let layout = &self.layout().indexes[index];
        if layout.unique {
            return transaction.delete(layout.tree, key, wait).await;
        }
        let mut value = Vec::new();
        self.layout().write_entry_value(row_key, &mut value);
        transaction.delete_unseen(layout.tree, key, &value, wait).await
    }

    /// Removes the row at `row_key` with its entries; `row` needs only the columns of secondary indexes.
    pub async fn delete_row(
        &self,
        transaction: &mut Transaction,
        row_key: &[u8],
        row: &[Value],
        wait: WaitPolicy,
    ) -> Result<(), SqlError> {
        self.wait_for_build().await;
        let to_sql = |error| table_error(self.definition(), error);
        // The caller may not have read all columns, and who listens has to know them.
        let is_noted = are_noted(transaction, self.definition());
        let whole = match is_noted || self.has_stream() {
            true => {
                let mode = ReadMode::Locking(LockMode::Exclusive, wait);
                self.read_row_at(transaction, row_key, mode).await?
            }
            false => None,
        };
        // The snapshot may show other entries of the row than those that are deleted here.
        transaction.passes_snapshot(self.layout().tree, row_key);
        transaction.delete(self.layout().tree, row_key, wait).await.map_err(to_sql)?;
        let mut keys = Vec::new();
        for (index, layout) in self.layout().indexes.iter().enumerate() {
            if !layout.clustered {
                self.entry_keys(index, row, row_key, &mut keys)?;
                for entry in &keys {
                    self.delete_entry(transaction, index, &entry.key, row_key, wait).await.map_err(to_sql)?;
                }
            }
        }
        self.tell_deletion(transaction, row_key, whole.as_deref());
        self.counters.count_rows(-1);
        self.statistics().count_change();
        match whole {
            Some(row) if is_noted => self.note(transaction, Some(&row), None).await,
            _ => Ok(()),
        }
    }
}
