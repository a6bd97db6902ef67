//! Statements of administration: KILL, FLUSH, SHUTDOWN, RESTART, LOCK INSTANCE, RESET PERSIST.
use auth::{DynamicPrivilege, Privilege};
use catalog::Gate;
use datum::{ErrorCode, SqlError, Value, error_code};
use instance::StopKind;
use instance::logs::{LogFile, LogWriter};
use parser::ast::{Flush, FlushTarget, Kill, ObjectName};

use crate::caller::Caller;
use instance::{ConnectionId, KillKind};
use session::Shield;
use session::transaction_error;
use session::{Done, Request};

impl Caller<'_> {
    pub(crate) async fn kill_statement(
        &mut self,
        kill: &Kill<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let (value, _) = self.evaluate_one(&kill.id, request, shield).await?;
        let number = match value {
            Value::Int(number) => u32::try_from(number).ok(),
            Value::UInt(number) => u32::try_from(number).ok(),
            _ => None,
        };
        let shown = match &value {
            Value::Int(number) => number.to_string(),
            Value::UInt(number) => number.to_string(),
            _ => "0".to_owned(),
        };
        let id = number.ok_or_else(|| error_code::ER_NO_SUCH_THREAD.with(&[&shown]))?;
        let kind = if kill.query_only { KillKind::Query } else { KillKind::Connection };
        if ConnectionId(id) == self.connection().id {
            self.kill_other(ConnectionId(id), kind)?;
            return Err(error_code::ER_QUERY_INTERRUPTED.plain());
        }
        self.kill_other(ConnectionId(id), kind)?;
        Ok(Done::ok())
    }

    fn refuse_views(&self, tables: &[ObjectName<'_>]) -> Result<(), SqlError> {
        for &table in tables {
            let name = self.table_name(table)?;
            if self.instance().catalog().view(&name.database, &name.name).is_some() {
                return Err(error_code::ER_WRONG_OBJECT.with(&[&name.database, &name.name, &"BASE TABLE"]));
            }
        }
        Ok(())
    }

    /// Only the engine's log may have something to write, and only plans are to be forgotten; targets that promise more are refused.
    pub(crate) async fn flush(&mut self, flush: Flush<'_>) -> Result<Done, SqlError> {
        for target in flush.targets {
            match target {
                FlushTarget::Tables { tables: [], read_lock: true, .. } => self.lock_all_tables().await?,
                FlushTarget::Tables { tables, read_lock: true, .. } => {
                    self.refuse_views(tables)?;
                    self.lock_flushed_tables(tables).await?
                }
                FlushTarget::Tables { for_export: true, .. } => {
                    let instead =
                        "FLUSH TABLES .. FOR EXPORT (tables have no files of their own: use a dump)";
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&instead]));
                }
                FlushTarget::Tables { tables, .. } => {
                    self.check_flushed_tables(tables)?;
                    self.instance().plan_cache.clear();
                }
                FlushTarget::Logs => {
                    self.rotate_binary_log().await?;
                    self.instance().reopen_logs();
                    self.instance().engine().flush_log().await.map_err(transaction_error)?;
                }
                FlushTarget::EngineLogs => {
                    self.instance().engine().flush_log().await.map_err(transaction_error)?;
                }
                FlushTarget::ErrorLogs => self.reopen(|writer| writer.reopen_error_log()),
                FlushTarget::GeneralLogs => self.reopen(|writer| writer.reopen(LogFile::General)),
                FlushTarget::SlowLogs => self.reopen(|writer| writer.reopen(LogFile::Slow)),
                FlushTarget::BinaryLogs => self.rotate_binary_log().await?,
                FlushTarget::Privileges
                | FlushTarget::Status
                | FlushTarget::RelayLogs { .. }
                | FlushTarget::Hosts
                | FlushTarget::OptimizerCosts => {}
                FlushTarget::UserResources => {
                    self.instance().accounts().all().iter().for_each(|account| account.usage.forget_hour());
                }
            }
        }
        Ok(Done::ok())
    }

    fn reopen(&self, reopen: impl Fn(&dyn LogWriter)) {
        if let Some(writer) = self.instance().logs.writer() {
            reopen(&**writer);
        }
    }

    /// SHUTDOWN: the client is answered, then the program ends.
    pub(crate) fn shut_down(&self, kind: StopKind) -> Result<Done, SqlError> {
        self.require_global(Privilege::Shutdown)?;
        if kind == StopKind::Restart && !self.instance().stopper.can_restart() {
            return Err(ER_RESTART_SERVER_FAILED.with(&[&"mysqld is not managed by supervisor process"]));
        }
        self.instance().stopper.stop(kind);
        Ok(Done::ok())
    }

    /// LOCK INSTANCE FOR BACKUP: nobody changes a definition until UNLOCK INSTANCE or the session's end.
    pub(crate) async fn lock_instance(&mut self) -> Result<Done, SqlError> {
        self.require_backup_admin()?;
        if !self.has_backup_lock() {
            let lock = self.close_gate(Gate::Definitions).await?;
            self.set_backup_lock(Some(lock));
        }
        Ok(Done::ok())
    }

    pub(crate) fn unlock_instance(&mut self) -> Result<Done, SqlError> {
        self.require_backup_admin()?;
        self.set_backup_lock(None);
        Ok(Done::ok())
    }

    fn require_backup_admin(&self) -> Result<(), SqlError> {
        match self.privileges().has_dynamic(DynamicPrivilege::BackupAdmin) {
            true => Ok(()),
            false => Err(error_code::ER_SPECIFIC_ACCESS_DENIED_ERROR.with(&[&"BACKUP_ADMIN"])),
        }
    }

    async fn rotate_binary_log(&self) -> Result<(), SqlError> {
        match self.instance().binary_log() {
            Some(log) => log.rotate().await.map_err(|error| session::log_error(&error)),
            None => Ok(()),
        }
    }

    /// RESET PERSIST [[IF EXISTS] name]: what SET PERSIST stored is forgotten; running values stay.
    pub(crate) async fn reset_persist(
        &mut self,
        name: Option<&str>,
        if_exists: bool,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let stored = self.instance().persisted();
        let names: Vec<String> = match name {
            None => stored.into_keys().collect(),
            Some(name) => {
                let lower = name.to_lowercase();
                if !stored.contains_key(&lower) {
                    let absent = ER_VAR_DOES_NOT_EXIST.with(&[&name]);
                    if !if_exists {
                        return Err(absent);
                    }
                    self.shared().warning(absent);
                    return Ok(Done::ok());
                }
                vec![lower]
            }
        };
        let mut change = self.instance().catalog().begin_change();
        for name in &names {
            change.put_variable(name, None).await?;
        }
        shield.raise();
        let result = change.commit().await;
        shield.lower();
        result?;
        names.iter().for_each(|name| self.instance().set_persisted(name, None));
        Ok(Done::ok())
    }
}

const ER_RESTART_SERVER_FAILED: ErrorCode = ErrorCode::new(3707, "HY000", "Restart server failed (%s).");
const ER_VAR_DOES_NOT_EXIST: ErrorCode =
    ErrorCode::new(3615, "HY000", "Variable %s does not exist in persisted config file");
