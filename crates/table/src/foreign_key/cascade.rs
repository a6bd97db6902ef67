//! What becomes of the children of a row that is deleted or gets another key.
//!
//! The children are dealt with before their parent changes, key by key: a RESTRICT that comes later in the order
//! does not see the children that an earlier CASCADE has removed.
use super::check::open_scan;
use super::link::{ChildLink, Relations};
use super::{DEPTH_MAX, ForeignKeyWalk, Step};
use crate::change::ChangeOutcome;
use crate::error::{damaged, engine_error};
use crate::handle::TableHandle;
use crate::row_events::follow_key;
use datum::{Date, MomentContext, SqlError, SqlMode, StoreMode, TimeZone, Value};
use engine::{EntryBatch, LockMode, Transaction};
use schema::ReferentialAction;
use std::future::Future;
use std::pin::Pin;

const BATCH_ROWS: usize = 256;

/// Children have children, so the steps of a walk call each other.
type Walking<'w> = Pin<Box<dyn Future<Output = Result<(), SqlError>> + 'w>>;

/// What a key asks for the children of one row.
enum Action<'r> {
    Refuse,
    Delete,
    /// The key's columns get these values.
    Update(Vec<&'r Value>),
}

impl<'a> ForeignKeyWalk<'a> {
    /// Before the row at `row_key` goes. With REPLACE another row takes its place: what references a key that the
    /// other has as well stays as it is.
    pub async fn before_delete(
        &mut self,
        transaction: &mut Transaction,
        relations: &Relations,
        table: &TableHandle,
        row_key: &[u8],
        row: &[Value],
        replaced_by: Option<&[Value]>,
    ) -> Result<(), SqlError> {
        for link in &relations.children {
            let Some(values) = link.values(row) else { continue };
            if let Some(other) = replaced_by
                && has_same_key(table, link, row, other)?
            {
                continue;
            }
            let action = match link.key.on_delete {
                ReferentialAction::Cascade => Action::Delete,
                ReferentialAction::SetNull => Action::Update(vec![&Value::Null; values.len()]),
                _ => Action::Refuse,
            };
            self.lock_parent_key(transaction, table, link, row_key, row).await?;
            self.path.push(Step::Delete { table: table.definition().id, row_key: row_key.to_vec() });
            debug_assert!(self.path.len() <= DEPTH_MAX, "a change runs through a bounded number of tables");
            self.act(transaction, link, &values, action).await?;
            self.path.pop();
        }
        Ok(())
    }

    /// Before the row at `row_key` changes from `old` to `new`.
    pub async fn before_update(
        &mut self,
        transaction: &mut Transaction,
        relations: &Relations,
        table: &TableHandle,
        row_key: &[u8],
        old: &[Value],
        new: &[Value],
    ) -> Result<(), SqlError> {
        for link in &relations.children {
            let Some(values) = link.values(old) else { continue };
            if link.parent_columns.iter().all(|&column| old[column] == new[column]) {
                continue;
            }
            let action = match link.key.on_update {
                // MySQL gives no child a text of another character set or collation.
                ReferentialAction::Cascade if link.texts_differ => Action::Refuse,
                ReferentialAction::Cascade => {
                    Action::Update(link.parent_columns.iter().map(|&column| &new[column]).collect())
                }
                // Another spelling of the same key is the same key.
                _ if has_same_key(table, link, old, new)? => continue,
                ReferentialAction::SetNull => Action::Update(vec![&Value::Null; values.len()]),
                _ => Action::Refuse,
            };
            self.lock_parent_key(transaction, table, link, row_key, old).await?;
            self.path.push(Step::Update { table: table.definition().id });
            debug_assert!(self.path.len() <= DEPTH_MAX, "a change runs through a bounded number of tables");
            self.act(transaction, link, &values, action).await?;
            self.path.pop();
        }
        Ok(())
    }

    async fn act(
        &mut self,
        transaction: &mut Transaction,
        link: &ChildLink,
        values: &[&Value],
        action: Action<'_>,
    ) -> Result<(), SqlError> {
        if matches!(action, Action::Refuse) {
            return match self.has_child(transaction, link, values).await? {
                true => Err(link.has_children()),
                false => Ok(()),
            };
        }
        let mode = self.locking(LockMode::Exclusive);
        let mut cursor = open_scan(transaction, &link.child, link.index, values, mode)?;
        let mut batch = EntryBatch::default();
        let mut more = true;
        while more {
            batch.clear();
            let read = cursor.next_batch(transaction, BATCH_ROWS, &mut batch).await;
            more = read.map_err(|error| engine_error(&link.child.definition().name, error))?;
            for (key, value) in batch.iter() {
                let row_key = row_key_of(link, key, value)?;
                match &action {
                    Action::Refuse => {}
                    Action::Delete => self.delete_child(transaction, link, row_key).await?,
                    Action::Update(new) => self.update_child(transaction, link, values, row_key, new).await?,
                }
            }
        }
        Ok(())
    }

    fn delete_child<'w>(
        &'w mut self,
        transaction: &'w mut Transaction,
        link: &'w ChildLink,
        row_key: &'w [u8],
    ) -> Walking<'w> {
        Box::pin(async move {
            let child = &*link.child;
            let id = child.definition().id;
            if self.is_being_deleted(id, row_key) {
                return Ok(());
            }
            self.check_depth()?;
            let mode = self.locking(LockMode::Exclusive);
            // An entry that was read before its row went on another way.
            let Some(row) = child.read_row_at(transaction, row_key, mode).await? else { return Ok(()) };
            if let Some(relations) = self.tables.relations(id) {
                self.before_delete(transaction, &relations, child, row_key, &row, None).await?;
            }
            follow_key(transaction, true);
            let deleted = child.delete_row(transaction, row_key, &row, self.wait).await;
            follow_key(transaction, false);
            deleted
        })
    }

    fn update_child<'w>(
        &'w mut self,
        transaction: &'w mut Transaction,
        link: &'w ChildLink,
        values: &'w [&'w Value],
        row_key: &'w [u8],
        new_values: &'w [&'w Value],
    ) -> Walking<'w> {
        Box::pin(async move {
            let child = &*link.child;
            let id = child.definition().id;
            if self.is_being_deleted(id, row_key) {
                return Ok(());
            }
            if self.is_being_updated(id) {
                return Err(link.has_children());
            }
            self.check_depth()?;
            let mode = self.locking(LockMode::Exclusive);
            let Some(old) = child.read_row_at(transaction, row_key, mode).await? else { return Ok(()) };
            if !still_references(link, &old, values)? {
                return Ok(());
            }
            let mut new = link.with_key(&old, new_values)?;
            self.completer.complete(child.definition(), &mut new)?;
            if let Some(relations) = self.tables.relations(id) {
                self.before_update(transaction, &relations, child, row_key, &old, &new).await?;
                self.check_other_parents(transaction, &relations, link, &old, &new).await?;
            }
            follow_key(transaction, true);
            let updated = child.update_row(transaction, row_key, &old, &new, self.wait).await;
            follow_key(transaction, false);
            match updated? {
                ChangeOutcome::Done => Ok(()),
                ChangeOutcome::Duplicate { index, .. } => Err(child.duplicate_error(index, &new)),
            }
        })
    }

    /// The parent that this change comes from has its new key soon; the columns may belong to other keys as well.
    async fn check_other_parents(
        &self,
        transaction: &mut Transaction,
        relations: &Relations,
        link: &ChildLink,
        old: &[Value],
        new: &[Value],
    ) -> Result<(), SqlError> {
        for other in relations.parents.iter().filter(|other| other.key.name != link.key.name) {
            let is_same_parent = other.key.parent_table == link.key.parent_table
                && other.key.parent_database == link.key.parent_database
                && other.key.parent_columns == link.key.parent_columns
                && other.key.columns == link.key.columns;
            if !is_same_parent {
                self.check_parent(transaction, other, &link.child, Some(old), new).await?;
            }
        }
        Ok(())
    }
}

impl ChildLink {
    /// The child's row with other values in the key's columns. A value that does not fit its column is error 1451.
    fn with_key(&self, row: &[Value], values: &[&Value]) -> Result<Vec<Value>, SqlError> {
        debug_assert_eq!(self.key.columns.len(), values.len(), "a key has a value for each of its columns");
        let columns = &self.child.definition().columns;
        let mut new = row.to_vec();
        for (&column, &value) in self.key.columns.iter().zip(values) {
            let column_type = &columns[column].column_type;
            if value.is_null() && !column_type.nullable {
                return Err(self.has_children());
            }
            let zone = TimeZone::utc();
            let moments = MomentContext { zone: &zone, mode: SqlMode::DEFAULT, today: Date::ZERO };
            let mode = StoreMode { moments, is_strict: true };
            new[column] = match value.cast_to_column(column_type, column_type, &mode) {
                Ok(stored) if stored.problem.is_none() => stored.value,
                _ => return Err(self.has_children()),
            };
        }
        Ok(new)
    }
}

/// The clustered key behind an entry of the child's index.
fn row_key_of<'k>(link: &ChildLink, key: &'k [u8], value: &[u8]) -> Result<&'k [u8], SqlError> {
    let layout = link.child.layout();
    if layout.indexes[link.index].clustered {
        return Ok(key);
    }
    let start = layout.suffix_start(key, value).map_err(|_| damaged(&link.child.definition().name))?;
    Ok(&key[start..])
}

/// Whether two rows of the parent have the same key in the order of its index.
fn has_same_key(
    parent: &TableHandle,
    link: &ChildLink,
    left: &[Value],
    right: &[Value],
) -> Result<bool, SqlError> {
    let layout = &parent.layout().indexes[link.parent_index];
    let key_of = |row: &[Value]| {
        let values: Vec<&Value> = link.parent_columns.iter().map(|&column| &row[column]).collect();
        layout.prefix(&values)
    };
    Ok(key_of(left)? == key_of(right)?)
}

/// A row may have got another parent since its entry was read.
fn still_references(link: &ChildLink, row: &[Value], values: &[&Value]) -> Result<bool, SqlError> {
    let layout = &link.child.layout().indexes[link.index];
    let own: Vec<&Value> = link.key.columns.iter().map(|&column| &row[column]).collect();
    debug_assert_eq!(own.len(), values.len(), "a key has a value for each of its columns");
    Ok(layout.prefix(values)? == layout.prefix(&own)?)
}
