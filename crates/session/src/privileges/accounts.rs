//! Accounts as statements name and change them.
//!
//! Invariant: accounts are changed in memory, then made durable; when that fails the earlier ones are put back. Called by the
//! statements of accounts, by the import of privilege tables, and where routines come and go.
use auth::{AccountName, Origin};
use datum::SqlError;
use instance::unix_now_us;
use parser::ast::User;

use crate::session::Session;
use session_state::guard::Shield;

impl Session {
    /// Changes accounts as a whole and makes them durable; on an error they are as they were.
    pub async fn change_stored_accounts(
        &mut self,
        shield: &Shield,
        change: impl FnOnce(&auth::AccountStore) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let _lock = self.lock_accounts().await?;
        let before = self.instance.accounts().snapshot();
        let mut result = change(self.instance.accounts());
        if result.is_ok() {
            shield.raise();
            result = self.instance.persist_accounts().await;
            shield.lower();
        }
        if result.is_err() {
            self.instance.accounts().restore(before);
        }
        self.look_at_privileges();
        result
    }

    /// The account that a statement names; CURRENT_USER is the session's.
    pub fn account_of(&self, user: User<'_>) -> AccountName {
        match user {
            User::Named(name) => AccountName::new(name.user, name.host),
            User::Current => self.privileges.account_name().clone(),
        }
    }

    /// As `account_of`, for a statement that is carried out: error 1470 for a name that no account can have.
    pub fn named_account(&self, user: User<'_>) -> Result<AccountName, SqlError> {
        let name = self.account_of(user);
        crate::statement::check_account_length(&name)?;
        Ok(name)
    }

    /// Who grants, and when, as `mysql.tables_priv` and its kin tell it.
    pub fn origin(&self) -> Origin {
        let name = self.privileges.account_name();
        Origin { grantor: format!("{}@{}", name.user, name.host.as_str()), moment_us: unix_now_us() }
    }
}
