//! SET_VAR and MAX_EXECUTION_TIME: variables that have another value for one statement.
//!
//! A hint that cannot be obeyed is left out with a warning; the values from before come back however the statement ends.
//! Called by `run` and `prepared` around a statement.
use std::sync::Arc;

use datum::{ErrorCode, SqlError, Value, error_code};
use instance::SettingHint;
use parser::ast::{ExplainTarget, Statement, StatementKind};
use parser::hints::{Hint, HintValue, read_hints};
use variables::{Effect, Setting, VariableId, from_value, is_hintable};

use crate::session::Session;

const ER_WARN_UNSUPPORTED_MAX_EXECUTION_TIME: ErrorCode = ErrorCode::new(
    3125,
    "HY000",
    "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only",
);
const ER_WARN_CONFLICTING_HINT: ErrorCode =
    ErrorCode::new(3126, "HY000", "Hint %s is ignored as conflicting/duplicated");
const ER_UNRESOLVED_HINT_NAME: ErrorCode = ErrorCode::new(3128, "HY000", "Unresolved name '%s' for %s hint");
const ER_NOT_HINTABLE_VAR: ErrorCode =
    ErrorCode::new(3637, "HY000", "Variable '%s' cannot be set using SET_VAR hint.");
const ER_RESOURCE_GROUP_NOT_EXISTS: ErrorCode =
    ErrorCode::new(3651, "HY000", "Resource Group '%s' does not exist.");

/// What the variables were before the statement.
#[derive(Default)]
pub(in crate::statement) struct Before {
    values: Vec<(VariableId, Setting)>,
    fixed_timestamp_us: Option<i64>,
}

/// The hints of a statement that concern variables.
pub(in crate::statement) fn setting_hints(statement: &Statement<'_>, ansi_quotes: bool) -> Vec<SettingHint> {
    let statement = match statement.kind {
        StatementKind::Explain(explain) => match explain.target {
            ExplainTarget::Statement(inner) => inner,
            _ => statement,
        },
        _ => statement,
    };
    let is_query = matches!(statement.kind, StatementKind::Query(_));
    let mut found = Vec::new();
    for text in statement.hints {
        let of_text = read_hints(text, ansi_quotes).hints.into_iter();
        let concerns = |hint: &Hint| {
            matches!(hint, Hint::MaxExecutionTime(_) | Hint::SetVariable { .. } | Hint::ResourceGroup(_))
        };
        let may_limit = is_query && text.block == 1;
        found.extend(of_text.filter(concerns).map(|hint| SettingHint { hint, may_limit }));
    }
    found
}

impl Session {
    /// Takes the hinted values; `leave_hints` has to follow.
    pub(in crate::statement) fn enter_hints(&mut self, hints: &[SettingHint]) -> Before {
        let mut before = Before::default();
        let mut seen: Vec<String> = Vec::new();
        for SettingHint { hint, may_limit } in hints {
            let result = match hint {
                Hint::MaxExecutionTime(_) if !may_limit => {
                    Err(ER_WARN_UNSUPPORTED_MAX_EXECUTION_TIME.plain())
                }
                Hint::MaxExecutionTime(milliseconds) => {
                    let text = format!("MAX_EXECUTION_TIME({milliseconds})");
                    self.take_once("MAX_EXECUTION_TIME hint", &text, &mut seen).and_then(|()| {
                        self.take_value("max_execution_time", &Value::UInt(*milliseconds), &mut before)
                    })
                }
                Hint::SetVariable { name, value } => {
                    let (value, text) = match value {
                        HintValue::Number(number) => (Value::UInt(*number), number.to_string()),
                        HintValue::Text(text) => (Value::bytes(text.as_bytes()), format!("'{text}'")),
                        HintValue::Word(word) => (Value::bytes(word.as_bytes()), word.clone()),
                    };
                    let text = format!("SET_VAR({name}={text}) ");
                    self.take_once(name, &text, &mut seen)
                        .and_then(|()| self.take_value(name, &value, &mut before))
                }
                Hint::ResourceGroup(name) => Err(ER_RESOURCE_GROUP_NOT_EXISTS.with(&[name])),
                _ => Ok(()),
            };
            if let Err(error) = result {
                self.shared.diagnostics.lock().add(error.into_warning());
            }
        }
        if !before.values.is_empty() {
            self.refresh_settings();
        }
        before
    }

    /// Gives the variables back what they were.
    pub(in crate::statement) fn leave_hints(&mut self, before: Before) {
        if let Some(fixed) = before.fixed_timestamp_us {
            Arc::make_mut(&mut self.settings).fixed_timestamp_us = fixed;
        }
        if before.values.is_empty() {
            return;
        }
        for (id, setting) in before.values {
            self.variables.set(id, setting);
        }
        self.refresh_settings();
    }

    /// The first hint for a variable holds.
    fn take_once(&self, name: &str, text: &str, seen: &mut Vec<String>) -> Result<(), SqlError> {
        if seen.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Err(ER_WARN_CONFLICTING_HINT.with(&[&text]));
        }
        seen.push(name.to_owned());
        Ok(())
    }

    fn take_value(&mut self, name: &str, value: &Value, before: &mut Before) -> Result<(), SqlError> {
        let id =
            VariableId::by_name(name).ok_or_else(|| ER_UNRESOLVED_HINT_NAME.with(&[&name, &"SET_VAR"]))?;
        let definition = id.definition();
        if !is_hintable(definition.name) {
            return Err(ER_NOT_HINTABLE_VAR.with(&[&definition.name]));
        }
        let present = self.variables.get(id).clone();
        let converted = match definition.name {
            "optimizer_switch" => self.switched(id, &present, value)?,
            _ => {
                let converted = from_value(definition, value)?;
                let mut warnings = Vec::from_iter(converted.warning);
                let setting = self.instance.adjust(definition.name, converted.setting, &mut warnings);
                warnings.into_iter().for_each(|warning| self.shared.diagnostics.lock().add(warning));
                setting
            }
        };
        if definition.name == "timestamp" {
            before.fixed_timestamp_us = Some(self.settings.fixed_timestamp_us);
            Arc::make_mut(&mut self.settings).fixed_timestamp_us = (converted.as_double() * 1e6) as i64;
            return Ok(());
        }
        if definition.effect == Effect::Fixed && converted != present {
            let what = format!("{} = {}", definition.name, converted.display());
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
        }
        self.variables.set(id, converted);
        before.values.push((id, present));
        Ok(())
    }
}
