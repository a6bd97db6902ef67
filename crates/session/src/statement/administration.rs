//! KILL, FLUSH and table maintenance.
use auth::Privilege;
use datum::{SqlError, Value, error_code};
use parser::ast::{Flush, FlushTarget, Kill, MaintainTable, MaintenanceKind};

use super::guard::Shield;
use super::{Done, Request};
use crate::connection_info::ConnectionId;
use crate::counters::count;
use crate::kill::KillKind;
use crate::result::{MadeColumn, MadeRows};
use crate::session::Session;

impl Session {
    pub(super) async fn kill_statement(
        &mut self,
        kill: &Kill<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        count(&self.counters.com_kill);
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

    /// Nothing is cached that would have to be written or forgotten; targets that promise more are refused.
    pub(super) fn flush(&mut self, flush: Flush<'_>) -> Result<Done, SqlError> {
        self.require_global(Privilege::Reload)?;
        for target in flush.targets {
            match target {
                FlushTarget::Tables { read_lock: true, .. } => {
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"FLUSH TABLES WITH READ LOCK"]));
                }
                FlushTarget::Tables { for_export: true, .. } => {
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"FLUSH TABLES FOR EXPORT"]));
                }
                FlushTarget::Tables { .. } => self.server.plan_cache.clear(),
                FlushTarget::Privileges
                | FlushTarget::Status
                | FlushTarget::Logs
                | FlushTarget::BinaryLogs
                | FlushTarget::EngineLogs
                | FlushTarget::ErrorLogs
                | FlushTarget::GeneralLogs
                | FlushTarget::SlowLogs
                | FlushTarget::RelayLogs { .. }
                | FlushTarget::Hosts
                | FlushTarget::OptimizerCosts
                | FlushTarget::UserResources => {}
            }
        }
        Ok(Done::ok())
    }

    /// ANALYZE, CHECK, OPTIMIZE, CHECKSUM and REPAIR TABLE.
    pub(super) async fn maintain_tables(
        &mut self,
        maintain: &MaintainTable<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let _ = shield;
        let word = match maintain.kind {
            MaintenanceKind::Analyze => "analyze",
            MaintenanceKind::Check => "check",
            MaintenanceKind::Optimize => "optimize",
            MaintenanceKind::Repair => "repair",
            MaintenanceKind::Checksum => {
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"CHECKSUM TABLE"]));
            }
        };
        if maintain.histogram.is_some() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"histograms"]));
        }
        let mut rows = MadeRows::new(&[
            MadeColumn::Text("Table", 128),
            MadeColumn::Text("Op", 10),
            MadeColumn::Text("Msg_type", 10),
            MadeColumn::LongText("Msg_text"),
        ]);
        for table in maintain.tables {
            let name = self.table_name(*table)?;
            let mut push = |kind: &str, text: &str| {
                let values = [name.dotted().as_str(), word, kind, text].map(Value::bytes);
                rows.push(values.to_vec());
            };
            self.require_table(Privilege::Select, &name.database, &name.name)?;
            match self.server.catalog().require_table(&name.database, &name.name) {
                Err(error) => {
                    push("Error", &error.message);
                    push("status", "Operation failed");
                }
                Ok(_) => match maintain.kind {
                    MaintenanceKind::Optimize => {
                        push("note", "Table does not support optimize, doing recreate + analyze instead");
                        push("status", "OK");
                    }
                    MaintenanceKind::Repair => {
                        push("note", "The storage engine for the table doesn't support repair");
                    }
                    _ => push("status", "OK"),
                },
            }
        }
        Ok(Done::Made(rows))
    }
}
