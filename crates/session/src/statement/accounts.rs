//! CREATE, ALTER, DROP and RENAME USER, GRANT, REVOKE and SET PASSWORD.
//!
//! Accounts are changed in memory, then made durable; when that fails the earlier accounts are put back. One statement at a time
//! does that, or one would put back, or make durable, what another has changed.
use auth::{Account, AccountError, AccountName, Credential, Plugin, Privilege, PrivilegeSet, Scope};
use datum::{SqlError, Value, error_code};
use parser::ast::{
    AccountOption, AlterUser, AuthenticationClause, CreateUser, DropUser, Grant, GrantTarget, ObjectKind,
    PrivilegeKind, Revoke, SetPassword, StatementKind, TlsRequirement, User, UserDefinition,
};

use super::guard::Shield;
use super::{Done, Request};
use crate::session::Session;

impl Session {
    pub(super) async fn account_statement(
        &mut self,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let _lock = self.lock_accounts().await?;
        // What it may do can have changed while it waited.
        self.look_at_privileges();
        let before = self.instance.accounts().encode();
        let result = self.change_accounts(request, shield).await;
        let result = match result {
            Ok(done) => {
                shield.raise();
                let stored = self.instance.persist_accounts().await;
                shield.lower();
                stored.map(|()| done)
            }
            Err(error) => Err(error),
        };
        if result.is_err() && self.instance.accounts().replace_with(&before).is_err() {
            return Err(error_code::ER_INTERNAL_ERROR.with(&[&"accounts could not be restored"]));
        }
        self.look_at_privileges();
        result
    }

    async fn change_accounts(&mut self, request: Request<'_>, shield: &Shield) -> Result<Done, SqlError> {
        match request.statement.kind {
            StatementKind::CreateUser(statement) => self.create_users(statement),
            StatementKind::AlterUser(statement) => self.alter_users(statement),
            StatementKind::DropUser(statement) => self.drop_users(statement),
            StatementKind::RenameUser(renames) => self.rename_users(renames),
            StatementKind::Grant(statement) => self.grant(statement),
            StatementKind::Revoke(statement) => self.revoke(statement),
            StatementKind::SetPassword(statement) => self.set_password(statement, request, shield).await,
            _ => Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"roles"])),
        }
    }

    fn account_of(&self, user: User<'_>) -> AccountName {
        match user {
            User::Named(name) => AccountName::new(name.user, name.host),
            User::Current => self.privileges.account_name().clone(),
        }
    }

    fn create_users(&mut self, statement: &CreateUser<'_>) -> Result<Done, SqlError> {
        self.require_global(Privilege::CreateUser)?;
        if !statement.default_roles.is_empty() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"roles"]));
        }
        let mut failed = Vec::new();
        for definition in statement.users {
            let name = self.account_of(definition.user);
            let credential = match definition.authentication {
                Some(clause) => credential_of(&clause, definition, Plugin::default())?,
                None => Credential::from_password(Plugin::default(), ""),
            };
            let mut account = Account::new(name.clone(), credential);
            apply_options(&mut account, statement.options)?;
            match self.instance.accounts().create(account) {
                Ok(()) => {}
                Err(AccountError::AlreadyExists) if statement.if_not_exists => {
                    self.shared.note(ER_USER_ALREADY_EXISTS.with(&[&quoted(&name)]));
                }
                Err(AccountError::UserTooLong | AccountError::HostTooLong) => {
                    let limit = 32;
                    return Err(error_code::ER_WRONG_STRING_LENGTH.with(&[&name, &"user name", &limit]));
                }
                Err(_) => failed.push(quoted(&name)),
            }
        }
        finish_users("CREATE USER", failed)
    }

    fn alter_users(&mut self, statement: &AlterUser<'_>) -> Result<Done, SqlError> {
        if statement.default_role.is_some() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"roles"]));
        }
        let mut failed = Vec::new();
        for definition in statement.users {
            let name = self.account_of(definition.user);
            // Everybody may change the own password.
            if name != *self.privileges.account_name() || !statement.options.is_empty() {
                self.require_global(Privilege::CreateUser)?;
            }
            let Some(present) = self.instance.accounts().get(&name) else {
                match statement.if_exists {
                    true => self.shared.note(ER_USER_DOES_NOT_EXIST.with(&[&quoted(&name)])),
                    false => failed.push(quoted(&name)),
                }
                continue;
            };
            let mut changed = present.copy();
            if let Some(clause) = definition.authentication {
                changed.credential = credential_of(&clause, definition, present.credential.plugin())?;
            }
            apply_options(&mut changed, statement.options)?;
            let replaced = self.instance.accounts().change(&name, |account| *account = changed);
            if replaced.is_err() {
                failed.push(quoted(&name));
            }
        }
        finish_users("ALTER USER", failed)
    }

    fn drop_users(&mut self, statement: DropUser<'_>) -> Result<Done, SqlError> {
        self.require_global(Privilege::CreateUser)?;
        let mut failed = Vec::new();
        for user in statement.users {
            let name = self.account_of(*user);
            match self.instance.accounts().remove(&name) {
                Ok(()) => {}
                Err(_) if statement.if_exists => {
                    self.shared.note(ER_USER_DOES_NOT_EXIST.with(&[&quoted(&name)]));
                }
                Err(_) => failed.push(quoted(&name)),
            }
        }
        finish_users("DROP USER", failed)
    }

    fn rename_users(&mut self, renames: &[(User<'_>, User<'_>)]) -> Result<Done, SqlError> {
        self.require_global(Privilege::CreateUser)?;
        let mut failed = Vec::new();
        for (from, to) in renames {
            let (from, to) = (self.account_of(*from), self.account_of(*to));
            let is_free = self.instance.accounts().get(&to).is_none();
            let renamed = is_free
                && self.instance.accounts().change(&from, |account| account.name = to.clone()).is_ok();
            if !renamed {
                failed.push(quoted(&from));
            }
        }
        finish_users("RENAME USER", failed)
    }

    fn grant(&mut self, statement: &Grant<'_>) -> Result<Done, SqlError> {
        if statement.as_clause.is_some() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"GRANT .. AS"]));
        }
        let scope = self.scope_of(statement.target)?;
        let mut privileges = privileges_of(statement.privileges, &scope)?;
        if statement.grant_option {
            privileges |= Privilege::GrantOption.into();
        }
        self.require_grantable(privileges, &scope)?;
        for user in statement.users {
            let name = self.account_of(*user);
            let granted = self
                .instance
                .accounts()
                .change(&name, |account| account.grants.grant(scope.clone(), privileges));
            granted.map_err(|_| ER_CANT_CREATE_USER_WITH_GRANT.plain())?;
        }
        Ok(Done::ok())
    }

    fn revoke(&mut self, statement: &Revoke<'_>) -> Result<Done, SqlError> {
        let scope = statement.target.map(|target| self.scope_of(target)).transpose()?;
        let privileges = match &scope {
            Some(scope) => privileges_of(statement.privileges, scope)?,
            None => PrivilegeSet::NONE,
        };
        match &scope {
            Some(scope) => self.require_grantable(privileges, scope)?,
            None => self.require_global(Privilege::CreateUser)?,
        }
        for user in statement.users {
            let name = self.account_of(*user);
            let revoked = self.instance.accounts().change(&name, |account| match &scope {
                Some(scope) => account.grants.revoke(scope, privileges),
                None => account.grants.revoke_all(),
            });
            if revoked.is_err() && !statement.ignore_unknown_user {
                let (user, host) = (&name.user, name.host.as_str());
                return Err(error_code::ER_NONEXISTING_GRANT.with(&[user, &host]));
            }
        }
        Ok(Done::ok())
    }

    fn require_grantable(&self, privileges: PrivilegeSet, scope: &Scope) -> Result<(), SqlError> {
        let needed = privileges | Privilege::GrantOption.into();
        let may = self.privileges.is_full()
            || self.privileges.account().is_some_and(|account| account.grants.permit(needed, scope));
        if may {
            return Ok(());
        }
        match scope {
            Scope::Global => {
                let name = self.privileges.account_name();
                let host = name.host.as_str();
                Err(error_code::ER_ACCESS_DENIED_ERROR.with(&[&name.user, &host, &"YES"]))
            }
            Scope::Database(database) => Err(self.database_denied(database)),
            Scope::Table(database, table) => self.require_table(Privilege::GrantOption, database, table),
        }
    }

    fn scope_of(&self, target: GrantTarget<'_>) -> Result<Scope, SqlError> {
        match target {
            GrantTarget::Global => Ok(Scope::Global),
            GrantTarget::CurrentDatabase => match &self.database {
                Some(database) => Ok(Scope::Database(database.to_string())),
                None => Err(error_code::ER_NO_DB_ERROR.plain()),
            },
            GrantTarget::Database(name) => Ok(Scope::Database(name.name.to_owned())),
            GrantTarget::Object { kind: ObjectKind::Table, name } => {
                let name = self.table_name(name)?;
                if self.instance.catalog().table(&name.database, &name.name).is_none() {
                    return Err(error_code::ER_NO_SUCH_TABLE.with(&[&name.database, &name.name]));
                }
                Ok(Scope::Table(name.database, name.name))
            }
            GrantTarget::Object { .. } => {
                Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"privileges on routines"]))
            }
            GrantTarget::Proxy(_) => Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"PROXY privileges"])),
        }
    }

    async fn set_password(
        &mut self,
        statement: &SetPassword<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = statement
            .user
            .map_or_else(|| self.privileges.account_name().clone(), |user| self.account_of(user));
        if name != *self.privileges.account_name() {
            self.require_global(Privilege::CreateUser)?;
        }
        if statement.retain_current || statement.by_function {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"this form of SET PASSWORD"]));
        }
        let Some(expr) = &statement.password else {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"SET PASSWORD TO RANDOM"]));
        };
        let (value, _) = self.evaluate_one(expr, request, shield).await?;
        let Value::Bytes(password) = value else {
            return Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"SET PASSWORD"]));
        };
        let password = String::from_utf8_lossy(&password).into_owned();
        let changed = self.instance.accounts().change(&name, |account| {
            account.credential = Credential::from_password(account.credential.plugin(), &password);
        });
        changed.map_err(|_| error_code::ER_PASSWORD_NO_MATCH.plain())?;
        Ok(Done::ok())
    }
}

fn finish_users(operation: &str, failed: Vec<String>) -> Result<Done, SqlError> {
    match failed.is_empty() {
        true => Ok(Done::ok()),
        false => {
            let reason = match operation {
                "CREATE USER" => "User account already exists",
                _ => "User account does not exist",
            };
            let names = format!("{} ({reason})", failed.join(","));
            Err(error_code::ER_CANNOT_USER.with(&[&operation, &names]))
        }
    }
}

/// An account's name as messages write it.
fn quoted(name: &AccountName) -> String {
    format!("'{}'@'{}'", name.user, name.host.as_str())
}

fn credential_of(
    clause: &AuthenticationClause<'_>,
    definition: &UserDefinition<'_>,
    default: Plugin,
) -> Result<Credential, SqlError> {
    let unsupported = |what: &str| Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
    if definition.other_factors.is_some() {
        return unsupported("multi-factor authentication");
    }
    if clause.random_password {
        return unsupported("RANDOM PASSWORD");
    }
    if clause.retain_current || definition.discard_old_password {
        return unsupported("dual passwords");
    }
    let plugin = match clause.plugin {
        Some(name) => {
            Plugin::from_name(name.as_bytes()).ok_or_else(|| ER_PLUGIN_IS_NOT_LOADED.with(&[&name]))?
        }
        None => default,
    };
    match (clause.password, clause.hash) {
        (Some(password), _) => Ok(Credential::from_password(plugin, &String::from_utf8_lossy(password))),
        (None, Some(hash)) => {
            Credential::from_stored(plugin, hash).ok_or_else(|| error_code::ER_PASSWORD_FORMAT.plain())
        }
        (None, None) => Ok(Credential::from_password(plugin, "")),
    }
}

fn apply_options(account: &mut Account, options: &[AccountOption<'_>]) -> Result<(), SqlError> {
    let unsupported = |what: &str| Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
    for option in options {
        match option {
            AccountOption::Require(TlsRequirement::None) => account.requires_tls = false,
            AccountOption::Require(TlsRequirement::Ssl) => account.requires_tls = true,
            AccountOption::Require(_) => return unsupported("REQUIRE X509, CIPHER, ISSUER and SUBJECT"),
            AccountOption::AccountLock(locked) => account.locked = *locked,
            AccountOption::Resource(limit) if limit.value == 0 => {}
            AccountOption::Resource(_) => return unsupported("resource limits of accounts"),
            AccountOption::PasswordExpireDefault
            | AccountOption::PasswordExpireNever
            | AccountOption::PasswordHistory(None)
            | AccountOption::PasswordReuseInterval(None)
            | AccountOption::PasswordRequireCurrent(None | Some(false))
            | AccountOption::FailedLoginAttempts(0)
            | AccountOption::PasswordLockTime(Some(0)) => {}
            AccountOption::PasswordExpire
            | AccountOption::PasswordExpireInterval(_)
            | AccountOption::PasswordHistory(Some(_))
            | AccountOption::PasswordReuseInterval(Some(_))
            | AccountOption::PasswordRequireCurrent(Some(true))
            | AccountOption::FailedLoginAttempts(_)
            | AccountOption::PasswordLockTime(_) => return unsupported("password policies"),
            AccountOption::Comment(_) | AccountOption::Attribute(_) => {
                return unsupported("user comments and attributes");
            }
        }
    }
    Ok(())
}

/// The privileges of a GRANT; a word that the target cannot have is error 1144 or 1221.
fn privileges_of(written: &[parser::ast::Privilege<'_>], scope: &Scope) -> Result<PrivilegeSet, SqlError> {
    let possible = match scope {
        Scope::Global => PrivilegeSet::all_global(),
        Scope::Database(_) => PrivilegeSet::all_database(),
        Scope::Table(..) => PrivilegeSet::all_table(),
    };
    let mut set = PrivilegeSet::NONE;
    for privilege in written {
        if !privilege.columns.is_empty() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"privileges on columns"]));
        }
        match privilege.kind {
            PrivilegeKind::All => set |= possible,
            PrivilegeKind::Usage => {}
            kind => {
                let one: PrivilegeSet = plain_privilege(kind)?.into();
                if *scope != Scope::Global
                    && let PrivilegeKind::Dynamic(name) = kind
                {
                    let shown = name.to_uppercase();
                    return Err(ER_ILLEGAL_PRIVILEGE_LEVEL.with(&[&shown]));
                }
                if !(possible | Privilege::GrantOption.into()).has(one) {
                    return Err(match scope {
                        Scope::Table(..) => error_code::ER_ILLEGAL_GRANT_FOR_TABLE.plain(),
                        _ => error_code::ER_WRONG_USAGE.with(&[&"DB GRANT", &"GLOBAL PRIVILEGES"]),
                    });
                }
                set |= one;
            }
        }
    }
    Ok(set)
}

fn plain_privilege(kind: PrivilegeKind<'_>) -> Result<Privilege, SqlError> {
    use PrivilegeKind as Kind;
    let name = match kind {
        Kind::Alter => "ALTER",
        Kind::AlterRoutine => "ALTER ROUTINE",
        Kind::Create => "CREATE",
        Kind::CreateRole => "CREATE ROLE",
        Kind::CreateRoutine => "CREATE ROUTINE",
        Kind::CreateTablespace => "CREATE TABLESPACE",
        Kind::CreateTemporaryTables => "CREATE TEMPORARY TABLES",
        Kind::CreateUser => "CREATE USER",
        Kind::CreateView => "CREATE VIEW",
        Kind::Delete => "DELETE",
        Kind::Drop => "DROP",
        Kind::DropRole => "DROP ROLE",
        Kind::Event => "EVENT",
        Kind::Execute => "EXECUTE",
        Kind::File => "FILE",
        Kind::GrantOption => "GRANT OPTION",
        Kind::Index => "INDEX",
        Kind::Insert => "INSERT",
        Kind::LockTables => "LOCK TABLES",
        Kind::Process => "PROCESS",
        Kind::References => "REFERENCES",
        Kind::Reload => "RELOAD",
        Kind::ReplicationClient => "REPLICATION CLIENT",
        Kind::ReplicationSlave => "REPLICATION SLAVE",
        Kind::Select => "SELECT",
        Kind::ShowDatabases => "SHOW DATABASES",
        Kind::ShowView => "SHOW VIEW",
        Kind::Shutdown => "SHUTDOWN",
        Kind::Super => "SUPER",
        Kind::Trigger => "TRIGGER",
        Kind::Update => "UPDATE",
        Kind::Dynamic(name) => name,
        Kind::All | Kind::Usage | Kind::Proxy => "PROXY",
    };
    Privilege::from_name(name)
        .ok_or_else(|| error_code::ER_NOT_SUPPORTED_YET.with(&[&format!("the privilege {name}")]))
}

const ER_USER_ALREADY_EXISTS: datum::ErrorCode =
    datum::ErrorCode::new(3163, "HY000", "Authorization ID %s already exists.");
const ER_USER_DOES_NOT_EXIST: datum::ErrorCode =
    datum::ErrorCode::new(3162, "HY000", "Authorization ID %s does not exist.");
const ER_CANT_CREATE_USER_WITH_GRANT: datum::ErrorCode =
    datum::ErrorCode::new(1410, "42000", "You are not allowed to create a user with GRANT");
const ER_ILLEGAL_PRIVILEGE_LEVEL: datum::ErrorCode =
    datum::ErrorCode::new(3619, "HY000", "Illegal privilege level specified for %s");
const ER_PLUGIN_IS_NOT_LOADED: datum::ErrorCode =
    datum::ErrorCode::new(1524, "HY000", "Plugin '%s' is not loaded");
