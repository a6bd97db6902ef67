//! GRANT of privileges: only what the session's account has itself, at that level, with the right to pass it on.
//!
//! Called by `account_statement`; REVOKE asks for the same rights.
use std::sync::Arc;

use auth::{Account, AccountName, DynamicSet, Privilege, PrivilegeSet, ProxyGrant, RoutineKind};
use datum::{SqlError, error_code};
use parser::ast::Grant;
use schema::ProgramKind;

use super::privilege_list::{Granted, Target, granted};
use crate::caller::Caller;
use definition::TableName;
use session::Done;
use session::listed;

/// What may be granted on the tables of `performance_schema`.
const PERFORMANCE_SCHEMA: &[Privilege] = &[
    Privilege::Select,
    Privilege::Insert,
    Privilege::Update,
    Privilege::Delete,
    Privilege::Drop,
    Privilege::LockTables,
    Privilege::GrantOption,
];

impl Caller<'_> {
    pub(super) fn grant(&mut self, statement: &Grant<'_>) -> Result<Done, SqlError> {
        if statement.as_clause.is_some() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"GRANT .. AS"]));
        }
        let target = self.grant_target(statement.target)?;
        let mut granted = granted(statement.privileges, &target)?;
        self.require_grantable(&granted, &target)?;
        self.check_granted_object(&granted, &target)?;
        // With dynamic privileges alone the clause is about them.
        if statement.grant_option && (granted.dynamic.is_empty() || !granted.everything().is_empty()) {
            granted.whole |= Privilege::GrantOption.into();
        }
        for user in statement.users {
            let name = self.named_account(*user)?;
            if self.changeable(&name)?.is_none() {
                return Err(ER_CANT_CREATE_USER_WITH_GRANT.plain());
            }
            let origin = self.origin();
            // Who grants everywhere but for some databases grants just that.
            let restrictions = match target {
                Target::Global => self.privileges().access().restrictions().clone(),
                _ => Default::default(),
            };
            let change = |account: &mut Account| {
                put_grant(account, &granted, &target, statement.grant_option, origin);
                for (database, set) in restrictions {
                    let kept = set.common(granted.whole);
                    if !kept.is_empty() {
                        *account.grants.restrictions.entry(database).or_default() |= kept;
                    }
                }
            };
            let changed = self.instance().accounts().change(&name, change);
            changed.map_err(|_| ER_CANT_CREATE_USER_WITH_GRANT.plain())?;
        }
        Ok(Done::ok())
    }

    /// Whether the session may grant or revoke this. Nothing but USAGE needs the grant option as well.
    pub(super) fn require_grantable(&self, granted: &Granted, target: &Target) -> Result<(), SqlError> {
        if self.privileges().is_full() {
            return self.check_fixed_databases(granted, target);
        }
        let access = self.privileges().access();
        let option: PrivilegeSet = Privilege::GrantOption.into();
        match target {
            Target::Global => {
                let only_dynamic = granted.whole.is_empty() && !granted.dynamic.is_empty();
                if !only_dynamic && !access.global.has(granted.whole | option) {
                    return Err(self.account_denied());
                }
                match access.grantable.has(granted.dynamic)
                    || self.privileges().has_global(Privilege::Super) && granted.dynamic == DynamicSet::NONE
                {
                    true => Ok(()),
                    false => Err(session::Session::privilege_missing(Privilege::GrantOption.name())),
                }
            }
            Target::Database(pattern) => {
                self.check_fixed_databases(granted, target)?;
                match access.database_pattern(pattern).has(granted.whole | option) {
                    true => Ok(()),
                    false => Err(self.database_denied(pattern)),
                }
            }
            Target::Table(table) => {
                self.check_fixed_databases(granted, target)?;
                self.require_grantable_table(granted, table)
            }
            Target::Routine(kind, routine) => {
                let held = access.routine(*kind, &routine.database, &routine.name);
                let missing = (granted.whole | option).without(held);
                match missing.is_empty() {
                    true => Ok(()),
                    false => {
                        let name = self.privileges().account_name();
                        let host = name.host.as_str();
                        let what = listed(missing).to_lowercase();
                        Err(ER_PROCACCESS_DENIED.with(&[&what, &name.user, &host, &routine.dotted()]))
                    }
                }
            }
            Target::Proxy(account) => self.require_grantable_proxy(account),
        }
    }

    fn require_grantable_table(&self, granted: &Granted, table: &TableName) -> Result<(), SqlError> {
        let access = self.privileges().access();
        let (database, name) = (table.database.as_str(), table.name.as_str());
        let mut missing =
            (granted.whole | Privilege::GrantOption.into()).without(access.table(database, name));
        for (column, set) in &granted.columns {
            missing |= set.without(access.column(database, name, column));
        }
        if missing.is_empty() {
            return Ok(());
        }
        // What a column has does not suffice, and is not told to be missing.
        let told = missing.without(access.any_column(database, name));
        Err(self.table_denied(&listed(if told.is_empty() { missing } else { told }), name))
    }

    /// Who may act as somebody else and pass that on.
    fn require_grantable_proxy(&self, account: &AccountName) -> Result<(), SqlError> {
        let may = self.privileges().account().is_some_and(|own| {
            let proxies = &own.grants.proxies;
            own.name == *account
                || [account, &AccountName::anybody()]
                    .iter()
                    .any(|name| proxies.get(name).is_some_and(|proxy| proxy.with_grant))
        });
        match may {
            true => Ok(()),
            false => {
                Err(ER_ACCESS_DENIED_NO_PASSWORD.with(&[&self.connection().user, &self.connection().host]))
            }
        }
    }

    /// Nobody changes rights on the databases that are no databases.
    fn check_fixed_databases(&self, granted: &Granted, target: &Target) -> Result<(), SqlError> {
        let database = match target {
            Target::Database(name) => name,
            Target::Table(table) => &table.database,
            _ => return Ok(()),
        };
        let possible = PrivilegeSet::of(PERFORMANCE_SCHEMA);
        let is_fixed = *database == catalog::INFORMATION_SCHEMA
            || (database == "performance_schema" && !possible.has(granted.everything()));
        match is_fixed {
            true => Err(self.database_denied_to_client(database)),
            false => Ok(()),
        }
    }

    /// The table, its columns or the routine must be there; with CREATE a table need not.
    fn check_granted_object(&self, granted: &Granted, target: &Target) -> Result<(), SqlError> {
        match target {
            Target::Table(table) => {
                let catalog = self.instance().catalog();
                let stored =
                    catalog.table(&table.database, &table.name).map(|table| table.definition().clone());
                let made = || {
                    let made = self.instance().virtual_tables.find(&table.database, &table.name);
                    made.map(|table| table.definition().clone())
                };
                let view = || {
                    let view = catalog.view(&table.database, &table.name)?;
                    self.view_columns().table_of(&view).ok().map(Arc::new)
                };
                let Some(definition) = stored.or_else(made).or_else(view) else {
                    let may_be_absent =
                        granted.whole.has(Privilege::Create.into()) && granted.columns.is_empty();
                    return match may_be_absent {
                        true => Ok(()),
                        false => Err(error_code::ER_NO_SUCH_TABLE.with(&[&table.database, &table.name])),
                    };
                };
                match granted.columns.keys().find(|column| definition.column_named(column).is_none()) {
                    Some(column) => Err(error_code::ER_BAD_FIELD_ERROR.with(&[column, &table.name])),
                    None => Ok(()),
                }
            }
            Target::Routine(kind, routine) => {
                let of = match kind {
                    RoutineKind::Procedure => Some(ProgramKind::Procedure),
                    RoutineKind::Function => Some(ProgramKind::Function),
                    RoutineKind::Library => None,
                };
                let catalog = self.instance().catalog();
                match of.and_then(|kind| catalog.program(kind, &routine.database, &routine.name)) {
                    Some(_) => Ok(()),
                    None => Err(error_code::ER_SP_DOES_NOT_EXIST.with(&[&kind.name(), &routine.name])),
                }
            }
            Target::Global | Target::Database(_) | Target::Proxy(_) => Ok(()),
        }
    }
}

fn put_grant(
    account: &mut Account,
    granted: &Granted,
    target: &Target,
    with_grant: bool,
    origin: auth::Origin,
) {
    let grants = &mut account.grants;
    match target {
        Target::Global => {
            grants.global |= granted.whole;
            grants.dynamic |= granted.dynamic;
            if with_grant {
                grants.grantable |= granted.dynamic;
            }
            grants.restrictions.retain(|_, set| {
                *set = set.without(granted.whole);
                !set.is_empty()
            });
        }
        Target::Database(pattern) => {
            grants.grant_database(pattern, granted.whole);
            if let Some(set) = grants.restrictions.get_mut(pattern) {
                let lifted = set.common(granted.whole);
                *set = set.without(granted.whole);
                if set.is_empty() {
                    grants.restrictions.remove(pattern);
                }
                // What holds everywhere again needs no entry of its own.
                grants.revoke_database(pattern, lifted);
            }
        }
        Target::Table(table) => {
            grants.change_table(&(table.database.clone(), table.name.clone()), |entry| {
                entry.table |= granted.whole;
                for (column, set) in &granted.columns {
                    entry.grant_column(column, *set);
                }
                entry.origin = origin;
            });
        }
        Target::Routine(kind, routine) => {
            let key = (*kind, (routine.database.clone(), routine.name.clone()));
            let entry = grants.routines.entry(key).or_default();
            entry.privileges |= granted.whole;
            entry.origin = origin;
        }
        Target::Proxy(name) => {
            grants.proxies.insert(name.clone(), ProxyGrant { with_grant, origin });
        }
    }
}

const ER_CANT_CREATE_USER_WITH_GRANT: datum::ErrorCode =
    datum::ErrorCode::new(1410, "42000", "You are not allowed to create a user with GRANT");
const ER_ACCESS_DENIED_NO_PASSWORD: datum::ErrorCode =
    datum::ErrorCode::new(1698, "28000", "Access denied for user '%s'@'%s'");
const ER_PROCACCESS_DENIED: datum::ErrorCode =
    datum::ErrorCode::new(1370, "42000", "%s command denied to user '%s'@'%s' for routine '%s'");
