//! REVOKE of privileges, partial revokes among them.
//!
//! Called by `account_statement`. IF EXISTS and IGNORE UNKNOWN USER turn errors into warnings.
use auth::{Account, AccountName, Privilege, PrivilegeSet};
use datum::{SqlError, error_code};
use parser::ast::Revoke;

use super::ER_USER_DOES_NOT_EXIST;
use super::privilege_list::{Granted, Target, granted};
use crate::caller::Caller;
use session::Done;

impl Caller<'_> {
    pub(super) fn revoke(&mut self, statement: &Revoke<'_>) -> Result<Done, SqlError> {
        let Some(target) = statement.target else { return self.revoke_everything(statement) };
        let target = self.grant_target(target)?;
        let granted = granted(statement.privileges, &target)?;
        self.require_grantable(&granted, &target)?;
        for user in statement.users {
            let name = self.named_account(*user)?;
            let Some(present) = self.changeable(&name)? else {
                if statement.ignore_unknown_user {
                    self.shared().warning(ER_USER_DOES_NOT_EXIST.with(&[&name.user]));
                    continue;
                }
                let error = error_code::ER_NONEXISTING_GRANT.with(&[&name.user, &name.host.as_str()]);
                self.tolerate(error, statement.if_exists)?;
                continue;
            };
            let mut changed = (*present).clone();
            if let Err(error) = self.take(&mut changed, &granted, &target) {
                self.tolerate(error, statement.if_exists)?;
                continue;
            }
            let _ = self.instance().accounts().change(&name, |account| *account = changed);
        }
        Ok(Done::ok())
    }

    fn tolerate(&self, error: SqlError, is_tolerated: bool) -> Result<(), SqlError> {
        if !is_tolerated {
            return Err(error);
        }
        self.shared().warning(error);
        Ok(())
    }

    /// REVOKE ALL PRIVILEGES, GRANT OPTION FROM ..
    fn revoke_everything(&mut self, statement: &Revoke<'_>) -> Result<Done, SqlError> {
        self.require_account_change(Privilege::Update)?;
        for user in statement.users {
            let name = self.named_account(*user)?;
            if self.changeable(&name)?.is_none() {
                if statement.ignore_unknown_user {
                    self.shared().warning(ER_USER_DOES_NOT_EXIST.with(&[&name.user]));
                    continue;
                }
                return Err(ER_REVOKE_GRANTS.plain());
            }
            let _ = self.instance().accounts().change(&name, |account| account.grants.revoke_all());
        }
        Ok(Done::ok())
    }

    /// Takes it from the account; an error when there is nothing to take it from.
    fn take(&self, account: &mut Account, granted: &Granted, target: &Target) -> Result<(), SqlError> {
        let name = account.name.clone();
        let grants = &mut account.grants;
        match target {
            Target::Global => {
                grants.global = grants.global.without(granted.whole);
                grants.dynamic = grants.dynamic.without(granted.dynamic);
                grants.grantable = grants.grantable.without(granted.dynamic);
                let left = grants.global;
                grants.restrictions.retain(|_, set| {
                    *set = set.common(left);
                    !set.is_empty()
                });
                Ok(())
            }
            Target::Database(pattern) => self.take_database(account, granted.whole, pattern),
            Target::Table(table) => {
                let key = (table.database.clone(), table.name.clone());
                let (user, host) = (&name.user, name.host.as_str());
                let missing = || ER_NONEXISTING_TABLE_GRANT.with(&[user, &host, &table.name]);
                if !grants.tables.contains_key(&key) {
                    return Err(missing());
                }
                grants.change_table(&key, |entry| {
                    entry.table = entry.table.without(granted.whole);
                    // What is taken from the table is taken from its columns.
                    for column in entry.columns.keys().cloned().collect::<Vec<_>>() {
                        let named = granted.columns.get(&column.to_lowercase()).copied().unwrap_or_default();
                        entry.revoke_column(&column, granted.whole | named);
                    }
                });
                Ok(())
            }
            Target::Routine(kind, routine) => {
                let key = (*kind, (routine.database.clone(), routine.name.clone()));
                let (user, host) = (&name.user, name.host.as_str());
                let Some(entry) = grants.routines.get_mut(&key) else {
                    return Err(ER_NONEXISTING_PROC_GRANT.with(&[user, &host, &routine.name]));
                };
                entry.privileges = entry.privileges.without(granted.whole);
                if entry.privileges.is_empty() {
                    grants.routines.remove(&key);
                }
                Ok(())
            }
            Target::Proxy(proxied) => match grants.proxies.remove(proxied) {
                Some(_) => Ok(()),
                None => Err(nonexisting(&name)),
            },
        }
    }

    /// With partial revokes, what holds everywhere is kept from the database.
    fn take_database(
        &self,
        account: &mut Account,
        privileges: PrivilegeSet,
        pattern: &str,
    ) -> Result<(), SqlError> {
        let grants = &mut account.grants;
        let own = grants.databases.get(pattern).copied();
        let kept = match self.instance().partial_revokes() {
            true => grants.global.common(privileges).without(Privilege::GrantOption.into()),
            false => PrivilegeSet::NONE,
        };
        let is_unknown = own.is_none() && (kept.is_empty() || !kept.has(privileges));
        if is_unknown {
            return Err(nonexisting(&account.name));
        }
        grants.revoke_database(pattern, privileges);
        if !kept.is_empty() {
            *grants.restrictions.entry(pattern.to_owned()).or_default() |= kept;
        }
        Ok(())
    }
}

fn nonexisting(name: &AccountName) -> SqlError {
    error_code::ER_NONEXISTING_GRANT.with(&[&name.user, &name.host.as_str()])
}

const ER_REVOKE_GRANTS: datum::ErrorCode = datum::ErrorCode::new(
    1269,
    "HY000",
    "Can't revoke all privileges for one or more of the requested users",
);
const ER_NONEXISTING_TABLE_GRANT: datum::ErrorCode = datum::ErrorCode::new(
    1147,
    "42000",
    "There is no such grant defined for user '%s' on host '%s' on table '%s'",
);
const ER_NONEXISTING_PROC_GRANT: datum::ErrorCode = datum::ErrorCode::new(
    1403,
    "42000",
    "There is no such grant defined for user '%s' on host '%s' on routine '%s'",
);
