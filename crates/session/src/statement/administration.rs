//! KILL and FLUSH.
use datum::{SqlError, Value, error_code};
use parser::ast::{Flush, FlushTarget, Kill};

use super::guard::Shield;
use super::{Done, Request};
use crate::session::Session;
use crate::transaction_control::transaction_error;
use instance::{ConnectionId, KillKind};

impl Session {
    pub(super) async fn kill_statement(
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
        if ConnectionId(id) == self.connection.id {
            self.kill_other(ConnectionId(id), kind)?;
            return Err(error_code::ER_QUERY_INTERRUPTED.plain());
        }
        self.kill_other(ConnectionId(id), kind)?;
        Ok(Done::ok())
    }

    /// Only the engine's log may have something to write, and only plans are to be forgotten; targets that promise more are refused.
    pub(super) async fn flush(&mut self, flush: Flush<'_>) -> Result<Done, SqlError> {
        for target in flush.targets {
            match target {
                FlushTarget::Tables { tables: [], read_lock: true, .. } => self.lock_all_tables().await?,
                FlushTarget::Tables { tables, read_lock: true, .. } => {
                    self.lock_flushed_tables(tables).await?
                }
                FlushTarget::Tables { for_export: true, .. } => {
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"FLUSH TABLES FOR EXPORT"]));
                }
                FlushTarget::Tables { tables, .. } => {
                    self.check_flushed_tables(tables)?;
                    self.instance.plan_cache.clear();
                }
                FlushTarget::Logs | FlushTarget::EngineLogs => {
                    self.instance.engine().flush_log().await.map_err(transaction_error)?;
                }
                FlushTarget::Privileges
                | FlushTarget::Status
                | FlushTarget::BinaryLogs
                | FlushTarget::ErrorLogs
                | FlushTarget::GeneralLogs
                | FlushTarget::SlowLogs
                | FlushTarget::RelayLogs { .. }
                | FlushTarget::Hosts
                | FlushTarget::OptimizerCosts => {}
                FlushTarget::UserResources => {
                    self.instance.accounts().all().iter().for_each(|account| account.usage.forget_hour());
                }
            }
        }
        Ok(Done::ok())
    }
}
