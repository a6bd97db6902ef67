//! CREATE, ALTER, DROP and RENAME USER, roles, GRANT, REVOKE and SET PASSWORD.
//!
//! Invariant: accounts are changed in memory, then made durable, together with the statement's text in the binary log; when that
//! fails, or the statement does, the earlier accounts are put back, so a statement changes all it names or nothing. One
//! statement at a time does that, or one would put back, or make durable, what another has changed.
mod grant;
mod logged;
mod options;
mod password;
mod privilege_list;
mod revoke;
mod roles;
mod users;

use std::sync::Arc;

use auth::{Account, AccountError, AccountName, DynamicPrivilege};
use datum::{ErrorCode, SqlError, error_code};
use instance::unix_now_us as now_us;
use parser::ast::StatementKind;

use crate::caller::Caller;
use session::Shield;
use session::{Done, Request};

impl Caller<'_> {
    pub(super) async fn account_statement(
        &mut self,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let _lock = self.lock_accounts().await?;
        // What it may do can have changed while it waited.
        self.look_at_privileges();
        let before = self.instance().accounts().snapshot();
        self.keep_definition_text(request);
        let result = match self.change_accounts(request, shield).await {
            Ok(done) => self.store_accounts(shield).await.map(|()| done),
            Err(error) => Err(error),
        };
        self.forget_definition_text();
        if result.is_err() {
            self.instance().accounts().restore(before);
        }
        self.look_at_privileges();
        result
    }

    /// In one commit with what the binary log says of it.
    async fn store_accounts(&mut self, shield: &Shield) -> Result<(), SqlError> {
        let mut change = self.instance().catalog().begin_change();
        change.put_accounts(&self.instance().accounts().encode()).await?;
        self.commit_change(change, shield).await?;
        self.instance().accounts_changed();
        Ok(())
    }

    async fn change_accounts(&mut self, request: Request<'_>, shield: &Shield) -> Result<Done, SqlError> {
        match request.statement.kind {
            StatementKind::CreateUser(statement) => self.create_users(statement),
            StatementKind::AlterUser(statement) => self.alter_users(statement),
            StatementKind::DropUser(statement) => self.drop_users(statement, false),
            StatementKind::DropRole(statement) => self.drop_users(statement, true),
            StatementKind::CreateRole(statement) => self.create_roles(statement),
            StatementKind::RenameUser(renames) => self.rename_users(renames),
            StatementKind::Grant(statement) => self.grant(statement),
            StatementKind::Revoke(statement) => self.revoke(statement),
            StatementKind::GrantRole(statement) => self.grant_roles(statement),
            StatementKind::RevokeRole(statement) => self.revoke_roles(statement),
            StatementKind::SetDefaultRole(statement) => self.set_default_role(statement),
            StatementKind::SetPassword(statement) => self.set_password(statement, request, shield).await,
            _ => unreachable!("dispatch sends account statements only"),
        }
    }

    fn is_own(&self, name: &AccountName) -> bool {
        name == self.privileges().account_name()
    }

    /// Error 1227 for an account with SYSTEM_USER, unless the session has it too.
    fn require_may_change(&self, account: &Account) -> Result<(), SqlError> {
        if self.privileges().has_dynamic(DynamicPrivilege::SystemUser) {
            return Ok(());
        }
        let roles = self.instance().roles_of(account);
        let access = self.instance().accounts().access(account, auth::ClientHost::Local, &roles, false);
        let held = account.grants.dynamic | access.dynamic;
        match held.has(DynamicPrivilege::SystemUser.into()) {
            true => Err(session::Session::privilege_missing(DynamicPrivilege::SystemUser.name())),
            false => Ok(()),
        }
    }

    /// The account and whether it may be changed.
    fn changeable(&self, name: &AccountName) -> Result<Option<Arc<Account>>, SqlError> {
        let account = self.instance().accounts().get(name);
        if let Some(account) = &account {
            self.require_may_change(account)?;
        }
        Ok(account)
    }
}

/// An account's name as messages write it.
fn quoted(name: &AccountName) -> String {
    format!("'{}'@'{}'", name.user, name.host.as_str())
}

/// Error 1396 with the accounts that could not be treated.
fn finish_users(operation: &str, reason: &str, failed: &[AccountName]) -> Result<(), SqlError> {
    if failed.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = failed.iter().map(|name| format!("{}{reason}", quoted(name))).collect();
    Err(error_code::ER_CANNOT_USER.with(&[&operation, &names.join(",")]))
}

/// Error 1470.
fn too_long(error: AccountError, name: &AccountName) -> SqlError {
    // Errors quote no more of a string than this.
    const SHOWN_CHARACTERS: usize = 70;
    let (text, what, limit) = match error {
        AccountError::HostTooLong => (name.host.as_str(), "host name", 255),
        _ => (name.user.as_str(), "user name", 32),
    };
    let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
    error_code::ER_WRONG_STRING_LENGTH.with(&[&shown, &what, &limit])
}

const ALREADY_EXISTS: &str = " (User account already exists)";
const DOES_NOT_EXIST: &str = " (User account does not exist)";

const ER_USER_ALREADY_EXISTS: ErrorCode =
    ErrorCode::new(3163, "HY000", "Authorization ID %s already exists.");
const ER_USER_DOES_NOT_EXIST: ErrorCode =
    ErrorCode::new(3162, "HY000", "Authorization ID %s does not exist.");
