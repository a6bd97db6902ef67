//! What foreign keys demand of a table that is created, altered, renamed or dropped, and of those they join to it.
//!
//! Invariant: of two tables that a foreign key joins and that both exist, the parent has the referenced columns, each
//! of a kind that compares with the child's, and an index that begins with them; the child has an index that begins
//! with its own. `foreign_key_checks=0` lets parents be missing and texts have other collations, but no more.
use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Catalog;
use collation::Charset;
use datum::{ColumnType, Condition, ErrorCode, SqlError, TypeKind, error_code};
use parser::ast::ObjectName;
use schema::{ForeignKeyDef, TableDef};
use table::StorageKind;
use variables::Settings;

use super::conditions::{
    ER_DROP_INDEX_FK, ER_FK_CANNOT_USE_VIRTUAL_COLUMN, ER_FK_NO_UNIQUE_INDEX_PARENT,
    ER_WARN_FK_REFERS_TO_NON_STANDARD_KEY,
};
use super::table_name::TableName;
use crate::same_value::is_same_value;

/// Who changes a definition.
pub trait Definer {
    /// The table that a statement means.
    fn table_name(&self, name: ObjectName<'_>) -> Result<TableName, SqlError>;
    /// Whether a new foreign key may reference the table.
    fn permit_reference(&self, database: &str, table: &str) -> Result<(), SqlError>;
    /// Takes what the client is to be told beside the answer.
    fn tell(&self, condition: Condition);
}

/// The foreign keys of all tables, as a statement that changes definitions sees them.
pub struct ForeignKeys<'a> {
    pub catalog: &'a Catalog,
    pub settings: &'a Settings,
    pub definer: &'a dyn Definer,
}

/// Other tables whose descriptors change with the statement's own: as they were, and as they will be.
pub type Followers = BTreeMap<TableName, (Arc<TableDef>, TableDef)>;

impl ForeignKeys<'_> {
    /// Checks the foreign keys of a table that is created, or altered from `before`, and fills in what their words
    /// left open. Gives the keys whose rows have to be checked: none with `foreign_key_checks=0`.
    pub fn check_foreign_keys(
        &self,
        before: Option<&TableDef>,
        after: &mut TableDef,
    ) -> Result<Vec<String>, SqlError> {
        let own = after.clone();
        let mut added = Vec::new();
        for key in &mut after.foreign_keys {
            let is_new = before.is_none_or(|before| !has_key(before, key, &own));
            if is_new {
                // A name that this statement gives up is not free yet.
                if before.is_some_and(|before| before.foreign_keys.iter().any(|old| old.name == key.name)) {
                    return Err(error_code::ER_FK_DUP_NAME.with(&[&key.name]));
                }
                self.check_key_name(&own, &key.name)?;
                self.definer.permit_reference(&key.parent_database, &key.parent_table)?;
            }
            let is_own = key.references(&own.database, &own.name);
            let parent = self.catalog.table(&key.parent_database, &key.parent_table);
            let parent = match (is_own, &parent) {
                (true, _) => &own,
                (false, Some(handle)) => &**handle.definition(),
                (false, None)
                    if is_new && (self.settings.foreign_key_checks || key.parent_columns.is_empty()) =>
                {
                    return Err(error_code::ER_FK_CANNOT_OPEN_PARENT.with(&[&key.parent_table]));
                }
                (false, None) => continue,
            };
            if key.parent_columns.is_empty() {
                name_primary_key(key, parent)?;
            }
            self.check_fit(key, &own, parent)?;
            if is_new {
                self.check_parent_index(key, parent)?;
                added.push(key.name.clone());
            }
        }
        if let Some(before) = before {
            check_own_indexes(before, after)?;
            self.check_changed_columns(before, after)?;
        }
        Ok(if self.settings.foreign_key_checks { added } else { Vec::new() })
    }

    /// Errors 3734 and 3780. With `foreign_key_checks=0` the tables of a key are converted to another character set one after the
    /// other.
    fn check_fit(&self, key: &ForeignKeyDef, child: &TableDef, parent: &TableDef) -> Result<(), SqlError> {
        for (name, &column) in key.parent_columns.iter().zip(&key.columns) {
            let Some(position) = parent.column_named(name) else {
                return Err(error_code::ER_FK_NO_COLUMN_PARENT.with(&[name, &key.name, &parent.name]));
            };
            let (column, referenced) = (&child.columns[column], &parent.columns[position]);
            let (own, other) = (&column.column_type, &referenced.column_type);
            let may_differ = !self.settings.foreign_key_checks && are_texts_alike(own, other);
            if !is_comparable(own, other) && !may_differ {
                let names: [&dyn std::fmt::Display; 3] = [&column.name, &referenced.name, &key.name];
                return Err(error_code::ER_FK_INCOMPATIBLE_COLUMNS.with(&names));
            }
        }
        Ok(())
    }

    /// Error 1826: names of foreign keys are unique in their database.
    pub fn check_key_name(&self, table: &TableDef, name: &str) -> Result<(), SqlError> {
        for other in self.catalog.tables(&table.database) {
            let other = other.definition();
            let is_taken = || other.foreign_keys.iter().any(|key| key.name.eq_ignore_ascii_case(name));
            if other.id != table.id && is_taken() {
                return Err(error_code::ER_FK_DUP_NAME.with(&[&name]));
            }
        }
        Ok(())
    }

    /// The index that makes the referenced columns a key of the parent.
    fn check_parent_index(&self, key: &ForeignKeyDef, parent: &TableDef) -> Result<(), SqlError> {
        let columns = key.parent_positions(parent).unwrap_or_default();
        if let Some(&computed) = columns.iter().find(|&&column| parent.columns[column].is_virtual()) {
            return Err(ER_FK_CANNOT_USE_VIRTUAL_COLUMN.with(&[&key.name, &parent.columns[computed].name]));
        }
        if parent.indexes.iter().any(|index| index.is_key_of(&columns)) {
            return Ok(());
        }
        if self.settings.restricts_foreign_keys {
            return Err(ER_FK_NO_UNIQUE_INDEX_PARENT.with(&[&key.name, &parent.name]));
        }
        if parent.index_led_by(&columns).is_none() {
            return Err(error_code::ER_FK_NO_INDEX_PARENT.with(&[&key.name, &parent.name]));
        }
        self.definer.tell(ER_WARN_FK_REFERS_TO_NON_STANDARD_KEY.with(&[&key.name]).into_warning());
        Ok(())
    }

    /// Error 1832: a column of a key keeps its type, unless nobody checks.
    fn check_changed_columns(&self, before: &TableDef, after: &TableDef) -> Result<(), SqlError> {
        if !self.settings.foreign_key_checks {
            return Ok(());
        }
        for key in &after.foreign_keys {
            let Some(old) = before.foreign_keys.iter().find(|old| old.name == key.name) else { continue };
            for (&new_column, &old_column) in key.columns.iter().zip(&old.columns) {
                let (old, new) = (&before.columns[old_column], &after.columns[new_column]);
                if !is_same_value(&old.column_type, &new.column_type) {
                    return Err(error_code::ER_FK_COLUMN_CANNOT_CHANGE.with(&[&old.name, &key.name]));
                }
            }
        }
        Ok(())
    }

    /// Checks a new table of a name that foreign keys of others reference already.
    pub fn check_waiting_children(&self, parent: &TableDef) -> Result<(), SqlError> {
        for (child, key) in self.catalog.children_of(&parent.database, &parent.name) {
            let fits = self
                .check_fit(&key, child.definition(), parent)
                .and_then(|()| self.check_parent_index(&key, parent));
            match fits {
                Err(_) if self.settings.foreign_key_checks => {
                    return Err(error_code::ER_CANNOT_ADD_FOREIGN.plain());
                }
                fits => fits?,
            }
        }
        Ok(())
    }

    /// Checks an altered table against those that reference it; `new_name` is what became of each old column. Gives
    /// the children that have to learn new names of columns; the table's own keys learn them at once.
    pub fn check_children(
        &self,
        before: &TableDef,
        after: &mut TableDef,
        new_name: impl Fn(usize) -> Option<String>,
    ) -> Result<Followers, SqlError> {
        let mut followers = Followers::new();
        for (child, key) in self.catalog.children_of(&before.database, &before.name) {
            let child = child.definition();
            let is_own = child.id == before.id;
            if is_own && !after.foreign_keys.iter().any(|own| own.name == key.name) {
                continue;
            }
            let mut renamed = key.clone();
            for column in &mut renamed.parent_columns {
                let old = before.column_named(column);
                *column = old.and_then(&new_name).ok_or_else(|| {
                    error_code::ER_FK_COLUMN_CANNOT_DROP_CHILD.with(&[&*column, &key.name, &child.name])
                })?;
            }
            if is_own {
                let own = after.foreign_keys.iter_mut().filter(|own| own.name == key.name);
                own.for_each(|own| own.parent_columns.clone_from(&renamed.parent_columns));
            } else {
                self.check_fit(&renamed, child, after)?;
                self.check_changed_parent(&key, &renamed, child, before, after)?;
            }
            check_parent_still_indexed(&key, &renamed, before, after)?;
            if !is_own && renamed != key {
                let entry = followers.entry(TableName::of(child));
                let (_, follower) = entry.or_insert_with(|| (child.clone(), (**child).clone()));
                let position = follower.foreign_keys.iter().position(|own| own.name == key.name);
                follower.foreign_keys[position.expect("the key is the child's own")] = renamed;
            }
        }
        Ok(followers)
    }

    /// Error 1833.
    fn check_changed_parent(
        &self,
        key: &ForeignKeyDef,
        renamed: &ForeignKeyDef,
        child: &TableDef,
        before: &TableDef,
        after: &TableDef,
    ) -> Result<(), SqlError> {
        let (Some(old), Some(new)) = (key.parent_positions(before), renamed.parent_positions(after)) else {
            return Ok(());
        };
        for (old, new) in old.into_iter().zip(new) {
            let (old, new) = (&before.columns[old], &after.columns[new]);
            let is_kept = is_same_value(&old.column_type, &new.column_type);
            if self.settings.foreign_key_checks && !is_kept {
                let child = TableName::of(child).dotted();
                let names: [&dyn std::fmt::Display; 3] = [&old.name, &key.name, &child];
                return Err(error_code::ER_FK_COLUMN_CANNOT_CHANGE_CHILD.with(&names));
            }
        }
        Ok(())
    }

    /// The first foreign key of a table outside of `dropped` that references the table, unless nobody checks.
    pub fn first_reference(
        &self,
        parent: &TableName,
        dropped: &[TableName],
    ) -> Option<(Arc<TableDef>, ForeignKeyDef)> {
        if !self.settings.foreign_key_checks {
            return None;
        }
        let children = self.catalog.children_of(&parent.database, &parent.name).into_iter();
        let mut children = children.map(|(child, key)| (child.definition().clone(), key));
        children.find(|(child, _)| !dropped.contains(&TableName::of(child)))
    }

    /// Error 3730 if a table outside of `dropped` references one in it.
    pub fn check_drop(&self, dropped: &[TableName]) -> Result<(), SqlError> {
        for name in dropped {
            if let Some((child, key)) = self.first_reference(name, dropped) {
                let names: [&dyn std::fmt::Display; 3] = [&name.name, &key.name, &child.name];
                return Err(error_code::ER_FK_CANNOT_DROP_PARENT.with(&names));
            }
        }
        Ok(())
    }
}

/// Whether `before` had this key of `own` in all its words.
fn has_key(before: &TableDef, key: &ForeignKeyDef, own: &TableDef) -> bool {
    before.foreign_keys.iter().any(|old| {
        let columns = old.columns.iter().zip(&key.columns);
        let (old_columns, new_columns) = (&before.columns, &own.columns);
        old.name == key.name
            && old.parent_database == key.parent_database
            && old.parent_table == key.parent_table
            && (old.on_delete, old.on_update) == (key.on_delete, key.on_update)
            && old.columns.len() == key.columns.len()
            && (old.parent_columns == key.parent_columns || key.references(&own.database, &own.name))
            && columns
                .into_iter()
                .all(|(&old, &new)| old_columns[old].name == new_columns[new].name || old == new)
    })
}

/// `REFERENCES parent` without columns means its primary key.
fn name_primary_key(key: &mut ForeignKeyDef, parent: &TableDef) -> Result<(), SqlError> {
    let parts = parent.primary_key().map(|index| &*index.parts).unwrap_or_default();
    if parts.is_empty() {
        return Err(ER_FK_NO_UNIQUE_INDEX_PARENT.with(&[&key.name, &parent.name]));
    }
    if parts.len() != key.columns.len() {
        let what = "Key reference and table reference don't match";
        return Err(error_code::ER_WRONG_FK_DEF.with(&[&key.name, &what]));
    }
    key.parent_columns = parts.iter().map(|part| parent.columns[part.column].name.clone()).collect();
    Ok(())
}

/// Whether equal values of the two types have equal keys.
fn is_comparable(child: &ColumnType, parent: &ColumnType) -> bool {
    let bytes_of = |column_type: &ColumnType| match &column_type.kind {
        TypeKind::Enum(members) => members.len() / 256,
        TypeKind::Set(members) => members.len().div_ceil(8),
        _ => 0,
    };
    match (StorageKind::of(child), StorageKind::of(parent)) {
        (StorageKind::Decimal { .. }, StorageKind::Decimal { .. }) => true,
        (child_kind, parent_kind) => child_kind == parent_kind && bytes_of(child) == bytes_of(parent),
    }
}

/// Texts that are written with the same bytes: a value of one is looked up as it is in an index of the other, by whose collation
/// it is compared.
fn are_texts_alike(child: &ColumnType, parent: &ColumnType) -> bool {
    let charset = |column_type: &ColumnType| match StorageKind::of(column_type) {
        StorageKind::Text(collation) => Some(match collation.charset() {
            Charset::Utf8mb3 => Charset::Utf8mb4,
            charset => charset,
        }),
        _ => None,
    };
    charset(child).is_some_and(|own| charset(parent) == Some(own))
}

/// Error 1553: every key of the table is still supported by an index of it.
fn check_own_indexes(before: &TableDef, after: &TableDef) -> Result<(), SqlError> {
    for key in &after.foreign_keys {
        if after.index_led_by(&key.columns).is_some() {
            continue;
        }
        let old = before.foreign_keys.iter().find(|old| old.name == key.name);
        let dropped = old.and_then(|old| before.index_led_by(&old.columns));
        return Err(needed_index(before, dropped));
    }
    Ok(())
}

/// Error 1553: the referenced columns still have an index, a unique one if they had one.
fn check_parent_still_indexed(
    key: &ForeignKeyDef,
    renamed: &ForeignKeyDef,
    before: &TableDef,
    after: &TableDef,
) -> Result<(), SqlError> {
    let (Some(old), Some(new)) = (key.parent_positions(before), renamed.parent_positions(after)) else {
        return Ok(());
    };
    let (old_index, new_index) = (before.referenced_index(&old), after.referenced_index(&new));
    let was_key = old_index.is_some_and(|index| before.indexes[index].is_key_of(&old));
    match new_index {
        Some(index) if !was_key || after.indexes[index].is_key_of(&new) => Ok(()),
        _ => Err(needed_index(before, old_index)),
    }
}

fn needed_index(table: &TableDef, index: Option<usize>) -> SqlError {
    let code: &ErrorCode = &ER_DROP_INDEX_FK;
    code.with(&[&index.map_or("", |index| &*table.indexes[index].name)])
}
