//! Temporary tables: known to one session by name, gone with it.
//!
//! They are tables as others, in trees of the engine, with rows in the session's transactions; only their names are
//! the session's own and hide those of tables and views. Making and dropping one is no part of the open transaction: the
//! trees are made in a transaction of their own, and those of a dropped table go when no open transaction can need them.
//! What a session leaves behind when the server ends is removed at the next start.
use std::collections::BTreeMap;
use std::sync::Arc;

use bumpalo::Bump;
use catalog::{LockMode, check_table_name};
use datum::{SqlError, error_code};
use parser::ast::{
    AlterSpecification, ColumnReference, CreateTable, DuplicateHandling, Ident, Insert, InsertSource,
    ObjectName, Query, SchemaChangeOption, Span, Statement, StatementKind,
};
use plan::{OutputColumn, PlanKind, TableUsage};
use planner::Literals;
use schema::TableDef;
use table::TableHandle;

use crate::session::Session;
use crate::sink::ResultSink;
use crate::statement::guard::Shield;
use crate::statement::tables::alter_table::has_new_indexes;
use crate::statement::tables::online::AlterLocks;
use crate::statement::{Done, Effects, Request};
use definition::{Concurrency, TableName, choose_means, follow_renames, is_only_named};
use instance::PreparedPlan;

/// The temporary tables of a session.
#[derive(Default)]
pub(crate) struct TemporaryTables {
    tables: BTreeMap<TableName, Arc<TableHandle>>,
    /// Dropped ones, whose rows an open transaction may still roll back.
    doomed: Vec<Arc<TableDef>>,
    /// What the open transaction did that its end does not undo.
    has_created: bool,
    has_dropped: bool,
}

impl TemporaryTables {
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    pub fn find(&self, database: &str, name: &str) -> Option<&Arc<TableHandle>> {
        if self.tables.is_empty() {
            return None;
        }
        let database = catalog::canonical_database(database).to_owned();
        self.tables.get(&TableName { database, name: name.to_owned() })
    }

    pub fn has(&self, name: &TableName) -> bool {
        self.tables.contains_key(name)
    }

    fn put(&mut self, handle: Arc<TableHandle>) {
        self.tables.insert(TableName::of(handle.definition()), handle);
    }
}

impl Session {
    /// The table that a statement of data definition means.
    pub fn stored_table(&self, name: &TableName) -> Result<Arc<TableHandle>, SqlError> {
        match self.temporary.find(&name.database, &name.name) {
            Some(table) => Ok(table.clone()),
            None => self.instance.catalog().require_table(&name.database, &name.name),
        }
    }

    pub(in crate::statement) async fn create_temporary(
        &mut self,
        statement: &CreateTable<'_>,
        request: Request<'_>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if statement.partitioning.is_some() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"partitioning"]));
        }
        let name = self.table_name(statement.name)?;
        self.require_changeable(&name.database)?;
        check_table_name(&name.name)?;
        self.instance.catalog().require_database(&name.database)?;
        if self.temporary.has(&name) {
            let error = error_code::ER_TABLE_EXISTS_ERROR.with(&[&name.name]);
            if !statement.if_not_exists {
                return Err(error);
            }
            self.shared.note(error);
            return Ok(Done::ok());
        }
        let source = match statement.query {
            Some(query) => Some(self.plan_temporary_source(query, request).await?),
            None => None,
        };
        let definition = self.temporary_definition(statement, &name, source.as_ref()).await?;
        let mut change = self.instance.catalog().begin_change();
        let handle = change.create_table(definition).await?;
        self.commit_unlogged(change, shield).await?;
        self.temporary.has_created |= self.transaction.explicit;
        let (Some(query), Some(source)) = (statement.query, source) else {
            self.temporary.put(handle);
            return Ok(Done::ok());
        };
        // The query may read a table of the same name.
        let filling = TableName { name: format!("{FILLING} {}", name.name), ..name };
        self.temporary.tables.insert(filling.clone(), handle.clone());
        let filled = self.fill_temporary(statement, (query, &source), &filling, request, shield, sink).await;
        if filled.is_err() {
            self.doom(&filling);
        } else {
            self.temporary.tables.remove(&filling);
            self.temporary.put(handle);
        }
        filled
    }

    async fn plan_temporary_source(
        &mut self,
        query: &Query<'_>,
        request: Request<'_>,
    ) -> Result<PreparedPlan, SqlError> {
        let source =
            Statement { kind: StatementKind::Query(query), span: query.span, hints: request.statement.hints };
        let request = Request { statement: &source, ..request };
        let make = |session: &Session| session.plan_request(request, Literals::Inline, Vec::new());
        let plan = self.plan_knowing(make).await?;
        self.prepare_plan(plan)
    }

    async fn temporary_definition(
        &self,
        statement: &CreateTable<'_>,
        name: &TableName,
        source: Option<&PreparedPlan>,
    ) -> Result<TableDef, SqlError> {
        let mut definition = match statement.like {
            None => self.definition_of(statement, name, source)?,
            Some(like) => {
                let like = self.table_name(like)?;
                let is_own = self.temporary.has(&like);
                let locks = if is_own { Vec::new() } else { vec![(like.lock(), LockMode::Shared)] };
                let _lock = self.lock_for_change(locks).await?;
                self.definition_like(&like, name)?
            }
        };
        refuse_foreign_keys(&definition)?;
        definition.temporary = true;
        definition.created_at = crate::statement::tables::create_table::seconds_now();
        definition.choose_clustering();
        Ok(definition)
    }

    /// The rows of CREATE .. SELECT are inserted as those of INSERT .. SELECT.
    async fn fill_temporary(
        &mut self,
        statement: &CreateTable<'_>,
        (query, source): (&Query<'_>, &PreparedPlan),
        table: &TableName,
        request: Request<'_>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let PlanKind::Query(planned) = &source.plan.kind else { return Ok(Done::ok()) };
        let arena = Bump::new();
        let reference =
            |column: &OutputColumn| ColumnReference { qualifier: None, name: arena.alloc_str(&column.name) };
        let columns: Vec<ColumnReference<'_>> = planned.columns.iter().map(reference).collect();
        let insert = Insert {
            replace: statement.duplicates == Some(DuplicateHandling::Replace),
            priority: None,
            ignore: statement.duplicates == Some(DuplicateHandling::Ignore),
            hints: None,
            table: ObjectName { database: Some(ident(&table.database)), name: ident(&table.name) },
            partitions: &[],
            columns: Some(&columns),
            source: InsertSource::Query(query),
            row_alias: None,
            on_duplicate: &[],
        };
        let inserting = Statement {
            kind: StatementKind::Insert(&insert),
            span: request.statement.span,
            hints: request.statement.hints,
        };
        let request = Request { statement: &inserting, ..request };
        Box::pin(self.run_planned(request, None, shield, sink)).await
    }

    /// Forgets a table; its trees go later.
    pub(in crate::statement) fn doom(&mut self, name: &TableName) {
        if let Some(handle) = self.temporary.tables.remove(name) {
            self.temporary.doomed.push(handle.definition().clone());
            self.temporary.has_dropped |= self.transaction.explicit;
        }
    }

    /// Removes what no transaction can need any more.
    pub(crate) async fn remove_doomed(&mut self) {
        if self.temporary.doomed.is_empty() || self.transaction.is_open() {
            return;
        }
        let doomed = std::mem::take(&mut self.temporary.doomed);
        if let Err(error) = self.drop_trees_of(&doomed).await {
            // The next start removes them.
            self.instance.log(&format!("a temporary table stays until the server is restarted: {error}"));
        }
    }

    async fn drop_trees_of(&self, tables: &[Arc<TableDef>]) -> Result<(), SqlError> {
        let mut change = self.instance.catalog().begin_change();
        for table in tables {
            change.drop_table(table).await?;
        }
        change.commit().await
    }

    /// The session ends, or starts anew: no transaction is open.
    pub(crate) async fn drop_temporary_tables(&mut self) {
        let temporary = std::mem::take(&mut self.temporary);
        let live = temporary.tables.into_values().map(|handle| handle.definition().clone());
        self.temporary.doomed = temporary.doomed.into_iter().chain(live).collect();
        self.remove_doomed().await;
    }

    /// What a rollback leaves as it is, told to the client.
    pub(in crate::statement) fn warn_of_temporary(&mut self, is_rollback: bool) {
        let created = std::mem::take(&mut self.temporary.has_created);
        let dropped = std::mem::take(&mut self.temporary.has_dropped);
        if is_rollback && created {
            self.shared.warning(ER_WARNING_NOT_COMPLETE_ROLLBACK_CREATED.plain());
        }
        if is_rollback && dropped {
            self.shared.warning(ER_WARNING_NOT_COMPLETE_ROLLBACK_DROPPED.plain());
        }
    }

    pub(in crate::statement) async fn truncate_temporary(
        &mut self,
        handle: Arc<TableHandle>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let before = handle.definition();
        let mut change = self.instance.catalog().begin_change();
        change.drop_table(before).await?;
        let empty = TableDef { auto_increment_start: 1, ..(**before).clone() };
        let handle = change.create_table(empty).await?;
        self.commit_unlogged(change, shield).await?;
        self.temporary.put(handle);
        Ok(Done::ok())
    }

    pub(in crate::statement) async fn alter_temporary(
        &mut self,
        name: TableName,
        to: Option<TableName>,
        specifications: &[AlterSpecification<'_>],
        options: SchemaChangeOption,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        if let Some(to) = &to {
            check_table_name(&to.name)?;
            self.instance.catalog().require_database(&to.database)?;
            if self.temporary.has(to) {
                return Err(error_code::ER_TABLE_EXISTS_ERROR.with(&[&to.name]));
            }
        }
        let mut alteration = self.alteration(&name, specifications, options)?;
        alteration.after.temporary = true;
        refuse_foreign_keys(&alteration.after)?;
        if let Some(to) = &to {
            follow_renames(&mut alteration.after, |known| (*known == name).then(|| to.clone()))?;
        }
        self.settle_rows(&mut alteration);
        choose_means(&alteration, has_new_indexes(&alteration), options)?;
        let mut change = self.instance.catalog().begin_change();
        let mut locks = AlterLocks::none();
        let (table, copied) = match alteration.rebuild {
            true => self.rebuild(&mut change, alteration, (&mut locks, Concurrency::Nobody)).await?,
            false => {
                let locking = (&mut locks, Concurrency::Nobody);
                self.change_in_place(&mut change, alteration, &[], locking).await?
            }
        };
        self.commit_unlogged(change, shield).await?;
        self.temporary.tables.remove(&name);
        self.temporary.put(table);
        if is_only_named(specifications, options) {
            return Ok(Done::ok());
        }
        let warnings = self.shared.diagnostics.lock().count();
        let info = format!("Records: {copied}  Duplicates: 0  Warnings: {warnings}");
        Ok(Done::Ok(Effects { affected_rows: copied, last_insert_id: 0, info: info.into() }))
    }

    /// Error 4091: a branch that is prepared may outlive the session, which its temporary tables do not.
    pub(in crate::statement) fn check_xa_tables(&self, plan: &plan::Plan) -> Result<(), SqlError> {
        match self.xa.is_some() && plan.tables.iter().any(|used| used.table.temporary) {
            true => Err(ER_XA_TEMP_TABLE.plain()),
            false => Ok(()),
        }
    }
}

/// Whether a plan changes or locks rows that others know.
pub(in crate::statement) fn changes_shared(plan: &plan::Plan) -> bool {
    plan.tables.iter().any(|used| used.usage >= TableUsage::ReadForUpdate && !used.table.temporary)
}

fn ident(name: &str) -> Ident<'_> {
    Ident { name, span: Span::default() }
}

/// What stands before the name of a table that is being filled; no statement can write the whole.
const FILLING: &str = "filling\0";

/// Error 1215.
fn refuse_foreign_keys(definition: &TableDef) -> Result<(), SqlError> {
    match definition.foreign_keys.is_empty() {
        true => Ok(()),
        false => Err(ER_CANNOT_ADD_FOREIGN.plain()),
    }
}

const ER_CANNOT_ADD_FOREIGN: datum::ErrorCode =
    datum::ErrorCode::new(1215, "HY000", "Cannot add foreign key constraint");
const ER_WARNING_NOT_COMPLETE_ROLLBACK_CREATED: datum::ErrorCode =
    datum::ErrorCode::new(1751, "HY000", "The creation of some temporary tables could not be rolled back.");
const ER_WARNING_NOT_COMPLETE_ROLLBACK_DROPPED: datum::ErrorCode = datum::ErrorCode::new(
    1752,
    "HY000",
    "Some temporary tables were dropped, but these operations could not be rolled back.",
);
const ER_XA_TEMP_TABLE: datum::ErrorCode = datum::ErrorCode::new(
    4091,
    "HY000",
    "XA: Temporary tables cannot be accessed inside XA transactions when xa_detach_on_prepare=ON",
);
