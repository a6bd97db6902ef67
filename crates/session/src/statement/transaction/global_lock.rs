//! The lock of all tables, and servers that only read: what stops changes and commits of all sessions.
//!
//! Invariant: a statement that changes anything is inside the gate of changes until it has ended, its own commit
//! included; the commit of a longer transaction passes the gate of commits. So whoever has closed both sees a server
//! in which nothing changes and no commit is half done.
use std::time::Duration;

use auth::DynamicPrivilege;
use catalog::{ClosedGate, Gate, LockOwner, Passage};
use datum::{SqlError, error_code};

use parser::ast::StatementKind;

use crate::session::Session;
use crate::statement::dispatch::is_schema_change;
use session_state::guard::within;
use variables::{Setting, VariableId, WriteProtection};

/// FLUSH TABLES WITH READ LOCK, held until UNLOCK TABLES or the session's end.
pub(crate) struct GlobalReadLock {
    _changes: ClosedGate,
    _commits: ClosedGate,
}

impl Session {
    /// FLUSH TABLES WITH READ LOCK.
    pub async fn lock_all_tables(&mut self) -> Result<(), SqlError> {
        if !self.table_locks.is_empty() {
            return Err(error_code::ER_LOCK_OR_ACTIVE_TRANSACTION.plain());
        }
        if self.global_read_lock.is_none() {
            self.global_read_lock = Some(self.close_gates().await?);
        }
        Ok(())
    }

    async fn close_gates(&self) -> Result<GlobalReadLock, SqlError> {
        Ok(GlobalReadLock {
            _changes: self.close_gate(Gate::Changes).await?,
            _commits: self.close_gate(Gate::Commits).await?,
        })
    }

    /// Waits until nobody passes the gate, and keeps it closed.
    pub async fn close_gate(&self, gate: Gate) -> Result<ClosedGate, SqlError> {
        let locks = self.instance.catalog().locks().clone();
        self.settled(locks.close(self.lock_owner(), gate)).await
    }

    /// Before a statement that changes anything: errors 1290 and 1223, or a wait for the lock of all tables.
    pub async fn pass_to_change(&mut self) -> Result<(), SqlError> {
        if self.statement_passage.is_some() {
            return Ok(());
        }
        self.check_write_protection()?;
        self.check_own_read_lock()?;
        if !self.table_locks.is_inside() {
            self.statement_passage = Some(self.pass(Gate::Changes).await?);
        }
        Ok(())
    }

    /// LOCK INSTANCE FOR BACKUP stops changes of definitions and accounts, of its own session too.
    pub(in crate::statement) async fn pass_backup_lock(
        &mut self,
        kind: &StatementKind<'_>,
    ) -> Result<(), SqlError> {
        if is_schema_change(kind) && self.backup_lock.is_none() {
            self.backup_passage = Some(self.pass(Gate::Definitions).await?);
        }
        Ok(())
    }

    /// Error 1223: who has locked all tables changes nothing either.
    pub fn check_own_read_lock(&self) -> Result<(), SqlError> {
        match self.global_read_lock {
            Some(_) => Err(error_code::ER_CANT_UPDATE_WITH_READLOCK.plain()),
            None => Ok(()),
        }
    }

    /// Before the commit of a transaction that more than one statement may have made. If it comes to nothing the
    /// transaction is rolled back, which `commit_is_due` tells.
    pub(crate) async fn pass_to_commit(&mut self) -> Result<Option<Passage>, SqlError> {
        if !self.transaction.has_changes() {
            return Ok(None);
        }
        self.commit_is_due = true;
        self.check_write_protection()?;
        let passage = self.pass(Gate::Commits).await?;
        self.commit_is_due = false;
        Ok(Some(passage))
    }

    /// Before a decision about a whole XA transaction, which servers that only read do not refuse.
    pub(in crate::statement) async fn pass_to_decide(&self) -> Result<Passage, SqlError> {
        self.pass(Gate::Commits).await
    }

    async fn pass(&self, gate: Gate) -> Result<Passage, SqlError> {
        let locks = self.instance.catalog().locks();
        match locks.try_pass(gate) {
            Some(passage) => Ok(passage),
            None => Ok(self.settled(locks.pass_behind(self.lock_owner(), gate)).await?.into()),
        }
    }

    /// Whose metadata locks the session takes.
    pub fn lock_owner(&self) -> LockOwner {
        LockOwner(u64::from(self.connection.id.0))
    }

    /// The lock, or the error of a wait that is too long or would never end.
    pub(in crate::statement) async fn settled<T>(
        &self,
        request: impl Future<Output = Result<T, catalog::LockDeadlock>>,
    ) -> Result<T, SqlError> {
        let limit = Duration::from_secs(self.settings.lock_wait_timeout_s);
        match within(self.instance.timer(), limit, request).await {
            Some(Ok(granted)) => Ok(granted),
            Some(Err(_)) => Err(error_code::ER_LOCK_DEADLOCK.plain()),
            None => Err(error_code::ER_LOCK_WAIT_TIMEOUT.plain()),
        }
    }

    /// Error 1290: `super_read_only` stops everybody, `read_only` all but administrators.
    pub fn check_write_protection(&self) -> Result<(), SqlError> {
        if self.applying.is_some() {
            return Ok(());
        }
        let option = match self.instance.globals.write_protection() {
            WriteProtection::None => return Ok(()),
            WriteProtection::Users if self.privileges.has_super_or(&[DynamicPrivilege::ConnectionAdmin]) => {
                return Ok(());
            }
            WriteProtection::Users => "--read-only",
            WriteProtection::All => "--super-read-only",
        };
        Err(error_code::ER_OPTION_PREVENTS_STATEMENT.with(&[&option]))
    }

    /// SET GLOBAL `read_only` and `super_read_only`: what runs ends first.
    pub async fn set_write_protection(&mut self, id: VariableId, setting: Setting) -> Result<(), SqlError> {
        if self.instance.globals.get(id) == setting {
            return Ok(());
        }
        let _closed = match setting.as_boolean() {
            true if !self.table_locks.is_empty()
                || self.transaction.is_open() && self.transaction.touched =>
            {
                return Err(error_code::ER_LOCK_OR_ACTIVE_TRANSACTION.plain());
            }
            true if self.global_read_lock.is_none() => Some(self.close_gates().await?),
            _ => None,
        };
        self.instance.globals.set(id, setting);
        Ok(())
    }
}
