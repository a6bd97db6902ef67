//! The metadata locks that statements take.
use std::collections::BTreeSet;

use catalog::{LockGuard, LockMode, LockName};
use datum::SqlError;
use definition::TableName;

use crate::session::Session;

impl Session {
    /// Locks for a definition, together with relatives, whose number is only known for sure when all are locked.
    pub(super) async fn lock_with_relatives(
        &self,
        locks: Vec<(LockName, LockMode)>,
        relatives: impl Fn() -> BTreeSet<TableName>,
    ) -> Result<Vec<LockGuard>, SqlError> {
        loop {
            let wanted = relatives();
            let others = wanted.iter().map(|name| (name.lock(), LockMode::Exclusive));
            let guards = self.lock_for_change(locks.iter().cloned().chain(others).collect()).await?;
            if relatives().is_subset(&wanted) {
                return Ok(guards);
            }
        }
    }

    /// Locks shared what a plan uses, until the transaction ends.
    pub(crate) async fn lock_shared(&mut self, locks: &[(LockName, LockMode)]) -> Result<(), SqlError> {
        for (name, mode) in locks {
            let mut held = self.transaction.locks.iter();
            if held.any(|guard| guard.name() == name && guard.mode() >= *mode) {
                continue;
            }
            let guard = self.lock(name, *mode).await?;
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
            guards.push(self.lock(&name, mode).await?);
        }
        Ok(guards)
    }

    /// For a statement that changes accounts.
    pub(super) async fn lock_accounts(&self) -> Result<LockGuard, SqlError> {
        self.lock(&LockName::Accounts, LockMode::Exclusive).await
    }

    async fn lock(&self, name: &LockName, mode: LockMode) -> Result<LockGuard, SqlError> {
        let (locks, owner) = (self.instance.catalog().locks(), self.lock_owner());
        match locks.try_acquire(owner, name, mode) {
            Some(guard) => Ok(guard),
            None => self.settled(locks.acquire(owner, name.clone(), mode)).await,
        }
    }
}
