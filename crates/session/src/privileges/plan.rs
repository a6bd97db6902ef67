//! Whether the account may run a plan: each need of each table and column against what it has.
//!
//! Called while the plan is made, so that errors tell nothing of what is forbidden, and before a plan of the cache runs.

use std::borrow::Cow;
use std::sync::Arc;

use auth::{Access, AccountName, ClientHost, Privilege, PrivilegeSet};
use datum::{SqlError, error_code};
use plan::{ColumnNeed, Plan, Rights, TableNeed};
use schema::ViewDef;

use super::refusal::listed;
use super::viewer::is_open_to_all;
use crate::session::Session;

fn privileges_of(rights: Rights) -> PrivilegeSet {
    let pairs = [
        (Rights::SELECT, Privilege::Select),
        (Rights::INSERT, Privilege::Insert),
        (Rights::UPDATE, Privilege::Update),
        (Rights::DELETE, Privilege::Delete),
    ];
    let held = pairs.into_iter().filter(|(right, _)| rights.has(*right));
    held.fold(PrivilegeSet::NONE, |set, (_, privilege)| set | privilege.into())
}

impl Session {
    /// What a plan does to its tables.
    pub fn require_plan(&self, plan: &Plan) -> Result<(), SqlError> {
        plan.views.iter().try_for_each(|view| self.permit_view(view))?;
        let is_own = |need: &TableNeed| need.user.as_ref().is_none_or(|user| user.definer.is_none());
        if self.privileges.is_full() && plan.needs.iter().all(is_own) {
            return Ok(());
        }
        for need in &plan.needs {
            self.permit_table(need)?;
            for column in &need.columns {
                self.permit_table_column(need, column)?;
            }
        }
        for used in &plan.functions {
            let (kind, privilege) = (schema::ProgramKind::Function, Privilege::Execute);
            self.require_routine(privilege, kind, &used.database, &used.name)?;
        }
        Ok(())
    }

    /// Error 1345: how a plan reads views is shown to those who may look below them.
    pub fn require_shown_views(&self, plan: &Plan) -> Result<(), SqlError> {
        let access = self.privileges.access();
        let shows =
            |view: &Arc<ViewDef>| access.table(&view.database, &view.name).has(Privilege::ShowView.into());
        let reads = |need: &TableNeed| {
            need.user.is_none()
                || is_open_to_all(&need.database, &need.table)
                || access.any_column(&need.database, &need.table).has(Privilege::Select.into())
        };
        match access.is_full() || plan.views.iter().all(shows) && plan.needs.iter().all(reads) {
            true => Ok(()),
            false => Err(error_code::ER_VIEW_NO_EXPLAIN.plain()),
        }
    }

    /// Error 1449, or 1045 for those who are not told, when the definer is no more.
    pub(crate) fn permit_view(&self, view: &ViewDef) -> Result<(), SqlError> {
        let name = AccountName::new(&view.definer_user, &view.definer_host);
        if view.as_invoker || self.instance.accounts().get(&name).is_some() {
            return Ok(());
        }
        match self.privileges.has_super_or(&[]) {
            true => Err(error_code::ER_NO_SUCH_USER.with(&[&view.definer_user, &view.definer_host])),
            false => Err(self.account_denied()),
        }
    }

    pub(crate) fn permit_table(&self, need: &TableNeed) -> Result<(), SqlError> {
        if self.is_own_table(need) {
            return Ok(());
        }
        let access = self.access_for(need)?;
        let permitted = if access.is_full() { Ok(()) } else { self.permit_table_to(&access, need) };
        permitted.map_err(|error| hidden(need, error))
    }

    /// Whoever made a temporary table may do everything with it.
    fn is_own_table(&self, need: &TableNeed) -> bool {
        need.user.is_none() && self.temporary.find(&need.database, &need.table).is_some()
    }

    fn permit_table_to(&self, access: &Access, need: &TableNeed) -> Result<(), SqlError> {
        let (database, table) = (need.database.as_str(), need.table.as_str());
        let (every, either) = (privileges_of(need.every), privileges_of(need.either));
        let select = Privilege::Select.into();
        if catalog::canonical_database(database) == catalog::INFORMATION_SCHEMA {
            return match (every | either).without(select).is_empty() {
                true => Ok(()),
                false => Err(self.database_denied(catalog::INFORMATION_SCHEMA)),
            };
        }
        if every == select && is_open_to_all(database, table) {
            return Ok(());
        }
        let held = access.any_column(database, table);
        let missing = every.without(held);
        if !missing.is_empty() {
            return Err(self.table_denied(&listed(missing), table));
        }
        if !either.is_empty() && !held.meets(either) {
            return Err(self.table_denied("SELECT", table));
        }
        let locking = [Privilege::Update, Privilege::Delete, Privilege::LockTables];
        if need.locks && !held.meets(PrivilegeSet::of(&locking)) {
            return Err(self.table_denied("SELECT with locking clause", table));
        }
        Ok(())
    }

    pub(crate) fn permit_table_column(&self, need: &TableNeed, column: &ColumnNeed) -> Result<(), SqlError> {
        if self.is_own_table(need) {
            return Ok(());
        }
        let access = self.access_for(need)?;
        let permitted = if access.is_full() { Ok(()) } else { self.permit_column_to(&access, need, column) };
        permitted.map_err(|error| hidden(need, error))
    }

    fn permit_column_to(
        &self,
        access: &Access,
        need: &TableNeed,
        column: &ColumnNeed,
    ) -> Result<(), SqlError> {
        let (database, table) = (need.database.as_str(), need.table.as_str());
        let is_open = catalog::canonical_database(database) == catalog::INFORMATION_SCHEMA
            || (need.every == Rights::SELECT && is_open_to_all(database, table));
        let needed = privileges_of(column.rights);
        if is_open || access.table(database, table).has(needed) {
            return Ok(());
        }
        let missing = needed.without(access.column(database, table, &column.name));
        match (missing.is_empty(), column.is_unnamed) {
            (true, _) => Ok(()),
            (false, true) => Err(self.table_denied(&listed(missing), table)),
            (false, false) => Err(self.column_denied(&listed(missing), &column.name, table)),
        }
    }

    /// The rights of those on whose behalf the table is read: of the definer of the view above it, or of the session.
    fn access_for<'s>(&'s self, need: &TableNeed) -> Result<Cow<'s, Access>, SqlError> {
        let definer = need.user.as_ref().and_then(|user| user.definer.as_ref());
        let Some((user, host)) = definer else { return Ok(Cow::Borrowed(self.privileges.access())) };
        let name = AccountName::new(user, host);
        if name == *self.privileges.account_name() {
            return Ok(Cow::Borrowed(self.privileges.access()));
        }
        let accounts = self.instance.accounts();
        match accounts.get(&name) {
            Some(account) => {
                let roles = self.instance.roles_at_login(&account);
                let partial = self.instance.partial_revokes();
                Ok(Cow::Owned(accounts.access(&account, ClientHost::Local, &roles, partial)))
            }
            None if self.privileges.has_super_or(&[]) => Err(error_code::ER_NO_SUCH_USER.with(&[user, host])),
            None => Err(self.account_denied()),
        }
    }
}

/// What is forbidden below a view is not told to those who use it.
fn hidden(need: &TableNeed, error: SqlError) -> SqlError {
    match &need.user {
        Some(user) => error_code::ER_VIEW_INVALID.with(&[&user.database, &user.view]),
        None => error,
    }
}
