//! What a session may still do by the limits and the password of its account.
//!
//! Called before each statement, also before one whose plan is kept.
use datum::{ErrorCode, SqlError};
use instance::{SessionTicket, limit_error, unix_now_us};
use parser::ast::StatementKind;

use crate::session::Session;

impl Session {
    /// The session counts for its account; with an expired password it can do nothing but change it.
    pub fn hold(&mut self, ticket: SessionTicket, has_expired_password: bool) {
        self.ticket = Some(ticket);
        self.has_expired_password = has_expired_password;
    }

    /// Counts a statement for the account: error 1226 when it has had as many this hour as it may.
    pub(crate) fn count_for_account(&self, is_update: bool) -> Result<(), SqlError> {
        let Some(account) = self.privileges.account() else { return Ok(()) };
        let limits = account.limits;
        if limits.queries_per_hour == 0 && limits.updates_per_hour == 0 {
            return Ok(());
        }
        let counted = account.usage.count_statement(limits, is_update, unix_now_us());
        counted.map_err(|reached| limit_error(&account.name.user, reached))
    }

    /// Error 1820 for all but the change of the expired password.
    pub(crate) fn check_password_age(&mut self, kind: Option<&StatementKind<'_>>) -> Result<(), SqlError> {
        if !self.has_expired_password {
            return Ok(());
        }
        let is_still =
            self.privileges.account().is_some_and(|account| self.instance.is_password_expired(account));
        self.has_expired_password = is_still;
        let changes_it = matches!(
            kind,
            Some(StatementKind::SetPassword(_) | StatementKind::AlterUser(_) | StatementKind::Set(_))
        );
        match is_still && !changes_it {
            true => Err(ER_MUST_CHANGE_PASSWORD.plain()),
            false => Ok(()),
        }
    }
}

const ER_MUST_CHANGE_PASSWORD: ErrorCode = ErrorCode::new(
    1820,
    "HY000",
    "You must reset your password using ALTER USER statement before executing this statement.",
);
