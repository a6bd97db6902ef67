//! START TRANSACTION, COMMIT, ROLLBACK, savepoints and SET TRANSACTION.
use datum::{SqlError, error_code};
use engine::{AccessMode, Isolation};
use parser::ast::{IsolationLevel, TransactionCharacteristic, TransactionEnd, VariableScope};

use crate::session::Session;
use crate::statement::Done;
use instance::count;
use session_state::guard::Shield;
use session_state::transaction_control::transaction_error;
use variables::{Completion, Setting, VariableId, isolation_name, isolation_named};

impl Session {
    /// BEGIN and START TRANSACTION; an open transaction is committed first.
    pub(crate) async fn start_transaction(
        &mut self,
        asked: Option<TransactionCharacteristic>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        self.require_no_owned_transaction()?;
        self.commit_open(shield).await?;
        self.table_locks.clear();
        let access = match asked.and_then(|asked| asked.read_only) {
            Some(true) => AccessMode::ReadOnly,
            Some(false) => AccessMode::ReadWrite,
            None => self.settings.access,
        };
        if asked.is_some_and(|asked| asked.read_only.is_some()) {
            if access == AccessMode::ReadWrite {
                self.check_write_protection()?;
            }
            self.transaction.next.access = Some(access);
        }
        let engine = self.instance.engine().clone();
        self.transaction.begin(&engine, self.settings.isolation, access, true);
        let snapshot = asked.is_some_and(|asked| asked.consistent_snapshot);
        let transaction = self.transaction.current.as_mut().expect("a transaction was just begun");
        match (snapshot, transaction.isolation()) {
            (false, _) => {}
            (true, Isolation::RepeatableRead) => {
                transaction.take_snapshot();
                self.transaction.touched = true;
            }
            (true, _) => self.shared.warning(WITH_CONSISTENT_SNAPSHOT_IGNORED.plain()),
        }
        Ok(Done::ok())
    }

    /// Commits what is open: COMMIT itself and statements that commit implicitly.
    pub async fn commit_open(&mut self, shield: &Shield) -> Result<(), SqlError> {
        self.require_no_xa()?;
        if self.transaction.current.is_some() && self.transaction.touched {
            count(&self.process.counters.handler_commit);
        }
        let _passage = self.pass_to_commit().await?;
        self.warn_of_temporary(false);
        self.enter_stage(telemetry::instruments::stages::COMMIT);
        shield.raise();
        let result = self.transaction.commit().await.map_err(transaction_error);
        shield.lower();
        self.statements.forget_savepoints();
        result
    }

    /// COMMIT.
    pub async fn commit(&mut self, end: TransactionEnd, shield: &Shield) -> Result<Done, SqlError> {
        let chained = self.chained_characteristics();
        self.commit_open(shield).await?;
        self.complete(end, chained);
        Ok(Done::ok())
    }

    pub(crate) async fn rollback(&mut self, end: TransactionEnd, shield: &Shield) -> Result<Done, SqlError> {
        self.require_no_xa()?;
        let chained = self.chained_characteristics();
        if self.transaction.current.is_some() && self.transaction.touched {
            count(&self.process.counters.handler_rollback);
        }
        shield.raise();
        let result = self.transaction.rollback().await.map_err(transaction_error);
        shield.lower();
        self.statements.forget_savepoints();
        result?;
        self.warn_of_temporary(true);
        self.complete(end, chained);
        Ok(Done::ok())
    }

    /// AND CHAIN continues with the characteristics of the transaction that ends.
    fn chained_characteristics(&self) -> (Isolation, AccessMode) {
        match &self.transaction.current {
            Some(transaction) => (transaction.isolation(), self.transaction.access),
            None => (self.settings.isolation, self.settings.access),
        }
    }

    fn complete(&mut self, end: TransactionEnd, chained: (Isolation, AccessMode)) {
        let chain = end.chain.unwrap_or(self.settings.completion == Completion::Chain);
        let release = end.release.unwrap_or(!chain && self.settings.completion == Completion::Release);
        if chain {
            let engine = self.instance.engine().clone();
            self.transaction.begin(&engine, chained.0, chained.1, true);
        }
        self.release_if(if release { Completion::Release } else { Completion::Nothing });
    }

    /// SAVEPOINT; outside of a transaction it does nothing, as in MySQL with autocommit.
    pub(crate) fn savepoint(&mut self, name: &str) -> Done {
        if self.transaction.current.is_none() && !self.settings.autocommit {
            self.begin_statement_transaction(true);
            self.transaction.touched = false;
            self.statements.forget_savepoints();
        }
        if self.transaction.current.is_some() && self.transaction.touched {
            count(&self.process.counters.handler_savepoint);
        }
        self.transaction.set_savepoint(name);
        Done::ok()
    }

    pub(crate) async fn rollback_to_savepoint(&mut self, name: &str) -> Result<Done, SqlError> {
        match self.transaction.rollback_to(name).await {
            Some(Ok(())) => {
                count(&self.process.counters.handler_savepoint_rollback);
                Ok(Done::ok())
            }
            Some(Err(error)) => Err(transaction_error(error)),
            None => Err(error_code::ER_SP_DOES_NOT_EXIST.with(&[&"SAVEPOINT", &name])),
        }
    }

    pub(crate) fn release_savepoint(&mut self, name: &str) -> Result<Done, SqlError> {
        match self.transaction.release_savepoint(name) {
            true => Ok(Done::ok()),
            false => Err(error_code::ER_SP_DOES_NOT_EXIST.with(&[&"SAVEPOINT", &name])),
        }
    }

    /// Error 1792 before anything is read or locked: the transaction that is open, or that would begin, only reads.
    pub(crate) fn require_write_access(&self) -> Result<(), SqlError> {
        let access = match &self.transaction.current {
            Some(_) => self.transaction.access,
            None => self.transaction.next.access.unwrap_or(self.settings.access),
        };
        match access {
            AccessMode::ReadOnly => Err(error_code::ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.plain()),
            AccessMode::ReadWrite => Ok(()),
        }
    }

    /// What the open transaction reads at, or the one that the next statement begins.
    pub(crate) fn effective_isolation(&self) -> Isolation {
        match &self.transaction.current {
            Some(transaction) => transaction.isolation(),
            None => self.transaction.next.isolation.unwrap_or(self.settings.isolation),
        }
    }

    /// What a session asks for is also for its next transaction, whatever was asked for that one before.
    pub fn forget_next_characteristic(&mut self, variable: &str) {
        if self.transaction.is_open() {
            return;
        }
        match variable {
            "transaction_isolation" => self.transaction.next.isolation = None,
            "transaction_read_only" => self.transaction.next.access = None,
            _ => {}
        }
    }

    /// `SET @@transaction_isolation = ..` and its kin: for the next transaction only.
    pub fn set_next_characteristic(&mut self, variable: &str, setting: &Setting) {
        let next = &mut self.transaction.next;
        match variable {
            "transaction_isolation" => next.isolation = Some(isolation_named(setting.as_text())),
            _ if setting.as_boolean() => next.access = Some(AccessMode::ReadOnly),
            _ => next.access = Some(AccessMode::ReadWrite),
        }
    }

    /// SET [GLOBAL | SESSION] TRANSACTION.
    pub(crate) fn set_transaction(&mut self, asked: TransactionCharacteristic) -> Result<Done, SqlError> {
        let isolation = asked.isolation.map(engine_isolation);
        let access = asked.read_only.map(|read_only| match read_only {
            true => AccessMode::ReadOnly,
            false => AccessMode::ReadWrite,
        });
        if asked.scope == VariableScope::Unspecified {
            if self.transaction.is_open() {
                return Err(error_code::ER_CANT_CHANGE_TX_CHARACTERISTICS.plain());
            }
            self.transaction.next.isolation = isolation.or(self.transaction.next.isolation);
            self.transaction.next.access = access.or(self.transaction.next.access);
            return Ok(Done::ok());
        }
        let isolation = isolation.map(|isolation| Setting::text(isolation_name(isolation)));
        let access = access.map(|access| Setting::Boolean(access == AccessMode::ReadOnly));
        let settings = [("transaction_isolation", isolation), ("transaction_read_only", access)];
        if asked.scope == VariableScope::Global {
            self.require_super_or(
                &[auth::DynamicPrivilege::SystemVariablesAdmin],
                "SUPER or SYSTEM_VARIABLES_ADMIN",
            )?;
        }
        for (name, setting) in settings {
            let Some(setting) = setting else { continue };
            match asked.scope {
                VariableScope::Global => self.instance.globals.set(VariableId::known(name), setting),
                _ => {
                    self.forget_next_characteristic(name);
                    self.variables.set_by_name(name, setting);
                }
            }
        }
        self.refresh_settings();
        Ok(Done::ok())
    }
}

const WITH_CONSISTENT_SNAPSHOT_IGNORED: datum::ErrorCode = datum::ErrorCode::new(
    138,
    "HY000",
    "InnoDB: WITH CONSISTENT SNAPSHOT was ignored because this phrase can only be used with REPEATABLE READ \
     isolation level.",
);

fn engine_isolation(level: IsolationLevel) -> Isolation {
    match level {
        IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
        IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
        IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
        IsolationLevel::Serializable => Isolation::Serializable,
    }
}
