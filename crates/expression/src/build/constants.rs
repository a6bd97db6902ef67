//! Constants that are compared: what they are beside columns and moments, decided once instead of for every row.
//!
//! A text beside a moment is that moment, or error 1525; beside TIME, YEAR and integer columns a constant is what the column
//! would store. Invariant: what is built is right for the constant's other values too, or the plan is for this one only.
//! Callers: the comparisons of `comparison`.
use datum::{ColumnType, CompareMode, Condition, Severity, SqlError, StoreMode, TypeKind, Value, error_code};

use super::BindContext;
use super::reading::{Reading, fraction_digits, whole_value};
use crate::constant_set::{is_computed_of_constants, is_constant};
use crate::context::EvalContext;
use crate::evaluate::moment_context;
use crate::expr::{Expr, ExprKind};

impl BindContext {
    /// A constant beside a TIME or YEAR column is what the column would store of it: the time of a moment, a time with as many
    /// digits of a second, the year that two digits stand for.
    pub(super) fn fold_stored(&self, column: &Expr, constant: &mut Expr) -> Result<(), SqlError> {
        if !matches!(column.kind, ExprKind::Column(_)) {
            return Ok(());
        }
        match column.ty.column.kind {
            TypeKind::Time { .. } if constant.ty.column.kind.has_date() && self.is_decided(constant) => {
                let moment = std::mem::replace(constant, Expr::null());
                *constant = self.convert(moment, column.ty.column.clone())?;
            }
            TypeKind::Time { fsp } if self.exceeds_time(constant, fsp) => {
                self.become_stored(column, constant);
            }
            TypeKind::Year if constant.ty.column.kind.is_temporal() => self.fold_year_of(constant)?,
            TypeKind::Year => self.fold_year(column, constant),
            _ => {}
        }
        Ok(())
    }

    /// Whether a constant may have a date or more digits of a second than a TIME column keeps. A literal of type TIME keeps
    /// its own.
    fn exceeds_time(&self, constant: &Expr, fsp: u8) -> bool {
        /// 838:59:59
        const NUMBER_MAX: i64 = 8_385_959;
        let is_plain = |value, reading| self.relies_on_value(constant, Some(value), reading);
        match constant.ty.column.kind {
            TypeKind::Decimal { .. } | TypeKind::Double { .. } => return true,
            TypeKind::Time { .. } => return matches!(constant.kind, ExprKind::Cast(_)),
            _ => {}
        }
        match self.peek(constant).or_else(|| self.marker_value(constant)) {
            // Nothing is no time: it is compared as a text.
            Some(Value::Bytes(text)) if text.is_empty() => false,
            Some(Value::Bytes(text)) if constant.ty.column.is_text() => {
                let digits = fraction_digits(&text, true);
                !is_plain(Value::Bytes(text), Reading::Fraction { digits, is_time: true }) || digits > fsp
            }
            Some(value @ Value::Int(_)) => {
                !is_plain(value, Reading::Count { low: -NUMBER_MAX, high: NUMBER_MAX })
            }
            Some(_) => false,
            None => constant.ty.column.kind.is_string() && !matches!(constant.kind, ExprKind::Parameter(_)),
        }
    }

    /// Whether the expression is the same in all rows. Where it is computed the plan is for the constants in it only.
    fn is_decided(&self, constant: &Expr) -> bool {
        is_constant(constant) || self.decide_by_constant(constant)
    }

    /// Replaces a constant by what the column stores of it, where it takes it; the plan is then for this constant only.
    pub(super) fn become_stored(&self, column: &Expr, constant: &mut Expr) -> bool {
        let marker = self.marker_value(constant).inspect(|_| self.decide_by(constant));
        let Some(value) = marker.or_else(|| self.constant_value(constant)) else { return false };
        let target = match column.ty.column.kind {
            // Moments are compared as the session's clock shows them.
            TypeKind::Timestamp { fsp } => ColumnType::new(TypeKind::DateTime { fsp }),
            _ => column.ty.column.clone(),
        };
        let context = EvalContext::of_constants(self);
        let mode = StoreMode { moments: moment_context(&context, true), is_strict: true };
        let stored = value.cast_to_column(&constant.ty.column, &target, &mode);
        let Some(stored) = stored.ok().filter(|stored| !stored.value.is_null()) else { return false };
        let told = stored.problem.map(|problem| problem.to_condition(column_name(column), 1));
        self.conditions.borrow_mut().extend(told);
        *constant = Expr::literal(stored.value, target.not_null());
        true
    }

    /// A constant text beside a column of moments and a number is what the column stores of it; a text of which it stores
    /// nothing stays, with a warning.
    pub(super) fn become_stored_moment(&self, column: &Expr, text: &mut Expr) {
        let Some(Value::Bytes(bytes)) = self.constant_value(text) else { return };
        if self.become_stored(column, text) {
            let parsed = datum::DateTime::parse(&bytes, true).filter(|_| column.ty.column.kind.has_date());
            if let Some(delimiter) = parsed.and_then(|parsed| parsed.delimiter) {
                self.warn(delimiter.warning(&bytes));
            }
            return;
        }
        let kind = match column.ty.column.kind {
            TypeKind::Time { .. } => "time",
            TypeKind::Date => "date",
            _ => "datetime",
        };
        self.warn_of_stored(kind, column, &datum::shown(&bytes), Severity::Warning);
    }

    /// Beside a BIGINT, YEAR, TIME or date column a constant of another kind is of the column's type where the column would
    /// store it unchanged; beside a date column only a number.
    pub fn become_of_column(&self, column: &Expr, constant: &mut Expr) -> Result<(), SqlError> {
        if !matches!(column.kind, ExprKind::Column(_)) || matches!(constant.kind, ExprKind::Column(_)) {
            return Ok(());
        }
        let own = constant.ty.column.clone();
        match &column.ty.column.kind {
            // A text of two digits is a year as a column stores it.
            TypeKind::Year if own.is_text() && self.become_stored(column, constant) => {}
            TypeKind::LongLong | TypeKind::Year if own.kind.is_string() && !own.is_hex_literal() => {
                return self.fold_integer_text(column, constant);
            }
            TypeKind::LongLong if own.kind.is_integer() => {}
            TypeKind::LongLong => {
                let value = self.constant_value(constant);
                let number = value.and_then(|value| value.to_f64(&own, &mut datum::no_warning));
                if number.is_some_and(|number| number.fract() == 0.0) {
                    self.become_stored(column, constant);
                }
            }
            TypeKind::Year if own.kind.is_temporal() => return self.fold_year_of(constant),
            // Nothing is no time.
            TypeKind::Time { .. } if matches!(self.constant_value(constant), Some(Value::Bytes(text)) if text.is_empty()) =>
                {}
            TypeKind::Time { .. } | TypeKind::Year => _ = self.become_stored(column, constant),
            kind if kind.has_date() && own.kind.is_numeric() => _ = self.become_stored(column, constant),
            _ => {}
        }
        Ok(())
    }

    /// The value of an expression that is the same in all rows; the plan is then for this value only.
    pub(super) fn constant_value(&self, constant: &Expr) -> Option<Value> {
        if let Some(value) = self.decisive(constant) {
            return Some(value);
        }
        let context = || EvalContext::of_constants(self).with_parameters(self.known.all());
        self.decide_by_constant(constant).then(|| constant.eval(&[], &context()).ok()).flatten()
    }

    /// A constant text beside a BIGINT or YEAR column that is compared as text is the number which its beginning says.
    fn fold_integer_text(&self, column: &Expr, constant: &mut Expr) -> Result<(), SqlError> {
        let is_column = matches!(column.kind, ExprKind::Column(_));
        match column.ty.column.kind {
            TypeKind::Year | TypeKind::LongLong if is_column && constant.ty.column.kind.is_string() => {
                let Some(value) = self.constant_value(constant) else { return Ok(()) };
                let is_year = column.ty.column.kind == TypeKind::Year;
                if is_year && matches!(&value, Value::Bytes(text) if !begins_with_digit(text)) {
                    return Ok(());
                }
                let number = value.to_f64(&constant.ty.column, &mut |warning| self.warn(warning));
                const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
                if let Some(number) =
                    number.filter(|number| number.fract() == 0.0 && number.abs() <= EXACT_MAX)
                {
                    *constant = Expr::int(number as i64);
                }
                self.fold_stored(column, constant)
            }
            _ => Ok(()),
        }
    }

    /// The year of a constant moment; a time is of today.
    fn fold_year_of(&self, constant: &mut Expr) -> Result<(), SqlError> {
        if !is_constant(constant) || constant.ty.column.kind == TypeKind::Year {
            return Ok(());
        }
        let mut moment = std::mem::replace(constant, Expr::null());
        if !moment.ty.column.kind.has_date() {
            moment = self.call("curdate", Vec::new())?;
        }
        *constant = self.call("year", vec![moment])?;
        Ok(())
    }

    fn fold_year(&self, column: &Expr, constant: &mut Expr) {
        const YEAR_MIN: i64 = 100;
        let Some(value) = self.peek(constant).or_else(|| self.constant_value(constant)) else { return };
        if matches!(value, Value::Null) {
            return;
        }
        let number = match value {
            Value::Int(number) if number >= YEAR_MIN => {
                let plain = Reading::Count { low: YEAR_MIN, high: i64::MAX };
                self.relies_on(constant, plain);
                return;
            }
            Value::Int(number) => number,
            // A fraction below 0 is no year, though a column stores the year 0 of it.
            Value::Decimal(ref number) if number.is_negative() => return self.decide_by(constant),
            Value::Double(number) if number < 0.0 => return self.decide_by(constant),
            _ if self.become_stored(column, constant) => return,
            // A text is the number that its beginning says.
            _ => value.to_f64(&constant.ty.column, &mut datum::no_warning).unwrap_or(0.0).round() as i64,
        };
        self.decide_by(constant);
        match number {
            1..=69 => *constant = Expr::int(number + 2000),
            70..=99 => *constant = Expr::int(number + 1900),
            _ => {}
        }
    }

    /// A number that a date column is compared with is a moment when it reads as one: `d = 20240131`. Members of a list
    /// that are none are not told of.
    pub(super) fn fold_date_number(&self, column: &Expr, literal: &mut Expr, is_member: bool) {
        let is_number = |expr: &Expr| expr.ty.column.kind.is_numeric();
        if !matches!(column.kind, ExprKind::Column(_)) || !is_number(literal) {
            return;
        }
        let name = match column.ty.column.kind {
            TypeKind::Time { .. } => {
                let value = self.peek(literal).filter(|_| !is_member);
                value.inspect(|value| self.check_numbered_time(column, literal, value));
                return;
            }
            TypeKind::Date if is_member => {
                _ = self.peek(literal).inspect(|value| _ = self.read_moment(literal, value, false));
                return;
            }
            TypeKind::Date => "date",
            ref kind if kind.has_date() => "datetime",
            _ => return,
        };
        let is_known = self.peek(literal).is_some();
        let is_open = is_constant(literal) && self.holds_marker(literal);
        if !is_known && !is_open && is_computed_of_constants(literal) {
            let is_date = column.ty.column.kind == TypeKind::Date;
            if let Some(value) = self.constant_value(literal)
                && !self.read_moment(literal, &value, is_date)
            {
                self.become_stored(column, literal);
            }
            return;
        }
        if self.become_cut_date(column, literal, name) {
            return;
        }
        if !self.become_date(column, literal) && is_known && !is_member && is_number(literal) {
            self.warn_of_stored(name, column, &literal.to_string(), Severity::Warning);
        }
    }

    /// Whether a marker is in what is a constant but for it.
    fn holds_marker(&self, constant: &Expr) -> bool {
        match &constant.kind {
            ExprKind::Negate(operand)
            | ExprKind::Cast(operand)
            | ExprKind::Fit(operand)
            | ExprKind::Relabel(operand) => self.holds_marker(operand),
            ExprKind::Call(_, arguments) => arguments.iter().any(|argument| self.holds_marker(argument)),
            _ => self.marker(constant).is_some(),
        }
    }

    /// A DECIMAL that is a date but for its fraction is that date, with a warning.
    fn become_cut_date(&self, column: &Expr, literal: &mut Expr, name: &str) -> bool {
        const DATE_MAX: f64 = 99_991_231.0;
        let Some(Value::Decimal(number)) = self.peek(literal) else { return false };
        let number = Value::Decimal(number).to_f64(&literal.ty.column, &mut datum::no_warning).unwrap_or(0.0);
        let lenient = self.sql_mode.contains(datum::SqlMode::ALLOW_INVALID_DATES);
        let is_cut = number.fract() != 0.0 && number <= DATE_MAX;
        let moment = datum::DateTime::from_number(number as i64, lenient).filter(|_| is_cut && number >= 1.0);
        let Some(moment) = moment else { return false };
        self.decide_by(literal);
        self.warn_of_stored(name, column, &literal.to_string(), Severity::Warning);
        let target = ColumnType::new(TypeKind::DateTime { fsp: 0 });
        *literal = Expr::literal(Value::DateTime(moment), target.not_null());
        true
    }

    /// Replaces a number by the moment that a column stores of it, if there is one. A marker beside a DATE column has that type
    /// itself.
    pub(super) fn become_date(&self, column: &Expr, number: &mut Expr) -> bool {
        let is_date = column.ty.column.kind == TypeKind::Date;
        let known = self.peek(number).or_else(|| self.marker_value(number).filter(|_| !is_date));
        known.is_some_and(|value| {
            self.read_moment(number, &value, is_date) || self.become_stored(column, number)
        })
    }

    fn read_moment(&self, number: &mut Expr, value: &Value, is_date: bool) -> bool {
        let lenient = self.sql_mode.contains(datum::SqlMode::ALLOW_INVALID_DATES);
        let moment = ColumnType::new(TypeKind::DateTime { fsp: 0 }).not_null();
        self.read_value(number, value, Reading::NumberedMoment { lenient, is_date }, moment)
    }

    fn check_numbered_time(&self, column: &Expr, literal: &Expr, value: &Value) {
        self.decide_by(literal);
        let number = value.to_f64(&literal.ty.column, &mut datum::no_warning).unwrap_or(0.0);
        if datum::Time::from_number(number as i64).is_none() {
            self.warn_of_stored("time", column, &literal.to_string(), Severity::Warning);
        }
    }

    /// Warns of a text that a TIME column would not store, or of whose moment it would keep the time alone.
    pub(super) fn check_time_text(&self, column: &Expr, constant: &Expr) {
        let is_time = matches!(column.ty.column.kind, TypeKind::Time { .. });
        if !is_time || !matches!(column.kind, ExprKind::Column(_)) {
            return;
        }
        let Some(Value::Bytes(text)) = self.peek(constant) else { return };
        if self.relies_on(constant, Reading::PlainTimeText) || text.is_empty() {
            return;
        }
        let is_time = datum::Time::parse(&text).is_some_and(|parsed| !parsed.truncated);
        let severity = if is_time { Severity::Note } else { Severity::Warning };
        self.warn_of_stored("time", column, &datum::shown(&text), severity);
    }

    /// 1292 for a constant that a column would not store as it is.
    fn warn_of_stored(&self, kind: &str, column: &Expr, shown: &str, severity: Severity) {
        let error =
            error_code::ER_INCORRECT_VALUE_FOR_COLUMN.with(&[&kind, &shown, &column_name(column), &1]);
        self.conditions.borrow_mut().push(Condition { severity, error });
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
        // An offset needs the session's zone when it is evaluated.
        let column = ColumnType::new(TypeKind::DateTime { fsp: 6 }).not_null();
        if self.read_as(text, Reading::Moment { lenient }, column) {
            return Ok(());
        }
        self.check_moment(moment, &bytes)?;
        self.tell_cut_moment(moment, text);
        Ok(())
    }

    /// Tells of what stands behind the moment in a constant text that meets a column of moments.
    pub(super) fn tell_cut_moment(&self, column: &Expr, text: &Expr) {
        let is_column = matches!(column.kind, ExprKind::Column(_)) && column.ty.column.kind.has_date();
        let Some(Value::Bytes(bytes)) = self.peek(text).filter(|_| is_column) else { return };
        let lenient = self.sql_mode.contains(datum::SqlMode::ALLOW_INVALID_DATES);
        if self.relies_on(text, Reading::Moment { lenient }) {
            return;
        }
        if datum::DateTime::parse(&bytes, lenient).is_some_and(|parsed| parsed.truncated) {
            let kind = if column.ty.column.kind == TypeKind::Date { "date" } else { "datetime" };
            self.warn_of_stored(kind, column, &datum::shown(&bytes), Severity::Warning);
        }
    }

    /// The same for constants that are computed; a plan for them is for their values only.
    fn check_constant_moment(&self, moment: &Expr, text: &Expr) -> Result<(), SqlError> {
        if !(text.ty.column.kind.is_string() || text.ty.column.kind.has_members()) {
            return Ok(());
        }
        match self.constant_value(text) {
            Some(Value::Bytes(bytes)) => self.check_moment(moment, &bytes),
            _ => Ok(()),
        }
    }

    pub(super) fn check_moment(&self, moment: &Expr, text: &[u8]) -> Result<(), SqlError> {
        let lenient = self.sql_mode.contains(datum::SqlMode::ALLOW_INVALID_DATES);
        let date = datum::DateTime::parse(text, lenient).map(|parsed| parsed.value.date());
        let is_forbidden = |date: datum::Date| {
            (date.is_zero() && self.sql_mode.contains(datum::SqlMode::NO_ZERO_DATE))
                || (date.has_zero_part() && self.sql_mode.contains(datum::SqlMode::NO_ZERO_IN_DATE))
        };
        if date.is_some_and(|date| !is_forbidden(date)) {
            return Ok(());
        }
        let type_name = match moment.ty.column.kind {
            TypeKind::Date => "DATE",
            TypeKind::Timestamp { .. } => "TIMESTAMP",
            _ => "DATETIME",
        };
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

fn begins_with_digit(text: &[u8]) -> bool {
    text.trim_ascii_start().first().is_some_and(u8::is_ascii_digit)
}

/// The name of a column without those of its table.
fn column_name(column: &Expr) -> &str {
    let name = column.ty.name.as_deref().unwrap_or_default().rsplit('.').next().unwrap_or_default();
    name.trim_matches('`')
}
