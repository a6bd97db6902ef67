//! SHOW VARIABLES and SHOW STATUS.
use datum::Value;
use parser::ast::VariableScope;
use std::sync::atomic::Ordering::Relaxed;

use crate::counters::Counters;
use crate::result::{MadeColumn, MadeRows};
use crate::session::Session;
use crate::variables::{self, VariableId};

impl Session {
    pub(super) fn show_variables(&self, scope: VariableScope) -> MadeRows {
        let mut rows =
            MadeRows::new(&[MadeColumn::Text("Variable_name", 64), MadeColumn::NullableText("Value", 1024)]);
        let is_global = scope == VariableScope::Global;
        for id in variables::all() {
            if let Some(text) = self.shown_setting(id, is_global) {
                rows.push(vec![Value::bytes(id.definition().name), Value::bytes(text)]);
            }
        }
        rows
    }

    /// A variable as SHOW prints it; `None` when it has no value of this scope.
    pub(crate) fn shown_setting(&self, id: VariableId, is_global: bool) -> Option<String> {
        let definition = id.definition();
        match is_global {
            true => definition.has_global().then(|| self.server.globals.get(id).display()),
            false => Some(self.session_setting(id).display()),
        }
    }

    pub(super) fn show_status(&self, scope: VariableScope) -> MadeRows {
        let mut rows =
            MadeRows::new(&[MadeColumn::Text("Variable_name", 64), MadeColumn::NullableText("Value", 1024)]);
        for (name, value) in self.status_values(scope == VariableScope::Global) {
            rows.push(vec![Value::bytes(name), Value::bytes(value)]);
        }
        rows
    }

    pub(crate) fn status_values(&self, is_global: bool) -> Vec<(&'static str, String)> {
        let own = Counters::default();
        own.add(&self.counters);
        if is_global {
            own.add(&self.server.counters);
        }
        let mut values: Vec<(&'static str, String)> =
            own.all().into_iter().map(|(name, value)| (name, value.to_string())).collect();
        if !is_global {
            // Whole-server counters have the same value in both scopes.
            for (name, counter) in [
                ("Connections", &self.server.counters.connections),
                ("Queries", &self.server.counters.queries),
            ] {
                if let Some(entry) = values.iter_mut().find(|(shown, _)| *shown == name) {
                    entry.1 = counter.load(Relaxed).to_string();
                }
            }
        }
        let threads = self.server.processes().count();
        let running =
            self.server.processes().all().iter().filter(|entry| entry.activity().info().is_some()).count();
        values.extend([
            ("Threads_cached", "0".to_owned()),
            ("Threads_connected", threads.to_string()),
            ("Threads_created", threads.to_string()),
            ("Threads_running", running.to_string()),
            ("Uptime", self.server.uptime().as_secs().to_string()),
            ("Uptime_since_flush_status", self.server.uptime().as_secs().to_string()),
            ("Slow_queries", "0".to_owned()),
            ("Ssl_cipher", self.connection.tls.as_ref().map(|tls| tls.cipher.clone()).unwrap_or_default()),
            ("Ssl_version", self.connection.tls.as_ref().map(|tls| tls.version.clone()).unwrap_or_default()),
        ]);
        values.push(("Innodb_buffer_pool_load_status", self.server.pool_load_status()));
        values.push(("Innodb_buffer_pool_resize_status", self.server.pool_resize_status()));
        values.extend(engine_status(&self.server.engine().stats()));
        values.sort_by_key(|(name, _)| *name);
        values
    }
}

/// The engine's counters under the names that InnoDB gave them, where it has one for the same thing.
fn engine_status(stats: &engine::EngineStats) -> Vec<(&'static str, String)> {
    let page_bytes = stats.page_size_bytes;
    let numbers = [
        ("Innodb_buffer_pool_bytes_data", stats.pool_pages_used * page_bytes),
        ("Innodb_buffer_pool_bytes_dirty", stats.pool_pages_dirty * page_bytes),
        ("Innodb_buffer_pool_pages_data", stats.pool_pages_used),
        ("Innodb_buffer_pool_pages_dirty", stats.pool_pages_dirty),
        ("Innodb_buffer_pool_pages_flushed", stats.pool_pages_written),
        ("Innodb_buffer_pool_pages_free", stats.pool_pages_total.saturating_sub(stats.pool_pages_used)),
        ("Innodb_buffer_pool_pages_total", stats.pool_pages_total),
        ("Innodb_buffer_pool_read_requests", stats.pool_read_requests),
        ("Innodb_buffer_pool_reads", stats.pool_reads),
        ("Innodb_checkpoint_age", stats.log_end_lsn.saturating_sub(stats.checkpoint_lsn)),
        ("Innodb_deadlocks", stats.deadlocks),
        ("Innodb_history_list_length", stats.history_length),
        ("Innodb_lsn_current", stats.log_end_lsn),
        ("Innodb_lsn_flushed", stats.log_durable_lsn),
        ("Innodb_lsn_last_checkpoint", stats.checkpoint_lsn),
        ("Innodb_page_size", page_bytes),
        ("Innodb_redo_log_capacity_resized", stats.log_capacity_bytes),
        ("Innodb_redo_log_logical_size", stats.log_used_bytes),
        ("Innodb_row_lock_current_waits", stats.lock_waits_current),
        ("Innodb_row_lock_time", stats.lock_wait_us / 1000),
        ("Innodb_row_lock_time_avg", stats.lock_wait_us / 1000 / stats.lock_waits.max(1)),
        ("Innodb_row_lock_waits", stats.lock_waits),
        ("Innodb_rows_deleted", stats.rows_deleted),
        ("Innodb_rows_inserted", stats.rows_inserted),
        ("Innodb_rows_read", stats.rows_read),
        ("Innodb_rows_updated", stats.rows_updated),
    ];
    numbers.into_iter().map(|(name, value)| (name, value.to_string())).collect()
}
