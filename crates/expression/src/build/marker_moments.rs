//! Markers where a function wants a date or a moment.
//!
//! A text or number that can be read as one is one: `? + INTERVAL 1 DAY` of '2024-01-31' is a DATE, and of a text with
//! a time, which is no DATE, the statement is planned anew. What cannot be read so keeps its kind. Invariant: a plan
//! relies on what it read its text as. Caller: `markers`.
use datum::{ColumnType, DateTime, SqlError, TypeKind, Value};

use super::BindContext;
use super::reading::{Reading, Written};
use super::wanted::Wanted;
use crate::expr::Expr;

const FRACTION_DIGITS: u8 = 6;

fn datetime() -> ColumnType {
    ColumnType::new(TypeKind::DateTime { fsp: FRACTION_DIGITS })
}

impl BindContext {
    pub(super) fn expect_moment(
        &self,
        expr: &mut Expr,
        wanted: Wanted,
        given: &TypeKind,
    ) -> Result<(), SqlError> {
        let written = if given.is_string() { self.written(expr, wanted != Wanted::Date) } else { None };
        if self.markers.keeps_types() {
            self.read_written(expr, written);
            return Ok(());
        }
        let has_time = written.is_some_and(|(written, _)| written == Written::Moment);
        let is_nothing = written.is_some_and(|(written, _)| written == Written::Nothing);
        let is_number = given.is_integer();
        let is_other_moment = given.is_temporal() && *given != TypeKind::Date;
        let has_time = has_time || is_other_moment || self.is_numbered_with_time(expr);
        let is_refused = wanted == Wanted::Date && has_time;
        let is_converted = match wanted {
            Wanted::ToldMoment => given.is_string(),
            Wanted::MomentOrTime => (given.is_string() && !is_nothing) || self.is_numbered_moment(expr),
            Wanted::KeptMoment if !given.is_temporal() => {
                let is_moment = (given.is_string() && !is_nothing) || self.is_numbered_moment(expr);
                let kind = match is_moment {
                    true => TypeKind::DateTime { fsp: FRACTION_DIGITS },
                    false => TypeKind::Time { fsp: FRACTION_DIGITS },
                };
                return self.refuse_or_convert(expr, (true, false), ColumnType::new(kind));
            }
            Wanted::KeptMoment => false,
            Wanted::Date => !given.is_temporal() && !is_refused,
            _ => !given.is_temporal() || matches!(given, TypeKind::Time { .. }),
        };
        // What the value cannot be read as says nothing about others.
        if matches!(wanted, Wanted::Date | Wanted::MomentOrTime | Wanted::KeptMoment) {
            if let Some((_, reading)) = written {
                self.relies_on_marker(expr, reading);
            } else if is_number {
                self.decide_by(expr);
            }
        }
        let column = if wanted == Wanted::Date { ColumnType::new(TypeKind::Date) } else { datetime() };
        self.refuse_or_convert(expr, (is_converted, is_refused), column)
    }

    /// What the marker's text is, with the reading that says so.
    fn written(&self, expr: &Expr, lenient: bool) -> Option<(Written, Reading)> {
        let value = self.marker_value(expr)?;
        [Written::Date, Written::Moment, Written::Nothing]
            .map(|written| (written, Reading::Written { written, lenient }))
            .into_iter()
            .find(|(_, reading)| reading.accepts(&value))
    }

    fn read_written(&self, expr: &mut Expr, written: Option<(Written, Reading)>) {
        match written {
            Some((Written::Date, reading)) => {
                _ = self.read_marker(expr, reading, ColumnType::new(TypeKind::Date))
            }
            Some((Written::Moment, reading)) => _ = self.read_marker(expr, reading, datetime()),
            Some((Written::Nothing, reading)) => _ = self.relies_on_marker(expr, reading),
            None => {}
        }
    }

    /// 0 is the moment of zeros, whatever the SQL mode says.
    pub(super) fn become_zero_moment(&self, expr: &mut Expr) -> bool {
        if self.marker(expr).is_none() {
            return false;
        }
        match self.marker_value(expr) {
            Some(Value::Int(0)) => self.read_marker(expr, Reading::ZeroMoment, datetime()),
            Some(Value::Int(number)) => {
                let (low, high) = if number < 0 { (i64::MIN, -1) } else { (1, i64::MAX) };
                self.relies_on_marker(expr, Reading::Count { low, high });
                false
            }
            _ => false,
        }
    }

    fn is_numbered_moment(&self, expr: &Expr) -> bool {
        matches!(self.marker_value(expr), Some(Value::Int(number)) if DateTime::from_number(number, true).is_some())
    }

    fn is_numbered_with_time(&self, expr: &Expr) -> bool {
        const DATE_MAX: i64 = 99_991_231;
        matches!(self.marker_value(expr), Some(Value::Int(number)) if number > DATE_MAX)
            && self.is_numbered_moment(expr)
    }
}
