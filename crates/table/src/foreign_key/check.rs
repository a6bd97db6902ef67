//! Whether a row's parents are there, and whether a row has children.
use super::ForeignKeyWalk;
use super::link::{ChildLink, Parent, ParentLink};
use crate::error::engine_error;
use crate::handle::TableHandle;
use datum::{SqlError, Value};
use engine::{Cursor, Direction, EntryBatch, KeyRange, LockMode, ReadMode, Transaction};

impl ForeignKeyWalk<'_> {
    /// Error 1452 unless every parent of a new row, or of the `new` values of a row that was `old`, is there; it stays
    /// there until the transaction ends.
    pub async fn check_parents(
        &self,
        transaction: &mut Transaction,
        parents: impl IntoIterator<Item = &ParentLink>,
        child: &TableHandle,
        old: Option<&[Value]>,
        new: &[Value],
    ) -> Result<(), SqlError> {
        for link in parents {
            self.check_parent(transaction, link, child, old, new).await?;
        }
        Ok(())
    }

    pub(super) async fn check_parent(
        &self,
        transaction: &mut Transaction,
        link: &ParentLink,
        child: &TableHandle,
        old: Option<&[Value]>,
        new: &[Value],
    ) -> Result<(), SqlError> {
        let is_kept = |old: &[Value]| link.key.columns.iter().all(|&column| old[column] == new[column]);
        if old.is_some_and(is_kept) {
            return Ok(());
        }
        let Some(values) = link.values(new) else { return Ok(()) };
        let Some(parent) = &link.parent else { return Err(link.no_parent(child)) };
        let found = match own_answer(parent, child, &values, old, new)? {
            Some(answer) => answer,
            None => parent.has_key(transaction, &values, self.locking(LockMode::Shared)).await?,
        };
        if found { Ok(()) } else { Err(link.no_parent(child)) }
    }

    /// Whether a row of the child has the values; one that does is locked in share mode.
    pub(super) async fn has_child(
        &self,
        transaction: &mut Transaction,
        link: &ChildLink,
        values: &[&Value],
    ) -> Result<bool, SqlError> {
        let mode = self.locking(LockMode::Shared);
        let mut cursor = open_scan(transaction, &link.child, link.index, values, mode)?;
        let mut found = EntryBatch::default();
        let read = cursor.next_batch(transaction, 1, &mut found).await;
        read.map_err(|error| engine_error(&link.child.definition().name, error))?;
        Ok(!found.is_empty())
    }

    /// From here on nobody else finds the parent's row by the key that `link` references. The row itself is locked.
    pub(super) async fn lock_parent_key(
        &self,
        transaction: &mut Transaction,
        parent: &TableHandle,
        link: &ChildLink,
        row_key: &[u8],
        row: &[Value],
    ) -> Result<(), SqlError> {
        let layout = &parent.layout().indexes[link.parent_index];
        if layout.clustered {
            return Ok(());
        }
        let mut key = Vec::with_capacity(64);
        parent.layout().write_entry_key(link.parent_index, row, row_key, &mut key)?;
        let locked = transaction.get(layout.tree, &key, self.locking(LockMode::Exclusive)).await;
        locked.map(|_| ()).map_err(|error| engine_error(&parent.definition().name, error))
    }
}

impl Parent {
    /// Whether a row has this key.
    pub async fn has_key(
        &self,
        transaction: &mut Transaction,
        values: &[&Value],
        mode: ReadMode,
    ) -> Result<bool, SqlError> {
        let layout = &self.handle.layout().indexes[self.index];
        let to_sql = |error| engine_error(&self.handle.definition().name, error);
        if layout.clustered && layout.parts.len() == values.len() {
            let key = layout.prefix(values)?;
            return Ok(transaction.get(layout.tree, &key, mode).await.map_err(to_sql)?.is_some());
        }
        let mut found = EntryBatch::default();
        let mut cursor = open_scan(transaction, &self.handle, self.index, values, mode)?;
        cursor.next_batch(transaction, 1, &mut found).await.map_err(to_sql)?;
        Ok(!found.is_empty())
    }
}

/// The rows with these values in the first parts of an index. Only what is found is locked: new rows are kept out by
/// the lock on the parent.
pub(super) fn open_scan(
    transaction: &mut Transaction,
    table: &TableHandle,
    index: usize,
    values: &[&Value],
    mode: ReadMode,
) -> Result<Cursor, SqlError> {
    let layout = &table.layout().indexes[index];
    let range = KeyRange::prefix(&layout.prefix(values)?);
    let mut cursor = transaction.scan(layout.tree, range, Direction::Forward, mode);
    cursor.leave_gaps_open();
    Ok(cursor)
}

/// What a row that references its own table says about itself: it is its own parent, or it ceases to be.
fn own_answer(
    parent: &Parent,
    child: &TableHandle,
    values: &[&Value],
    old: Option<&[Value]>,
    new: &[Value],
) -> Result<Option<bool>, SqlError> {
    if parent.handle.definition().id != child.definition().id {
        return Ok(None);
    }
    if is_same_key(parent, values, new)? {
        return Ok(Some(true));
    }
    match old {
        Some(old) if is_same_key(parent, values, old)? => Ok(Some(false)),
        _ => Ok(None),
    }
}

/// Whether `row` of the parent has the key.
fn is_same_key(parent: &Parent, values: &[&Value], row: &[Value]) -> Result<bool, SqlError> {
    let own: Vec<&Value> = parent.columns.iter().map(|&column| &row[column]).collect();
    debug_assert_eq!(own.len(), values.len(), "a key has a value for each of its columns");
    if own.iter().any(|value| value.is_null()) {
        return Ok(false);
    }
    let layout = &parent.handle.layout().indexes[parent.index];
    Ok(layout.prefix(values)? == layout.prefix(&own)?)
}
