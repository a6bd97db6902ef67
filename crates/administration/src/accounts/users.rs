//! CREATE, ALTER, DROP and RENAME USER, CREATE and DROP ROLE.
//!
//! Called by `account_statement`, which puts back what a failed statement has done so far.
use auth::{Account, AccountError, AccountName, Credential, DynamicPrivilege, Plugin, Privilege};
use datum::{SqlError, error_code};
use parser::ast::{AlterUser, CreateRole, CreateUser, DropUser, User};

use super::options::{apply_options, check_requirements};
use super::password::Generated;
use super::{
    ALREADY_EXISTS, DOES_NOT_EXIST, ER_USER_ALREADY_EXISTS, ER_USER_DOES_NOT_EXIST, finish_users, now_us,
    quoted, too_long,
};
use crate::caller::Caller;
use session::Done;

impl Caller<'_> {
    pub(super) fn create_users(&mut self, statement: &CreateUser<'_>) -> Result<Done, SqlError> {
        self.require_account_change(Privilege::Insert)?;
        let default_roles = self.roles_to_give(statement.default_roles)?;
        let (mut failed, mut generated) = (Vec::new(), Generated::default());
        for definition in statement.users {
            let name = self.named_account(definition.user)?;
            let mut account = Account::new(name.clone(), Credential::from_password(Plugin::default(), ""));
            account.password_changed_us = now_us();
            check_requirements(definition)?;
            // The password is subject to the policies that come with it, and a new one has not expired.
            apply_options(&mut account, statement.options)?;
            if let Some(clause) = definition.authentication {
                let new = self.new_password(&clause, &name, Plugin::default(), &mut generated)?;
                self.put_password(&mut account, new, false)?;
                apply_options(&mut account, statement.options)?;
            }
            for role in &default_roles {
                account.grants.roles.insert(role.clone(), false);
            }
            account.default_roles.clone_from(&default_roles);
            match self.instance().accounts().create(account) {
                Ok(()) => {}
                Err(AccountError::AlreadyExists) if statement.if_not_exists => {
                    self.shared().note(ER_USER_ALREADY_EXISTS.with(&[&quoted(&name)]));
                }
                Err(AccountError::AlreadyExists | AccountError::Unknown) => failed.push(name),
                Err(error) => return Err(too_long(error, &name)),
            }
        }
        finish_users("CREATE USER", ALREADY_EXISTS, &failed)?;
        self.log_created_users(statement, &generated);
        Ok(generated.finish())
    }

    /// The roles of CREATE USER .. DEFAULT ROLE, which are granted by it.
    fn roles_to_give(&self, roles: &[parser::ast::AccountName<'_>]) -> Result<Vec<AccountName>, SqlError> {
        let mut given = Vec::with_capacity(roles.len());
        for role in roles {
            let role = AccountName::new(role.user, role.host);
            if self.instance().accounts().get(&role).is_none() {
                return Err(ER_USER_DOES_NOT_EXIST.with(&[&role]));
            }
            self.require_role_admin(&role)?;
            given.push(role);
        }
        Ok(given)
    }

    pub(super) fn alter_users(&mut self, statement: &AlterUser<'_>) -> Result<Done, SqlError> {
        let (mut failed, mut generated) = (Vec::new(), Generated::default());
        for definition in statement.users {
            let name = self.named_account(definition.user)?;
            self.require_alter(&name, statement)?;
            check_requirements(definition)?;
            let Some(present) = self.changeable(&name)? else {
                match statement.if_exists {
                    true => self.shared().note(ER_USER_DOES_NOT_EXIST.with(&[&quoted(&name)])),
                    false => failed.push(name),
                }
                continue;
            };
            let mut changed = (*present).clone();
            apply_options(&mut changed, statement.options)?;
            if let Some(clause) = definition.authentication {
                let plugin = present.credential.plugin();
                let new = self.new_password(&clause, &name, plugin, &mut generated)?;
                self.require_current_password(&present, clause.replace)?;
                self.put_password(&mut changed, new, clause.retain_current)?;
                apply_options(&mut changed, statement.options)?;
            }
            if definition.discard_old_password {
                let credential = changed.credential.clone();
                changed.set_credentials(credential, None);
            }
            if let Some(role) = statement.default_role {
                changed.default_roles = self.chosen_roles(&present, role)?;
            }
            let replaced = self.instance().accounts().change(&name, |account| *account = changed);
            if replaced.is_err() {
                failed.push(name);
            }
        }
        finish_users("ALTER USER", DOES_NOT_EXIST, &failed)?;
        self.log_altered_users(statement, &generated)?;
        Ok(generated.finish())
    }

    /// Everybody may change the own password, comment and default roles; the old password needs a privilege to keep it.
    fn require_alter(&self, name: &AccountName, statement: &AlterUser<'_>) -> Result<(), SqlError> {
        use parser::ast::AccountOption::{Attribute, Comment};
        if self.require_account_change(Privilege::Update).is_ok() {
            return Ok(());
        }
        let keeps_old = statement.users.iter().any(|definition| {
            definition.discard_old_password
                || definition.authentication.is_some_and(|clause| clause.retain_current)
        });
        let may_keep = self.privileges().has_dynamic(DynamicPrivilege::ApplicationPasswordAdmin);
        if self.is_own(name) && keeps_old && !may_keep {
            return Err(session::Session::privilege_missing("CREATE USER or APPLICATION_PASSWORD_ADMIN"));
        }
        let is_harmless = statement.options.iter().all(|option| matches!(option, Attribute(_) | Comment(_)));
        match self.is_own(name) && is_harmless {
            true => Ok(()),
            false => Err(session::Session::privilege_missing(Privilege::CreateUser.name())),
        }
    }

    pub(super) fn drop_users(&mut self, statement: DropUser<'_>, are_roles: bool) -> Result<Done, SqlError> {
        let operation = if are_roles { "DROP ROLE" } else { "DROP USER" };
        let may = match are_roles {
            true => {
                let either = [Privilege::CreateUser, Privilege::DropRole];
                either.iter().any(|&privilege| self.privileges().has_global(privilege))
            }
            false => self.require_account_change(Privilege::Delete).is_ok(),
        };
        if !may {
            let needed = if are_roles { "CREATE USER, DROP ROLE" } else { "CREATE USER" };
            return Err(session::Session::privilege_missing(needed));
        }
        let names = statement.users.iter().map(|user| self.named_account(*user));
        let names: Vec<AccountName> = names.collect::<Result<_, _>>()?;
        let mandatory = self.instance().mandatory_roles();
        if let Some(name) = names.iter().find(|name| mandatory.contains(name)) {
            return Err(ER_MANDATORY_ROLE.with(&[name]));
        }
        for name in &names {
            self.changeable(name)?;
        }
        let mut failed = Vec::new();
        for name in names {
            match self.instance().accounts().remove(&name) {
                Ok(()) => {}
                Err(_) if statement.if_exists => {
                    self.shared().note(ER_USER_DOES_NOT_EXIST.with(&[&quoted(&name)]));
                }
                Err(_) => failed.push(name),
            }
        }
        finish_users(operation, DOES_NOT_EXIST, &failed)?;
        Ok(Done::ok())
    }

    pub(super) fn rename_users(&mut self, renames: &[(User<'_>, User<'_>)]) -> Result<Done, SqlError> {
        self.require_account_change(Privilege::Update)?;
        let mut failed = Vec::new();
        for (from, to) in renames {
            let (from, to) = (self.named_account(*from)?, self.named_account(*to)?);
            let Some(present) = self.changeable(&from)? else {
                failed.push(from);
                continue;
            };
            // Whoever is granted it as a role would have to be told.
            let is_role = self.instance().accounts().is_granted(&from);
            if is_role || self.instance().mandatory_roles().contains(&present.name) {
                return Err(ER_RENAME_ROLE.plain());
            }
            match self.instance().accounts().change(&from, |account| account.name = to.clone()) {
                Ok(()) => {}
                Err(AccountError::AlreadyExists | AccountError::Unknown) => failed.push(from),
                Err(error) => return Err(too_long(error, &to)),
            }
        }
        finish_users("RENAME USER", "", &failed)?;
        Ok(Done::ok())
    }

    pub(super) fn create_roles(&mut self, statement: CreateRole<'_>) -> Result<Done, SqlError> {
        let needed = [Privilege::CreateUser, Privilege::CreateRole];
        if !needed.iter().any(|&privilege| self.privileges().has_global(privilege)) {
            return Err(session::Session::privilege_missing("CREATE USER, CREATE ROLE"));
        }
        let mut failed = Vec::new();
        for role in statement.roles {
            if role.user.is_empty() {
                return Err(error_code::ER_CANNOT_USER.with(&[&"CREATE ROLE", &"anonymous user"]));
            }
            let name = AccountName::new(role.user, role.host);
            let mut account = Account::new(name.clone(), Credential::from_password(Plugin::default(), ""));
            (account.locked, account.policy.expired) = (true, true);
            account.password_changed_us = now_us();
            match self.instance().accounts().create(account) {
                Ok(()) => {}
                Err(AccountError::AlreadyExists) if statement.if_not_exists => {
                    self.shared().note(ER_USER_ALREADY_EXISTS.with(&[&quoted(&name)]));
                }
                Err(AccountError::AlreadyExists | AccountError::Unknown) => failed.push(name),
                Err(error) => return Err(too_long(error, &name)),
            }
        }
        finish_users("CREATE ROLE", ALREADY_EXISTS, &failed)?;
        Ok(Done::ok())
    }
}

pub(super) const ER_MANDATORY_ROLE: datum::ErrorCode = datum::ErrorCode::new(
    3628,
    "HY000",
    "The role %s is a mandatory role and can't be revoked or dropped. The restriction can be lifted by excluding the \
     role identifier from the global variable mandatory_roles.",
);
const ER_RENAME_ROLE: datum::ErrorCode =
    datum::ErrorCode::new(3162, "HY000", "Renaming of a role identifier is forbidden");
