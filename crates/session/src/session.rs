//! One client's session: the commands of the protocol, each ending in the sink or in a returned error.
//!
//! Invariant: no transaction outlives its session, and between commands a transaction is open only if the
//! client's last statements left it open. Driven by the connection task, one command at a time.
use std::sync::Arc;

use datum::{SqlError, Value, error_code};

use crate::connection_info::ConnectionInfo;
use crate::process_list::ProcessEntry;
use crate::server::Server;
use crate::sink::{ColumnMeta, OkInfo, ResultShape, ResultSink};

/// Names a prepared statement within its session, as the protocol does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatementId(pub u32);

#[derive(Clone, Debug)]
pub struct PreparedInfo {
    pub id: StatementId,
    pub parameters: Vec<ColumnMeta>,
    /// The columns of the result; none for a statement without one.
    pub columns: Option<Arc<ResultShape>>,
    pub warnings: u16,
}

/// What COM_STMT_EXECUTE asks of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorKind {
    /// Send all rows.
    #[default]
    None,
    /// Keep the rows for COM_STMT_FETCH.
    ReadOnly,
}

pub struct Session {
    server: Arc<Server>,
    connection: ConnectionInfo,
    process: Arc<ProcessEntry>,
}

impl Session {
    /// A session without a current database; `init_db` follows if the handshake named one.
    pub fn new(server: Arc<Server>, connection: ConnectionInfo) -> Session {
        let host = match connection.peer {
            Some(peer) => format!("{}:{}", connection.host, peer.port()),
            None => connection.host.clone(),
        };
        let process = Arc::new(ProcessEntry::new(connection.id, &connection.user, host));
        server.processes().add(process.clone());
        Session { server, connection, process }
    }

    /// This session's entry in the process list; its `kill` switch tells when the connection must end.
    pub fn process(&self) -> &Arc<ProcessEntry> {
        &self.process
    }

    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// COM_QUERY: one statement, or several when the client may send several.
    pub async fn query(&mut self, sql: &[u8], sink: &mut dyn ResultSink) {
        let _ = sql;
        sink.error(&error_code::ER_NOT_SUPPORTED_YET.with(&[&"this statement"]));
    }

    /// COM_STMT_PREPARE.
    pub async fn prepare(&mut self, sql: &[u8]) -> Result<PreparedInfo, SqlError> {
        let _ = sql;
        Err(error_code::ER_UNSUPPORTED_PS.plain())
    }

    /// How many parameters a prepared statement has; none if there is no such statement.
    pub fn parameter_count(&self, id: StatementId) -> Option<usize> {
        let _ = id;
        None
    }

    /// COM_STMT_EXECUTE, long data already joined into `parameters`.
    pub async fn execute(
        &mut self,
        id: StatementId,
        parameters: &[Value],
        cursor: CursorKind,
        sink: &mut dyn ResultSink,
    ) {
        let _ = (parameters, cursor);
        sink.error(&error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&id.0, &"mysqld_stmt_execute"]));
    }

    /// COM_STMT_FETCH: up to `row_count` further rows of the cursor: `row`s and `end_rows`, no `columns`.
    pub async fn fetch(&mut self, id: StatementId, row_count: u32, sink: &mut dyn ResultSink) {
        let _ = row_count;
        sink.error(&error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&id.0, &"mysqld_stmt_fetch"]));
    }

    /// COM_STMT_CLOSE; unknown ids are ignored as the protocol has no answer.
    pub fn close_statement(&mut self, id: StatementId) {
        let _ = id;
    }

    /// COM_STMT_RESET: closes the statement's cursor.
    pub fn reset_statement(&mut self, id: StatementId) -> Result<OkInfo, SqlError> {
        Err(error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&id.0, &"mysqld_stmt_reset"]))
    }

    /// COM_INIT_DB.
    pub async fn init_db(&mut self, database: &[u8]) -> Result<OkInfo, SqlError> {
        Err(error_code::ER_BAD_DB_ERROR.with(&[&String::from_utf8_lossy(database)]))
    }

    /// COM_CHANGE_USER after the new user is authenticated: everything of the session starts anew.
    pub async fn change_user(&mut self, connection: ConnectionInfo) -> Result<OkInfo, SqlError> {
        self.connection = connection;
        Ok(OkInfo::default())
    }

    /// COM_RESET_CONNECTION.
    pub async fn reset_connection(&mut self) -> Result<OkInfo, SqlError> {
        Ok(OkInfo::default())
    }

    /// COM_SET_OPTION: multi-statements on or off.
    pub fn set_multi_statements(&mut self, enabled: bool) {
        self.connection.capabilities.multi_statements = enabled;
    }

    /// The status of the session for answers that the connection makes itself (COM_PING).
    pub fn ok_info(&self) -> OkInfo {
        OkInfo::default()
    }

    /// COM_STATISTICS.
    pub fn statistics(&self) -> String {
        format!("Uptime: {}", self.server.uptime().as_secs())
    }

    /// COM_PROCESS_KILL, with the privilege check of KILL.
    pub fn kill(&self, id: crate::ConnectionId) -> Result<OkInfo, SqlError> {
        self.server.kill(id, crate::KillKind::Connection)?;
        Ok(self.ok_info())
    }

    /// The values of variables the connection itself obeys, as they are now.
    pub fn limits(&self) -> ConnectionLimits {
        ConnectionLimits::default()
    }

    /// Rolls back what is open. Dropping the session does the same in the background.
    pub async fn close(self) {}
}

impl Drop for Session {
    fn drop(&mut self) {
        self.server.processes().remove(self.process.id);
    }
}

/// The session variables that the connection obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    pub max_allowed_packet: u32,
    /// `wait_timeout`, or `interactive_timeout` for an interactive client.
    pub idle_timeout_s: u32,
    pub net_read_timeout_s: u32,
    pub net_write_timeout_s: u32,
}

impl Default for ConnectionLimits {
    fn default() -> ConnectionLimits {
        ConnectionLimits {
            max_allowed_packet: 64 << 20,
            idle_timeout_s: 28_800,
            net_read_timeout_s: 30,
            net_write_timeout_s: 60,
        }
    }
}
