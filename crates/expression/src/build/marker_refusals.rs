//! Which values a marker takes where its neighbours have said its type.
//!
//! PREPARE gives a marker a type; a value of another kind has the statement planned anew, and then all values keep their
//! types: so `AVG(?)` of 1 is a DOUBLE by itself and a DECIMAL where another marker has to be another type. Invariant: texts
//! and NULL are taken for any type. Caller: `markers`.
use datum::{ColumnType, SqlError, SqlMode, TypeKind, Value};

use super::BindContext;
use super::reading::Reading;
use crate::expr::{Expr, ExprKind};

const FRACTION_DIGITS: u8 = 6;

/// Whether a marker of type `derived` takes a value of type `given`.
fn takes(derived: &ColumnType, given: &ColumnType) -> bool {
    let is_exact = given.kind.is_integer() || matches!(given.kind, TypeKind::Decimal { .. });
    let is_number = is_exact || given.kind.is_floating();
    match &derived.kind {
        _ if given.kind == TypeKind::Null || given.kind.is_string() => true,
        TypeKind::Null => true,
        TypeKind::Year => given.kind.is_integer(),
        // Bits have no sign.
        TypeKind::Bit(_) => given.kind.is_integer() && given.unsigned,
        kind if kind.is_integer() => given.kind.is_integer() && given.unsigned == derived.unsigned,
        TypeKind::Decimal { .. } => is_exact,
        kind if kind.is_floating() => is_number,
        TypeKind::Date => is_number || given.kind == TypeKind::Date,
        TypeKind::Time { .. } => given.kind != TypeKind::Date,
        kind if kind.is_temporal() => true,
        _ => !(is_number || given.kind.is_temporal()),
    }
}

impl BindContext {
    /// Has the statement planned anew where a marker does not take its value. The first neighbour alone says the type.
    pub(super) fn refuse_other(&self, marker: &Expr, derived: &ColumnType) {
        let is_open = self.marker(marker).is_some_and(|index| !self.markers.is_known(index));
        if is_open && !takes(derived, &marker.ty.column) {
            self.refuse_markers();
        }
    }

    /// Makes a marker that is compared with a moment NULL where its value is none; 0 is the moment of zeros.
    pub(super) fn become_moment_or_null(&self, expr: &mut Expr) {
        let lenient = self.sql_mode.contains(SqlMode::ALLOW_INVALID_DATES);
        if self.marker(expr).is_none() || self.markers.keeps_types() {
            return;
        }
        let reading = match self.marker_value(expr) {
            Some(Value::Bytes(_)) => Reading::Moment { lenient },
            Some(Value::Int(number)) if number != 0 => Reading::NumberedMoment { lenient, is_date: false },
            _ => return,
        };
        if !self.relies_on_marker(expr, reading) {
            let marker = std::mem::replace(expr, Expr::null());
            *expr = self.converted(marker, ColumnType::new(TypeKind::DateTime { fsp: FRACTION_DIGITS }));
        }
    }

    /// Where an operator meets a number that is computed of markers alone with another integer, the markers are integers as
    /// well.
    pub(super) fn refuse_computed(&self, expr: &Expr, other: &Expr) {
        if self.is_computed_of_markers(expr) && other.ty.column.kind.is_integer() {
            self.refuse_markers();
        }
    }

    /// The same, and with a DECIMAL the markers are DECIMALs of all digits, which floating numbers do not become.
    pub(super) fn meet_computed(&self, expr: &mut Expr, other: &Expr) -> Result<(), SqlError> {
        self.refuse_computed(expr, other);
        if matches!(other.ty.column.kind, TypeKind::Decimal { .. }) && self.is_computed_of_markers(expr) {
            self.become_exact_markers(expr)?;
        }
        Ok(())
    }

    fn become_exact_markers(&self, expr: &mut Expr) -> Result<(), SqlError> {
        if self.markers.keeps_types() {
            return Ok(());
        }
        let Expr { kind, ty } = std::mem::replace(expr, Expr::null());
        let made = |mut operand: Expr| -> Result<Expr, SqlError> {
            self.become_exact_markers(&mut operand)?;
            Ok(operand)
        };
        *expr = match kind {
            ExprKind::Cast(operand) | ExprKind::Relabel(operand) => made(*operand)?,
            ExprKind::Negate(operand) => self.negate(made(*operand)?)?,
            ExprKind::Arithmetic(operator, left, right) => {
                self.arithmetic(operator, made(*left)?, made(*right)?)?
            }
            ExprKind::Call(function, arguments) => {
                let arguments = arguments.into_iter().map(made).collect::<Result<_, _>>()?;
                self.call(function.name, arguments)?
            }
            kind => {
                let mut marker = Expr { kind, ty };
                let kind = &marker.ty.column.kind;
                if kind.is_integer() || matches!(kind, TypeKind::Decimal { .. }) {
                    self.relabel(&mut marker, &ColumnType::decimal(datum::PRECISION_MAX, datum::SCALE_MAX));
                } else {
                    self.refuse_markers();
                }
                marker
            }
        };
        Ok(())
    }

    fn is_computed_of_markers(&self, expr: &Expr) -> bool {
        !matches!(expr.kind, ExprKind::Parameter(_)) && self.is_number_of_markers(expr)
    }

    /// The same where it is chosen among integers.
    pub(super) fn refuse_computed_among(&self, exprs: &[Expr]) {
        let mut others = exprs.iter().filter(|expr| !self.is_computed_of_markers(expr)).peekable();
        let are_integers = others.peek().is_some() && others.all(|other| other.ty.column.kind.is_integer());
        if are_integers && exprs.iter().any(|expr| self.is_computed_of_markers(expr)) {
            self.refuse_markers();
        }
    }

    /// Numbers that are computed of markers alone among exact ones, a DECIMAL among these.
    pub(super) fn meet_computed_among(&self, exprs: &mut [Expr]) -> Result<(), SqlError> {
        let others = || exprs.iter().filter(|expr| !self.is_computed_of_markers(expr));
        let is_exact = |kind: &TypeKind| kind.is_integer() || matches!(kind, TypeKind::Decimal { .. });
        let decimal =
            others().find(|other| matches!(other.ty.column.kind, TypeKind::Decimal { .. })).cloned();
        if let Some(decimal) = decimal.filter(|_| others().all(|other| is_exact(&other.ty.column.kind))) {
            exprs.iter_mut().try_for_each(|expr| self.meet_computed(expr, &decimal))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_other_kinds_are_refused() {
        let decimal = ColumnType::decimal(3, 1);
        let text = ColumnType::varchar(3, collation::CollationId::UTF8MB4_0900_AI_CI);
        let cases = [
            (ColumnType::bigint(), ColumnType::bigint(), true),
            (ColumnType::bigint_unsigned(), ColumnType::bigint(), false),
            (ColumnType::bigint(), decimal.clone(), false),
            (ColumnType::bigint(), text.clone(), true),
            (ColumnType::new(TypeKind::Year), ColumnType::bigint(), true),
            (ColumnType::new(TypeKind::Bit(64)), ColumnType::bigint(), false),
            (decimal.clone(), ColumnType::bigint(), true),
            (decimal.clone(), ColumnType::double(), false),
            (ColumnType::double(), decimal.clone(), true),
            (text.clone(), ColumnType::bigint(), false),
            (ColumnType::new(TypeKind::DateTime { fsp: 6 }), ColumnType::bigint(), true),
            (ColumnType::new(TypeKind::Date), ColumnType::new(TypeKind::DateTime { fsp: 0 }), false),
            (text, ColumnType::new(TypeKind::Null), true),
        ];
        for (derived, given, is_taken) in cases {
            assert_eq!(takes(&derived, &given), is_taken, "{:?} of {:?}", derived.kind, given.kind);
        }
    }
}
