//! ALTER TABLE, CREATE INDEX and DROP INDEX.
//!
//! Three ways, the cheapest that does it: a new descriptor over the same trees; new index trees filled from the
//! rows; a copy of all rows into new trees. Each is one atomic schema change. Who may use the table meanwhile: `online`.
use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::{Demands, RowConverter, SchemaChange, bind_columns, check_rows};
use datum::{ColumnType, SqlError, error_code};
use parser::ast::{
    AlgorithmOption, AlterSpecification, AlterTable, CreateIndex, DropIndex, LockOption, SchemaChangeOption,
};
use schema::TableDef;
use table::{ParentLink, ReadyTable, TableHandle};

use crate::caller::Caller;
use crate::tables::online::AlterLocks;
use definition::{
    AlterContext, Alteration, ColumnSource, Concurrency, Converter, Followers, TableDraft, TableName,
    adds_lacking_dates, apply_alterations, check_algorithm, choose_means, computes_values, copied_keys,
    follow_renames, heed_validation, is_only_named, is_same_value, needs_rebuild, old_and_new,
};
use session::Shield;
use session::{Done, Effects};

impl Caller<'_> {
    pub(crate) async fn alter_table(
        &mut self,
        statement: &AlterTable<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = self.table_name(statement.table)?;
        let options = heed_validation(statement.validation, statement.specifications, statement.change)?;
        self.alter(name, statement.specifications, options, shield).await
    }

    pub(crate) async fn create_index(
        &mut self,
        statement: &CreateIndex<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = self.table_name(statement.table)?;
        let specifications = [AlterSpecification::AddIndex(statement.index)];
        self.alter(name, &specifications, statement.change, shield).await
    }

    pub(crate) async fn drop_index(
        &mut self,
        statement: &DropIndex<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = self.table_name(statement.table)?;
        let specifications = [AlterSpecification::DropIndex(statement.name)];
        self.alter(name, &specifications, statement.change, shield).await
    }

    pub(crate) async fn alter(
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
        if self.has_temporary(&name) {
            return self.alter_temporary(name, new_name, specifications, options, shield).await;
        }
        let mut locks = self.lock_altered(&name, new_name.as_ref(), specifications).await?;
        let is_renamed = new_name.is_some();
        let mut alteration = self.alteration(&name, specifications, options)?;
        let (followers, added) = self.relate(&mut alteration, new_name, options)?;
        self.settle_rows(&mut alteration);
        let means = choose_means(&alteration, has_new_indexes(&alteration), options)?;
        if is_renamed {
            check_rename_lock(options)?;
        }
        let checked = AddedKeys::of(added, &alteration);
        locks.add_parents(checked.parents(&alteration.after));
        let concurrency = match checked.behind.is_empty() {
            true => means.concurrency,
            // Rows of the parents must not go while the rows are checked against them.
            false => Concurrency::Nobody,
        };
        self.exclude_for(&mut locks, concurrency).await?;
        let mut change = self.instance().catalog().begin_change();
        let (table, copied) = match alteration.rebuild {
            true => self.rebuild(&mut change, alteration, (&mut locks, concurrency)).await?,
            false => {
                let locking = (&mut locks, concurrency);
                self.change_in_place(&mut change, alteration, &checked.beside, locking).await?
            }
        };
        self.put_followers(&mut change, followers).await?;
        let copied = copied.max(self.check_added(&mut change, &table, &checked.behind).await?);
        self.commit_change(change, shield).await?;
        if is_only_named(specifications, options) {
            return Ok(Done::ok());
        }
        let warnings = self.shared().diagnostics.lock().count();
        let info = format!("Records: {copied}  Duplicates: 0  Warnings: {warnings}");
        Ok(Done::Ok(Effects { affected_rows: copied, last_insert_id: 0, info: info.into() }))
    }

    pub(crate) fn alteration(
        &self,
        name: &TableName,
        specifications: &[AlterSpecification<'_>],
        options: SchemaChangeOption,
    ) -> Result<Alteration, SqlError> {
        let catalog = self.instance().catalog();
        let before = self.stored_table(name)?;
        let database_collation = catalog.database(&name.database).map(|database| database.collation);
        let source = self.definition_context();
        let mut context = source.context();
        let mut draft = TableDraft::of_table(before.definition());
        let mut asked = AlterContext { database_collation, ..AlterContext::default() };
        apply_alterations(specifications, &mut draft, &mut asked, &mut context)?;
        let (after, sources) = draft.finish(&mut context)?;
        self.keep_conditions(context.conditions);
        let copy_asked = options.algorithm == Some(AlgorithmOption::Copy);
        let mut alteration = Alteration {
            before,
            after,
            sources,
            auto_increment: asked.auto_increment,
            rebuild: asked.rebuild || copy_asked,
            copy_asked,
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
        let mut added = self.foreign_keys().check_foreign_keys(Some(before), after)?;
        if new_name.is_none() {
            self.check_check_names(Some(before), after)?;
        }
        if !added.is_empty() {
            check_algorithm(options)?;
        }
        if self.applies_for_source() {
            // The source has checked them by its own rules, and its rows are these.
            added.clear();
        }
        let Some(to) = new_name else { return Ok((followers, added)) };
        let from = TableName::of(before);
        for (child, _) in self.instance().catalog().children_of(&from.database, &from.name) {
            let child = child.definition();
            if child.id != before.id {
                followers.entry(TableName::of(child)).or_insert_with(|| (child.clone(), (**child).clone()));
            }
        }
        let renamed = |name: &TableName| (*name == from).then(|| to.clone());
        follow_renames(after, renamed)?;
        followers.values_mut().try_for_each(|(_, follower)| follow_renames(follower, renamed))?;
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
                false => self.instance().catalog().table(&key.parent_database, &key.parent_table),
            };
            count = check_rows(change, table, &ParentLink::new(key, parent.as_ref())).await?;
        }
        Ok(count)
    }

    /// Whether rows have to be copied; if not, where they have the columns.
    pub(crate) fn settle_rows(&self, alteration: &mut Alteration) {
        alteration.rebuild |= needs_rebuild(alteration) || adds_lacking_dates(alteration, &self.conversion());
        if !alteration.rebuild {
            alteration.place_columns(&self.conversion());
        }
    }

    /// What rows have to obey that were there before: new CHECK constraints, and these new foreign keys.
    fn demands(
        &self,
        before: &TableDef,
        after: &Arc<TableDef>,
        added: &[String],
    ) -> Result<Demands<'static>, SqlError> {
        let keys = after.foreign_keys.iter().filter(|key| added.contains(&key.name));
        let parents = keys.map(|key| {
            let parent = self.instance().catalog().table(&key.parent_database, &key.parent_table);
            ParentLink::new(key, parent.as_ref())
        });
        Ok(Demands { rule: self.new_rule(before, after)?, parents: parents.collect() })
    }

    /// New index trees and a new descriptor over the old rows, which are checked against the foreign keys of these names; gives
    /// the number of rows that were checked.
    pub(crate) async fn change_in_place(
        &self,
        change: &mut SchemaChange,
        alteration: Alteration,
        added: &[String],
        (locks, concurrency): (&mut AlterLocks, Concurrency),
    ) -> Result<(Arc<TableHandle>, u64), SqlError> {
        let Alteration { before, mut after, sources, auto_increment, .. } = alteration;
        let old = before.definition();
        let mut built = Vec::new();
        for position in 0..after.indexes.len() {
            if after.indexes[position].tree == 0 {
                after.indexes[position].tree = change.create_tree(&after.name).await?;
                built.push(position);
            }
        }
        let handle = Arc::new(TableHandle::new(Arc::new(after.clone()), Arc::default(), bind_columns));
        let demands = self.demands(old, handle.definition(), added)?;
        let checks = !demands.is_empty();
        let mut checked = 0;
        if checks || !built.is_empty() {
            let after = (&handle, &sources[..]);
            let work = (built, demands);
            let read = self.build_indexes(change, &before, after, work, (&mut *locks, concurrency)).await?;
            checked = if checks { read } else { 0 };
        }
        self.exclude_all(locks).await?;
        let kept: BTreeSet<u64> = after.indexes.iter().map(|index| index.tree).collect();
        for index in &old.indexes {
            if index.tree != old.tree && !kept.contains(&index.tree) {
                change.drop_tree(&old.name, index.tree).await?;
            }
        }
        change.remove_definition(old).await?;
        let table = match auto_increment {
            Some(_) => {
                // It may be lower than what the tree's mark says.
                after.auto_increment_resets += 1;
                change.put_table(after).await?
            }
            None => self.put_renamed(change, old, after).await?,
        };
        Ok((table, checked))
    }

    /// A copy of all rows into new trees under a new table id.
    pub(crate) async fn rebuild(
        &self,
        change: &mut SchemaChange,
        alteration: Alteration,
        (locks, concurrency): (&mut AlterLocks, Concurrency),
    ) -> Result<(Arc<TableHandle>, u64), SqlError> {
        let keys = copied_keys(&alteration);
        let Alteration { before, mut after, sources, auto_increment, copy_asked, .. } = alteration;
        let old = before.definition();
        let ready = before.clone().ready(self.instance().engine()).await?;
        let counted = after.auto_increment_column().map(|column| sources[column]);
        let old_counter = old.auto_increment_column().map(ColumnSource::Old);
        let keeps_counter = old_counter.is_some() && old_counter == counted;
        if auto_increment.is_none() {
            // A column that takes the place of another starts anew.
            after.auto_increment_start = if keeps_counter { ready.auto_increment().peek() } else { 1 };
        }
        after.choose_clustering();
        after.id = self.instance().catalog().new_table_id();
        change.create_trees(&mut after).await?;
        let handle = ReadyTable::of_new_trees(Arc::new(after.clone()));
        let columns: Vec<ColumnType> =
            after.columns.iter().map(|column| column.column_type.clone()).collect();
        let maker = self.row_maker(handle.definition())?;
        let mut converter = Converter::new(&**self, self.conversion(), old, &after, &sources, &maker);
        let copying = (keys, &mut converter as &mut dyn RowConverter);
        let copied = self.copy_table(change, (&before, &handle), copying, (&mut *locks, concurrency)).await?;
        drop(converter);
        self.exclude_all(locks).await?;
        change.drop_table(old).await?;
        // The new tree has no mark of what was copied, nor of what was counted meanwhile.
        after.auto_increment_start = after.auto_increment_start.max(handle.auto_increment().peek());
        if auto_increment.is_none() && keeps_counter {
            after.auto_increment_start = after.auto_increment_start.max(ready.auto_increment().peek());
        }
        let table = change.put_table(after).await?;
        // The client is told of copied rows only where it asked or values changed, as MySQL rebuilds the rest in place.
        let converts = copy_asked
            || old_and_new(&before, &sources, &columns).any(|(old, new)| !is_same_value(old, new))
            || computes_values(table.definition(), old, &sources);
        Ok((table, if converts { copied } else { 0 }))
    }
}

/// The names of new foreign keys that rows have to be checked against.
struct AddedKeys {
    /// While the table and its parents are written to.
    beside: Vec<String>,
    /// When the rows have their new form, or the parent is the table itself: then nobody else is there.
    behind: Vec<String>,
}

impl AddedKeys {
    fn of(added: Vec<String>, alteration: &Alteration) -> AddedKeys {
        let after = &alteration.after;
        let is_own = |name: &String| {
            let mut keys = after.foreign_keys.iter().filter(|key| key.name == *name);
            keys.any(|key| key.references(&after.database, &after.name))
        };
        match alteration.rebuild || added.iter().any(is_own) {
            true => AddedKeys { beside: Vec::new(), behind: added },
            false => AddedKeys { beside: added, behind: Vec::new() },
        }
    }

    /// The parents to whom others write meanwhile.
    fn parents<'a>(&'a self, after: &'a TableDef) -> impl Iterator<Item = TableName> + 'a {
        let keys = after.foreign_keys.iter().filter(|key| self.beside.contains(&key.name));
        keys.map(TableName::parent_of)
    }
}

/// Error 1845: nobody can use a table while its name changes.
fn check_rename_lock(options: SchemaChangeOption) -> Result<(), SqlError> {
    match options.lock {
        Some(LockOption::None | LockOption::Shared) => {
            Err(error_code::ER_ALTER_OPERATION_NOT_SUPPORTED.with(&[&"LOCK=NONE/SHARED", &"LOCK=EXCLUSIVE"]))
        }
        _ => Ok(()),
    }
}

/// Whether entries have to be made for some index.
pub(crate) fn has_new_indexes(alteration: &Alteration) -> bool {
    alteration.after.indexes.iter().any(|index| index.tree == 0)
}
