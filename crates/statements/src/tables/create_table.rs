//! CREATE TABLE: from a list of columns, like another table, from a query.
use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use catalog::{LockGuard, LockMode, check_table_name};
use datum::{SqlError, error_code};
use parser::ast::{CreateTable, DuplicateHandling};
use plan::PlanKind;
use schema::TableDef;

use crate::caller::Caller;
use crate::tables::create_select::{Filled, unpublished};
use definition::{
    ER_FOREIGN_KEY_WITH_CREATE_SELECT, TableName, add_query_columns, checks_like, draft_of_create,
    referenced_by,
};
use instance::PreparedPlan;
use session::Shield;
use session::{Done, Effects, Request};

impl Caller<'_> {
    pub(crate) async fn create_table(
        &mut self,
        statement: &CreateTable<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        if statement.partitioning.is_some() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"partitioning"]));
        }
        let name = self.table_name(statement.name)?;
        self.require_changeable(&name.database)?;
        check_table_name(&name.name)?;
        let like = statement.like.map(|like| self.table_name(like)).transpose()?;
        // A table that is there already is found before the wait for those who use it, and once more behind it.
        if self.exists_already(statement, &name)? {
            return Ok(Done::ok());
        }
        let parents = referenced_by(&name.database, statement.elements);
        if !parents.is_empty() && statement.query.is_some() {
            return Err(ER_FOREIGN_KEY_WITH_CREATE_SELECT.plain());
        }
        let _locks = self.lock_created(&name, like.as_ref(), parents).await?;
        self.instance().catalog().require_database(&name.database)?;
        if self.exists_already(statement, &name)? {
            return Ok(Done::ok());
        }
        let source = self.plan_source(statement, request).await?;
        let mut definition = match like {
            Some(like) => self.definition_like(&like, &name)?,
            None => self.definition_of(statement, &name, source.as_ref())?,
        };
        definition.created_at = seconds_now();
        definition.choose_clustering();
        self.check_check_names(None, &definition)?;
        self.foreign_keys().check_foreign_keys(None, &mut definition)?;
        self.foreign_keys().check_waiting_children(&definition)?;
        self.create_and_fill(definition, (source, statement.duplicates), request, shield).await
    }

    /// Error 1050 for an existing table, a note with IF NOT EXISTS.
    fn exists_already(&self, statement: &CreateTable<'_>, name: &TableName) -> Result<bool, SqlError> {
        if !self.instance().catalog().is_named(&name.database, &name.name) {
            return Ok(false);
        }
        let error = error_code::ER_TABLE_EXISTS_ERROR.with(&[&name.name]);
        if !statement.if_not_exists {
            return Err(error);
        }
        self.shared().note(error);
        Ok(true)
    }

    async fn lock_created(
        &self,
        name: &TableName,
        like: Option<&TableName>,
        parents: BTreeSet<TableName>,
    ) -> Result<Vec<LockGuard>, SqlError> {
        let mut locks = vec![(name.database_lock(), LockMode::Shared), (name.lock(), LockMode::Exclusive)];
        if let Some(like) = like {
            locks.push((like.lock(), LockMode::Shared));
        }
        self.lock_with_relatives(locks, LockMode::Exclusive, || {
            &self.foreign_keys().relatives(name) | &parents
        })
        .await
    }

    pub(crate) fn definition_like(&self, like: &TableName, name: &TableName) -> Result<TableDef, SqlError> {
        let source = self.stored_table(like)?;
        Ok(TableDef {
            temporary: false,
            database: name.database.clone(),
            name: name.name.clone(),
            auto_increment_start: 1,
            foreign_keys: Vec::new(),
            checks: checks_like(source.definition(), &name.name),
            ..(**source.definition()).clone()
        })
    }

    pub(crate) fn definition_of(
        &self,
        statement: &CreateTable<'_>,
        name: &TableName,
        source: Option<&PreparedPlan>,
    ) -> Result<TableDef, SqlError> {
        let database = self.instance().catalog().require_database(&name.database)?;
        let defaults = self.definition_context();
        let mut context = defaults.context();
        let mut draft = draft_of_create(statement, &name.database, database.collation, &mut context)?;
        if let Some(PlanKind::Query(query)) = source.map(|source| &source.plan.kind) {
            add_query_columns(self.instance().catalog(), &mut draft, &query.columns)?;
        }
        let (definition, _) = draft.finish(&mut context)?;
        self.keep_conditions(context.conditions);
        Ok(definition)
    }

    async fn create_and_fill(
        &mut self,
        mut definition: TableDef,
        (source, duplicates): (Option<PreparedPlan>, Option<DuplicateHandling>),
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let mut change = self.instance().catalog().begin_change();
        let Some(source) = source else {
            change.create_table(definition).await?;
            self.commit_change(change, shield).await?;
            return Ok(Done::ok());
        };
        self.lock_plan(&source).await?;
        definition.id = self.instance().catalog().new_table_id();
        change.create_trees(&mut definition).await?;
        let handle = unpublished(&definition);
        self.log_created(&mut change, &definition);
        let parameters = request.parameters.to_vec();
        let filled = self.fill_from(&mut change, &handle, (&source, duplicates), parameters).await?;
        definition.auto_increment_start = definition.auto_increment_start.max(handle.auto_increment().peek());
        change.put_table(definition).await?;
        self.commit_change(change, shield).await?;
        self.commit_open(shield).await?;
        let warnings = self.shared().diagnostics.lock().count();
        let Filled { records, duplicates, affected } = filled;
        let info = format!("Records: {records}  Duplicates: {duplicates}  Warnings: {warnings}");
        Ok(Done::Ok(Effects { affected_rows: affected, last_insert_id: 0, info: info.into() }))
    }
}

pub(crate) fn seconds_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs() as i64)
}
