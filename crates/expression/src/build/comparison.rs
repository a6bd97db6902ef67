//! Comparisons: the domain two operands meet in is decided here, once (MySQL manual, "Comparison Operators").
use datum::{ColumnType, CompareMode, SqlError, TypeKind, Value, error_code};

use super::in_list::{is_text, is_time, together_mode};
use super::{BindContext, boolean};
use crate::collations::{Purpose, illegal_mix};
use crate::constant_set::is_constant;
use crate::expr::{Coercibility, Expr, ExprKind};
use crate::operator::ComparisonOperator;

/// What errors call comparisons of CASE and of lists. Constants in them are compared as they are.
pub(super) const CASE: &str = "case";
pub(super) const IN: &str = " IN ";
/// What they call one with bounds, which are what a column stores where the operand is a column.
const BETWEEN: &str = "between";

impl BindContext {
    /// The mode for a pair; texts are brought to one character set, literals to the domain of what they meet.
    pub(super) fn compare_mode(
        &self,
        operation: &str,
        left: &mut Expr,
        right: &mut Expr,
    ) -> Result<CompareMode, SqlError> {
        self.derive_pair(left, right);
        // A candidate of CASE is compared as it is.
        let is_candidate = operation == CASE;
        for is_swapped in [false, true] {
            self.fold_number(left, right);
            // What an operand is beside one member of a list must not be what it is beside the others.
            if !is_candidate && !(operation == IN && is_swapped) {
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
        if mode == CompareMode::Time && (is_text_between || !self.is_timely(left, right)) {
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
            return Ok(mode);
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
        if mode == CompareMode::DateTime && operation != CASE {
            left = self.moment_of_choice(left);
            right = self.moment_of_choice(right);
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

    /// What CASE or IF give beside a moment is NULL where it is no moment; another text is the zero moment there.
    fn moment_of_choice(&self, choice: Expr) -> Expr {
        let is_text = choice.ty.column.kind.is_string() && choice.ty.column.is_text();
        match choice.kind {
            ExprKind::Case { .. } if is_text => {
                self.converted(choice, ColumnType::new(TypeKind::DateTime { fsp: 6 }))
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
        // Numbers in hexadecimal are texts where somebody tells the collation.
        let is_told = all().any(|expr| expr.ty.coercibility == Coercibility::Explicit);
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

    /// A number among the three makes all of them numbers; otherwise bounds that meet the operand in different
    /// domains become two comparisons.
    pub fn between(&self, negated: bool, mut operand: Expr, low: Expr, high: Expr) -> Result<Expr, SqlError> {
        if [&operand, &low, &high].iter().any(|expr| expr.ty.column.kind == TypeKind::Json) {
            let what = "comparison of JSON in the BETWEEN operator";
            self.warn(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
        }
        let mut bounds = [low, high];
        self.derive_beside_first(&mut operand, &mut bounds);
        self.check_same_bounds(&operand, &bounds)?;
        // A text beside moments with a date is one of them.
        let has_date = bounds.iter().any(|bound| bound.ty.column.kind.has_date());
        for bound in bounds.iter_mut().filter(|bound| !(has_date && is_text(bound))) {
            self.fold_stored(&operand, bound)?;
        }
        let has_one_time = self.fold_one_time(&operand, &mut bounds)?;
        self.plain_documents(&mut operand, &mut bounds)?;
        if are_numbers_and_moments(&operand, &bounds) {
            return self.between_numbers(negated, operand, bounds);
        }
        let together = together_mode(std::iter::once(&operand).chain(&bounds), true);
        let all = [operand.clone(), bounds[0].clone(), bounds[1].clone()];
        let has_number = all.iter().any(|expr| expr.ty.column.kind.is_numeric());
        if !has_number {
            self.align_texts(BETWEEN, &mut operand, &mut bounds)?;
        }
        let [mut low, mut high] = bounds;
        let (low_mode, mut high_mode) = match together {
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
        let low_mode = match (low_mode, high_mode) {
            (CompareMode::Text(_), high) if is_numeric(high) => {
                high_mode = CompareMode::Double;
                CompareMode::Double
            }
            (low, CompareMode::Text(_)) if is_numeric(low) => {
                high_mode = CompareMode::Double;
                CompareMode::Double
            }
            _ => low_mode,
        };
        let (mut low_mode, mut high_mode) = (as_members(low_mode), as_members(high_mode));
        if has_number && low_mode != high_mode {
            // All three meet in one domain of numbers.
            let is_exact = |mode| matches!(mode, CompareMode::Integer | CompareMode::Decimal);
            let exact = is_exact(low_mode) && is_exact(high_mode);
            low_mode = if exact { CompareMode::Decimal } else { CompareMode::Double };
            high_mode = low_mode;
        }
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

    /// Bounds that are the same text are compared as `=` compares one, which refuses what is no moment.
    fn check_same_bounds(&self, operand: &Expr, [low, high]: &[Expr; 2]) -> Result<(), SqlError> {
        match (self.peek(low), self.peek(high)) {
            (Some(Value::Bytes(low_text)), Some(Value::Bytes(high_text)))
                if low_text == high_text && operand.ty.column.kind.has_date() && low.ty.column.is_text() =>
            {
                let checked = self.check_moment(operand, &low_text);
                if checked.is_err() {
                    self.decide_by(low);
                }
                checked
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

    /// `escape` is `None` for the default backslash (no escape under NO_BACKSLASH_ESCAPES).
    pub fn like(
        &self,
        negated: bool,
        operand: Expr,
        pattern: Expr,
        escape: Option<Expr>,
    ) -> Result<Expr, SqlError> {
        let mut pair = [operand, pattern];
        pair.iter_mut().for_each(|expr| self.text_marker(expr));
        for expr in &mut pair {
            crate::call::infer::cast_text(self, expr)?;
        }
        let outcome = self.aggregate_collations("like", &mut pair, Purpose::Comparison);
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

/// Whether there are moments and numbers, which are compared as numbers.
fn are_numbers_and_moments(operand: &Expr, bounds: &[Expr; 2]) -> bool {
    let kinds = || std::iter::once(operand).chain(bounds).map(|expr| &expr.ty.column.kind);
    kinds().any(TypeKind::is_temporal) && kinds().any(TypeKind::is_numeric)
}

/// Lists, bounds and the candidates of CASE are compared without regard to fixed digits.
pub(super) fn as_members(mode: CompareMode) -> CompareMode {
    if matches!(mode, CompareMode::FixedReal(_)) { CompareMode::Double } else { mode }
}

fn is_numeric(mode: CompareMode) -> bool {
    use CompareMode::{Decimal, Double, FixedReal, Integer};
    matches!(mode, Integer | Decimal | Double | FixedReal(_))
}
