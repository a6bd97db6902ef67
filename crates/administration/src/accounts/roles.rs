//! GRANT and REVOKE of roles, SET ROLE and SET DEFAULT ROLE.
//!
//! A role is an account that is granted to others; nothing else tells the two apart. All but SET ROLE are called by
//! `account_statement`.
use std::sync::Arc;

use auth::{Account, AccountName, DynamicPrivilege, Privilege};
use datum::SqlError;
use parser::ast::{GrantRole, RevokeRole, SetDefaultRole, SetRole};

use super::ER_USER_DOES_NOT_EXIST;
use crate::caller::Caller;
use session::Done;

impl Caller<'_> {
    /// Error 1227 unless the session may grant the role to others.
    pub(super) fn require_role_admin(&self, role: &AccountName) -> Result<(), SqlError> {
        let has_admin_option = || {
            let Some(account) = self.privileges().account() else { return false };
            let mut members = vec![account.clone()];
            let active = self.instance().accounts().reached_roles(self.privileges().active_roles());
            members.extend(active.iter().filter_map(|name| self.instance().accounts().get(name)));
            members.iter().any(|member| member.grants.roles.get(role) == Some(&true))
        };
        match self.privileges().has_super_or(&[DynamicPrivilege::RoleAdmin]) || has_admin_option() {
            true => Ok(()),
            false => Err(session::Session::privilege_missing("WITH ADMIN, ROLE_ADMIN, SUPER")),
        }
    }

    fn require_known(&self, name: &AccountName) -> Result<Arc<Account>, SqlError> {
        self.instance().accounts().get(name).ok_or_else(|| ER_UNKNOWN_AUTHID.with(&[name]))
    }

    pub(super) fn grant_roles(&mut self, statement: &GrantRole<'_>) -> Result<Done, SqlError> {
        let roles: Vec<AccountName> =
            statement.roles.iter().map(|role| AccountName::new(role.user, role.host)).collect();
        roles.iter().try_for_each(|role| match self.instance().accounts().get(role) {
            // Only who may grant roles at all learns which exist.
            None if self.privileges().has_super_or(&[DynamicPrivilege::RoleAdmin]) => {
                Err(ER_UNKNOWN_AUTHID.with(&[role]))
            }
            _ => self.require_role_admin(role),
        })?;
        for user in statement.users {
            let name = self.named_account(*user)?;
            let account = self.require_known(&name)?;
            self.require_may_change(&account)?;
            for role in &roles {
                let role_account = self.require_known(role)?;
                self.require_may_change(&role_account)?;
                if role.user.is_empty() {
                    return Err(ER_UNKNOWN_AUTHID.with(&[role]));
                }
                if self.instance().accounts().reached_roles(std::slice::from_ref(role)).contains(&name) {
                    return Err(ER_ROLE_GRANTED_TO_ITSELF.with(&[&name, role]));
                }
                let put = |account: &mut Account| {
                    *account.grants.roles.entry(role.clone()).or_default() |= statement.admin_option;
                };
                let _ = self.instance().accounts().change(&name, put);
            }
        }
        Ok(Done::ok())
    }

    pub(super) fn revoke_roles(&mut self, statement: &RevokeRole<'_>) -> Result<Done, SqlError> {
        let mandatory = self.instance().mandatory_roles();
        for role in statement.roles {
            let role = AccountName::new(role.user, role.host);
            self.require_role_admin(&role)?;
            if mandatory.contains(&role) {
                return Err(super::users::ER_MANDATORY_ROLE.with(&[&role]));
            }
            if let Err(error) = self.require_known(&role) {
                if !statement.if_exists {
                    return Err(error);
                }
                self.shared().warning(error);
                continue;
            }
            for user in statement.users {
                let name = self.named_account(*user)?;
                match self.changeable(&name)? {
                    None if statement.ignore_unknown_user => {
                        self.shared().warning(ER_USER_DOES_NOT_EXIST.with(&[&name.user]));
                        continue;
                    }
                    None => return Err(ER_UNKNOWN_AUTHID.with(&[&name])),
                    Some(_) => {}
                }
                let take = |account: &mut Account| {
                    account.grants.roles.remove(&role);
                    account.default_roles.retain(|default| *default != role);
                };
                let _ = self.instance().accounts().change(&name, take);
            }
        }
        Ok(Done::ok())
    }

    /// Roles by name must be granted to the account.
    pub(super) fn chosen_roles(
        &self,
        account: &Account,
        choice: SetRole<'_>,
    ) -> Result<Vec<AccountName>, SqlError> {
        let granted = self.instance().roles_of(account);
        let named = |roles: &[parser::ast::AccountName<'_>]| -> Vec<AccountName> {
            roles.iter().map(|role| AccountName::new(role.user, role.host)).collect()
        };
        match choice {
            SetRole::None => Ok(Vec::new()),
            SetRole::Default => Ok(self.instance().roles_at_login(account)),
            SetRole::All => Ok(granted),
            SetRole::AllExcept(roles) => {
                let excepted = named(roles);
                Ok(granted.into_iter().filter(|role| !excepted.contains(role)).collect())
            }
            SetRole::Roles(roles) => {
                let mut roles = named(roles);
                if let Some(role) = roles.iter().find(|role| !granted.contains(role)) {
                    return Err(ER_ROLE_NOT_GRANTED.with(&[role, &account.name]));
                }
                roles.sort();
                roles.dedup();
                Ok(roles)
            }
        }
    }

    pub(super) fn set_default_role(&mut self, statement: &SetDefaultRole<'_>) -> Result<Done, SqlError> {
        for user in statement.users {
            let name = self.named_account(*user)?;
            if !self.is_own(&name) {
                let may = self.privileges().has_global(Privilege::CreateUser)
                    || self.privileges().has_on_database(Privilege::Update, "mysql");
                let account = self.changeable(&name)?;
                if !may {
                    return Err(session::Session::privilege_missing(Privilege::CreateUser.name()));
                }
                if account.is_none() {
                    let roles = match statement.role {
                        SetRole::Roles(roles) => roles.first(),
                        _ => None,
                    };
                    return Err(match roles {
                        Some(role) => {
                            ER_ROLE_NOT_GRANTED.with(&[&AccountName::new(role.user, role.host), &name])
                        }
                        None => ER_UNKNOWN_AUTHID.with(&[&name]),
                    });
                }
            }
            let account = self.require_known(&name)?;
            let roles = self.chosen_roles(&account, statement.role)?;
            let _ = self.instance().accounts().change(&name, |account| account.default_roles = roles);
        }
        Ok(Done::ok())
    }

    /// SET ROLE: for this session, until it ends.
    pub(crate) fn set_role(&mut self, choice: SetRole<'_>) -> Result<Done, SqlError> {
        let Some(account) = self.privileges().account().cloned() else { return Ok(Done::ok()) };
        let mut roles = self.chosen_roles(&account, choice)?;
        // Mandatory roles are active with all that are asked for by a word.
        if matches!(choice, SetRole::Default) {
            roles.retain(|role| self.instance().accounts().get(role).is_some());
        }
        self.activate_roles(roles);
        Ok(Done::ok())
    }
}

const ER_UNKNOWN_AUTHID: datum::ErrorCode =
    datum::ErrorCode::new(3523, "HY000", "Unknown authorization ID %s");
const ER_ROLE_NOT_GRANTED: datum::ErrorCode = datum::ErrorCode::new(3530, "HY000", "%s is not granted to %s");
const ER_ROLE_GRANTED_TO_ITSELF: datum::ErrorCode = datum::ErrorCode::new(
    4027,
    "HY000",
    "User account %s is directly or indirectly granted to the role %s. The GRANT would create a loop",
);
