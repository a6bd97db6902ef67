//! What the server counts for an account while it runs: sessions, statements of the hour and failed logins.
//!
//! Invariant: nothing here is durable, as in MySQL; every version of an account shares it. `exchange` counts failed
//! logins, the session the rest.

use parking_lot::Mutex;

use crate::policy::{PasswordPolicy, ResourceLimits};

const HOUR_US: u64 = 3_600_000_000;
const DAY_US: u64 = 24 * HOUR_US;

/// The counters of one account.
#[derive(Debug, Default)]
pub struct AccountUsage {
    /// A leaf lock.
    counters: Mutex<Counters>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    sessions: u32,
    hour_began_us: u64,
    queries: u32,
    updates: u32,
    connections: u32,
    failed_logins: u16,
    locked_since_us: Option<u64>,
}

/// Which limit is reached, as error 1226 names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitReached {
    pub resource: &'static str,
    pub limit: u32,
}

/// Too many failed logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemporaryLock {
    /// How long a lock lasts; -1 until somebody ends it.
    pub days: i16,
    /// What is left of it, a begun day counted.
    pub days_left: i64,
    pub attempts: u16,
}

impl Counters {
    fn turn_hour(&mut self, now_us: u64) {
        if now_us.saturating_sub(self.hour_began_us) >= HOUR_US {
            *self = Self { hour_began_us: now_us, queries: 0, updates: 0, connections: 0, ..*self };
        }
    }
}

fn check(count: u32, limit: u32, resource: &'static str) -> Result<(), LimitReached> {
    if limit != 0 && count >= limit { Err(LimitReached { resource, limit }) } else { Ok(()) }
}

impl AccountUsage {
    /// Counts a session; `end_session` follows unless this refuses. `sessions_max` is the server's limit, which holds
    /// where the account has none of its own.
    pub fn begin_session(
        &self,
        limits: ResourceLimits,
        sessions_max: u32,
        now_us: u64,
    ) -> Result<(), LimitReached> {
        let mut counters = self.counters.lock();
        counters.turn_hour(now_us);
        match limits.user_connections {
            0 => check(counters.sessions, sessions_max, "max_user_connections")?,
            limit => check(counters.sessions, limit, "max_user_connections")?,
        }
        check(counters.connections, limits.connections_per_hour, "max_connections_per_hour")?;
        counters.sessions += 1;
        counters.connections += 1;
        Ok(())
    }

    pub fn end_session(&self) {
        let mut counters = self.counters.lock();
        counters.sessions = counters.sessions.saturating_sub(1);
    }

    /// Counts a statement.
    pub fn count_statement(
        &self,
        limits: ResourceLimits,
        is_update: bool,
        now_us: u64,
    ) -> Result<(), LimitReached> {
        let mut counters = self.counters.lock();
        counters.turn_hour(now_us);
        check(counters.queries, limits.queries_per_hour, "max_questions")?;
        if is_update {
            check(counters.updates, limits.updates_per_hour, "max_updates")?;
            counters.updates += 1;
        }
        counters.queries += 1;
        Ok(())
    }

    /// FLUSH USER_RESOURCES, and new limits.
    pub fn forget_hour(&self) {
        let mut counters = self.counters.lock();
        *counters = Counters { queries: 0, updates: 0, connections: 0, ..*counters };
    }

    /// Whether failed logins lock the account now.
    pub fn temporary_lock(&self, policy: PasswordPolicy, now_us: u64) -> Option<TemporaryLock> {
        if policy.failed_attempts == 0 || policy.lock_days == 0 {
            return None;
        }
        let mut counters = self.counters.lock();
        let since = counters.locked_since_us?;
        let lock =
            |days_left| TemporaryLock { days: policy.lock_days, days_left, attempts: policy.failed_attempts };
        let Ok(days) = u64::try_from(policy.lock_days) else { return Some(lock(-1)) };
        let end = since.saturating_add(days * DAY_US);
        if now_us >= end {
            (counters.locked_since_us, counters.failed_logins) = (None, 0);
            return None;
        }
        Some(lock((end - now_us).div_ceil(DAY_US) as i64))
    }

    /// A wrong password; the lock that it brought about, if it did.
    pub fn login_failed(&self, policy: PasswordPolicy, now_us: u64) -> Option<TemporaryLock> {
        if policy.failed_attempts == 0 || policy.lock_days == 0 {
            return None;
        }
        let mut counters = self.counters.lock();
        counters.failed_logins = counters.failed_logins.saturating_add(1);
        if counters.failed_logins < policy.failed_attempts {
            return None;
        }
        counters.locked_since_us = Some(now_us);
        Some(TemporaryLock {
            days: policy.lock_days,
            days_left: i64::from(policy.lock_days),
            attempts: policy.failed_attempts,
        })
    }

    /// A good login, ACCOUNT UNLOCK and a new policy end what failed logins began.
    pub fn forget_failures(&self) {
        let mut counters = self.counters.lock();
        (counters.locked_since_us, counters.failed_logins) = (None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_for_an_hour() {
        let usage = AccountUsage::default();
        let limits = ResourceLimits { queries_per_hour: 2, updates_per_hour: 1, ..ResourceLimits::default() };
        assert_eq!(usage.count_statement(limits, true, HOUR_US), Ok(()));
        let refused = usage.count_statement(limits, true, HOUR_US);
        assert_eq!(refused, Err(LimitReached { resource: "max_updates", limit: 1 }));
        assert_eq!(usage.count_statement(limits, false, HOUR_US), Ok(()));
        assert!(usage.count_statement(limits, false, 2 * HOUR_US - 1).is_err());
        assert_eq!(usage.count_statement(limits, false, 2 * HOUR_US), Ok(()));
    }

    #[test]
    fn failed_logins_lock_for_days() {
        let usage = AccountUsage::default();
        let policy = PasswordPolicy { failed_attempts: 2, lock_days: 1, ..PasswordPolicy::default() };
        assert_eq!(usage.login_failed(policy, 5), None);
        assert!(usage.login_failed(policy, 5).is_some());
        assert_eq!(usage.temporary_lock(policy, 6).map(|lock| lock.days_left), Some(1));
        assert_eq!(usage.temporary_lock(policy, 5 + DAY_US), None);
        assert_eq!(usage.login_failed(policy, 5 + DAY_US), None);
    }
}
