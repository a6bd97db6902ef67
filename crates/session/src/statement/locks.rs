//! The metadata locks that statements take.
use std::time::Duration;

use catalog::{LockGuard, LockMode, LockName, LockOwner};
use datum::{SqlError, error_code};

use super::guard::within;
use crate::session::Session;

impl Session {
    /// Locks shared what a plan uses, until the transaction ends.
    pub(crate) async fn lock_shared(&mut self, locks: &[(LockName, LockMode)]) -> Result<(), SqlError> {
        for (name, mode) in locks {
            let mut held = self.transaction.locks.iter();
            if held.any(|guard| guard.name() == name && guard.mode() >= *mode) {
                continue;
            }
            let guard = self.lock(name.clone(), *mode).await?;
            self.transaction.locks.push(guard);
        }
        Ok(())
    }

    /// Locks for one DDL statement: databases shared, tables exclusive, in the order of their names so that two
    /// such statements cannot wait for each other.
    pub(crate) async fn lock_for_change(
        &self,
        mut names: Vec<(LockName, LockMode)>,
    ) -> Result<Vec<LockGuard>, SqlError> {
        // The strongest mode of a name comes first and is the one that stays.
        names.sort_by(|left, right| left.0.cmp(&right.0).then(right.1.cmp(&left.1)));
        names.dedup_by(|later, earlier| later.0 == earlier.0);
        let mut guards = Vec::with_capacity(names.len());
        for (name, mode) in names {
            guards.push(self.lock(name, mode).await?);
        }
        Ok(guards)
    }

    async fn lock(&self, name: LockName, mode: LockMode) -> Result<LockGuard, SqlError> {
        let owner = LockOwner(u64::from(self.connection.id.0));
        let request = self.server.catalog().locks().acquire(owner, name, mode);
        let limit = Duration::from_secs(self.settings.lock_wait_timeout_s);
        match within(self.server.timer(), limit, request).await {
            Some(Ok(guard)) => Ok(guard),
            Some(Err(_)) => Err(error_code::ER_LOCK_DEADLOCK.plain()),
            None => Err(error_code::ER_LOCK_WAIT_TIMEOUT.plain()),
        }
    }
}
