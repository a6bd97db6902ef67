//! What comes as text: data definition and the like, under the settings that its event has.
//!
//! Invariant: the session's variables are those of the event while the text runs; what the statement commits takes along how far
//! the channel has come.
use std::sync::Arc;

use binlog::{Query, query_option};
use collation::CollationId;
use datum::{SqlError, SqlMode, Value};
use instance::ResultShape;
use variables::Setting;

use super::ApplierSession;
use session::{ClientGone, FlushFuture, OkInfo, ResultSink, StatusInfo};

/// Keeps the error of a statement.
#[derive(Default)]
struct Outcome(Option<SqlError>);

impl ResultSink for Outcome {
    fn columns(&mut self, _: &Arc<ResultShape>) {}
    fn row(&mut self, _: &[Value]) {}
    fn end_rows(&mut self, _: &StatusInfo) {}
    fn cursor_opened(&mut self, _: &StatusInfo) {}
    fn ok(&mut self, _: &OkInfo) {}
    fn error(&mut self, error: &SqlError) {
        self.0 = Some(error.clone());
    }
    fn needs_flush(&self) -> bool {
        false
    }
    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async { Err(ClientGone) })
    }
}

impl ApplierSession {
    /// Runs the text of an event.
    pub(super) async fn run_applied(&mut self, query: &Query, second: u32) -> Result<(), SqlError> {
        self.obey_event(query, second);
        self.run_text_quietly(&query.sql).await
    }

    pub(super) async fn run_text_quietly(&mut self, sql: &[u8]) -> Result<(), SqlError> {
        let mut outcome = Outcome::default();
        self.query(sql, &mut outcome).await;
        outcome.0.map_or(Ok(()), Err)
    }

    /// Takes over the settings and the database of an event.
    pub(super) fn obey_event(&mut self, query: &Query, second: u32) {
        let settings = &query.settings;
        let mut set = |name: &'static str, setting: Setting| self.variables_mut().set_by_name(name, setting);
        if let Some(options) = settings.options {
            set("foreign_key_checks", Setting::Boolean(options & query_option::NO_FOREIGN_KEY_CHECKS == 0));
            set("unique_checks", Setting::Boolean(options & query_option::RELAXED_UNIQUE_CHECKS == 0));
        }
        if let Some(bits) = settings.sql_mode {
            let named = SqlMode::NAMED.iter().filter(|(flag, _)| bits & flag.0 != 0).map(|(_, name)| *name);
            set("sql_mode", Setting::text(&named.collect::<Vec<_>>().join(",")));
        }
        let (increment, offset) = settings.auto_increment.unwrap_or((1, 1));
        set("auto_increment_increment", Setting::Unsigned(u64::from(increment)));
        set("auto_increment_offset", Setting::Unsigned(u64::from(offset)));
        if let Some(explicit) = settings.explicit_timestamp_defaults {
            set("explicit_defaults_for_timestamp", Setting::Boolean(explicit));
        }
        set("sql_require_primary_key", Setting::Boolean(settings.require_primary_key.unwrap_or(false)));
        set("time_zone", Setting::text(settings.time_zone.as_deref().unwrap_or("SYSTEM")));
        let utf8mb4 = settings.utf8mb4_collation.and_then(CollationId::by_number);
        if let Some(collation) = utf8mb4 {
            set("default_collation_for_utf8mb4", Setting::text(collation.name()));
        }
        if let Some([client, connection, server]) = settings.charset {
            let by_number = CollationId::by_number;
            if let Some(client) = by_number(client) {
                set("character_set_client", Setting::text(client.charset().name()));
            }
            if let Some(connection) = by_number(connection) {
                set("character_set_connection", Setting::text(connection.charset().name()));
                set("collation_connection", Setting::text(connection.name()));
            }
            if let Some(server) = by_number(server) {
                set("character_set_server", Setting::text(server.charset().name()));
                set("collation_server", Setting::text(server.name()));
            }
        }
        if let Some((user, host)) = &settings.invoker {
            // The definer of what the statement makes, unless it names one.
            self.act_as(user, host);
        }
        self.refresh_settings();
        let micros = i64::from(second) * 1_000_000 + i64::from(settings.micros.unwrap_or(0));
        self.fix_timestamp(micros);
        self.enter_event_database(&query.database);
    }

    fn enter_event_database(&mut self, name: &str) {
        if self.database() == Some(name) || self.database().is_none() && name.is_empty() {
            return;
        }
        // One that is gone: the statement names what it means.
        if name.is_empty() || self.use_database(name).is_err() {
            self.set_database(None);
        }
    }
}
