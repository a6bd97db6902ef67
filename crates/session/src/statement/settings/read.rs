//! The reading of `@@name`, and what a variable of flags becomes when some of them are set.
use std::sync::atomic::Ordering::Relaxed;

use collation::CollationId;
use datum::{ColumnType, SqlError, Value, error_code};
use parser::ast::VariableScope;
use variables::{Setting, VariableId, from_value, with_bits, with_switches};

use crate::session::Session;

impl Session {
    /// The value of a variable of flags after some of them are set.
    pub fn switched(&self, id: VariableId, present: &Setting, value: &Value) -> Result<Setting, SqlError> {
        if let Value::Int(_) | Value::UInt(_) = value {
            return with_bits(id.definition(), value).map(|text| Setting::text(&text));
        }
        let Setting::Text(text) = from_value(id.definition(), value)?.setting else {
            return Ok(present.clone());
        };
        Ok(Setting::text(&with_switches(id.definition(), present.as_text(), &text)?))
    }

    /// The value of `@@name`.
    pub fn read_variable(&self, scope: VariableScope, name: &str) -> Result<(Value, ColumnType), SqlError> {
        let id =
            VariableId::by_name(name).ok_or_else(|| error_code::ER_UNKNOWN_SYSTEM_VARIABLE.with(&[&name]))?;
        let definition = id.definition();
        let setting = match scope {
            VariableScope::Session if !definition.has_session() => {
                return Err(error_code::ER_INCORRECT_GLOBAL_LOCAL_VAR.with(&[&definition.name, &"GLOBAL"]));
            }
            VariableScope::Global | VariableScope::Persist | VariableScope::PersistOnly => {
                if !definition.has_global() {
                    return Err(
                        error_code::ER_INCORRECT_GLOBAL_LOCAL_VAR.with(&[&definition.name, &"SESSION"])
                    );
                }
                self.instance.globals.get(id)
            }
            _ => self.session_setting(id),
        };
        Ok(value_of(&setting))
    }

    /// The session's value, or the global one of a variable without a session value.
    pub fn session_setting(&self, id: VariableId) -> Setting {
        let definition = id.definition();
        if !definition.has_session() {
            return self.instance.globals.get(id);
        }
        match definition.name {
            "last_insert_id" => Setting::Unsigned(self.shared.last_insert_id.load(Relaxed)),
            "warning_count" => Setting::Unsigned(self.shared.diagnostics.lock().previous_count()),
            "error_count" => Setting::Unsigned(self.shared.diagnostics.lock().previous_error_count()),
            "timestamp" => Setting::Double(self.now_utc_micros() as f64 / 1e6),
            _ => self.variables.get(id).clone(),
        }
    }
}

/// `@@name` as an SQL value: booleans are 1 and 0.
fn value_of(setting: &Setting) -> (Value, ColumnType) {
    match setting {
        Setting::Boolean(truth) => (Value::boolean(*truth), ColumnType::bigint()),
        Setting::Unsigned(number) => (Value::UInt(*number), ColumnType::bigint_unsigned()),
        Setting::Signed(number) => (Value::Int(*number), ColumnType::bigint()),
        Setting::Double(number) => (Value::Double(*number), ColumnType::double()),
        Setting::Text(text) => {
            let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX).max(1);
            let column_type = ColumnType::varchar(length, CollationId::UTF8MB3_GENERAL_CI);
            (Value::bytes(text.as_bytes()), column_type)
        }
        Setting::Null => (Value::Null, ColumnType::varchar(1, CollationId::UTF8MB3_GENERAL_CI)),
    }
}
