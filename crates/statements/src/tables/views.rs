//! CREATE VIEW, ALTER VIEW and DROP VIEW.
//!
//! Each statement locks the views that it names and, while it looks at them, what their queries read; what it finds is
//! stored as one change of the dictionary.
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use auth::{AccountName, DynamicPrivilege};
use binder::Literals;
use catalog::{LockGuard, LockMode, check_column_name, check_table_name};
use datum::{SqlError, error_code};
use parser::ast::{CreateView, Definer, DropTable, Query, SqlSecurity, ViewAlgorithm, ViewCheck};
use planner::ViewQuery;
use schema::ViewDef;

use crate::caller::Caller;
use definition::TableName;
use session::PLAN_ATTEMPTS_MAX;
use session::Shield;
use session::{Done, Named};

impl Caller<'_> {
    pub(crate) async fn create_view(
        &mut self,
        statement: &CreateView<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = self.table_name(statement.name)?;
        self.require_changeable(&name.database)?;
        check_table_name(&name.name)?;
        if statement.query.into.is_some() {
            return Err(error_code::ER_VIEW_SELECT_CLAUSE.with(&[&"INTO"]));
        }
        let before = self.replaced_view(statement, &name);
        let before = if statement.if_not_exists { None } else { before? };
        let definer = self.view_definer(statement, before.as_deref())?;
        let locks = vec![(name.database_lock(), LockMode::Shared), (name.lock(), LockMode::Exclusive)];
        let _locks = self.lock_for_change(locks).await?;
        self.instance().catalog().require_database(&name.database)?;
        let before = match self.replaced_view(statement, &name) {
            Err(error) if statement.if_not_exists => {
                self.shared().note(error);
                return Ok(Done::ok());
            }
            before => before?,
        };
        let (query, _locks_below) = self.plan_view_query(statement, &name).await?;
        for column in &query.columns {
            check_column_name(&column.name)?;
        }
        let view = self.view_of(statement, name, definer, query, before.as_deref())?;
        let mut change = self.instance().catalog().begin_change();
        change.put_view(view).await?;
        self.commit_change(change, shield).await?;
        Ok(Done::ok())
    }

    /// The view that the statement replaces. Errors 1050, 1146 and 1347.
    fn replaced_view(
        &self,
        statement: &CreateView<'_>,
        name: &TableName,
    ) -> Result<Option<Arc<ViewDef>>, SqlError> {
        let catalog = self.instance().catalog();
        let replaces = statement.or_replace || statement.alter;
        if let Some(view) = catalog.view(&name.database, &name.name) {
            return match replaces {
                true => Ok(Some(view)),
                false => Err(error_code::ER_TABLE_EXISTS_ERROR.with(&[&name.name])),
            };
        }
        match catalog.is_named(&name.database, &name.name) {
            true if replaces => Err(session::not_a_view(name)),
            true => Err(error_code::ER_TABLE_EXISTS_ERROR.with(&[&name.name])),
            false if statement.alter => {
                catalog.require_database(&name.database)?;
                Err(error_code::ER_NO_SUCH_TABLE.with(&[&name.database, &name.name]))
            }
            false => Ok(None),
        }
    }

    /// The account on whose behalf the view reads.
    fn view_definer(
        &self,
        statement: &CreateView<'_>,
        before: Option<&ViewDef>,
    ) -> Result<AccountName, SqlError> {
        let own = self.privileges().account_name().clone();
        let definer = match (statement.definer, before) {
            (Some(Definer(user)), _) => self.account_of(user),
            (None, Some(before)) if statement.alter => {
                AccountName::new(&before.definer_user, &before.definer_host)
            }
            (None, _) => own.clone(),
        };
        if definer == own {
            return Ok(definer);
        }
        session::check_account_length(&definer)?;
        self.require_super_or(&[DynamicPrivilege::SetAnyDefiner], "SUPER or SET_ANY_DEFINER")?;
        if self.instance().accounts().get(&definer).is_none() {
            let missing = error_code::ER_NO_SUCH_USER.with(&[&definer.user, &definer.host.as_str()]);
            self.shared().note(missing);
        }
        Ok(definer)
    }

    /// What the view's query means, with the locks of what it reads.
    async fn plan_view_query(
        &mut self,
        statement: &CreateView<'_>,
        name: &TableName,
    ) -> Result<(ViewQuery, Vec<LockGuard>), SqlError> {
        for _ in 0..PLAN_ATTEMPTS_MAX {
            let mut context = self.planner_context(Literals::Inline, &[]);
            // Asked of those who use the view.
            context.binder.bind.sql_mode.0 &= !datum::SqlMode::ONLY_FULL_GROUP_BY.0;
            let query = planner::plan_view(statement.query, statement.columns, &**self, &context)?;
            if let Some(used) = query.plan.tables.iter().find(|used| used.table.temporary) {
                return Err(error_code::ER_VIEW_SELECT_TMPTABLE.with(&[&used.table.name]));
            }
            let is_own = |view: &Arc<ViewDef>| view.database == name.database && view.name == name.name;
            if query.plan.views.iter().any(is_own) {
                let own = (name.database.clone(), name.name.clone());
                return Err(match query.uses.contains(&own) {
                    true => error_code::ER_NO_SUCH_TABLE.with(&[&name.database, &name.name]),
                    false => error_code::ER_VIEW_RECURSIVE.with(&[&name.database, &name.name]),
                });
            }
            let prepared = self.prepare_plan(query.plan.clone())?;
            let locks = self.lock_for_change(prepared.locks.clone()).await?;
            if self.means_the_same(&prepared) {
                return Ok((query, locks));
            }
        }
        Err(error_code::ER_TABLE_DEF_CHANGED.plain())
    }

    fn view_of(
        &self,
        statement: &CreateView<'_>,
        name: TableName,
        definer: AccountName,
        query: ViewQuery,
        before: Option<&ViewDef>,
    ) -> Result<ViewDef, SqlError> {
        let kept = before.filter(|_| statement.alter);
        let mut algorithm = match statement.algorithm {
            Some(ViewAlgorithm::Merge) => schema::ViewAlgorithm::Merge,
            Some(ViewAlgorithm::TempTable) => schema::ViewAlgorithm::TempTable,
            Some(ViewAlgorithm::Undefined) => schema::ViewAlgorithm::Undefined,
            None => kept.map_or(schema::ViewAlgorithm::Undefined, |before| before.algorithm),
        };
        if algorithm == schema::ViewAlgorithm::Merge && !query.is_mergeable {
            self.shared().warning(error_code::ER_WARN_VIEW_MERGE.plain());
            algorithm = schema::ViewAlgorithm::Undefined;
        }
        let is_updatable = algorithm != schema::ViewAlgorithm::TempTable
            && query.is_mergeable
            && !binder::has_outer_join(statement.query)
            && query.columns.iter().any(|column| !column.original_name.is_empty())
            && self.reads_updatable(statement.query, query.reads_itself);
        let check = statement.check.map(|check| match check {
            ViewCheck::Cascaded => schema::ViewCheck::Cascaded,
            ViewCheck::Local => schema::ViewCheck::Local,
        });
        if check.is_some() && !is_updatable {
            return Err(error_code::ER_VIEW_NONUPD_CHECK.with(&[&name.database, &name.name]));
        }
        Ok(ViewDef {
            database: name.database,
            name: name.name,
            column_names: statement.columns.iter().map(|column| column.name.to_owned()).collect(),
            query: query.text,
            algorithm,
            as_invoker: match statement.security {
                Some(security) => security == SqlSecurity::Invoker,
                None => kept.is_some_and(|before| before.as_invoker),
            },
            definer_user: definer.user,
            definer_host: definer.host.as_str().to_owned(),
            check,
            is_updatable,
            uses: query.uses,
            charset_client: self.variables().by_name("character_set_client").as_text().to_owned(),
            collation_connection: self.settings().connection_collation.name().to_owned(),
            created_at: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |elapsed| elapsed.as_secs() as i64),
        })
    }

    /// Whether every member of FROM is a table whose rows can change, or a view of such; queries are not asked. Of several
    /// tables subqueries may read one again: the statement that changes it is refused.
    fn reads_updatable(&self, query: &Query<'_>, reads_itself: bool) -> bool {
        let mut tables = 0;
        let all = binder::for_each_table(query, &mut |name| {
            tables += 1;
            let Ok(name) = self.table_name(*name) else { return false };
            match self.resolve(&name.database, &name.name) {
                Some(Named::View(view)) => view.is_updatable,
                Some(Named::Virtual(table)) => table.definition().database != catalog::INFORMATION_SCHEMA,
                _ => true,
            }
        });
        all && tables > 0 && !(reads_itself && tables == 1)
    }

    /// DROP VIEW: all of the views, or none where one of them is no view.
    pub(crate) async fn drop_views(
        &mut self,
        statement: DropTable<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let mut names = Vec::with_capacity(statement.tables.len());
        for table in statement.tables {
            let name = self.table_name(*table)?;
            if names.contains(&name) {
                return Err(error_code::ER_NONUNIQ_TABLE.with(&[&name.name]));
            }
            self.require_changeable(&name.database)?;
            names.push(name);
        }
        let locks = names.iter().map(|name| (name.lock(), LockMode::Exclusive)).collect();
        let _locks = self.lock_for_change(locks).await?;
        let catalog = self.instance().catalog().clone();
        let (mut views, mut missing, mut tables) = (Vec::new(), Vec::new(), Vec::new());
        for name in &names {
            match catalog.view(&name.database, &name.name) {
                Some(view) => views.push(view),
                None if catalog.is_named(&name.database, &name.name) => tables.push(name),
                None => missing.push(name.dotted()),
            }
        }
        if !statement.if_exists {
            if let Some(table) = tables.first() {
                return Err(session::not_a_view(table));
            }
            if !missing.is_empty() {
                return Err(error_code::ER_BAD_TABLE_ERROR.with(&[&missing.join(",")]));
            }
        }
        missing.iter().for_each(|name| self.shared().note(error_code::ER_BAD_TABLE_ERROR.with(&[name])));
        tables.iter().for_each(|table| self.shared().note(session::not_a_view(table)));
        let mut change = catalog.begin_change();
        for view in &views {
            change.remove_view(view).await?;
        }
        self.commit_change(change, shield).await?;
        Ok(Done::ok())
    }
}
