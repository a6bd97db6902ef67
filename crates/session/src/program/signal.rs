//! SIGNAL and RESIGNAL.
use std::sync::atomic::Ordering::Relaxed;

use datum::{ErrorCode, Severity, SqlError, Value, error_code};
use parser::ast::{ConditionValue, SignalItem, SignalStatement};

use crate::session::Session;
use crate::statement::{Done, Effects, Request, Shield};
use session_state::diagnostics::{ConditionItem, ConditionItems};

const MESSAGE_CHARACTERS_MAX: usize = 128;

impl Session {
    pub(crate) async fn signal(
        &mut self,
        statement: &SignalStatement<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let mut items = ConditionItems::default();
        let mut error = None;
        // What the condition that is handled says, for another one that is raised in its place.
        let mut told = None;
        if statement.resignal {
            let Some(handled) = self.programs.handled.last().cloned() else {
                return Err(error_code::ER_RESIGNAL_WITHOUT_ACTIVE_HANDLER.plain());
            };
            let mut kept = handled;
            told = kept.handled_condition().map(|condition| condition.error.message.clone());
            if statement.condition.is_none() {
                // It is raised once more, perhaps with other items.
                let last = kept.take_handled();
                if let Some((condition, own)) = last {
                    items = own;
                    error = Some((condition.error, condition.severity));
                }
            }
            self.shared.diagnostics.lock().replace(kept);
        }
        if let Some(ConditionValue::SqlState(state)) = statement.condition {
            let (mut raised, severity) = unhandled(state);
            raised.message = told.unwrap_or(raised.message);
            error = Some((raised, severity));
        }
        let (mut error, severity) =
            error.ok_or_else(|| error_code::ER_RESIGNAL_WITHOUT_ACTIVE_HANDLER.plain())?;
        self.set_items(statement.items, &mut error, &mut items, request, shield).await?;
        let mut diagnostics = self.shared.diagnostics.lock();
        diagnostics.expect_items(items);
        if severity == Severity::Error {
            return Err(error);
        }
        diagnostics.add(error.into_warning());
        drop(diagnostics);
        if statement.resignal {
            // What the statement before it has changed is still counted.
            let affected_rows = self.shared.row_count.load(Relaxed).cast_unsigned();
            return Ok(Done::Ok(Effects { affected_rows, ..Effects::default() }));
        }
        Ok(Done::ok())
    }

    async fn set_items(
        &mut self,
        asked: &[SignalItem<'_>],
        error: &mut SqlError,
        items: &mut ConditionItems,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<(), SqlError> {
        for item in asked {
            let name = item.name.name.to_uppercase();
            let (value, column_type) = self.evaluate_one(&item.value, request, shield).await?;
            let cannot = |shown: &str| error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&name, &shown]);
            if value.is_null() {
                return Err(cannot("NULL"));
            }
            let text = String::from_utf8_lossy(&value.to_text(&column_type)).into_owned();
            match name.as_str() {
                "MESSAGE_TEXT" => error.message = self.message_text(text)?,
                "MYSQL_ERRNO" => {
                    let number: i64 = match value {
                        Value::Int(number) => number,
                        Value::UInt(number) => i64::try_from(number).unwrap_or(0),
                        _ => text.trim().parse().unwrap_or(0),
                    };
                    let number = u16::try_from(number).ok().filter(|number| *number > 0);
                    error.errno = number.ok_or_else(|| cannot(&text))?;
                }
                _ => match ConditionItem::named(&name) {
                    Some(item) => items.set(item, text),
                    None => return Err(error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&name, &text])),
                },
            }
        }
        Ok(())
    }

    fn message_text(&self, text: String) -> Result<String, SqlError> {
        if text.chars().count() <= MESSAGE_CHARACTERS_MAX {
            return Ok(text);
        }
        if self.settings.sql_mode.is_strict() {
            return Err(ER_COND_ITEM_TOO_LONG.with(&[&"MESSAGE_TEXT"]));
        }
        self.shared.warning(WARN_COND_ITEM_TRUNCATED.with(&[&"MESSAGE_TEXT"]));
        Ok(text.chars().take(MESSAGE_CHARACTERS_MAX).collect())
    }
}

/// What a condition of the state is before its items are set.
fn unhandled(state: [u8; 5]) -> (SqlError, Severity) {
    let (errno, what, severity) = match &state[..2] {
        b"01" => (1642, "warning", Severity::Warning),
        b"02" => (1643, "not found", Severity::Error),
        _ => (1644, "exception", Severity::Error),
    };
    let message = format!("Unhandled user-defined {what} condition");
    (SqlError { errno, sqlstate: state, message }, severity)
}

const ER_COND_ITEM_TOO_LONG: ErrorCode =
    ErrorCode::new(1648, "HY000", "Data too long for condition item '%s'");
const WARN_COND_ITEM_TRUNCATED: ErrorCode =
    ErrorCode::new(1647, "HY000", "Data truncated for condition item '%s'");
