//! Foreign keys in data definition: which other tables a statement has to lock, what parents and children forbid, and
//! how they follow a rename.
//!
//! Invariant: of two tables that a foreign key joins and that both exist, the parent has the referenced columns, each
//! of a kind that compares with the child's, and an index that begins with them; the child has an index that begins
//! with its own. `foreign_key_checks=0` lets parents be missing, but not that.
use std::collections::{BTreeMap, BTreeSet};

use auth::Privilege;
use catalog::{LockGuard, LockMode, LockName};
use datum::{ColumnType, ErrorCode, SqlError, TypeKind, error_code};
use parser::ast::{AlterSpecification as Spec, ColumnAttribute, ColumnDefinition, ObjectName, TableElement};
use schema::{ForeignKeyDef, TableDef, generated_name, generated_number};
use std::sync::Arc;
use table::StorageKind;

use super::TableName;
use crate::session::Session;
use definition::{ER_DROP_INDEX_FK, ER_FK_NO_UNIQUE_INDEX_PARENT, ER_WARN_FK_REFERS_TO_NON_STANDARD_KEY};

/// Other tables whose descriptors change with the statement's own: as they were, and as they will be.
pub(super) type Followers = BTreeMap<TableName, (Arc<TableDef>, TableDef)>;

impl TableName {
    pub fn of(table: &TableDef) -> TableName {
        TableName { database: table.database.clone(), name: table.name.clone() }
    }

    pub fn parent_of(key: &ForeignKeyDef) -> TableName {
        TableName { database: key.parent_database.clone(), name: key.parent_table.clone() }
    }
}

impl Session {
    /// The tables that foreign keys join to one of this name, which need not exist.
    pub(super) fn relatives(&self, name: &TableName) -> BTreeSet<TableName> {
        let mut relatives = self.children(name);
        if let Some(table) = self.instance.catalog().table(&name.database, &name.name) {
            relatives.extend(table.definition().foreign_keys.iter().map(TableName::parent_of));
        }
        relatives
    }

    fn children(&self, name: &TableName) -> BTreeSet<TableName> {
        let children = self.instance.catalog().children_of(&name.database, &name.name).into_iter();
        children.map(|(child, _)| TableName::of(child.definition())).collect()
    }

    /// Locks for a definition, together with relatives, whose number is only known for sure when all are locked.
    pub(super) async fn lock_with_relatives(
        &self,
        locks: Vec<(LockName, LockMode)>,
        relatives: impl Fn() -> BTreeSet<TableName>,
    ) -> Result<Vec<LockGuard>, SqlError> {
        loop {
            let wanted = relatives();
            let others = wanted.iter().map(|name| (name.lock(), LockMode::Exclusive));
            let guards = self.lock_for_change(locks.iter().cloned().chain(others).collect()).await?;
            if relatives().is_subset(&wanted) {
                return Ok(guards);
            }
        }
    }

    /// The tables that elements of CREATE or ALTER TABLE reference.
    pub(super) fn referenced_by(&self, database: &str, elements: &[TableElement<'_>]) -> BTreeSet<TableName> {
        let mut parents = BTreeSet::new();
        for element in elements {
            match element {
                TableElement::ForeignKey(key) => {
                    parents.insert(referenced_name(database, key.references.table));
                }
                TableElement::Column(column) => parents.extend(column_parents(database, column)),
                TableElement::Index(_) | TableElement::Check(_) => {}
            }
        }
        parents
    }

    /// The tables that an ALTER TABLE has to have for itself beside its own: its children, since their statements work
    /// with its definition though they may not name it (MySQL waits even for those that have only read a child), and
    /// the parents too if the relation may change.
    pub(super) fn altered_relatives(
        &self,
        name: &TableName,
        specifications: &[Spec<'_>],
    ) -> BTreeSet<TableName> {
        let mut relatives = self.children(name);
        let mut changes = false;
        for specification in specifications {
            match specification {
                Spec::AddForeignKey(key) => {
                    relatives.insert(referenced_name(&name.database, key.references.table));
                }
                Spec::AddElements(elements) => {
                    relatives.extend(self.referenced_by(&name.database, elements));
                }
                Spec::AddColumn { column, .. } => {
                    relatives.extend(column_parents(&name.database, column));
                }
                Spec::ChangeColumn { .. }
                | Spec::DropForeignKey(_)
                | Spec::DropConstraint(_)
                | Spec::RenameColumn { .. } => changes = true,
                Spec::RenameTable(to) => {
                    changes = true;
                    relatives.extend(self.table_name(*to).iter().flat_map(|to| self.relatives(to)));
                }
                _ => {}
            }
        }
        if changes {
            relatives.extend(self.relatives(name));
        }
        relatives
    }

    /// Checks the foreign keys of a table that is created, or altered from `before`, and fills in what their words
    /// left open. Gives the keys whose rows have to be checked: none with `foreign_key_checks=0`.
    pub(super) fn check_foreign_keys(
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
                self.require_table(Privilege::References, &key.parent_database, &key.parent_table)?;
            }
            let is_own = key.references(&own.database, &own.name);
            let parent = self.instance.catalog().table(&key.parent_database, &key.parent_table);
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
            check_fit(key, &own, parent)?;
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

    /// Error 1826: names of foreign keys are unique in their database.
    pub(super) fn check_key_name(&self, table: &TableDef, name: &str) -> Result<(), SqlError> {
        for other in self.instance.catalog().tables(&table.database) {
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
        if parent.indexes.iter().any(|index| index.is_key_of(&columns)) {
            return Ok(());
        }
        if self.settings.restricts_foreign_keys {
            return Err(ER_FK_NO_UNIQUE_INDEX_PARENT.with(&[&key.name, &parent.name]));
        }
        if parent.index_led_by(&columns).is_none() {
            return Err(error_code::ER_FK_NO_INDEX_PARENT.with(&[&key.name, &parent.name]));
        }
        self.shared.warning(ER_WARN_FK_REFERS_TO_NON_STANDARD_KEY.with(&[&key.name]));
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
                if !super::alter_table::is_same_value(&old.column_type, &new.column_type) {
                    return Err(error_code::ER_FK_COLUMN_CANNOT_CHANGE.with(&[&old.name, &key.name]));
                }
            }
        }
        Ok(())
    }

    /// Checks a new table of a name that foreign keys of others reference already.
    pub(super) fn check_waiting_children(&self, parent: &TableDef) -> Result<(), SqlError> {
        for (child, key) in self.instance.catalog().children_of(&parent.database, &parent.name) {
            let fits = check_fit(&key, child.definition(), parent)
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
    pub(super) fn check_children(
        &self,
        before: &TableDef,
        after: &mut TableDef,
        new_name: impl Fn(usize) -> Option<String>,
    ) -> Result<Followers, SqlError> {
        let mut followers = Followers::new();
        for (child, key) in self.instance.catalog().children_of(&before.database, &before.name) {
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
                check_fit(&renamed, child, after)?;
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
            let is_kept = super::alter_table::is_same_value(&old.column_type, &new.column_type);
            if self.settings.foreign_key_checks && !is_kept {
                let child = TableName::of(child).dotted();
                let names: [&dyn std::fmt::Display; 3] = [&old.name, &key.name, &child];
                return Err(error_code::ER_FK_COLUMN_CANNOT_CHANGE_CHILD.with(&names));
            }
        }
        Ok(())
    }

    /// The first foreign key of a table outside of `dropped` that references the table, unless nobody checks.
    pub(super) fn first_reference(
        &self,
        parent: &TableName,
        dropped: &[TableName],
    ) -> Option<(Arc<TableDef>, ForeignKeyDef)> {
        if !self.settings.foreign_key_checks {
            return None;
        }
        let children = self.instance.catalog().children_of(&parent.database, &parent.name).into_iter();
        let mut children = children.map(|(child, key)| (child.definition().clone(), key));
        children.find(|(child, _)| !dropped.contains(&TableName::of(child)))
    }

    /// Error 3730 if a table outside of `dropped` references one in it.
    pub(super) fn check_drop(&self, dropped: &[TableName]) -> Result<(), SqlError> {
        for name in dropped {
            if let Some((child, key)) = self.first_reference(name, dropped) {
                let names: [&dyn std::fmt::Display; 3] = [&name.name, &key.name, &child.name];
                return Err(error_code::ER_FK_CANNOT_DROP_PARENT.with(&names));
            }
        }
        Ok(())
    }
}

fn referenced_name(database: &str, name: ObjectName<'_>) -> TableName {
    let database = name.database.map_or(database, |database| database.name);
    TableName { database: database.to_owned(), name: name.name.name.to_owned() }
}

fn column_parents<'a>(
    database: &'a str,
    column: &'a ColumnDefinition<'_>,
) -> impl Iterator<Item = TableName> + 'a {
    column.attributes.iter().filter_map(move |attribute| match attribute {
        ColumnAttribute::References(references) => Some(referenced_name(database, references.table)),
        _ => None,
    })
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

/// Errors 3734 and 3780.
fn check_fit(key: &ForeignKeyDef, child: &TableDef, parent: &TableDef) -> Result<(), SqlError> {
    for (name, &column) in key.parent_columns.iter().zip(&key.columns) {
        let Some(position) = parent.column_named(name) else {
            return Err(error_code::ER_FK_NO_COLUMN_PARENT.with(&[name, &key.name, &parent.name]));
        };
        let (column, referenced) = (&child.columns[column], &parent.columns[position]);
        if !is_comparable(&column.column_type, &referenced.column_type) {
            let names: [&dyn std::fmt::Display; 3] = [&column.name, &referenced.name, &key.name];
            return Err(error_code::ER_FK_INCOMPATIBLE_COLUMNS.with(&names));
        }
    }
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

/// Tables take other names: `to` says which. The keys of `table` follow their parents, and names that were generated
/// from the table's own name follow that.
pub(super) fn follow_renames(table: &mut TableDef, to: impl Fn(&TableName) -> Option<TableName>) {
    let own = to(&TableName::of(table));
    for key in &mut table.foreign_keys {
        if let Some(parent) = to(&TableName::parent_of(key)) {
            key.parent_database = parent.database;
            key.parent_table = parent.name;
        }
        if let Some(own) = &own
            && let Some(number) = generated_number(&key.name, &table.name)
        {
            key.name = generated_name(&own.name, number);
        }
    }
    table.foreign_keys.sort_by_cached_key(|key| key.name.to_lowercase());
    if let Some(own) = own {
        table.database = own.database;
        table.name = own.name;
    }
}
