//! Constants that are compared: what they are beside columns and moments, decided once instead of for every row.
//!
//! A text beside a moment is that moment, or error 1525; beside TIME, YEAR and integer columns a constant is what the column
//! would store. Invariant: what is built is right for the constant's other values too, or the plan is for this one only.
//! Callers: the comparisons of `comparison`.
use datum::{ColumnType, CompareMode, SqlError, TypeKind, Value, error_code};

use super::BindContext;
use super::reading::{Reading, whole_value};
use crate::context::EvalContext;
use crate::expr::{Expr, ExprKind};

impl BindContext {
    /// A constant beside a TIME or YEAR column is what the column would store of it: the time of a moment, the year that two
    /// digits stand for.
    pub(super) fn fold_stored(&self, column: &Expr, constant: &mut Expr) -> Result<(), SqlError> {
        if !matches!(column.kind, ExprKind::Column(_)) {
            return Ok(());
        }
        match column.ty.column.kind {
            TypeKind::Time { .. } if constant.ty.column.kind.has_date() && self.peek(constant).is_some() => {
                let moment = std::mem::replace(constant, Expr::null());
                *constant = self.convert(moment, column.ty.column.clone())?;
            }
            TypeKind::Year => self.fold_year(constant),
            _ => {}
        }
        Ok(())
    }

    fn fold_year(&self, constant: &mut Expr) {
        const YEAR_MIN: i64 = 100;
        let value = match self.peek(constant) {
            Some(value) => value,
            None if self.decide_by_constant(constant) => {
                let context = EvalContext::of_constants(self).with_parameters(self.known.all());
                let Ok(value) = constant.eval(&[], &context) else { return };
                value
            }
            None => return,
        };
        if matches!(value, Value::Null) || constant.ty.column.kind.is_temporal() {
            return;
        }
        let number = value.to_f64(&constant.ty.column, &mut datum::no_warning).unwrap_or(0.0).round() as i64;
        let plain = Reading::Count { low: YEAR_MIN, high: i64::MAX };
        if matches!(value, Value::Int(_)) && number >= YEAR_MIN {
            self.relies_on(constant, plain);
            return;
        }
        self.decide_by(constant);
        match number {
            1..=69 => *constant = Expr::int(number + 2000),
            70..=99 => *constant = Expr::int(number + 1900),
            _ => {}
        }
    }

    /// A number that a date column is compared with is a date when it reads as one: `d = 20240131`.
    pub(super) fn fold_date_number(&self, column: &Expr, literal: &mut Expr) {
        let is_date_column = matches!(column.kind, ExprKind::Column(_)) && column.ty.column.kind.has_date();
        if !is_date_column || !matches!(self.peek(literal), Some(Value::Int(_))) {
            return;
        }
        let lenient = self.sql_mode.contains(datum::SqlMode::ALLOW_INVALID_DATES);
        let moment = ColumnType::new(TypeKind::DateTime { fsp: 0 }).not_null();
        if !self.read_as(literal, Reading::NumberedMoment { lenient }, moment) {
            let text = literal.to_string();
            let name = column.ty.name.as_deref().unwrap_or_default().rsplit('.').next().unwrap_or_default();
            let place = name.trim_matches('`');
            self.warn(error_code::ER_INCORRECT_VALUE_FOR_COLUMN.with(&[&"datetime", &text, &place, &1]));
        }
    }

    /// A text literal compared with a moment is read once, here, not for every row; one that is no moment is error
    /// 1525.
    pub(super) fn fold_moment(
        &self,
        mode: CompareMode,
        moment: &Expr,
        text: &mut Expr,
    ) -> Result<(), SqlError> {
        if mode != CompareMode::DateTime || !moment.ty.column.kind.has_date() {
            return Ok(());
        }
        let Some(Value::Bytes(bytes)) = self.peek(text) else {
            return self.check_constant_moment(moment, text);
        };
        let lenient = self.sql_mode.contains(datum::SqlMode::ALLOW_INVALID_DATES);
        // Garbage after the moment warns and an offset needs the session's zone, both when evaluated.
        let column = ColumnType::new(TypeKind::DateTime { fsp: 6 }).not_null();
        if self.read_as(text, Reading::Moment { lenient }, column) {
            return Ok(());
        }
        self.check_moment(moment, &bytes)
    }

    /// The same for constants that are computed; a plan for them is for their values only.
    fn check_constant_moment(&self, moment: &Expr, text: &Expr) -> Result<(), SqlError> {
        if !(text.ty.column.kind.is_string() || text.ty.column.kind.has_members())
            || !self.decide_by_constant(text)
        {
            return Ok(());
        }
        let context = EvalContext::of_constants(self).with_parameters(self.known.all());
        match text.eval(&[], &context) {
            Ok(Value::Bytes(bytes)) => self.check_moment(moment, &bytes),
            _ => Ok(()),
        }
    }

    fn check_moment(&self, moment: &Expr, text: &[u8]) -> Result<(), SqlError> {
        let lenient = self.sql_mode.contains(datum::SqlMode::ALLOW_INVALID_DATES);
        let date = datum::DateTime::parse(text, lenient).map(|parsed| parsed.value.date());
        let is_forbidden = |date: datum::Date| {
            (date.is_zero() && self.sql_mode.contains(datum::SqlMode::NO_ZERO_DATE))
                || (date.has_zero_part() && self.sql_mode.contains(datum::SqlMode::NO_ZERO_IN_DATE))
        };
        if date.is_some_and(|date| !is_forbidden(date)) {
            return Ok(());
        }
        let type_name = if moment.ty.column.kind == TypeKind::Date { "DATE" } else { "DATETIME" };
        Err(error_code::ER_WRONG_VALUE.with(&[&type_name, &datum::shown(text)]))
    }

    /// A TIME column takes a text literal as a time; otherwise TIME and text are compared as text.
    pub(super) fn is_timely(&self, left: &Expr, right: &Expr) -> bool {
        let is_time = |expr: &Expr| matches!(expr.ty.column.kind, TypeKind::Time { .. });
        let is_time_column = |expr: &Expr| is_time(expr) && matches!(expr.kind, ExprKind::Column(_));
        let is_constant_time = |expr: &Expr| match self.peek(expr) {
            Some(Value::Bytes(_)) => self.relies_on(expr, Reading::TimeText),
            _ => matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Parameter(_)),
        };
        (is_time(left) && is_time(right))
            || (is_time_column(left) && is_constant_time(right))
            || (is_time_column(right) && is_constant_time(left))
    }

    /// A constant that an integer column is compared with becomes an integer when it is one exactly, so that the
    /// comparison stays in the column's domain and an index can answer it.
    pub(super) fn fold_number(&self, column: &Expr, constant: &mut Expr) {
        let is_integer_column =
            matches!(column.kind, ExprKind::Column(_)) && column.ty.column.kind.is_integer();
        let may_be_whole =
            constant.ty.column.is_text() || matches!(constant.ty.column.kind, TypeKind::Decimal { .. });
        if !is_integer_column || !may_be_whole {
            return;
        }
        let Some(value) = self.peek(constant) else { return };
        let unsigned = matches!(whole_value(&value), Some(Value::UInt(_)));
        let column = if unsigned { ColumnType::bigint_unsigned() } else { ColumnType::bigint() };
        self.read_as(constant, Reading::Whole { unsigned }, column.not_null());
    }
}
