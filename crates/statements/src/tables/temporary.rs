//! CREATE TEMPORARY TABLE, and ALTER and TRUNCATE of one.
//!
//! The session keeps the tables and their names. Making one is no part of the open transaction: its trees are made in a
//! transaction of their own. Called where the statement's table turns out to be temporary.
use std::sync::Arc;

use binder::Literals;
use bumpalo::Bump;
use catalog::{LockMode, check_table_name};
use datum::{SqlError, error_code};
use parser::ast::{
    AlterSpecification, ColumnReference, CreateTable, DuplicateHandling, Ident, Insert, InsertSource,
    ObjectName, Query, SchemaChangeOption, Span, Statement, StatementKind,
};
use plan::{OutputColumn, PlanKind};
use schema::TableDef;
use table::TableHandle;

use super::alter_table::has_new_indexes;
use super::online::AlterLocks;
use crate::caller::Caller;
use definition::{Concurrency, TableName, choose_means, follow_renames, is_only_named};
use instance::PreparedPlan;
use session::ResultSink;
use session::Shield;
use session::{Done, Effects, Request};

impl Caller<'_> {
    pub(crate) async fn create_temporary(
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
        self.instance().catalog().require_database(&name.database)?;
        if self.has_temporary(&name) {
            let error = error_code::ER_TABLE_EXISTS_ERROR.with(&[&name.name]);
            if !statement.if_not_exists {
                return Err(error);
            }
            self.shared().note(error);
            return Ok(Done::ok());
        }
        let source = match statement.query {
            Some(query) => Some(self.plan_temporary_source(query, request).await?),
            None => None,
        };
        let definition = self.temporary_definition(statement, &name, source.as_ref()).await?;
        let mut change = self.instance().catalog().begin_change();
        let handle = change.create_table(definition).await?;
        self.commit_unlogged(change, shield).await?;
        self.note_temporary_made();
        let (Some(query), Some(source)) = (statement.query, source) else {
            self.put_temporary(handle);
            return Ok(Done::ok());
        };
        // The query may read a table of the same name.
        let filling = TableName { name: format!("{FILLING} {}", name.name), ..name };
        self.put_temporary_as(filling.clone(), handle.clone());
        let filled = self.fill_temporary(statement, (query, &source), &filling, request, shield, sink).await;
        if filled.is_err() {
            self.doom(&filling);
        } else {
            self.take_temporary(&filling);
            self.put_temporary(handle);
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
        let make = |session: &session::Session| session.plan_request(request, Literals::Inline, Vec::new());
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
                let is_own = self.has_temporary(&like);
                let locks = if is_own { Vec::new() } else { vec![(like.lock(), LockMode::Shared)] };
                let _lock = self.lock_for_change(locks).await?;
                self.definition_like(&like, name)?
            }
        };
        refuse_foreign_keys(&definition)?;
        definition.temporary = true;
        definition.created_at = super::create_table::seconds_now();
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

    pub(crate) async fn truncate_temporary(
        &mut self,
        handle: Arc<TableHandle>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let before = handle.definition();
        let mut change = self.instance().catalog().begin_change();
        change.drop_table(before).await?;
        let empty = TableDef { auto_increment_start: 1, ..(**before).clone() };
        let handle = change.create_table(empty).await?;
        self.commit_unlogged(change, shield).await?;
        self.put_temporary(handle);
        Ok(Done::ok())
    }

    pub(crate) async fn alter_temporary(
        &mut self,
        name: TableName,
        to: Option<TableName>,
        specifications: &[AlterSpecification<'_>],
        options: SchemaChangeOption,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        if let Some(to) = &to {
            check_table_name(&to.name)?;
            self.instance().catalog().require_database(&to.database)?;
            if self.has_temporary(to) {
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
        let mut change = self.instance().catalog().begin_change();
        let mut locks = AlterLocks::none();
        let (table, copied) = match alteration.rebuild {
            true => self.rebuild(&mut change, alteration, (&mut locks, Concurrency::Nobody)).await?,
            false => {
                let locking = (&mut locks, Concurrency::Nobody);
                self.change_in_place(&mut change, alteration, &[], locking).await?
            }
        };
        self.commit_unlogged(change, shield).await?;
        self.take_temporary(&name);
        self.put_temporary(table);
        if is_only_named(specifications, options) {
            return Ok(Done::ok());
        }
        let warnings = self.shared().diagnostics.lock().count();
        let info = format!("Records: {copied}  Duplicates: 0  Warnings: {warnings}");
        Ok(Done::Ok(Effects { affected_rows: copied, last_insert_id: 0, info: info.into() }))
    }
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
