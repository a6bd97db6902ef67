//! Entries and records become rows: decoded as far as the filter reads, filtered, and only then decoded whole.
//!
//! Invariant: a record that is locked and fails the filter is given back where the isolation level allows. Called by `table_scan`.
use super::Opened;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::deferred::all_hold;
use crate::operator::all_true;
use datum::{SqlError, Value};
use engine::{EntryBatch, ReadMode};
use plan::TableAccess;
use table::{Projection, RowError, damaged, table_error};

/// A projection for the columns that the filter reads, and one for the others: rows that fail are not decoded further.
pub(super) fn halves_of(
    access: &TableAccess,
    project: impl Fn(&[(usize, usize)]) -> Option<Projection>,
) -> Option<(Projection, Projection)> {
    if access.filter.is_empty() || access.projection.len() < 2 {
        return None;
    }
    let mut read = Vec::new();
    access
        .filter
        .iter()
        .chain(&access.implied)
        .for_each(|condition| expression::positions_read(condition, &mut read));
    let (first, rest): (Vec<_>, Vec<_>) =
        access.projection.iter().partition(|(_, position)| read.contains(position));
    if first.is_empty() || rest.is_empty() {
        return None;
    }
    Some((project(&first)?, project(&rest)?))
}

impl Opened {
    /// Whether the entry passes what it can be asked.
    pub(super) fn entry_passes(
        &mut self,
        access: &TableAccess,
        base: &[Value],
        key: &[u8],
        value: &[u8],
        context: &mut ExecContext<'_>,
    ) -> Result<bool, SqlError> {
        let (Some(index), Some(projection)) = (self.index, &self.entry_projection) else { return Ok(true) };
        self.scratch.clear();
        self.scratch.extend_from_slice(base);
        let read = self.handle.layout().read_entry(index, projection, key, value, &mut self.scratch);
        read.map_err(|_| damaged(&access.table.name))?;
        let passes = all_true(&access.entry_filter, &self.scratch, context.eval)?;
        if passes {
            context.work.step(&access.path, access.backward, 1, false);
        }
        Ok(passes)
    }

    /// Waits for a record that another transaction has locked, if its committed version passes the filter.
    pub(super) async fn take_unlocked(
        &mut self,
        access: &TableAccess,
        base: &[Value],
        key: &[u8],
        value: &[u8],
        context: &mut ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        let layout = self.handle.layout();
        let frame = out.push_copy(base);
        let read = layout.read_row(&access.table, &self.projection, key, value, frame);
        read.map_err(|error| error.of(&access.table))?;
        let passes = self.passes(access, out.row(out.len() - 1), context).await?;
        out.pop();
        if !passes {
            return Ok(());
        }
        let record = context.host.transaction().get(layout.tree, key, self.mode).await;
        match record.map_err(|error| table_error(&access.table, error))? {
            Some(record) => self.take_entry(access, base, key, &record, context, out).await,
            None => Ok(()),
        }
    }

    async fn passes(
        &self,
        access: &TableAccess,
        row: &[Value],
        context: &mut ExecContext<'_>,
    ) -> Result<bool, SqlError> {
        let passes = all_hold(&access.filter, row, context).await?;
        Ok(passes && (!self.check_implied || all_true(&access.implied, row, context.eval)?))
    }

    /// Turns a row that is read without a lock into one of `out`, if it passes the filter.
    pub(super) async fn take_row(
        &self,
        access: &TableAccess,
        base: &[Value],
        row_key: &[u8],
        record: &[u8],
        context: &mut ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        self.decode(access, base, (row_key, record), row_key, context, out).await.map(|_| ())
    }

    /// Decodes a record, or an entry that has all that is wanted, into a row of `out`; true if it passes the filter and is there.
    async fn decode(
        &self,
        access: &TableAccess,
        base: &[Value],
        (key, value): (&[u8], &[u8]),
        row_key: &[u8],
        context: &mut ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        let first = self.halves.as_ref().map_or(&self.projection, |(first, _)| first);
        self.read_into(access, first, (key, value), out.push_copy(base))?;
        let last = out.len() - 1;
        if let Some(position) = access.row_key_position {
            out.row_mut(last)[position] = Value::bytes(row_key);
        }
        if !self.passes(access, out.row(last), context).await? {
            out.pop();
            return Ok(false);
        }
        if let Some((_, rest)) = &self.halves {
            self.read_into(access, rest, (key, value), out.row_mut(last))?;
        }
        Ok(true)
    }

    /// Whether entries hold all that is wanted of their rows, and nothing has to be waited for or given back.
    pub(super) fn takes_at_once(&self, access: &TableAccess, context: &ExecContext<'_>) -> bool {
        let holds_all = match self.index {
            None => true,
            Some(_) => access.covering && !context.host.seen_transaction().has_passed_snapshot(),
        };
        holds_all && self.mode == ReadMode::Snapshot && self.entry_projection.is_none()
    }

    /// The same as `take_entry` for entries from `first` on, where `takes_at_once` holds. Stops at one whose filter could not be
    /// evaluated: its row is the last of `out`, and `after_filter` goes on with it.
    pub(super) fn take_entries(
        &self,
        access: &TableAccess,
        base: &[Value],
        (entries, first): (&EntryBatch, usize),
        context: &ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<Option<(usize, SqlError)>, SqlError> {
        let eval = &*context.eval;
        let early = self.halves.as_ref().map_or(&self.projection, |(early, _)| early);
        let passes_all = access.filter.is_empty() && !self.check_implied && self.halves.is_none();
        for index in first..entries.len() {
            let (key, value) = entries.get(index);
            self.read_into(access, early, (key, value), out.push_copy(base))?;
            if let Some(position) = access.row_key_position {
                let row_key = self.row_key_of(access, key, value)?;
                out.row_mut(out.len() - 1)[position] = Value::bytes(row_key);
            }
            if passes_all {
                continue;
            }
            let row = out.row(out.len() - 1);
            match eval.deferred.attempt(|| all_true(&access.filter, row, eval)) {
                Ok(passes) => self.after_filter(access, passes, (key, value), context, out)?,
                Err(error) => return Ok(Some((index, error))),
            }
        }
        Ok(None)
    }

    /// What is left to do with the last row of `out` once it is known whether it passes the filter.
    pub(super) fn after_filter(
        &self,
        access: &TableAccess,
        passes: bool,
        (key, value): (&[u8], &[u8]),
        context: &ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        let last = out.len() - 1;
        if !passes || self.check_implied && !all_true(&access.implied, out.row(last), context.eval)? {
            out.pop();
            return Ok(());
        }
        match &self.halves {
            Some((_, late)) => self.read_into(access, late, (key, value), out.row_mut(last)),
            None => Ok(()),
        }
    }

    fn read_into(
        &self,
        access: &TableAccess,
        projection: &Projection,
        (key, value): (&[u8], &[u8]),
        frame: &mut [Value],
    ) -> Result<(), SqlError> {
        let layout = self.handle.layout();
        let read = match self.index.filter(|_| access.covering) {
            Some(index) => layout.read_entry(index, projection, key, value, frame).map_err(RowError::from),
            None => layout.read_row(&access.table, projection, key, value, frame),
        };
        read.map_err(|error| error.of(&access.table))
    }

    fn row_key_of<'k>(
        &self,
        access: &TableAccess,
        key: &'k [u8],
        value: &[u8],
    ) -> Result<&'k [u8], SqlError> {
        let start = match self.index {
            None => 0,
            Some(_) => {
                let start = self.handle.layout().suffix_start(key, value);
                start.map_err(|_| damaged(&access.table.name))?
            }
        };
        Ok(&key[start..])
    }

    /// Turns one entry into a row of `out`, if it passes the filter.
    pub(super) async fn take_entry(
        &mut self,
        access: &TableAccess,
        base: &[Value],
        key: &[u8],
        value: &[u8],
        context: &mut ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        let row_key = self.row_key_of(access, key, value)?;
        if let Some(index) = self.index
            && context.host.seen_transaction().has_passed_snapshot()
            && !self.is_entry_of_row(access, index, key, row_key, context).await?
        {
            return Ok(());
        }
        if !self.entry_passes(access, base, key, value, context)? {
            if let (ReadMode::Locking(..), Some(index)) = (self.mode, self.index) {
                let tree = self.handle.layout().indexes[index].tree;
                context.host.transaction().unlock_unmatched(tree, key, self.mark);
            }
            return Ok(());
        }
        let layout = self.handle.layout();
        let passes = if self.index.is_none() || access.covering {
            self.decode(access, base, (key, value), row_key, context, out).await?
        } else {
            let record = context.host.transaction().get(layout.tree, row_key, self.mode).await;
            let record = record.map_err(|error| table_error(&access.table, error))?;
            // A locking read may find the entry and then wait; the row can be gone afterwards.
            let Some(record) = record else { return Ok(()) };
            self.decode(access, base, (row_key, &record), row_key, context, out).await?
        };
        if !passes && let ReadMode::Locking(..) = self.mode {
            if let Some(index) = self.index {
                context.host.transaction().unlock_unmatched(layout.indexes[index].tree, key, self.mark);
            }
            context.host.transaction().unlock_unmatched(layout.tree, row_key, self.mark);
        }
        Ok(())
    }

    /// Whether the row, as this read sees it, has this entry. A plain read can meet the entry of a version that the
    /// snapshot shows, while the row is one that the transaction has changed since.
    async fn is_entry_of_row(
        &self,
        access: &TableAccess,
        index: usize,
        key: &[u8],
        row_key: &[u8],
        context: &mut ExecContext<'_>,
    ) -> Result<bool, SqlError> {
        if self.mode != ReadMode::Snapshot {
            return Ok(true);
        }
        let table = &access.table;
        let layout = self.handle.layout();
        let record = context.host.transaction().get(layout.tree, row_key, self.mode).await;
        let Some(record) = record.map_err(|error| table_error(table, error))? else {
            return Ok(false);
        };
        let all: Vec<(usize, usize)> = (0..table.columns.len()).map(|column| (column, column)).collect();
        let mut row = vec![Value::Null; table.columns.len()];
        let read = layout.read_row(table, &layout.project_rows(&all), row_key, &record, &mut row);
        read.map_err(|error| error.of(table))?;
        let mut entries = Vec::new();
        self.handle.entry_keys(index, &row, row_key, &mut entries)?;
        Ok(entries.iter().any(|entry| entry.key == key))
    }
}
