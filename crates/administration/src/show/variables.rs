//! SHOW VARIABLES and SHOW STATUS.
use datum::{SqlError, Value};
use parser::ast::VariableScope;

use crate::caller::Caller;
use session::{MadeColumn, MadeRows};
use variables::VariableId;

impl Caller<'_> {
    pub(super) fn show_variables(&self, scope: VariableScope) -> MadeRows {
        let mut rows =
            MadeRows::new(&[MadeColumn::Text("Variable_name", 64), MadeColumn::NullableText("Value", 1024)]);
        let is_global = scope == VariableScope::Global;
        for (name, id) in variables::listed() {
            if let Some(text) = self.shown_setting(id, is_global) {
                rows.push(vec![Value::bytes(name), Value::bytes(text)]);
            }
        }
        rows
    }

    /// A variable as SHOW prints it; `None` when it has no value of this scope.
    pub(crate) fn shown_setting(&self, id: VariableId, is_global: bool) -> Option<String> {
        let definition = id.definition();
        match is_global {
            true => definition.has_global().then(|| self.instance().globals.get(id).display()),
            false => Some(self.session_setting(id).display()),
        }
    }

    /// The status table of the scope, and what the connection alone knows.
    pub(super) async fn show_status(&mut self, scope: VariableScope) -> Result<MadeRows, SqlError> {
        let table = if scope == VariableScope::Global { "global_status" } else { "session_status" };
        let mut values = self.system_rows("performance_schema", table).await?;
        let tls = self.connection().tls.as_ref();
        let cipher = tls.map(|tls| tls.cipher.as_str()).unwrap_or_default();
        let version = tls.map(|tls| tls.version.as_str()).unwrap_or_default();
        for (name, value) in [("Ssl_cipher", cipher), ("Ssl_version", version)] {
            values.push([name, value].map(Value::bytes).to_vec());
        }
        values.sort_by(|left, right| name_of(left).cmp(name_of(right)));
        let mut rows =
            MadeRows::new(&[MadeColumn::Text("Variable_name", 64), MadeColumn::NullableText("Value", 1024)]);
        values.into_iter().for_each(|row| rows.push(row));
        Ok(rows)
    }
}

fn name_of(row: &[Value]) -> &[u8] {
    match row {
        [Value::Bytes(name), ..] => name,
        _ => &[],
    }
}
