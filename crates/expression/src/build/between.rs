//! BETWEEN: the domain in which an operand meets both of its bounds.
//!
//! A number among the three makes all of them numbers, and moments among texts alone make all of them moments. Callers: the
//! binder, for `x BETWEEN a AND b`.
use datum::{ColumnType, CompareMode, SqlError, TypeKind, Value, error_code};

use super::comparison::{BETWEEN, as_members, is_numeric};
use super::in_list::{is_text, is_time, together_mode};
use super::{BindContext, Reading, boolean};
use crate::collations::illegal_mix;
use crate::expr::{Expr, ExprKind};
use crate::operator::ComparisonOperator;

/// The modes of both bounds as they are compared: with a number among the three all meet in one domain of numbers.
fn met_modes(low: CompareMode, high: CompareMode, has_number: bool) -> (CompareMode, CompareMode) {
    let is_mixed = |text, other| matches!(text, CompareMode::Text(_)) && is_numeric(other);
    let (low, high) = match is_mixed(low, high) || is_mixed(high, low) {
        true => (CompareMode::Double, CompareMode::Double),
        false => (as_members(low), as_members(high)),
    };
    if !has_number || low == high {
        return (low, high);
    }
    let is_exact = |mode| matches!(mode, CompareMode::Integer | CompareMode::Decimal);
    let met = if is_exact(low) && is_exact(high) { CompareMode::Decimal } else { CompareMode::Double };
    (met, met)
}

impl BindContext {
    /// A number among the three makes all of them numbers; otherwise bounds that meet the operand in different
    /// domains become two comparisons.
    pub fn between(&self, negated: bool, mut operand: Expr, low: Expr, high: Expr) -> Result<Expr, SqlError> {
        if [&operand, &low, &high].iter().any(|expr| expr.ty.column.kind == TypeKind::Json) {
            let what = "comparison of JSON in the BETWEEN operator";
            self.warn(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
        }
        let mut bounds = [low, high];
        self.derive_beside_first(&mut operand, &mut bounds);
        bounds.iter_mut().for_each(|bound| self.derive_beside(bound, &operand));
        if self.marker(&operand).is_some() && bounds.iter().all(|bound| self.marker(bound).is_some()) {
            self.told_text_marker(&mut operand);
            bounds.iter_mut().for_each(|bound| self.told_text_marker(bound));
        }
        self.check_same_bounds(&operand, &bounds)?;
        // A text beside moments with a date is one of them.
        let has_date = bounds.iter().any(|bound| bound.ty.column.kind.has_date());
        let has_years = operand.ty.column.kind == TypeKind::Year;
        for bound in bounds.iter_mut().filter(|bound| has_years || !(has_date && is_text(bound))) {
            self.fold_stored(&operand, bound)?;
        }
        let has_one_time = self.fold_one_time(&operand, &mut bounds)?;
        self.plain_documents(&mut operand, &mut bounds)?;
        if are_numbers_and_moments(&operand, &bounds) {
            return self.between_numbers(negated, operand, bounds);
        }
        let together = together_mode(std::iter::once(&operand).chain(&bounds), true);
        if together == Some(CompareMode::DateTime) {
            bounds.iter().for_each(|bound| self.tell_cut_moment(&operand, bound));
        }
        let all = [operand.clone(), bounds[0].clone(), bounds[1].clone()];
        let has_number = all.iter().any(|expr| expr.ty.column.kind.is_numeric());
        if !has_number {
            self.align_texts(BETWEEN, &mut operand, &mut bounds)?;
        }
        let [mut low, mut high] = bounds;
        let (low_mode, high_mode) = match together {
            Some(mode) => (mode, mode),
            None if has_one_time => (CompareMode::Double, CompareMode::Double),
            None if has_number => {
                (self.number_mode(&mut operand, &mut low), self.number_mode(&mut operand, &mut high))
            }
            None => {
                let low = self.bound_mode(&mut operand, &mut low, &all)?;
                (low, self.bound_mode(&mut operand, &mut high, &all)?)
            }
        };
        let (low_mode, high_mode) = met_modes(low_mode, high_mode, has_number);
        if low_mode != high_mode {
            let compared = |operator, mode, bound: Expr| {
                let nullable = operand.ty.column.nullable || bound.ty.column.nullable;
                let operand = Box::new(operand.clone());
                boolean(ExprKind::Compare(operator, mode, operand, Box::new(bound)), nullable)
            };
            let above = compared(ComparisonOperator::GreaterOrEqual, low_mode, low);
            let below = compared(ComparisonOperator::LessOrEqual, high_mode, high);
            let both = self.and(vec![above, below])?;
            return if negated { self.not(both) } else { Ok(both) };
        }
        self.between_in(low_mode, negated, [operand, low, high])
    }

    fn between_in(
        &self,
        mode: CompareMode,
        negated: bool,
        [mut operand, mut low, mut high]: [Expr; 3],
    ) -> Result<Expr, SqlError> {
        if is_numeric(mode) {
            for expr in [&mut operand, &mut low, &mut high] {
                let own = std::mem::replace(expr, Expr::null());
                *expr = self.as_number(own, ColumnType::double())?;
            }
        }
        let nullable = [&operand, &low, &high].iter().any(|expr| expr.ty.column.nullable);
        let (operand, low, high) = (Box::new(operand), Box::new(low), Box::new(high));
        Ok(boolean(ExprKind::Between { negated, operand, low, high, mode }, nullable))
    }

    /// Numbers and moments are compared as numbers. Beside a column of moments a constant is what the column stores of it,
    /// so that a text is the number of its moment there, and what it begins with elsewhere.
    fn between_numbers(&self, negated: bool, operand: Expr, mut bounds: [Expr; 2]) -> Result<Expr, SqlError> {
        let is_column = matches!(operand.kind, ExprKind::Column(_)) && operand.ty.column.kind.is_temporal();
        if is_column {
            for bound in &mut bounds {
                match self.peek(bound) {
                    _ if is_text(bound) => self.become_stored_moment(&operand, bound),
                    // The date of zeros is told of nowhere.
                    Some(Value::Int(0)) => self.decide_by(bound),
                    _ => self.fold_date_number(&operand, bound, false),
                }
            }
        }
        let [low, high] = bounds;
        let all = [operand, low, high];
        let is_exact = |expr: &Expr| {
            let column = &expr.ty.column;
            column.is_hex_literal() || !(is_text(expr) || column.kind.is_floating())
        };
        let mode = if all.iter().all(is_exact) { CompareMode::Decimal } else { CompareMode::Double };
        self.between_in(mode, negated, all)
    }

    /// Bounds that are the same text are compared as `=` compares one, which refuses what is no moment. A plan for other bounds
    /// serves these too, so it is for lower bounds that are moments, or for its own values only.
    fn check_same_bounds(&self, operand: &Expr, [low, high]: &[Expr; 2]) -> Result<(), SqlError> {
        match (self.peek(low), self.peek(high)) {
            (Some(Value::Bytes(low_text)), Some(Value::Bytes(high_text)))
                if operand.ty.column.kind.has_date() && low.ty.column.is_text() =>
            {
                let lenient = self.sql_mode.contains(datum::SqlMode::ALLOW_INVALID_DATES);
                let is_moment = self.relies_on(low, Reading::Moment { lenient });
                if is_moment || low_text != high_text {
                    Ok(())
                } else {
                    self.check_moment(operand, &low_text)
                }
            }
            _ => Ok(()),
        }
    }

    /// Whether beside a TIME column one of two texts is one that it takes as a time and the other one is not. Then all three
    /// are compared as numbers, the one as that of its time.
    fn fold_one_time(&self, operand: &Expr, bounds: &mut [Expr; 2]) -> Result<bool, SqlError> {
        let is_column = is_time(operand) && matches!(operand.kind, ExprKind::Column(_));
        if !is_column || !bounds.iter().all(is_text) {
            return Ok(false);
        }
        let [low, high] = bounds;
        let (bound, is_one) = match (self.is_timely(operand, low), self.is_timely(operand, high)) {
            (true, false) => (low, true),
            (is_low, is_high) => (high, is_low != is_high),
        };
        if is_one {
            let text = std::mem::replace(bound, Expr::null());
            *bound = self.convert(text, operand.ty.column.clone())?;
        }
        Ok(is_one)
    }

    /// Documents among the three are numbers beside numbers and texts beside others.
    fn plain_documents(&self, operand: &mut Expr, bounds: &mut [Expr; 2]) -> Result<(), SqlError> {
        let is_number = |expr: &Expr| expr.ty.column.kind.is_numeric();
        let has_number = is_number(operand) || bounds.iter().any(is_number);
        let [low, high] = bounds;
        let all = [operand, low, high].into_iter();
        for document in all.filter(|expr| expr.ty.column.kind == TypeKind::Json) {
            if has_number {
                let own = std::mem::replace(document, Expr::null());
                *document = self.convert(own, ColumnType::double())?;
            } else {
                crate::call::infer::cast_text(self, document)?;
            }
        }
        Ok(())
    }

    /// The mode of numbers for a bound of BETWEEN.
    fn number_mode(&self, operand: &mut Expr, bound: &mut Expr) -> CompareMode {
        self.fold_number(operand, bound);
        self.fold_number(bound, operand);
        match CompareMode::of(&operand.ty.column, &bound.ty.column, self.connection_collation) {
            mode if is_numeric(mode) => mode,
            _ => CompareMode::Double,
        }
    }

    /// The mode for a bound of BETWEEN, where text that is no moment counts as the zero date.
    fn bound_mode(
        &self,
        operand: &mut Expr,
        bound: &mut Expr,
        all: &[Expr],
    ) -> Result<CompareMode, SqlError> {
        match self.compare_mode(BETWEEN, operand, bound) {
            Err(error) if error.is(&error_code::ER_WRONG_VALUE) => Ok(CompareMode::DateTime),
            Err(error) if error.is(&error_code::ER_CANT_AGGREGATE_2COLLATIONS) => {
                Err(illegal_mix(BETWEEN, all))
            }
            mode => mode,
        }
    }
}

/// Whether there are moments and numbers, which are compared as numbers.
fn are_numbers_and_moments(operand: &Expr, bounds: &[Expr; 2]) -> bool {
    let kinds = || std::iter::once(operand).chain(bounds).map(|expr| &expr.ty.column.kind);
    kinds().any(TypeKind::is_temporal) && kinds().any(TypeKind::is_numeric)
}
