//! What a column of another type keeps of a value when its table is copied: MySQL copies field by field.
//!
//! The new column's type decides what it is given of the old value: a text, a whole number, a decimal, or the value
//! itself. INSERT .. SELECT decides otherwise: there a number is an index of an ENUM, and no JSON text.
//! Caller: ALTER TABLE.
use collation::CollationId;

use super::{ConversionError, ConversionProblem, Outcome, StoreMode, Stored, convert};
use crate::column_type::{ColumnType, TypeKind};
use crate::decimal::Decimal;
use crate::number::{integer_prefix, no_warning, shown};
use crate::value::Value;

/// What the new column is given.
#[derive(PartialEq)]
enum Given {
    Itself,
    Text,
    Integer,
    Decimal,
}

fn given(from: &TypeKind, to: &TypeKind) -> Given {
    let is_bit = |kind: &TypeKind| matches!(kind, TypeKind::Bit(_));
    let is_text = |kind: &TypeKind| kind.is_string() || kind.has_members() || *kind == TypeKind::Json;
    match (from, to) {
        _ if to.is_large_object() || *to == TypeKind::Json => match is_text(from) && !from.has_members() {
            true => Given::Itself,
            false => Given::Text,
        },
        _ if is_bit(from) || is_bit(to) => Given::Integer,
        (_, TypeKind::Decimal { .. }) if from.is_string() => Given::Decimal,
        (_, TypeKind::Decimal { .. }) => Given::Itself,
        // An instant, a date or a time from another one is the same moment.
        _ if from.is_temporal() && to.is_temporal() => Given::Itself,
        (TypeKind::Json, _) => Given::Text,
        _ if to.is_string() || to.has_members() || to.is_temporal() => Given::Text,
        (_, TypeKind::Year) if !from.is_string() => Given::Integer,
        _ => Given::Itself,
    }
}

/// The type of a value's text.
fn text_type(from: &ColumnType) -> ColumnType {
    let collation = match &from.kind {
        TypeKind::Bit(_) => CollationId::BINARY,
        kind if kind.is_string() || kind.has_members() => from.collation,
        _ => CollationId::UTF8MB4_BIN,
    };
    ColumnType::varchar(0, collation)
}

/// The whole number that a column gives, as digits are read: what follows them is refused.
fn integer(value: &Value, from: &ColumnType) -> (Value, Option<ConversionProblem>) {
    let (number, problem) = match value {
        Value::Bytes(text) => {
            let (number, consumed) = integer_prefix(text);
            let is_whole = consumed > 0 && text[consumed..].iter().all(|byte| *byte == b' ');
            let refused = || ConversionProblem::Truncating { type_name: "INTEGER", text: shown(text) };
            // A TEXT says nothing.
            (number, (!is_whole && !from.kind.is_large_object()).then(refused))
        }
        Value::Double(number) => (number.round_ties_even() as i128, None),
        Value::Float(number) => (f64::from(*number).round_ties_even() as i128, None),
        Value::Decimal(number) => {
            let limit = if number.is_negative() { i128::from(i64::MIN) } else { i128::from(u64::MAX) };
            (number.rounded_integer().unwrap_or(limit), None)
        }
        other => (other.to_integer(from, &mut no_warning).unwrap_or(0), None),
    };
    let value = match i64::try_from(number) {
        Ok(number) => Value::Int(number),
        Err(_) if number < 0 => Value::Int(i64::MIN),
        Err(_) => Value::UInt(number.min(i128::from(u64::MAX)) as u64),
    };
    (value, problem)
}

/// A year is a whole number first: what is beyond its 64 bits is told as such.
fn beyond_integer(value: &Value, from: &ColumnType) -> Option<ConversionProblem> {
    let type_name = match value {
        // From this number on, which is the nearest to the largest one.
        Value::Double(number) if *number >= i64::MAX as f64 || *number < i64::MIN as f64 => "INTEGER",
        Value::Decimal(number) => {
            let fits = number
                .rounded_integer()
                .is_some_and(|whole| i64::try_from(whole).is_ok() || u64::try_from(whole).is_ok());
            if fits {
                return None;
            }
            "DECIMAL"
        }
        _ => return None,
    };
    Some(ConversionProblem::Truncating { type_name, text: shown(&value.to_text(from)) })
}

/// The decimal that a text begins with.
fn decimal(value: &Value, from: &ColumnType) -> (Value, Option<ConversionProblem>) {
    let Value::Bytes(text) = value else { return (value.clone(), None) };
    let prefix = Decimal::parse_prefix(text);
    let is_whole = text[prefix.consumed..].iter().all(|byte| *byte == b' ');
    let problem = match () {
        () if prefix.consumed == 0 => {
            Some(ConversionProblem::Incorrect { type_name: "DECIMAL", text: shown(text) })
        }
        // Of the end of a TEXT nothing is said.
        () if is_whole || from.kind.is_large_object() => None,
        () => Some(ConversionProblem::Truncating { type_name: "DECIMAL", text: shown(text) }),
    };
    (Value::Decimal(prefix.value), problem)
}

impl Value {
    /// What column type `to` keeps of this value of a column of type `from`.
    pub fn copy_to_column(
        &self,
        from: &ColumnType,
        to: &ColumnType,
        mode: &StoreMode<'_>,
    ) -> Result<Stored, ConversionError> {
        if self.is_null() {
            return self.cast_to_column(from, to, mode);
        }
        let local = self.in_session_zone(mode.moments.zone);
        let outcome = match given(&from.kind, &to.kind) {
            Given::Itself => convert(self, from, to, mode),
            Given::Text => convert(&Value::bytes(local.to_text(from)), &text_type(from), to, mode),
            Given::Integer if from.kind == TypeKind::Json => convert(self, from, to, mode),
            Given::Integer => {
                let (number, problem) = integer(&local, from);
                let beyond = || beyond_integer(&local, from).filter(|_| to.kind == TypeKind::Year);
                let problem = problem.or_else(beyond);
                let is_unsigned = matches!(number, Value::UInt(_));
                let from = ColumnType { unsigned: is_unsigned, ..ColumnType::bigint() };
                first_problem(problem, convert(&number, &from, to, mode))
            }
            Given::Decimal => {
                let (number, problem) = decimal(self, from);
                let from = ColumnType::decimal(crate::decimal::PRECISION_MAX, 0);
                first_problem(problem, convert(&number, &from, to, mode))
            }
        };
        outcome.judged(mode)
    }
}

fn first_problem(problem: Option<ConversionProblem>, outcome: Outcome) -> Outcome {
    Outcome { problem: problem.or(outcome.problem), ..outcome }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Date, MomentContext, SqlMode, TimeZone};
    use std::sync::Arc;

    /// What MySQL 9.7 keeps, or the number of its error.
    #[test]
    fn columns_are_given_what_their_type_asks_for() {
        let zone = TimeZone::utc();
        let moments = MomentContext { zone: &zone, mode: SqlMode::default(), today: Date::ZERO };
        let mode = StoreMode { moments, is_strict: true };
        let kept = |value: Value, from: ColumnType, to: TypeKind| {
            let to = ColumnType::new(to);
            let stored = value.copy_to_column(&from, &to, &mode);
            let text = |stored: Stored| String::from_utf8_lossy(&stored.value.to_text(&to)).into_owned();
            stored.map(text).map_err(|problem| problem.to_error("a", 1).errno)
        };
        let members: crate::Members = Arc::from([Box::from(&b"9"[..]), Box::from(&b"1"[..])]);
        let decimal = TypeKind::Decimal { precision: 5, scale: 1 };
        let text = |text: &str| (Value::bytes(text), ColumnType::varchar(9, CollationId::UTF8MB4_BIN));
        let blob = |text: &str| (Value::bytes(text), ColumnType::new(TypeKind::Text));
        let of = |value: (Value, ColumnType), to: &TypeKind| kept(value.0, value.1, to.clone());
        assert_eq!(of((Value::Int(1), ColumnType::int()), &TypeKind::Enum(members)), Ok("1".into()));
        assert_eq!(of((Value::Int(7), ColumnType::int()), &TypeKind::Json), Ok("7".into()));
        assert_eq!(of((Value::Bit(5), ColumnType::new(TypeKind::Bit(8))), &TypeKind::Json), Err(3144));
        assert_eq!(of((Value::Bit(5), ColumnType::new(TypeKind::Bit(8))), &decimal), Ok("5.0".into()));
        assert_eq!(
            of((Value::Json("\"12\"".into()), ColumnType::new(TypeKind::Json)), &TypeKind::Long),
            Err(1366)
        );
        assert_eq!(of(text("1.5x"), &decimal), Err(1292));
        assert_eq!(of(text("x"), &decimal), Err(1366));
        assert_eq!(of(blob("1.5x"), &decimal), Ok("1.5".into()));
        let double = |number| (Value::Double(number), ColumnType::double());
        assert_eq!(of(double(2003.6), &TypeKind::Year), Ok("2004".into()));
        for (number, errno) in [(-1e300, 1292), (1e19, 1292), (-1e18, 1264), (1e18, 1264)] {
            assert_eq!(of(double(number), &TypeKind::Year), Err(errno), "{number}");
        }
        let time = TypeKind::Time { fsp: 0 };
        // Texts that MySQL gives up without a word; a double becomes one.
        for number in [-1e300, 1e10, 1e15] {
            assert_eq!(of(double(number), &time), Ok("00:00:00".into()), "{number}");
        }
        for given_up in ["1e15", "12:3e5", "1.5e3", "9999999999", "-4294967296"] {
            assert_eq!(of(text(given_up), &time), Ok("00:00:00".into()), "{given_up}");
        }
        for wrong in ["1e", "4294967295", "8385960", "x"] {
            assert_eq!(of(text(wrong), &time), Err(1292), "{wrong}");
        }
    }
}
