//! Giving a column a value: conversion to its type, defaults, and what strict mode makes of problems.
use crate::context::ExecContext;
use datum::{
    ColumnType, Condition, ConversionError, ConversionProblem, Date, DateTime, MomentContext, SqlError,
    StoreMode, Timestamp, TypeKind, Value, error_code,
};
use expression::{EvalContext, ExprKind};
use plan::{DefaultSource, InsertValue};
use schema::{ColumnDef, TableDef};

/// How problems are treated in the statement at hand.
#[derive(Clone, Copy, Debug)]
pub struct Assigner<'t> {
    pub table: &'t TableDef,
    /// Problems are errors.
    pub strict: bool,
    /// NULL for a NOT NULL column becomes the implicit default with a warning (IGNORE, and rows after the first of a
    /// non-strict multi-row INSERT).
    pub null_to_default: bool,
    /// Triggers come first: what stays without a value is found behind them (`require_values`).
    pub defers_null: bool,
    /// A statement tells of NULL in a column once, as INSERT and REPLACE do.
    pub tells_null_once: bool,
    /// The statement has IGNORE.
    pub ignore: bool,
}

impl<'t> Assigner<'t> {
    pub fn new(table: &'t TableDef, context: &ExecContext<'_>, ignore: bool) -> Assigner<'t> {
        Assigner::with(table, context.eval.settings.sql_mode.is_strict() && !ignore, ignore)
    }

    /// Of expressions of the table's own, and of rows that are copied.
    pub fn of_rules(table: &'t TableDef, strict: bool) -> Assigner<'t> {
        Assigner::with(table, strict, false)
    }

    fn with(table: &'t TableDef, strict: bool, ignore: bool) -> Assigner<'t> {
        let null_to_default = !strict;
        Assigner { table, strict, null_to_default, defers_null: false, tells_null_once: false, ignore }
    }

    /// After the triggers: what is still NULL and must not be. `given` are the columns that a trigger gives values to, whose
    /// NULL is an error also without strict mode; `omitted` are those that the statement gave no value.
    pub fn require_values(
        &self,
        row: &mut [Value],
        given: &[usize],
        omitted: &[(usize, DefaultSource)],
        is_insert: bool,
        context: &EvalContext,
    ) -> Result<(), SqlError> {
        let is_missing = |(_, source): &&(usize, DefaultSource)| matches!(source, DefaultSource::Missing);
        let missing: Vec<usize> = omitted.iter().filter(is_missing).map(|(column, _)| *column).collect();
        for (column, (value, definition)) in row.iter_mut().zip(&self.table.columns).enumerate() {
            let is_made_later = definition.auto_increment && is_insert || definition.generated.is_some();
            if value.is_null() && !definition.nullable() && !is_made_later {
                if missing.contains(&column) && !self.null_to_default {
                    return Err(error_code::ER_NO_DEFAULT_FOR_FIELD.with(&[&definition.name]));
                }
                let is_given = given.contains(&column);
                if is_given && !self.ignore {
                    return Err(error_code::ER_BAD_NULL_ERROR.with(&[&definition.name]));
                }
                let tells_null_once = self.tells_null_once && !is_given;
                *value = Assigner { tells_null_once, ..*self }.null_value(definition, context)?;
            }
        }
        Ok(())
    }

    /// The value as the column keeps it; `row` counts from 1 for messages.
    pub fn convert(
        &self,
        column: usize,
        value: &Value,
        from: &ColumnType,
        row: u64,
        context: &EvalContext,
    ) -> Result<Value, SqlError> {
        self.kept(column, (value, from, false), row, context)
    }

    /// With a value, its type, and whether it is that of a column or variable as it is.
    fn kept(
        &self,
        column: usize,
        (value, from, is_copy): (&Value, &ColumnType, bool),
        row: u64,
        context: &EvalContext,
    ) -> Result<Value, SqlError> {
        let definition = &self.table.columns[column];
        if value.is_null() && !definition.nullable() {
            if self.defers_null {
                return Ok(Value::Null);
            }
            return self.null_value(definition, context);
        }
        let zone = &context.settings.time_zone;
        // A TIME alone asks what day it is.
        let today = if matches!(value, Value::Time(_)) { today(context)? } else { Date::ZERO };
        let moments = MomentContext { zone, mode: context.settings.sql_mode, today };
        let mode = StoreMode { moments, is_strict: self.strict };
        let stored = match is_copy {
            true => value.assign_to_column(from, &definition.column_type, &mode),
            false => value.cast_to_column(from, &definition.column_type, &mode),
        };
        match stored {
            Ok(stored) => {
                if let Some(problem) = stored.problem {
                    context.session.warn(condition(&problem, definition, row));
                }
                Ok(stored.value)
            }
            Err(problem) => {
                let column = match problem.problem {
                    ConversionProblem::InvalidJson(_) => format!("{}.{}", self.table.name, definition.name),
                    _ => definition.name.clone(),
                };
                Err(problem.to_error(&column, row))
            }
        }
    }

    fn null_value(&self, column: &ColumnDef, context: &EvalContext) -> Result<Value, SqlError> {
        let error = error_code::ER_BAD_NULL_ERROR.with(&[&column.name]);
        if !self.null_to_default {
            return Err(error);
        }
        match self.tells_null_once {
            true => context.tell_once(error),
            false => context.session.warn(error.into_warning()),
        }
        Ok(column.column_type.implicit_default())
    }

    /// A column that the statement gives no value.
    pub fn default_value(
        &self,
        column: usize,
        source: &DefaultSource,
        frame: &[Value],
        row: u64,
        context: &EvalContext,
    ) -> Result<Value, SqlError> {
        let definition = &self.table.columns[column];
        match source {
            DefaultSource::Value(value) => Ok(value.clone()),
            // NULL asks the counter later.
            DefaultSource::AutoIncrement => Ok(Value::Null),
            DefaultSource::Expr(expr) => {
                let value = expr.eval(frame, context)?;
                self.convert(column, &value, &expr.ty.column, row, context)
            }
            DefaultSource::Missing => {
                let error = error_code::ER_NO_DEFAULT_FOR_FIELD.with(&[&definition.name]);
                if self.strict && self.defers_null {
                    return Ok(Value::Null);
                }
                if self.strict {
                    return Err(error);
                }
                context.session.warn(error.into_warning());
                Ok(definition.column_type.implicit_default())
            }
        }
    }

    /// A value of VALUES, SET or ON DUPLICATE KEY UPDATE.
    pub fn assigned(
        &self,
        column: usize,
        value: &InsertValue,
        frame: &[Value],
        row: u64,
        context: &EvalContext,
    ) -> Result<Value, SqlError> {
        match value {
            InsertValue::Default(source) => self.default_value(column, source, frame, row, context),
            InsertValue::Expr(expr) => {
                let value = expr.eval_ref(frame, context)?;
                context.check_refusal()?;
                // The counter fills a NULL of its column in.
                if value.is_null() && self.table.columns[column].auto_increment {
                    return Ok(Value::Null);
                }
                let is_copy = match expr.kind {
                    ExprKind::Column(_) => true,
                    // Variables of programs have names.
                    ExprKind::Parameter(_) => expr.ty.name.is_some(),
                    _ => false,
                };
                self.kept(column, (&value, &expr.ty.column, is_copy), row, context)
            }
        }
    }

    /// Columns with ON UPDATE CURRENT_TIMESTAMP that were not assigned get the statement's time.
    pub fn touch_timestamps(
        &self,
        new: &mut [Value],
        is_assigned: impl Fn(usize) -> bool,
        context: &EvalContext,
    ) -> Result<(), SqlError> {
        for (column, definition) in self.table.columns.iter().enumerate() {
            if definition.on_update_current_timestamp && !is_assigned(column) {
                new[column] = now_for(&definition.column_type, context)?;
            }
        }
        Ok(())
    }
}

fn condition(problem: &ConversionError, column: &ColumnDef, row: u64) -> Condition {
    problem.to_condition(&column.name, row)
}

fn today(context: &EvalContext) -> Result<Date, SqlError> {
    local_now(context).map(DateTime::date)
}

fn local_now(context: &EvalContext) -> Result<DateTime, SqlError> {
    let now = context.settings.time_zone.to_local(context.settings.now_utc_micros);
    now.ok_or_else(|| error_code::ER_INTERNAL_ERROR.with(&[&"the clock is out of the calendar's range"]))
}

/// The statement's time as a value of a DATETIME or TIMESTAMP column.
fn now_for(column_type: &ColumnType, context: &EvalContext) -> Result<Value, SqlError> {
    let now = context.settings.now_utc_micros;
    match column_type.kind {
        TypeKind::Timestamp { fsp } => {
            let unit = 10i64.pow(6 - u32::from(fsp.min(6)));
            let instant = Timestamp::from_unix_micros(now - now.rem_euclid(unit));
            Ok(instant.map_or(Value::Null, Value::Timestamp))
        }
        TypeKind::DateTime { fsp } => Ok(Value::DateTime(local_now(context)?.truncated(fsp))),
        _ => Ok(Value::Null),
    }
}
