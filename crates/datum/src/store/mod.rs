//! Storing a value into a column: MySQL's assignment conversions with their errors, warnings and notes.
//!
//! Invariant: a stored value is of the column's own representation and within its range, whatever was assigned.
//! In strict mode most problems are errors; otherwise the nearest value is stored and the problem is a warning.
//! Callers: INSERT, UPDATE, LOAD DATA, defaults, ALTER TABLE.
mod copy;
mod number;
mod problem;
mod string;
mod temporal;

#[cfg(test)]
mod tests;

pub use problem::{ConversionError, ConversionProblem};

use crate::column_type::{ColumnType, TypeKind};
use crate::decimal::Decimal;
use crate::moment::MomentContext;
use crate::temporal::{Date, DateTime, Time, Timestamp};
use crate::value::Value;

/// What storing depends on beside value and column.
#[derive(Clone, Copy, Debug)]
pub struct StoreMode<'a> {
    pub moments: MomentContext<'a>,
    /// Problems are errors (strict sql_mode without IGNORE).
    pub is_strict: bool,
}

/// A value as the column keeps it, and what was lost on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub value: Value,
    /// A warning or note.
    pub problem: Option<ConversionError>,
}

/// What a conversion gives before strictness is applied.
struct Outcome {
    value: Value,
    problem: Option<ConversionProblem>,
}

impl Outcome {
    fn exact(value: Value) -> Outcome {
        Outcome { value, problem: None }
    }

    fn with(value: Value, problem: ConversionProblem) -> Outcome {
        Outcome { value, problem: Some(problem) }
    }

    /// The value, with a warning or a note, or the error that its problem is in this mode.
    fn judged(self, mode: &StoreMode<'_>) -> Result<Stored, ConversionError> {
        let problem = match self.problem {
            None => None,
            Some(problem) if problem.is_note() => Some(ConversionError::note(problem)),
            Some(problem) if mode.is_strict || problem.is_always_error() => {
                return Err(ConversionError::error(problem));
            }
            Some(problem) => Some(ConversionError::warning(problem)),
        };
        Ok(Stored { value: self.value, problem })
    }
}

impl Value {
    /// Converts a value of type `from` for column type `to`.
    pub fn cast_to_column(
        &self,
        from: &ColumnType,
        to: &ColumnType,
        mode: &StoreMode<'_>,
    ) -> Result<Stored, ConversionError> {
        // The common case costs nothing: an integer within the bounds of an integer column.
        if let (Value::Int(number), Some((low, high))) = (self, to.integer_bounds())
            && !to.unsigned
            && (low..=high).contains(&i128::from(*number))
        {
            return Ok(Stored { value: self.clone(), problem: None });
        }
        if self.is_null() {
            let is_allowed = to.nullable;
            return if is_allowed {
                Ok(Stored { value: Value::Null, problem: None })
            } else {
                Err(ConversionError::error(ConversionProblem::Null))
            };
        }
        convert(self, from, to, mode).judged(mode)
    }

    /// The same of the value of a column or variable as it is. To one of the same kind MySQL copies it, and there it is told of
    /// what it cuts in other words, also of spaces.
    pub fn assign_to_column(
        &self,
        from: &ColumnType,
        to: &ColumnType,
        mode: &StoreMode<'_>,
    ) -> Result<Stored, ConversionError> {
        const SHORT_BYTES_MAX: u64 = 255;
        let is_short = |column: &ColumnType| column.byte_length_max() <= SHORT_BYTES_MAX;
        let is_copied = matches!(to.kind, TypeKind::VarChar | TypeKind::VarBinary)
            && from.kind == to.kind
            && from.collation == to.collation
            && is_short(from) == is_short(to);
        let stored = self.cast_to_column(from, to, mode);
        let problem = match &stored {
            Ok(stored) => stored.problem.as_ref(),
            Err(problem) => Some(problem),
        };
        let is_cut = problem.is_some_and(|problem| {
            matches!(problem.problem, ConversionProblem::TooLong | ConversionProblem::Shortened)
        });
        match stored {
            _ if is_copied && is_cut && mode.is_strict => {
                Err(ConversionError::error(ConversionProblem::Truncated))
            }
            Ok(stored) if is_copied && is_cut => {
                Ok(Stored { problem: Some(ConversionError::warning(ConversionProblem::Truncated)), ..stored })
            }
            stored => stored,
        }
    }
}

fn convert(value: &Value, from: &ColumnType, to: &ColumnType, mode: &StoreMode<'_>) -> Outcome {
    // Instants are assigned as the session's clock shows them, except to a column of instants.
    let local;
    let value = match (value, &to.kind) {
        (Value::Timestamp(_), TypeKind::Timestamp { .. }) => value,
        (Value::Timestamp(_), _) => {
            local = value.in_session_zone(mode.moments.zone);
            &local
        }
        _ => value,
    };
    if let Value::Json(document) = value
        && let Some(type_name) = number::json_cast_name(&to.kind)
        && !number::is_json_number(document)
    {
        return Outcome::with(to.implicit_default(), ConversionProblem::JsonValue { type_name });
    }
    if let Value::Bytes(bytes) = value
        && from.is_hex_literal()
        && (to.kind.is_integer() || to.kind.is_floating() || matches!(to.kind, TypeKind::Decimal { .. }))
    {
        let (number, is_other) = number::hex_for_number(bytes, to);
        let column = ColumnType::bigint_unsigned();
        let mut outcome = convert(&Value::UInt(number), &column, to, mode);
        if is_other {
            outcome.problem = Some(ConversionProblem::OutOfRange);
        }
        return outcome;
    }
    // Zeros that fill a column's numbers up are shown, not stored.
    let unfilled;
    let from = match from.zerofill && !from.kind.is_string() {
        true => {
            unfilled = ColumnType { zerofill: false, ..from.clone() };
            &unfilled
        }
        false => from,
    };
    match &to.kind {
        kind if kind.is_integer() => number::to_integer_column(value, from, to),
        kind if kind.is_floating() => number::to_float_column(value, from, to),
        TypeKind::Decimal { precision, scale } => {
            number::to_decimal_column(value, from, to, *precision, *scale)
        }
        TypeKind::Year if matches!(value, Value::Time(_)) => {
            // A time of day is one of today.
            let today = temporal::to_date_column(value, from, mode).value;
            number::to_year_column(&today, &ColumnType::new(TypeKind::Date))
        }
        TypeKind::Year => number::to_year_column(value, from),
        TypeKind::Bit(bits) => number::to_bit_column(value, from, *bits),
        kind if kind.is_string() => string::to_string_column(value, from, to),
        TypeKind::Enum(members) => string::to_enum_column(value, from, to, members),
        TypeKind::Set(members) => string::to_set_column(value, from, to, members),
        TypeKind::Json => string::to_json_column(value, from),
        TypeKind::Date => temporal::to_date_column(value, from, mode),
        TypeKind::Time { fsp } => temporal::to_time_column(value, from, *fsp, mode),
        TypeKind::DateTime { fsp } => temporal::to_datetime_column(value, from, *fsp, mode),
        TypeKind::Timestamp { fsp } => temporal::to_timestamp_column(value, from, *fsp, mode),
        _ => Outcome::exact(Value::Null),
    }
}

impl ColumnType {
    /// What a NOT NULL column without a default gets where MySQL does not refuse (non-strict mode, IGNORE).
    pub fn implicit_default(&self) -> Value {
        match &self.kind {
            TypeKind::Null => Value::Null,
            kind if kind.is_integer() && self.unsigned => Value::UInt(0),
            kind if kind.is_integer() => Value::Int(0),
            TypeKind::Decimal { scale, .. } => Value::Decimal(Decimal::zero_of_scale(*scale)),
            TypeKind::Float { .. } => Value::Float(0.0),
            TypeKind::Double { .. } => Value::Double(0.0),
            TypeKind::Date => Value::Date(Date::ZERO),
            TypeKind::Time { .. } => Value::Time(Time::ZERO),
            TypeKind::DateTime { .. } => Value::DateTime(DateTime::ZERO),
            TypeKind::Timestamp { .. } => Value::Timestamp(Timestamp::ZERO),
            TypeKind::Year => Value::Year(0),
            TypeKind::Bit(_) => Value::Bit(0),
            TypeKind::Enum(_) => Value::Enum(1),
            TypeKind::Set(_) => Value::Set(0),
            TypeKind::Json => Value::Json("null".into()),
            TypeKind::Binary => Value::Bytes(vec![0; self.length as usize]),
            _ => Value::Bytes(Vec::new()),
        }
    }
}
