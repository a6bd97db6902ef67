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
        values.sort_by_key(|(name, _)| *name);
        values
    }
}
