//! `?` markers as arguments: the kinds of values that functions and operators want of them.
//!
//! Callers: the constructors of `build` that make calls, arithmetic and intervals.
use datum::{ColumnType, SqlError, TypeKind, error_code};

use super::BindContext;
use super::reading::{Numeral, Reading};
use super::wanted::{Wanted, wanted_by};
use crate::expr::Expr;
use crate::interval::IntervalUnit;

impl BindContext {
    /// A marker where a function wants a kind of value.
    pub(crate) fn expect(&self, expr: &mut Expr, wanted: Wanted) -> Result<(), SqlError> {
        if self.marker(expr).is_none() {
            return Ok(());
        }
        let column = self.wanted_type(wanted);
        let given = expr.ty.column.kind.clone();
        self.derive(expr, column.clone());
        if given == TypeKind::Null {
            return Ok(());
        }
        if given.is_integer() && wanted.is_moment() && self.become_zero_moment(expr) {
            return Ok(());
        }
        let is_number = given.is_integer() || matches!(given, TypeKind::Decimal { .. });
        let (is_converted, is_refused) = match wanted {
            Wanted::Integer | Wanted::Unsigned => return self.expect_integer(expr, wanted, &given),
            Wanted::Text => (false, !given.is_string()),
            Wanted::Parsed => (given.is_string(), false),
            Wanted::Bits => {
                self.bits_marker(expr);
                (false, !given.is_string())
            }
            Wanted::Double => (is_number, given.is_temporal()),
            Wanted::Decimal if given.is_string() && self.markers.keeps_types() => {
                self.read_numeral(expr, Numeral::Any);
                (false, false)
            }
            Wanted::Decimal if is_number && !self.markers.keeps_types() => {
                self.relabel(expr, &column);
                (false, false)
            }
            Wanted::Decimal => (given.is_string(), given.is_temporal() || given.is_floating()),
            wanted if wanted.is_moment() => return self.expect_moment(expr, wanted, &given),
            Wanted::Time => (!given.is_temporal() || given.has_date(), false),
            _ => (false, false),
        };
        self.refuse_or_convert(expr, (is_converted, is_refused), column)
    }

    pub(super) fn refuse_or_convert(
        &self,
        expr: &mut Expr,
        (is_converted, is_refused): (bool, bool),
        column: ColumnType,
    ) -> Result<(), SqlError> {
        if is_refused {
            self.refuse_markers();
        }
        if is_converted && !self.markers.keeps_types() {
            let value = std::mem::replace(expr, Expr::null());
            *expr = self.convert(value, column)?;
        }
        Ok(())
    }

    /// A BIGINT: text of digits is one, text that is another number a DECIMAL, and other text stays what it is.
    fn expect_integer(&self, expr: &mut Expr, wanted: Wanted, given: &TypeKind) -> Result<(), SqlError> {
        let is_refused = match given {
            kind if kind.is_string() => {
                !self.read_numeral(expr, Numeral::Integer) && self.read_numeral(expr, Numeral::Other)
            }
            kind => !kind.is_integer() || (expr.ty.column.unsigned && wanted == Wanted::Integer),
        };
        self.refuse_or_convert(expr, (false, is_refused), ColumnType::bigint())
    }

    /// A marker where an operator wants an integer, which text becomes that is none.
    pub(crate) fn expect_number(&self, expr: &mut Expr, wanted: Wanted) -> Result<(), SqlError> {
        let is_marker = self.marker(expr).is_some();
        self.expect(expr, wanted)?;
        let is_left = is_marker && self.marker(expr).is_some() && expr.ty.column.kind.is_string();
        if is_left && !self.markers.keeps_types() {
            let value = std::mem::replace(expr, Expr::null());
            *expr = self.convert(value, self.wanted_type(wanted))?;
        }
        Ok(())
    }

    /// A text marker is a binary string to functions of bits.
    fn bits_marker(&self, expr: &mut Expr) {
        let column = &expr.ty.column;
        if column.is_text() && !self.markers.keeps_types() {
            let length = u32::try_from(super::merge::bytes_max(column)).unwrap_or(u32::MAX);
            expr.ty.column = ColumnType::varbinary(length);
        }
    }

    /// Error 3146 for a marker where a function wants to know at once that there is a document.
    pub fn check_document_marker(&self, expr: &Expr, index: usize, name: &str) -> Result<(), SqlError> {
        match self.marker(expr) {
            Some(_) => Err(error_code::ER_INVALID_TYPE_FOR_JSON.with(&[&index, &name])),
            None => Ok(()),
        }
    }

    /// Makes a text the number that all of it is. Otherwise it stays text, as other values then have to.
    fn read_numeral(&self, expr: &mut Expr, numeral: Numeral) -> bool {
        let column = match numeral {
            Numeral::Integer => ColumnType::bigint(),
            _ => ColumnType::decimal(65, 30),
        };
        let Some(value) = self.marker_value(expr) else { return false };
        if Reading::Numeral(numeral).accepts(&value) {
            return self.read_marker(expr, Reading::Numeral(numeral), column);
        }
        if Reading::Numeral(Numeral::None).accepts(&value) {
            self.relies_on_marker(expr, Reading::Numeral(Numeral::None));
        }
        false
    }

    /// The markers among a function's arguments.
    pub(crate) fn expect_arguments(&self, name: &str, arguments: &mut [Expr]) -> Result<(), SqlError> {
        if !self.markers.is_of_statement() {
            return Ok(());
        }
        if matches!(name, "ifnull" | "coalesce" | "greatest" | "least" | "field" | "nullif") {
            self.meet_computed_among(arguments)?;
            self.derive_together(arguments);
            return Ok(());
        }
        if arguments.iter().all(|argument| self.marker(argument).is_none()) {
            return Ok(());
        }
        for (place, argument) in arguments.iter_mut().enumerate() {
            self.expect(argument, wanted_by(name, place))?;
        }
        Ok(())
    }

    /// The markers of `date ± INTERVAL amount unit`.
    pub(crate) fn expect_interval(
        &self,
        date: &mut Expr,
        amount: &mut Expr,
        unit: IntervalUnit,
    ) -> Result<(), SqlError> {
        self.expect(date, if unit.has_time() { Wanted::Moment } else { Wanted::Date })?;
        let wanted = match unit {
            IntervalUnit::Second => Wanted::Decimal,
            unit if unit.is_composite() => Wanted::Text,
            _ => Wanted::Integer,
        };
        self.expect(amount, wanted)
    }
}
