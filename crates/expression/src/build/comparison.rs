//! Comparisons: the domain two operands meet in is decided here, once (MySQL manual, "Comparison Operators").
use datum::{ColumnType, CompareMode, SqlError, TypeKind, error_code};

use super::in_list::is_text;
use super::{BindContext, boolean};
use crate::collations::{Purpose, illegal_mix};
use crate::constant_set::is_constant;
use crate::expr::{Coercibility, Expr, ExprKind};
use crate::operands::positions_read;
use crate::operator::ComparisonOperator;

/// What errors call comparisons of CASE and of lists. Constants in them are compared as they are.
pub(super) const CASE: &str = "case";
pub(super) const IN: &str = " IN ";
/// What they call one with bounds, which are what a column stores where the operand is a column.
pub(super) const BETWEEN: &str = "between";

impl BindContext {
    /// The mode for a pair; texts are brought to one character set, literals to the domain of what they meet.
    pub(super) fn compare_mode(
        &self,
        operation: &str,
        left: &mut Expr,
        right: &mut Expr,
    ) -> Result<CompareMode, SqlError> {
        self.mode_beside(operation, left, right, (false, false))
    }

    /// The mode of one of several members of a list. What the operand is beside it must not be what it is beside the others;
    /// numbers that are kept are no moments.
    pub(super) fn member_mode(
        &self,
        operation: &str,
        operand: &mut Expr,
        member: &mut Expr,
        keeps_numbers: bool,
    ) -> Result<CompareMode, SqlError> {
        self.mode_beside(operation, operand, member, (operation == IN, keeps_numbers))
    }

    fn mode_beside(
        &self,
        operation: &str,
        left: &mut Expr,
        right: &mut Expr,
        (is_left_kept, keeps_numbers): (bool, bool),
    ) -> Result<CompareMode, SqlError> {
        self.derive_pair(left, right);
        // A candidate of CASE is compared as it is.
        let is_candidate = operation == CASE;
        for is_swapped in [false, true] {
            self.fold_number(left, right);
            let is_kept = is_left_kept && is_swapped;
            if !is_candidate && !is_kept && !keeps_numbers {
                let is_member = operation == IN || (operation == BETWEEN && is_swapped);
                self.fold_date_number(left, right, is_member);
            }
            std::mem::swap(left, right);
        }
        let mut mode = CompareMode::of(&left.ty.column, &right.ty.column, self.connection_collation);
        // A text between times is a text.
        let is_text_between = operation == BETWEEN && is_text(left);
        if mode == CompareMode::Time && !is_candidate && !is_text_between {
            self.check_time_text(left, right);
            self.check_time_text(right, left);
        }
        // Beside NULL a time is what it is beside the others.
        let has_null = [&left, &right].iter().any(|expr| expr.ty.column.kind == TypeKind::Null);
        if mode == CompareMode::Time && !has_null && (is_text_between || !self.is_timely(left, right)) {
            mode = CompareMode::Text(self.connection_collation);
        }
        if mode == CompareMode::Json {
            for expr in [&mut *left, &mut *right].into_iter().filter(|expr| expr.ty.is_truth) {
                let truth = std::mem::replace(expr, Expr::null());
                *expr = self.convert(truth, ColumnType::new(TypeKind::Json))?;
            }
        }
        if !matches!(mode, CompareMode::Text(_)) {
            self.fold_moment(mode, left, right)?;
            self.fold_moment(mode, right, left)?;
            let is_alone = !is_candidate && ![IN, BETWEEN, "nullif"].contains(&operation);
            let is_cut = is_alone && (is_date_beside_text(left, right) || is_date_beside_text(right, left));
            return Ok(if is_cut { CompareMode::Date } else { mode });
        }
        for expr in [&mut *left, &mut *right] {
            if expr.ty.column.kind.is_temporal() {
                crate::call::infer::cast_text(self, expr)?;
            }
        }
        let mut pair = [std::mem::replace(left, Expr::null()), std::mem::replace(right, Expr::null())];
        let outcome = self.aggregate_collations(operation, &mut pair, Purpose::Comparison);
        let [new_left, new_right] = pair;
        (*left, *right) = (new_left, new_right);
        Ok(CompareMode::Text(outcome?.0))
    }

    pub fn compare(&self, operator: ComparisonOperator, left: Expr, right: Expr) -> Result<Expr, SqlError> {
        self.compare_for(operator.symbol(), operator, left, right)
    }

    /// A comparison that errors name otherwise.
    pub(super) fn compare_for(
        &self,
        operation: &str,
        operator: ComparisonOperator,
        mut left: Expr,
        mut right: Expr,
    ) -> Result<Expr, SqlError> {
        if operation != CASE && operation != IN {
            self.fold_stored(&left, &mut right)?;
            self.fold_stored(&right, &mut left)?;
        }
        self.become_exact(&left, &mut right);
        self.become_exact(&right, &mut left);
        let mode = self.compare_mode(operation, &mut left, &mut right)?;
        if mode == CompareMode::DateTime && operation != CASE && operation != IN {
            if left.ty.column.kind.has_date() {
                self.become_moment_or_null(&mut right);
            } else if right.ty.column.kind.has_date() {
                self.become_moment_or_null(&mut left);
            }
        }
        if matches!(mode, CompareMode::DateTime | CompareMode::Date) && operation != CASE {
            let (is_left, is_right) = (is_constant(&left), is_constant(&right));
            let (beside_left, beside_right) = (right.ty.column.kind.clone(), left.ty.column.kind.clone());
            if !is_right {
                left = self.moment_of_choice(left, &beside_left);
            }
            if !is_left {
                right = self.moment_of_choice(right, &beside_right);
            }
        }
        if is_numeric(mode) {
            left = self.as_number(left, ColumnType::double())?;
            right = self.as_number(right, ColumnType::double())?;
        }
        let nullable = operator != ComparisonOperator::NullSafeEqual
            && (left.ty.column.nullable || right.ty.column.nullable);
        Ok(boolean(ExprKind::Compare(operator, mode, Box::new(left), Box::new(right)), nullable))
    }

    /// A text that a collation is told of is the DECIMAL that a DECIMAL column stores of it.
    fn become_exact(&self, column: &Expr, text: &mut Expr) {
        let is_column = matches!(column.kind, ExprKind::Column(_))
            && matches!(column.ty.column.kind, TypeKind::Decimal { .. });
        let is_told = matches!(&text.kind, ExprKind::Relabel(text) if is_constant(text))
            && text.ty.coercibility == Coercibility::Explicit;
        if is_column && is_told && is_text(text) {
            let own = std::mem::replace(text, Expr::null());
            *text = self.converted(own, ColumnType::decimal(datum::PRECISION_MAX, datum::SCALE_MAX));
        }
    }

    /// What CASE or IF give beside a moment that is no constant is what CAST makes of it, so NULL where it is no moment; another
    /// text is the zero moment there.
    fn moment_of_choice(&self, choice: Expr, other: &TypeKind) -> Expr {
        let target = match other {
            TypeKind::Date => TypeKind::Date,
            _ => TypeKind::DateTime { fsp: 6 },
        };
        match choice.kind {
            ExprKind::Case { .. } if choice.ty.column.kind.is_string() => {
                self.converted(choice, ColumnType::new(target))
            }
            _ => choice,
        }
    }

    /// Equality with one of several, of which one that is no moment simply equals none.
    pub(super) fn equals_one(&self, operation: &str, left: Expr, right: Expr) -> Result<Expr, SqlError> {
        let (given_left, given_right) = (left.clone(), right.clone());
        match self.compare_for(operation, ComparisonOperator::Equal, left, right) {
            Err(error) if error.is(&error_code::ER_WRONG_VALUE) => {
                let sides = (Box::new(given_left), Box::new(given_right));
                let mode = CompareMode::DateTime;
                Ok(boolean(ExprKind::Compare(ComparisonOperator::Equal, mode, sides.0, sides.1), true))
            }
            comparison => comparison,
        }
    }

    /// Gives an operand and what it is compared with as text one collation, if several texts take part.
    pub(super) fn align_texts(
        &self,
        operation: &str,
        operand: &mut Expr,
        others: &mut [Expr],
    ) -> Result<(), SqlError> {
        let all = || std::iter::once(&*operand).chain(others.iter());
        if all().any(|expr| expr.ty.column.kind == TypeKind::Json) {
            return Ok(());
        }
        // Numbers in hexadecimal are texts among texts alone, and where somebody tells the collation.
        let is_texty = |expr: &Expr| {
            let kind = &expr.ty.column.kind;
            kind.is_string() || kind.has_members() || *kind == TypeKind::Null
        };
        let is_told = all().any(|expr| expr.ty.coercibility == Coercibility::Explicit) || all().all(is_texty);
        let is_text = |expr: &Expr| {
            let kind = &expr.ty.column.kind;
            (kind.is_string() || kind.has_members() || *kind == TypeKind::Null)
                && (is_told || !expr.ty.column.is_hex_literal())
        };
        if !is_text(operand) || others.iter().filter(|other| is_text(other)).count() < 2 {
            return Ok(());
        }
        let take = |expr: &mut Expr| std::mem::replace(expr, Expr::null());
        let places: Vec<usize> = (0..others.len()).filter(|&place| is_text(&others[place])).collect();
        let mut texts = vec![take(operand)];
        texts.extend(places.iter().map(|&place| take(&mut others[place])));
        let all = texts.len() < others.len() + 1;
        let outcome = self.aggregate_collations(operation, &mut texts, Purpose::Comparison);
        let mut texts = texts.into_iter();
        *operand = texts.next().expect("the operand is first");
        for (place, text) in places.into_iter().zip(texts) {
            others[place] = text;
        }
        match outcome {
            // The message tells of all operands.
            Err(_) if all => {
                let operands: Vec<&Expr> = std::iter::once(&*operand).chain(others.iter()).collect();
                Err(illegal_mix(operation, &operands))
            }
            outcome => outcome.map(|_| ()),
        }
    }

    /// `escape` is `None` for the default backslash (no escape under NO_BACKSLASH_ESCAPES).
    pub fn like(
        &self,
        negated: bool,
        operand: Expr,
        pattern: Expr,
        escape: Option<Expr>,
    ) -> Result<Expr, SqlError> {
        let mut pair = [operand, pattern];
        pair.iter_mut().for_each(|expr| self.told_text_marker(expr));
        for expr in &mut pair {
            crate::call::infer::cast_text(self, expr)?;
        }
        let outcome = self.aggregate_collations("like", &mut pair, Purpose::Pattern);
        // The message tells of the character of the statement, too.
        let (collation, _) = outcome.map_err(|error| match &escape {
            Some(escape) if error.is(&error_code::ER_CANT_AGGREGATE_2COLLATIONS) => {
                illegal_mix("like", &[&pair[0], &pair[1], escape])
            }
            _ => error,
        })?;
        let [operand, mut pattern] = pair;
        // The pattern carries the collation that won, whichever operand it came from.
        pattern.ty.column.collation = collation;
        pattern.ty.coercibility = Coercibility::Explicit;
        let nullable = operand.ty.column.nullable || pattern.ty.column.nullable;
        let backslash: &[u8] =
            if self.sql_mode.contains(datum::SqlMode::NO_BACKSLASH_ESCAPES) { b"" } else { b"\\" };
        let mut escape = escape.unwrap_or_else(|| self.text_literal(backslash));
        crate::call::infer::cast_text(self, &mut escape)?;
        let kind = ExprKind::Like {
            negated,
            operand: Box::new(operand),
            pattern: Box::new(pattern),
            escape: Box::new(escape),
        };
        Ok(boolean(kind, nullable))
    }
}

/// Whether a date of a row meets a text of one, which is cast to a date there, as MySQL compares them since 8.0.
fn is_date_beside_text(date: &Expr, text: &Expr) -> bool {
    let is_of_row = |expr: &Expr| {
        let mut positions = Vec::new();
        positions_read(expr, &mut positions);
        !positions.is_empty()
    };
    date.ty.column.kind == TypeKind::Date && is_text(text) && is_of_row(date) && is_of_row(text)
}

/// Lists, bounds and the candidates of CASE are compared without regard to fixed digits.
pub(super) fn as_members(mode: CompareMode) -> CompareMode {
    if matches!(mode, CompareMode::FixedReal(_)) { CompareMode::Double } else { mode }
}

pub(super) fn is_numeric(mode: CompareMode) -> bool {
    use CompareMode::{Decimal, Double, FixedReal, Integer};
    matches!(mode, Integer | Decimal | Double | FixedReal(_))
}
