//! A session of the server itself, in which a copy of another server is made.
//!
//! Invariant: it may do everything, and nobody else has it. Called by the crate that copies.
use std::sync::Arc;

use datum::{SqlError, Value};
use instance::{Instance, ResultShape};

use crate::families::Families;
use crate::session::Session;
use session_state::connection_info::ConnectionInfo;
use session_state::sink::{ClientGone, FlushFuture, OkInfo, ResultSink, StatusInfo};

const COPIER: &str = "system user";

/// Keeps the texts of the last column, or the error.
#[derive(Default)]
struct Outcome {
    names: Vec<String>,
    warnings: u16,
    error: Option<SqlError>,
}

impl ResultSink for Outcome {
    fn columns(&mut self, _: &Arc<ResultShape>) {}
    fn row(&mut self, values: &[Value]) {
        if let Some(Value::Bytes(text)) = values.last() {
            self.names.push(String::from_utf8_lossy(text).into_owned());
        }
    }
    fn end_rows(&mut self, _: &StatusInfo) {}
    fn cursor_opened(&mut self, _: &StatusInfo) {}
    fn ok(&mut self, ok: &OkInfo) {
        self.warnings = ok.warnings;
    }
    fn error(&mut self, error: &SqlError) {
        self.error = Some(error.clone());
    }
    fn needs_flush(&self) -> bool {
        false
    }
    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async { Err(ClientGone) })
    }
}

impl Session {
    /// With all rights, and without a client.
    pub fn of_server(instance: Arc<Instance>, families: &'static dyn Families) -> Session {
        let id = instance.next_connection_id();
        let mut session = Session::new(
            instance,
            families,
            ConnectionInfo::internal(id, (COPIER, ""), ("root", "localhost")),
        );
        session.privileges.set_unlimited();
        session
    }

    /// Runs a statement; answers how many warnings it gave.
    pub async fn obey(&mut self, sql: &[u8]) -> Result<u16, SqlError> {
        let mut outcome = Outcome::default();
        self.query(sql, &mut outcome).await;
        outcome.error.map_or(Ok(outcome.warnings), Err)
    }

    /// The texts of the last column of a query.
    pub async fn list(&mut self, sql: &str) -> Result<Vec<String>, SqlError> {
        let mut outcome = Outcome::default();
        self.query(sql.as_bytes(), &mut outcome).await;
        outcome.error.map_or(Ok(outcome.names), Err)
    }
}
