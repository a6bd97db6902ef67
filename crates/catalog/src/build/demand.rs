//! What the rows of a table have to obey from the end of a change on: new CHECK constraints and new foreign keys.
//!
//! Invariant: each row is checked in a snapshot at least as young as its last change, against parents of the same snapshot; and
//! each key that a parent has lost since is looked for among the children, in a snapshot in which it is gone. So when nobody
//! writes any more and nothing is left to take up, all rows obey. The first committed state that breaks a rule ends the change;
//! writers are not held up. Called by `index`.
use std::collections::BTreeMap;
use std::sync::Arc;

use datum::{SqlError, Value};
use engine::{Direction, EntryBatch, KeyRange, ReadMode, Transaction};
use schema::{TableDef, TableId};
use table::{ChangeStream, ChangedRow, ParentLink, TableHandle, damaged, table_error};

use super::catch_up::{CatchUp, Target};
use super::{BATCH_ROWS, BuildWork};
use crate::change::SchemaChange;

/// Says whether a row obeys the new CHECK constraints.
pub type RowRule<'c> = dyn Fn(&[Value]) -> Result<(), SqlError> + 'c;

/// What is demanded of each row.
#[derive(Default)]
pub struct Demands<'c> {
    pub rule: Option<Box<RowRule<'c>>>,
    /// Of new foreign keys. No parent is the table itself.
    pub parents: Vec<ParentLink>,
}

impl Demands<'_> {
    pub fn is_empty(&self) -> bool {
        self.rule.is_none() && self.parents.is_empty()
    }

    /// The columns that have to be known of a row.
    pub(super) fn columns(&self, count: usize) -> Vec<usize> {
        match self.rule {
            Some(_) => (0..count).collect(),
            None => self.parents.iter().flat_map(|link| link.key.columns.iter().copied()).collect(),
        }
    }

    /// The error of a row that does not obey; `reader` is whom the row was read by.
    pub(super) async fn check(
        &self,
        reader: &mut Transaction,
        child: &TableHandle,
        row: &[Value],
    ) -> Result<(), SqlError> {
        if let Some(rule) = &self.rule {
            rule(row)?;
        }
        for link in &self.parents {
            let Some(values) = link.values(row) else { continue };
            let found = match &link.parent {
                Some(parent) => parent.has_key(reader, &values, ReadMode::Snapshot).await?,
                None => false,
            };
            if !found {
                return Err(link.no_parent(child));
            }
        }
        Ok(())
    }
}

/// The keys that a parent has lost since the last round.
pub struct LostKeys {
    parent: Arc<TableHandle>,
    /// The child with the new foreign keys.
    child: Arc<TableHandle>,
    links: Vec<WatchedLink>,
    /// Those of the parent that the links reference.
    columns: Vec<usize>,
    /// What rows were, by their keys: only the referenced columns have values.
    rows: BTreeMap<Vec<u8>, Vec<Vec<Value>>>,
}

struct WatchedLink {
    link: ParentLink,
    /// The child's index that begins with the key's columns.
    index: usize,
    /// Whether the index is the change's own.
    is_new: bool,
}

/// A parent that is watched.
pub struct FollowedParent {
    pub(super) keys: LostKeys,
    pub(super) changes: CatchUp,
}

impl FollowedParent {
    /// For who waits: keeps what the parent's writers tell, who would wait themselves in the end.
    pub async fn put_by(&mut self) -> Result<(), SqlError> {
        self.changes.put_by().await
    }
}

impl LostKeys {
    /// One for each parent that is demanded. `new_indexes` are those of the child that are built meanwhile.
    pub fn of(child: &Arc<TableHandle>, demands: &Demands<'_>, new_indexes: &[usize]) -> Vec<LostKeys> {
        let mut all: BTreeMap<TableId, LostKeys> = BTreeMap::new();
        for link in &demands.parents {
            let Some(parent) = &link.parent else { continue };
            let index = child.definition().index_led_by(&link.key.columns);
            let index = index.expect("a foreign key has an index of its own");
            let lost = all.entry(parent.handle.definition().id).or_insert_with(|| LostKeys {
                parent: parent.handle.clone(),
                child: child.clone(),
                links: Vec::new(),
                columns: Vec::new(),
                rows: BTreeMap::new(),
            });
            debug_assert_eq!(parent.columns.len(), link.key.columns.len(), "each column has its parent's");
            lost.columns.extend_from_slice(&parent.columns);
            let link = ParentLink::new(&link.key, Some(&parent.handle));
            lost.links.push(WatchedLink { link, index, is_new: new_indexes.contains(&index) });
        }
        all.into_values().collect()
    }

    pub fn parent(&self) -> &TableDef {
        self.parent.definition()
    }

    /// Begins to watch the parent. Those who wrote to it before have to end before the rows of the child are read.
    pub fn follow(self, work: &BuildWork) -> FollowedParent {
        debug_assert!(!self.links.is_empty() && !self.columns.is_empty(), "a parent is watched for a key");
        let stream = ChangeStream::new(self.columns.clone(), false);
        let changes = CatchUp::attach(&self.parent, Some(stream), work.clone(), Vec::new());
        FollowedParent { keys: self, changes }
    }
}

impl Target for LostKeys {
    async fn remove(
        &mut self,
        _: &mut SchemaChange,
        _: &mut Transaction,
        record: &ChangedRow,
    ) -> Result<(), SqlError> {
        let mut row = vec![Value::Null; self.parent.definition().columns.len()];
        if record.read_old(&self.columns, &mut row)? {
            self.rows.entry(record.row_key.clone()).or_default().push(row);
        }
        Ok(())
    }

    async fn add(
        &mut self,
        change: &mut SchemaChange,
        reader: &mut Transaction,
        row_key: &[u8],
    ) -> Result<Option<SqlError>, SqlError> {
        for row in self.rows.remove(row_key).unwrap_or_default() {
            for link in &self.links {
                link.check(change, reader, &self.child, &row).await?;
            }
        }
        Ok(None)
    }
}

impl WatchedLink {
    /// Error 1452 if the parent's key is gone for `reader` and a row of the child has it. Entries of a new index may be older
    /// than what the reader sees, so the row itself is asked.
    async fn check(
        &self,
        change: &mut SchemaChange,
        reader: &mut Transaction,
        child: &TableHandle,
        parent_row: &[Value],
    ) -> Result<(), SqlError> {
        let Some(parent) = &self.link.parent else { return Ok(()) };
        let values: Vec<&Value> = parent.columns.iter().map(|column| &parent_row[*column]).collect();
        if values.iter().any(|value| value.is_null())
            || parent.has_key(reader, &values, ReadMode::Snapshot).await?
        {
            return Ok(());
        }
        let definition = child.definition();
        let layout = &child.layout().indexes[self.index];
        let prefix = layout.prefix(&values)?;
        let scanner = if self.is_new { change.transaction() } else { &mut *reader };
        let range = KeyRange::prefix(&prefix);
        let mut cursor = scanner.scan(layout.tree, range, Direction::Forward, ReadMode::Snapshot);
        let mut batch = EntryBatch::default();
        let mut more = true;
        while more {
            batch.clear();
            let scanner = if self.is_new { change.transaction() } else { &mut *reader };
            let read = cursor.next_batch(scanner, BATCH_ROWS, &mut batch).await;
            more = read.map_err(|error| table_error(definition, error))?;
            for (key, value) in batch.iter() {
                let row_key = match layout.clustered {
                    true => key,
                    false => {
                        let start = child.layout().suffix_start(key, value);
                        &key[start.map_err(|_| damaged(&definition.name))?..]
                    }
                };
                let row = child.read_row_at(reader, row_key, ReadMode::Snapshot).await?;
                let Some(row) = row else { continue };
                let Some(own) = self.link.values(&row) else { continue };
                if layout.prefix(&own)? == prefix {
                    return Err(self.link.no_parent(child));
                }
            }
        }
        Ok(())
    }
}
