//! CREATE, DROP, RENAME and TRUNCATE of tables and databases.
//!
//! Each statement locks what it names, checks, and makes one `SchemaChange` that is committed as a whole.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::{LockMode, LockName, SYSTEM_DATABASES, SchemaChange, check_database_name, check_table_name};
use datum::{SqlError, error_code};
use parser::ast::{
    AlterDatabase, CreateDatabase, DropDatabase, DropTable, RenameTable, StatementKind, TruncateTable,
};
use schema::{DatabaseDef, TableDef, ViewDef, quote_identifier};
use table::TableHandle;

use crate::caller::Caller;
use definition::{ER_DB_DOES_NOT_EXIST, Names, TableName, database_collation, follow_renames};
use session::ResultSink;
use session::Shield;
use session::{Done, Request};

impl Caller<'_> {
    pub(crate) async fn change_schema(
        &mut self,
        request: Request<'_>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        use StatementKind::*;
        self.keep_definition_text(request);
        match request.statement.kind {
            CreateTable(statement) if statement.temporary => {
                self.create_temporary(statement, request, shield, sink).await
            }
            CreateTable(statement) => self.create_table(statement, request, shield).await,
            AlterTable(statement) => self.alter_table(statement, shield).await,
            CreateIndex(statement) => self.create_index(statement, shield).await,
            DropIndex(statement) => self.drop_index(statement, shield).await,
            DropTable(statement) => self.drop_tables(statement, shield).await,
            RenameTable(statement) => self.rename_tables(statement, shield).await,
            TruncateTable(statement) => self.truncate_table(statement, shield).await,
            CreateDatabase(statement) => self.create_database(statement, shield).await,
            AlterDatabase(statement) => self.alter_database(statement, shield).await,
            DropDatabase(statement) => self.drop_database(statement, shield).await,
            CreateView(statement) => self.create_view(statement, shield).await,
            DropView(statement) => self.drop_views(statement, shield).await,
            CreateProgram(create) => self.create_program(create, request, shield).await,
            AlterRoutine(statement) => self.alter_routine(statement, shield).await,
            AlterEvent(statement) => self.alter_event(statement, request, shield).await,
            DropStored(dropped) => self.drop_program(&dropped, shield).await,
            _ => unreachable!("dispatch sends schema changes only"),
        }
    }

    async fn drop_tables(&mut self, statement: DropTable<'_>, shield: &Shield) -> Result<Done, SqlError> {
        let mut names = Vec::with_capacity(statement.tables.len());
        for table in statement.tables {
            let name = self.table_name(*table)?;
            if names.contains(&name) {
                return Err(error_code::ER_NONUNIQ_TABLE.with(&[&name.name]));
            }
            self.require_changeable(&name.database)?;
            names.push(name);
        }
        let (temporary, names): (Vec<TableName>, Vec<TableName>) =
            names.into_iter().partition(|name| self.has_temporary(name));
        let mut locks = Vec::new();
        if !statement.temporary {
            locks.extend(names.iter().map(|name| (name.lock(), LockMode::Exclusive)));
        }
        let relatives = || match statement.temporary {
            true => BTreeSet::new(),
            false => names.iter().flat_map(|name| self.foreign_keys().relatives(name)).collect(),
        };
        let _locks = self.lock_with_relatives(locks, LockMode::Exclusive, relatives).await?;
        let catalog = self.instance().catalog().clone();
        let is_missing =
            |name: &&TableName| statement.temporary || catalog.table(&name.database, &name.name).is_none();
        let missing: Vec<String> = names.iter().filter(is_missing).map(TableName::dotted).collect();
        if !missing.is_empty() && !statement.if_exists {
            return Err(error_code::ER_BAD_TABLE_ERROR.with(&[&missing.join(",")]));
        }
        if !statement.temporary {
            self.foreign_keys().check_drop(&names)?;
        }
        temporary.iter().for_each(|name| self.doom(name));
        for name in missing {
            self.shared().note(error_code::ER_BAD_TABLE_ERROR.with(&[&name]));
        }
        if statement.temporary {
            return Ok(Done::ok());
        }
        let mut change = catalog.begin_change();
        for name in &names {
            if let Some(handle) = catalog.table(&name.database, &name.name) {
                change.drop_table(handle.definition()).await?;
                self.drop_triggers_of(&mut change, name).await?;
            }
        }
        self.commit_change(change, shield).await?;
        Ok(Done::ok())
    }

    /// RENAME TABLE a TO b, b TO c: from left to right, as one change.
    async fn rename_tables(&mut self, statement: RenameTable<'_>, shield: &Shield) -> Result<Done, SqlError> {
        let mut renames = Vec::with_capacity(statement.renames.len());
        let mut locks = Vec::new();
        for rename in statement.renames {
            let (from, to) = (self.table_name(rename.from)?, self.table_name(rename.to)?);
            check_table_name(&to.name)?;
            for name in [&from, &to] {
                self.require_changeable(&name.database)?;
                locks.push((name.database_lock(), LockMode::Shared));
                locks.push((name.lock(), LockMode::Exclusive));
            }
            renames.push((from, to));
        }
        let involved = renames.iter().flat_map(|(from, to)| [from, to]);
        let relatives = || involved.clone().flat_map(|name| self.foreign_keys().relatives(name)).collect();
        let _locks = self.lock_with_relatives(locks, LockMode::Exclusive, relatives).await?;
        let catalog = self.instance().catalog().clone();
        let mut names = Names::default();
        for (from, to) in &renames {
            names.rename(&catalog, from, to)?;
        }
        let mut change = catalog.begin_change();
        let views = names.moved_views();
        for (_, view) in &views {
            change.remove_view(view).await?;
        }
        for (name, view) in views {
            change.put_view(ViewDef { name: name.name, ..(*view).clone() }).await?;
        }
        let moved: Vec<(TableName, Arc<TableDef>)> = names.moved();
        let changed = self.renamed_definitions(&moved)?;
        for (before, _) in &changed {
            change.remove_definition(before).await?;
        }
        for (before, after) in changed {
            self.put_renamed(&mut change, &before, after).await?;
        }
        for (to, table) in &moved {
            self.move_triggers(&mut change, &TableName::of(table), to).await?;
        }
        self.commit_change(change, shield).await?;
        Ok(Done::ok())
    }

    /// The descriptors that a rename changes, as they were and as they will be: those of the tables that move, and of
    /// the children that follow them.
    fn renamed_definitions(
        &self,
        moved: &[(TableName, Arc<TableDef>)],
    ) -> Result<Vec<(Arc<TableDef>, TableDef)>, SqlError> {
        let mut before: BTreeMap<TableName, Arc<TableDef>> = BTreeMap::new();
        for (_, table) in moved {
            before.insert(TableName::of(table), table.clone());
            for (child, _) in self.instance().catalog().children_of(&table.database, &table.name) {
                before.insert(TableName::of(child.definition()), child.definition().clone());
            }
        }
        let new_name = |old: &TableName| {
            let found = moved.iter().find(|(_, table)| TableName::of(table) == *old);
            found.map(|(name, _)| name.clone())
        };
        let mut changed = Vec::with_capacity(before.len());
        for (name, table) in before {
            let mut after = (*table).clone();
            follow_renames(&mut after, new_name)?;
            let is_moved = new_name(&name).is_some();
            if is_moved && self.instance().catalog().table(&after.database, &after.name).is_none() {
                self.foreign_keys().check_waiting_children(&after)?;
            }
            changed.push((table, after));
        }
        self.check_renamed_constraints(&changed)?;
        Ok(changed)
    }

    /// Stores a descriptor of the same rows; the live counters go with it.
    pub(crate) async fn put_renamed(
        &self,
        change: &mut SchemaChange,
        before: &Arc<TableDef>,
        mut after: TableDef,
    ) -> Result<Arc<TableHandle>, SqlError> {
        let old = self.instance().catalog().table_by_id(before.id);
        // One that nobody has used knows no more than what is stored with the rows.
        if let Some(old) = old.and_then(|old| old.if_ready()) {
            after.auto_increment_start = after.auto_increment_start.max(old.auto_increment().peek());
        }
        change.put_table(after).await
    }

    /// TRUNCATE: the same table with new, empty trees.
    async fn truncate_table(
        &mut self,
        statement: TruncateTable<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = self.table_name(statement.table)?;
        self.require_changeable(&name.database)?;
        if let Some(table) = self.temporary_table(&name) {
            return self.truncate_temporary(table, shield).await;
        }
        let _locks = self.lock_for_change(vec![(name.lock(), LockMode::Exclusive)]).await?;
        let catalog = self.instance().catalog().clone();
        if catalog.view(&name.database, &name.name).is_some() {
            return Err(error_code::ER_NO_SUCH_TABLE.with(&[&name.database, &name.name]));
        }
        let handle = catalog.require_table(&name.database, &name.name)?;
        let before = handle.definition();
        if let Some((child, key)) = self.foreign_keys().first_reference(&name, std::slice::from_ref(&name)) {
            let table = format!("{}.{}", quote_identifier(&child.database), quote_identifier(&child.name));
            let what = format!("{table}, CONSTRAINT {}", quote_identifier(&key.name));
            return Err(error_code::ER_TRUNCATE_ILLEGAL_FK.with(&[&what]));
        }
        let mut change = catalog.begin_change();
        change.drop_table(before).await?;
        change.create_table(TableDef { auto_increment_start: 1, ..(**before).clone() }).await?;
        self.commit_change(change, shield).await?;
        Ok(Done::ok())
    }

    async fn create_database(
        &mut self,
        statement: CreateDatabase<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = statement.name.name;
        check_database_name(name)?;
        let lock = LockName::Database(name.into());
        let _locks = self.lock_for_change(vec![(lock, LockMode::Exclusive)]).await?;
        let catalog = self.instance().catalog().clone();
        if catalog.database(name).is_some() {
            let error = error_code::ER_DB_CREATE_EXISTS.with(&[&name]);
            if !statement.if_not_exists {
                return Err(error);
            }
            self.shared().note(error);
            return Ok(Done::affected(1));
        }
        let collation = database_collation(statement.options, self.settings().server_collation)?;
        let mut change = catalog.begin_change();
        change.create_database(DatabaseDef { name: name.to_owned(), collation }).await?;
        self.commit_change(change, shield).await?;
        Ok(Done::affected(1))
    }

    async fn alter_database(
        &mut self,
        statement: AlterDatabase<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = match (statement.name, self.database()) {
            (Some(name), _) => name.name.to_owned(),
            (None, Some(database)) => database.to_string(),
            (None, None) => return Err(error_code::ER_NO_DB_ERROR.plain()),
        };
        self.require_changeable(&name)?;
        let lock = LockName::Database(name.as_str().into());
        let _locks = self.lock_for_change(vec![(lock, LockMode::Exclusive)]).await?;
        let catalog = self.instance().catalog().clone();
        let present = catalog.database(&name).ok_or_else(|| ER_DB_DOES_NOT_EXIST.with(&[&name]))?;
        let collation = database_collation(statement.options, present.collation)?;
        let mut change = catalog.begin_change();
        change.create_database(DatabaseDef { collation, ..present }).await?;
        self.commit_change(change, shield).await?;
        if self.database() == Some(&*name) {
            self.use_database(&name)?;
        }
        Ok(Done::affected(1))
    }

    async fn drop_database(
        &mut self,
        statement: DropDatabase<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = statement.name.name;
        if SYSTEM_DATABASES.contains(&catalog::canonical_database(name)) {
            return Err(self.database_denied(name));
        }
        let database_lock = (LockName::Database(name.into()), LockMode::Exclusive);
        let catalog = self.instance().catalog().clone();
        let _database = self.lock_for_change(vec![database_lock]).await?;
        if catalog.database(name).is_none() {
            let error = error_code::ER_DB_DROP_EXISTS.with(&[&name]);
            if !statement.if_exists {
                return Err(error);
            }
            self.shared().note(error);
            return Ok(Done::affected(0));
        }
        // Nobody creates a table while the database is locked, so the list stays complete.
        let tables = catalog.tables(name).into_iter().map(|handle| TableName::of(handle.definition()));
        let tables: Vec<TableName> = tables.collect();
        let mut locks: Vec<_> = tables.iter().map(|table| (table.lock(), LockMode::Exclusive)).collect();
        let views = catalog.views(name).into_iter().map(|view| TableName::of_view(&view).lock());
        locks.extend(views.map(|view| (view, LockMode::Exclusive)));
        let relatives = || tables.iter().flat_map(|table| self.foreign_keys().relatives(table)).collect();
        let _tables = self.lock_with_relatives(locks, LockMode::Exclusive, relatives).await?;
        self.foreign_keys().check_drop(&tables)?;
        let events = catalog.programs(name);
        let mut change = catalog.begin_change();
        let table_count = change.drop_database(name).await?;
        self.commit_change(change, shield).await?;
        events.iter().for_each(|event| self.instance().events.forget(event.id));
        if self.database() == Some(name) {
            self.set_database(None);
        }
        Ok(Done::affected(table_count as u64))
    }
}
