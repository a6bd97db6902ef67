//! Giving a variable its value.
use datum::{ColumnType, Date, DateTime, MomentContext, SqlError, StoreMode, TypeKind, Value};
use expression::ExprKind;
use instance::PiecePlan;

use crate::session::Session;
use crate::statement::lone_expression;

/// An integer that the type keeps without a conversion.
pub(super) fn fits_as_it_is(value: &Value, to: &ColumnType) -> bool {
    match (value, &to.kind) {
        (Value::Int(_), TypeKind::LongLong) => !to.unsigned,
        (Value::Int(number), TypeKind::Long) => !to.unsigned && i32::try_from(*number).is_ok(),
        _ => false,
    }
}

/// How a variable takes a value.
#[derive(Clone, Copy)]
pub(super) struct Taking {
    /// What does not fit is an error.
    pub is_strict: bool,
    /// It is the value of a column or another variable, as it is.
    pub is_copy: bool,
}

/// Whether the expression is a variable and nothing else: no client gives parameters of such plans.
pub(super) fn is_variable(plan: &PiecePlan) -> bool {
    let expression = lone_expression(&plan.prepared.plan);
    expression.is_some_and(|expression| matches!(expression.kind, ExprKind::Parameter(_)))
}

impl Session {
    /// The same of what always fits somehow: it is cut, or becomes the nearest value or none.
    pub(super) fn fit_silently(&self, value: Value, from: &ColumnType, to: &ColumnType) -> Value {
        if value.is_null() {
            return value;
        }
        let zone = &self.settings.time_zone;
        let moments = MomentContext { zone, mode: datum::SqlMode::default(), today: Date::ZERO };
        let mode = StoreMode { moments, is_strict: false };
        value.cast_to_column(from, to, &mode).map_or(Value::Null, |stored| stored.value)
    }

    /// The value as a variable of the type keeps it; what does not fit is an error where that is strict, else a warning.
    pub(super) fn fit(
        &self,
        name: &str,
        value: Value,
        (from, to): (&ColumnType, &ColumnType),
        taking: Taking,
    ) -> Result<Value, SqlError> {
        if value.is_null() {
            return Ok(value);
        }
        let zone = &self.settings.time_zone;
        let today = match value {
            Value::Time(_) => zone.to_local(self.now_utc_micros()).map_or(Date::ZERO, DateTime::date),
            _ => Date::ZERO,
        };
        let moments = MomentContext { zone, mode: self.settings.sql_mode, today };
        let mode = StoreMode { moments, is_strict: taking.is_strict };
        let stored = match taking.is_copy {
            true => value.assign_to_column(from, to, &mode),
            false => value.cast_to_column(from, to, &mode),
        };
        match stored {
            Ok(stored) => {
                if let Some(problem) = stored.problem {
                    self.shared.diagnostics.lock().add(problem.to_condition(name, 1));
                }
                Ok(stored.value)
            }
            Err(problem) => Err(problem.to_error(name, 1)),
        }
    }
}
