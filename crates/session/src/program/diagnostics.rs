//! GET DIAGNOSTICS.
use collation::CollationId;
use datum::{ColumnType, ErrorCode, SqlError, Value, error_code};
use expression::SessionServices;
use parser::ast::{Diagnostics as Statement, DiagnosticsItem, LoadColumn};
use std::sync::atomic::Ordering::Relaxed;

use crate::session::Session;
use crate::statement::{Done, Request, Shield};
use session_state::diagnostics::{Area, ConditionItem};

impl Session {
    /// A condition that is not there is an error that is told and does not end anything.
    pub(crate) async fn get_diagnostics(
        &mut self,
        statement: &Statement<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        match self.read_diagnostics(statement, request, shield).await {
            Err(error) if error.is(&ER_DA_INVALID_CONDITION_NUMBER) => {
                self.shared.diagnostics.lock().add_error(&error);
                self.shared.row_count.store(-1, Relaxed);
                Ok(Done::ok())
            }
            result => result,
        }
    }

    async fn read_diagnostics(
        &mut self,
        statement: &Statement<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let area = match statement.stacked {
            true => self.programs.handled.last().cloned().ok_or_else(|| ER_NO_STACKED_AREA.plain())?,
            false => self.shared.diagnostics.lock().area(),
        };
        let Some(number) = &statement.condition else {
            for item in statement.items {
                let value = match item.name.name.to_uppercase().as_str() {
                    "NUMBER" => Value::Int(area.conditions.len() as i64),
                    "ROW_COUNT" => Value::Int(self.shared.row_count.load(Relaxed)),
                    _ => return Err(wrong_item(item)),
                };
                self.give_diagnostic(item, value, ColumnType::bigint())?;
            }
            return Ok(Done::ok());
        };
        let (number, _) = self.evaluate_one(number, request, shield).await?;
        let position = match number {
            Value::Int(number) => usize::try_from(number).ok(),
            Value::UInt(number) => usize::try_from(number).ok(),
            Value::Bytes(text) => std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok()),
            _ => None,
        };
        let position = position.and_then(|number| number.checked_sub(1));
        let Some(position) = position.filter(|position| *position < area.conditions.len()) else {
            return Err(ER_DA_INVALID_CONDITION_NUMBER.plain());
        };
        for item in statement.items {
            let (value, column_type) = condition_item(&area, position, item)?;
            self.give_diagnostic(item, value, column_type)?;
        }
        Ok(Done::ok())
    }

    fn give_diagnostic(
        &mut self,
        item: &DiagnosticsItem<'_>,
        value: Value,
        column_type: ColumnType,
    ) -> Result<(), SqlError> {
        match item.target {
            LoadColumn::UserVariable(name) => {
                self.shared.set_user_variable(&name.name.to_lowercase(), value, column_type)?;
            }
            LoadColumn::Local(slot) => {
                self.programs.assigns_silently = true;
                self.programs.assigned.push((slot as usize, value, column_type));
            }
            LoadColumn::Column(_) => {}
        }
        Ok(())
    }
}

fn condition_item(
    area: &Area,
    position: usize,
    item: &DiagnosticsItem<'_>,
) -> Result<(Value, ColumnType), SqlError> {
    let error = &area.conditions[position].error;
    let items = area.items_of(position);
    let name = item.name.name.to_uppercase();
    let text = match name.as_str() {
        "MYSQL_ERRNO" => return Ok((Value::Int(i64::from(error.errno)), ColumnType::bigint())),
        "RETURNED_SQLSTATE" => String::from_utf8_lossy(&error.sqlstate).into_owned(),
        "MESSAGE_TEXT" => error.message.clone(),
        name => {
            let known = ConditionItem::named(name).ok_or_else(|| wrong_item(item))?;
            match items {
                Some(items) => items.get(known).unwrap_or_default().to_owned(),
                None => origin(known, &error.sqlstate).to_owned(),
            }
        }
    };
    let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX).max(1);
    Ok((Value::bytes(text), ColumnType::varchar(length, CollationId::UTF8MB3_GENERAL_CI)))
}

/// Who has defined the state, and its second part: both the standard, or both this server.
fn origin(item: ConditionItem, state: &[u8; 5]) -> &'static str {
    let is_iso = matches!(state[0], b'0'..=b'4' | b'A'..=b'H');
    match item {
        ConditionItem::ClassOrigin | ConditionItem::SubclassOrigin if is_iso => "ISO 9075",
        ConditionItem::ClassOrigin | ConditionItem::SubclassOrigin => "MySQL",
        _ => "",
    }
}

fn wrong_item(item: &DiagnosticsItem<'_>) -> SqlError {
    error_code::ER_WRONG_VALUE.with(&[&"condition information item", &item.name.name])
}

const ER_NO_STACKED_AREA: ErrorCode =
    ErrorCode::new(3004, "0Z002", "GET STACKED DIAGNOSTICS when handler not active");
const ER_DA_INVALID_CONDITION_NUMBER: ErrorCode = ErrorCode::new(1758, "35000", "Invalid condition number");
