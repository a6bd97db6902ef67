//! The commands of the protocol that are not statements: prepared statements closed and reset, another database, account or state,
//! and what COM_STATISTICS, COM_DEBUG and KILL do. Called by the connection task, one at a time.
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use datum::{SqlError, error_code};

use crate::privileges::Privileges;
use crate::session::{Session, StatementId, switches_of};
use crate::statement::OpenHandlers;
use instance::{ConnectionId, KillKind, ProcessEntry};
use session_state::connection_info::ConnectionInfo;
use session_state::sink::OkInfo;
use session_state::transaction_control::{TransactionControl, transaction_error};
use variables::{SessionVariables, Settings};

impl Session {
    /// COM_STMT_CLOSE; unknown ids are ignored as the protocol has no answer.
    pub fn close_statement(&mut self, id: StatementId) {
        instance::count(&self.process.counters.com_stmt_close);
        self.prepared.remove(id.0);
    }

    /// COM_STMT_RESET: closes the statement's cursor.
    pub fn reset_statement(&mut self, id: StatementId) -> Result<OkInfo, SqlError> {
        instance::count(&self.process.counters.com_stmt_reset);
        let statement = self
            .prepared
            .get_mut(id.0)
            .and_then(Option::as_mut)
            .ok_or_else(|| error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&id.0, &"mysqld_stmt_reset"]))?;
        statement.close_cursor();
        Ok(self.ok_info())
    }

    /// COM_INIT_DB.
    pub async fn init_db(&mut self, database: &[u8]) -> Result<OkInfo, SqlError> {
        instance::count(&self.process.counters.com_change_db);
        let name = String::from_utf8_lossy(database);
        self.use_database(&name)?;
        let changes = std::mem::take(&mut self.changes);
        Ok(OkInfo { changes, ..self.ok_info() })
    }

    /// COM_CHANGE_USER after the new user is authenticated: everything of the session starts anew.
    pub async fn change_user(&mut self, connection: ConnectionInfo) -> Result<OkInfo, SqlError> {
        self.instance.telemetry.accounts.left(&self.connection.user, &self.connection.host);
        self.instance.telemetry.accounts.connected(&connection.user, &connection.host);
        self.connection = connection;
        self.process.update(|activity| activity.user.clone_from(&self.connection.user));
        self.start_anew().await?;
        self.set_database(None);
        Ok(self.ok_info())
    }

    /// COM_RESET_CONNECTION: as after login, but the current database stays.
    pub async fn reset_connection(&mut self) -> Result<OkInfo, SqlError> {
        self.start_anew().await?;
        Ok(self.ok_info())
    }

    async fn start_anew(&mut self) -> Result<(), SqlError> {
        let rolled_back = self.transaction.rollback().await;
        self.transaction = TransactionControl::of(self.process.id);
        self.process.update(|activity| activity.transaction = None);
        self.xa = None;
        self.drop_temporary_tables().await;
        self.table_locks.clear();
        self.global_read_lock = None;
        self.backup_lock = None;
        self.instance.user_locks.release_all(self.process.id);
        self.give_up_identifier();
        self.shared.reset();
        self.privileges = Privileges::new(&self.instance, &self.connection);
        self.variables = SessionVariables::new(&self.instance.globals);
        self.settings = Arc::new(Settings::of(&self.variables));
        self.switches = switches_of(&self.variables);
        self.forget_views();
        self.traces.forget();
        self.prepared.clear();
        self.named_statements.clear();
        self.handlers = OpenHandlers::default();
        self.changes.clear();
        self.apply_handshake();
        self.show_account();
        rolled_back.map_err(transaction_error)
    }

    /// COM_SET_OPTION: multi-statements on or off.
    pub fn set_multi_statements(&mut self, enabled: bool) {
        self.connection.capabilities.multi_statements = enabled;
    }

    /// COM_STATISTICS.
    pub fn statistics(&self) -> String {
        let uptime = self.instance.uptime().as_secs();
        let total = self.instance.total_counters();
        let questions = total.questions.load(Relaxed);
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: 1  \
             Open tables: 0  Queries per second avg: {:.3}",
            self.instance.processes().client_count(),
            total.slow_queries.load(Relaxed),
            questions as f64 / uptime.max(1) as f64,
        )
    }

    /// COM_DEBUG: what SHOW ENGINE INNODB STATUS shows, to the error log.
    pub fn log_state(&mut self) -> Result<OkInfo, SqlError> {
        self.require_super_or(&[], "SUPER")?;
        self.instance.log(&self.instance.engine_status());
        Ok(self.ok_info())
    }

    /// COM_PROCESS_KILL and KILL.
    pub fn kill(&mut self, id: ConnectionId) -> Result<OkInfo, SqlError> {
        self.kill_other(id, KillKind::Connection)?;
        Ok(self.ok_info())
    }

    /// KILL of another session, or of its statement.
    pub fn kill_other(&mut self, id: ConnectionId, kind: KillKind) -> Result<(), SqlError> {
        let unknown = || error_code::ER_NO_SUCH_THREAD.with(&[&id.0]);
        let entry = self.instance.processes().find(id).ok_or_else(unknown)?;
        if entry.activity().command == ProcessEntry::DAEMON {
            return Err(unknown());
        }
        self.require_kill(&entry)?;
        entry.kill.kill(kind);
        Ok(())
    }
}
