//! The links between tables, with everything found out that a check needs.
//!
//! Invariant: links are made anew whenever a table at either end changes; the metadata locks of a statement keep both
//! ends as they are while it runs.
use crate::handle::TableHandle;
use crate::storage_kind::StorageKind;
use datum::{SqlError, Value, error_code};
use schema::ForeignKeyDef;
use std::sync::Arc;

/// A table's place among others.
#[derive(Debug, Default)]
pub struct Relations {
    /// One for each foreign key of the table, in its order.
    pub parents: Vec<ParentLink>,
    /// The foreign keys that reference the table, older children first.
    pub children: Vec<ChildLink>,
}

/// A foreign key as its child sees it.
#[derive(Debug)]
pub struct ParentLink {
    pub key: ForeignKeyDef,
    /// The parent and the index that has its key; `None` while the parent is missing.
    pub parent: Option<Parent>,
}

#[derive(Debug)]
pub struct Parent {
    pub handle: Arc<TableHandle>,
    pub index: usize,
    /// The referenced columns.
    pub columns: Vec<usize>,
}

/// A foreign key as its parent sees it.
#[derive(Debug)]
pub struct ChildLink {
    pub key: ForeignKeyDef,
    pub child: Arc<TableHandle>,
    /// The child's index that begins with the key's columns.
    pub index: usize,
    pub parent_columns: Vec<usize>,
    /// The parent's index that has its key.
    pub parent_index: usize,
    /// A text of the child has another collation than the parent's.
    pub texts_differ: bool,
}

impl ParentLink {
    pub fn new(key: &ForeignKeyDef, parent: Option<&Arc<TableHandle>>) -> ParentLink {
        let found = parent.and_then(|handle| {
            let columns = key.parent_positions(handle.definition())?;
            debug_assert_eq!(columns.len(), key.columns.len(), "a key references as many columns as it has");
            let index = handle.definition().referenced_index(&columns)?;
            Some(Parent { handle: handle.clone(), index, columns })
        });
        ParentLink { key: key.clone(), parent: found }
    }

    /// The values of the key in a row of the child; `None` when one is NULL, which references nothing.
    pub fn values<'r>(&self, row: &'r [Value]) -> Option<Vec<&'r Value>> {
        let values: Vec<&Value> = self.key.columns.iter().map(|&column| &row[column]).collect();
        if values.iter().any(|value| value.is_null()) { None } else { Some(values) }
    }

    /// Error 1452.
    pub fn no_parent(&self, child: &TableHandle) -> SqlError {
        error_code::ER_NO_REFERENCED_ROW_2.with(&[&self.key.description(child.definition())])
    }
}

impl ChildLink {
    /// `None` when the two do not fit each other (any more): then the parent counts as missing.
    pub fn new(key: &ForeignKeyDef, child: &Arc<TableHandle>, parent: &TableHandle) -> Option<ChildLink> {
        let parent_columns = key.parent_positions(parent.definition())?;
        debug_assert_eq!(
            parent_columns.len(),
            key.columns.len(),
            "a key references as many columns as it has"
        );
        let type_of = |table: &TableHandle, column: usize| {
            StorageKind::of(&table.definition().columns[column].column_type)
        };
        let texts_differ = key.columns.iter().zip(&parent_columns).any(|(&own, &referenced)| {
            let own = type_of(child, own);
            matches!(own, StorageKind::Text(_)) && own != type_of(parent, referenced)
        });
        Some(ChildLink {
            texts_differ,
            index: child.definition().index_led_by(&key.columns)?,
            parent_index: parent.definition().referenced_index(&parent_columns)?,
            parent_columns,
            key: key.clone(),
            child: child.clone(),
        })
    }

    /// The values that children of a parent's row have; `None` when one is NULL, so that there can be none.
    pub fn values<'r>(&self, row: &'r [Value]) -> Option<Vec<&'r Value>> {
        let values: Vec<&Value> = self.parent_columns.iter().map(|&column| &row[column]).collect();
        if values.iter().any(|value| value.is_null()) { None } else { Some(values) }
    }

    /// Error 1451.
    pub fn has_children(&self) -> SqlError {
        error_code::ER_ROW_IS_REFERENCED_2.with(&[&self.key.description(self.child.definition())])
    }
}
