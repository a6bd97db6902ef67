//! What an account may use: sessions at a time, statements of the hour, and the time until its password expires.
//!
//! Called by the server when a client has proven who it is, and by its session before each statement.
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use auth::{Account, AccountUsage, DynamicPrivilege, LimitReached, Privilege};
use datum::{ErrorCode, SqlError};

use crate::instance::Instance;

const DAY_US: u64 = 24 * 3_600_000_000;

/// A session that counts for its account until this is dropped.
#[derive(Debug)]
pub struct SessionTicket {
    usage: Arc<AccountUsage>,
}

impl Drop for SessionTicket {
    fn drop(&mut self) {
        self.usage.end_session();
    }
}

/// Microseconds since 1970.
pub fn unix_now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as u64)
}

/// Who gets in when all but the reserved places are taken.
pub fn is_administrator(account: &Account) -> bool {
    let grants = &account.grants;
    grants.global.has(Privilege::Super.into()) || grants.dynamic.has(DynamicPrivilege::ConnectionAdmin.into())
}

impl Instance {
    /// Counts a session of the account; error 1226 when it has as many as it may.
    pub fn admit(&self, account: &Account) -> Result<SessionTicket, SqlError> {
        let sessions_max = self.globals.by_name("max_user_connections").as_unsigned();
        let sessions_max = u32::try_from(sessions_max).unwrap_or(u32::MAX);
        let admitted = account.usage.begin_session(account.limits, sessions_max, unix_now_us());
        admitted.map_err(|reached| limit_error(&account.name.user, reached))?;
        Ok(SessionTicket { usage: account.usage.clone() })
    }

    /// PASSWORD EXPIRE, or the password is older than it may be.
    pub fn is_password_expired(&self, account: &Account) -> bool {
        if account.policy.expired {
            return true;
        }
        let default = || self.globals.by_name("default_password_lifetime").as_unsigned();
        let days = account.policy.lifetime.map_or_else(default, u64::from);
        let changed = account.password_changed_us;
        days > 0 && changed > 0 && unix_now_us() > changed.saturating_add(days * DAY_US)
    }
}

/// Error 1226.
pub fn limit_error(user: &str, reached: LimitReached) -> SqlError {
    ER_USER_LIMIT_REACHED.with(&[&user, &reached.resource, &reached.limit])
}

const ER_USER_LIMIT_REACHED: ErrorCode =
    ErrorCode::new(1226, "42000", "User '%s' has exceeded the '%s' resource (current value: %s)");
