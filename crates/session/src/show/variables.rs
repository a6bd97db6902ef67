//! SHOW VARIABLES and SHOW STATUS.
use datum::Value;
use parser::ast::VariableScope;

use crate::result::{MadeColumn, MadeRows};
use crate::session::Session;
use crate::status::{StatusValue, global_status, session_status};
use variables::VariableId;

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

    fn status_values(&self, is_global: bool) -> Vec<StatusValue> {
        let mut values = match is_global {
            true => global_status(&self.server),
            false => session_status(&self.server, &self.process.counters),
        };
        let tls = self.connection.tls.as_ref();
        values.push(("Ssl_cipher", tls.map(|tls| tls.cipher.clone()).unwrap_or_default()));
        values.push(("Ssl_version", tls.map(|tls| tls.version.clone()).unwrap_or_default()));
        values.sort_by_key(|(name, _)| *name);
        values
    }
}
