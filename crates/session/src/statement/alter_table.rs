//! ALTER TABLE, CREATE INDEX and DROP INDEX.
//!
//! Three ways, the cheapest that does it: a new descriptor over the same trees; new index trees filled from the
//! rows; a copy of all rows into new trees. Each is one atomic schema change.
use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::{LockGuard, LockMode, SchemaChange, build_index, check_rows, check_table_name, copy_rows};
use datum::{ColumnType, SqlError, error_code};
use parser::ast::{
    AlgorithmOption, AlterSpecification, AlterTable, CreateIndex, DropIndex, SchemaChangeOption,
};
use table::{ParentLink, ReadyTable, TableHandle};

use super::guard::Shield;
use super::{Done, Effects};
use crate::session::Session;
use definition::{
    AlterContext, Alteration, ColumnSource, Converter, Followers, TableDraft, TableName, apply_alterations,
    check_algorithm, check_constraint_algorithm, computes_values, follow_renames, is_only_named,
    is_same_value, needs_rebuild, old_and_new,
};

impl Session {
    pub(super) async fn alter_table(
        &mut self,
        statement: &AlterTable<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = self.table_name(statement.table)?;
        self.alter(name, statement.specifications, statement.change, shield).await
    }

    pub(super) async fn create_index(
        &mut self,
        statement: &CreateIndex<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = self.table_name(statement.table)?;
        let specifications = [AlterSpecification::AddIndex(statement.index)];
        self.alter(name, &specifications, statement.change, shield).await
    }

    pub(super) async fn drop_index(
        &mut self,
        statement: &DropIndex<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = self.table_name(statement.table)?;
        let specifications = [AlterSpecification::DropIndex(statement.name)];
        self.alter(name, &specifications, statement.change, shield).await
    }

    pub(super) async fn alter(
        &mut self,
        name: TableName,
        specifications: &[AlterSpecification<'_>],
        options: SchemaChangeOption,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        self.require_changeable(&name.database)?;
        let new_name = specifications.iter().find_map(|specification| match specification {
            AlterSpecification::RenameTable(to) => Some(self.table_name(*to)),
            _ => None,
        });
        let new_name = new_name.transpose()?.filter(|to| *to != name);
        if self.temporary.has(&name) {
            return self.alter_temporary(name, new_name, specifications, options, shield).await;
        }
        let _locks = self.lock_altered(&name, new_name.as_ref(), specifications).await?;
        let mut alteration = self.alteration(&name, specifications)?;
        let (followers, added) = self.relate(&mut alteration, new_name, options)?;
        alteration.rebuild |= needs_rebuild(&alteration);
        check_instant(&alteration, options)?;
        let before = alteration.before.definition().clone();
        if options.algorithm.is_some_and(|algorithm| algorithm != AlgorithmOption::Copy) {
            check_constraint_algorithm(&before, &alteration.after, options)?;
        }
        let is_rebuilt = alteration.rebuild;
        let mut change = self.instance.catalog().begin_change();
        self.put_followers(&mut change, followers).await?;
        let (table, copied) = match alteration.rebuild {
            true => self.rebuild(&mut change, alteration).await?,
            false => (self.change_in_place(&mut change, alteration).await?, 0),
        };
        let checked = self.check_added(&mut change, &table, &added).await?;
        let obeyed = match is_rebuilt {
            true => 0,
            false => self.check_new_constraints(&mut change, &before, &table).await?,
        };
        let copied = copied.max(checked).max(obeyed);
        self.commit_change(change, shield).await?;
        if is_only_named(specifications) {
            return Ok(Done::ok());
        }
        let warnings = self.shared.diagnostics.lock().count();
        let info = format!("Records: {copied}  Duplicates: 0  Warnings: {warnings}");
        Ok(Done::Ok(Effects { affected_rows: copied, last_insert_id: 0, info: info.into() }))
    }

    async fn lock_altered(
        &self,
        name: &TableName,
        to: Option<&TableName>,
        specifications: &[AlterSpecification<'_>],
    ) -> Result<Vec<LockGuard>, SqlError> {
        let mut locks = vec![(name.database_lock(), LockMode::Shared), (name.lock(), LockMode::Exclusive)];
        if let Some(to) = to {
            check_table_name(&to.name)?;
            self.require_changeable(&to.database)?;
            locks.push((to.database_lock(), LockMode::Shared));
            locks.push((to.lock(), LockMode::Exclusive));
        }
        let guards = self
            .lock_with_relatives(locks, || self.foreign_keys().altered_relatives(name, specifications))
            .await?;
        if let Some(to) = to {
            let catalog = self.instance.catalog();
            catalog.require_database(&to.database)?;
            if catalog.is_named(&to.database, &to.name) {
                return Err(error_code::ER_TABLE_EXISTS_ERROR.with(&[&to.name]));
            }
        }
        Ok(guards)
    }

    pub(super) fn alteration(
        &self,
        name: &TableName,
        specifications: &[AlterSpecification<'_>],
    ) -> Result<Alteration, SqlError> {
        let catalog = self.instance.catalog();
        let before = self.stored_table(name)?;
        let database_collation = catalog.database(&name.database).map(|database| database.collation);
        let source = self.definition_context();
        let mut context = source.context();
        let mut draft = TableDraft::of_table(before.definition());
        let mut asked = AlterContext { database_collation, ..AlterContext::default() };
        apply_alterations(specifications, &mut draft, &mut asked, &mut context)?;
        let (after, sources) = draft.finish(&mut context)?;
        self.keep_conditions(context.conditions);
        let mut alteration = Alteration {
            before,
            after,
            sources,
            auto_increment: asked.auto_increment,
            rebuild: asked.rebuild,
        };
        alteration.keep_clustering();
        Ok(alteration)
    }

    /// Checks the table against its parents and children, and gives it its new name. The result: the children whose
    /// descriptors change with it, and the names of the keys that its rows have to be checked against.
    fn relate(
        &self,
        alteration: &mut Alteration,
        new_name: Option<TableName>,
        options: SchemaChangeOption,
    ) -> Result<(Followers, Vec<String>), SqlError> {
        let Alteration { before, after, sources, .. } = alteration;
        let before = before.definition();
        let names: Vec<String> = after.columns.iter().map(|column| column.name.clone()).collect();
        let new_column = |old: usize| {
            let position = sources.iter().position(|source| *source == ColumnSource::Old(old));
            position.map(|position| names[position].clone())
        };
        let mut followers = self.foreign_keys().check_children(before, after, new_column)?;
        let added = self.foreign_keys().check_foreign_keys(Some(before), after)?;
        if new_name.is_none() {
            self.check_check_names(Some(before), after)?;
        }
        if !added.is_empty() {
            check_algorithm(options)?;
        }
        let Some(to) = new_name else { return Ok((followers, added)) };
        let from = TableName::of(before);
        for (child, _) in self.instance.catalog().children_of(&from.database, &from.name) {
            let child = child.definition();
            if child.id != before.id {
                followers.entry(TableName::of(child)).or_insert_with(|| (child.clone(), (**child).clone()));
            }
        }
        let renamed = |name: &TableName| (*name == from).then(|| to.clone());
        follow_renames(after, renamed);
        followers.values_mut().for_each(|(_, follower)| follow_renames(follower, renamed));
        after.foreign_keys.iter().try_for_each(|key| self.foreign_keys().check_key_name(after, &key.name))?;
        self.check_check_names(Some(before), after)?;
        self.foreign_keys().check_waiting_children(after)?;
        Ok((followers, added))
    }

    async fn put_followers(&self, change: &mut SchemaChange, followers: Followers) -> Result<(), SqlError> {
        for (before, after) in followers.into_values() {
            change.remove_definition(&before).await?;
            self.put_renamed(change, &before, after).await?;
        }
        Ok(())
    }

    /// Checks the rows against new foreign keys; the number of rows, if there are such keys.
    async fn check_added(
        &self,
        change: &mut SchemaChange,
        table: &Arc<TableHandle>,
        added: &[String],
    ) -> Result<u64, SqlError> {
        let definition = table.definition();
        let mut count = 0;
        for key in definition.foreign_keys.iter().filter(|key| added.contains(&key.name)) {
            let parent = match key.references(&definition.database, &definition.name) {
                true => Some(table.clone()),
                false => self.instance.catalog().table(&key.parent_database, &key.parent_table),
            };
            count = check_rows(change, table, &ParentLink::new(key, parent.as_ref())).await?;
        }
        Ok(count)
    }

    /// New index trees and a new descriptor over the old rows.
    pub(super) async fn change_in_place(
        &self,
        change: &mut SchemaChange,
        alteration: Alteration,
    ) -> Result<Arc<TableHandle>, SqlError> {
        let Alteration { before, mut after, auto_increment, .. } = alteration;
        let old = before.definition();
        let mut built = Vec::new();
        for position in 0..after.indexes.len() {
            if after.indexes[position].tree == 0 {
                after.indexes[position].tree = change.create_tree(&after.name).await?;
                built.push(position);
            }
        }
        if !built.is_empty() {
            let handle = TableHandle::new(Arc::new(after.clone()), Arc::default());
            for position in built {
                build_index(change, &handle, position).await?;
            }
        }
        let kept: BTreeSet<u64> = after.indexes.iter().map(|index| index.tree).collect();
        for index in &old.indexes {
            if index.tree != old.tree && !kept.contains(&index.tree) {
                change.drop_tree(&old.name, index.tree).await?;
            }
        }
        change.remove_definition(old).await?;
        match auto_increment {
            Some(_) => {
                // It may be lower than what the tree's mark says.
                after.auto_increment_resets += 1;
                change.put_table(after).await
            }
            None => self.put_renamed(change, old, after).await,
        }
    }

    /// A copy of all rows into new trees under a new table id.
    pub(super) async fn rebuild(
        &self,
        change: &mut SchemaChange,
        alteration: Alteration,
    ) -> Result<(Arc<TableHandle>, u64), SqlError> {
        let Alteration { before, mut after, sources, auto_increment, .. } = alteration;
        let old = before.definition();
        if auto_increment.is_none() {
            let counted = after.auto_increment_column().map(|column| sources[column]);
            // A column that takes the place of another starts anew.
            after.auto_increment_start = match old.auto_increment_column().map(ColumnSource::Old) {
                column if column.is_some() && column == counted => {
                    before.clone().ready(self.instance.engine()).await?.auto_increment().peek()
                }
                _ => 1,
            };
        }
        after.choose_clustering();
        after.id = self.instance.catalog().new_table_id();
        change.create_trees(&mut after).await?;
        let handle = ReadyTable::of_new_trees(Arc::new(after.clone()));
        let columns: Vec<ColumnType> =
            after.columns.iter().map(|column| column.column_type.clone()).collect();
        let maker = self.row_maker(handle.definition())?;
        let mut converter = Converter::new(self, self.conversion(), old, &after, &sources, &maker);
        let copied = copy_rows(change, &before, &handle, &mut converter).await?;
        drop(converter);
        change.drop_table(old).await?;
        // The new tree has no mark of what was copied.
        after.auto_increment_start = after.auto_increment_start.max(handle.auto_increment().peek());
        let table = change.put_table(after).await?;
        // The client is told of copied rows only where values changed, as MySQL rebuilds the rest in place.
        let converts = old_and_new(&before, &sources, &columns).any(|(old, new)| !is_same_value(old, new))
            || computes_values(table.definition(), old, &sources);
        Ok((table, if converts { copied } else { 0 }))
    }
}

/// Error 1845 where rows would have to be copied.
pub(super) fn check_instant(alteration: &Alteration, options: SchemaChangeOption) -> Result<(), SqlError> {
    match alteration.rebuild && options.algorithm == Some(AlgorithmOption::Instant) {
        true => Err(error_code::ER_ALTER_OPERATION_NOT_SUPPORTED
            .with(&[&"ALGORITHM=INSTANT", &"ALGORITHM=COPY/INPLACE"])),
        false => Ok(()),
    }
}
