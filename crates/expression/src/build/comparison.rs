//! Comparisons: the domain two operands meet in is decided here, once (MySQL manual, "Comparison Operators").
use datum::{ColumnType, CompareMode, SqlError, TypeKind, Value, error_code};

use super::reading::{Reading, whole_value};
use super::{BindContext, boolean};
use crate::collations::{Purpose, illegal_mix};
use crate::constant_set::ListId;
use crate::context::EvalContext;
use crate::expr::{Coercibility, Expr, ExprKind};
use crate::operator::ComparisonOperator;

impl BindContext {
    /// The mode for a pair; texts are brought to one character set, literals to the domain of what they meet.
    pub(super) fn compare_mode(
        &self,
        operation: &str,
        left: &mut Expr,
        right: &mut Expr,
    ) -> Result<CompareMode, SqlError> {
        self.derive_pair(left, right);
        for _ in 0..2 {
            self.fold_number(left, right);
            self.fold_date_number(left, right);
            std::mem::swap(left, right);
        }
        let mut mode = CompareMode::of(&left.ty.column, &right.ty.column, self.connection_collation);
        if mode == CompareMode::Time && !self.is_timely(left, right) {
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
                crate::functions::cast_text(self, expr)?;
            }
        }
        let mut pair = [std::mem::replace(left, Expr::null()), std::mem::replace(right, Expr::null())];
        let outcome = self.aggregate_collations(operation, &mut pair, Purpose::Comparison);
        let [new_left, new_right] = pair;
        (*left, *right) = (new_left, new_right);
        Ok(CompareMode::Text(outcome?.0))
    }

    /// A constant beside a TIME or YEAR column is what the column would store of it: the time of a moment, the year that two
    /// digits stand for.
    fn fold_stored(&self, column: &Expr, constant: &mut Expr) -> Result<(), SqlError> {
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
        let Some(value) = self.peek(constant) else { return };
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
    fn fold_date_number(&self, column: &Expr, literal: &mut Expr) {
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
    fn fold_moment(&self, mode: CompareMode, moment: &Expr, text: &mut Expr) -> Result<(), SqlError> {
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
        self.fold_stored(&left, &mut right)?;
        self.fold_stored(&right, &mut left)?;
        let mode = self.compare_mode(operation, &mut left, &mut right)?;
        if is_numeric(mode) {
            left = self.as_number(left, ColumnType::double())?;
            right = self.as_number(right, ColumnType::double())?;
        }
        let nullable = operator != ComparisonOperator::NullSafeEqual
            && (left.ty.column.nullable || right.ty.column.nullable);
        Ok(boolean(ExprKind::Compare(operator, mode, Box::new(left), Box::new(right)), nullable))
    }

    /// Gives an operand and what it is compared with as text one collation, if several texts take part.
    pub(super) fn align_texts(
        &self,
        operation: &str,
        operand: &mut Expr,
        others: &mut [Expr],
    ) -> Result<(), SqlError> {
        let is_text = |expr: &Expr| {
            let kind = &expr.ty.column.kind;
            (kind.is_string() || kind.has_members()) && !expr.ty.column.is_hex_literal()
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

    pub fn in_list(&self, negated: bool, mut operand: Expr, mut list: Vec<Expr>) -> Result<Expr, SqlError> {
        let mut members = Vec::with_capacity(list.len());
        let mut nullable = operand.ty.column.nullable;
        let is_mixed = list.len() > 1;
        let together = match is_mixed {
            true => together_mode(std::iter::once(&operand).chain(&list), false),
            false => None,
        };
        if !is_mixed && let [member] = list.as_mut_slice() {
            self.fold_stored(&operand, member)?;
        }
        let all = match list.as_slice() {
            [first, second] => vec![operand.clone(), first.clone(), second.clone()],
            _ => Vec::new(),
        };
        self.align_texts(" IN ", &mut operand, &mut list)?;
        for mut member in list {
            // A member that is no moment simply equals none, when it stands among others.
            let operation = if is_mixed { " IN " } else { "=" };
            let mode =
                match together.map_or_else(|| self.compare_mode(operation, &mut operand, &mut member), Ok) {
                    Err(error) if error.is(&error_code::ER_WRONG_VALUE) && is_mixed => CompareMode::DateTime,
                    // The message tells of all operands.
                    Err(error) if error.is(&error_code::ER_CANT_AGGREGATE_2COLLATIONS) && is_mixed => {
                        let count = error_code::ER_CANT_AGGREGATE_NCOLLATIONS.with(&[&operation]);
                        return Err(if all.is_empty() { count } else { illegal_mix(operation, &all) });
                    }
                    mode => mode?,
                };
            nullable |= member.ty.column.nullable;
            members.push((if is_mixed { as_members(mode) } else { mode }, member));
        }
        let id = ListId::of(members.len(), 1, members.iter());
        Ok(boolean(ExprKind::In { negated, operand: Box::new(operand), list: members, id }, nullable))
    }

    /// A number among the three makes all of them numbers; otherwise bounds that meet the operand in different
    /// domains become two comparisons.
    pub fn between(&self, negated: bool, mut operand: Expr, low: Expr, high: Expr) -> Result<Expr, SqlError> {
        if [&operand, &low, &high].iter().any(|expr| expr.ty.column.kind == TypeKind::Json) {
            let what = "comparison of JSON in the BETWEEN operator";
            self.warn(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
        }
        let mut bounds = [low, high];
        for bound in &mut bounds {
            self.fold_stored(&operand, bound)?;
        }
        let documents = |expr: &&mut Expr| expr.ty.column.kind == TypeKind::Json;
        let is_number = |expr: &Expr| expr.ty.column.kind.is_numeric();
        let has_number = is_number(&operand) || bounds.iter().any(is_number);
        let [low, high] = &mut bounds;
        for document in [&mut operand, low, high].into_iter().filter(documents) {
            let own = std::mem::replace(document, Expr::null());
            *document = match has_number {
                true => self.convert(own, ColumnType::double())?,
                false => own,
            };
            if !has_number {
                crate::functions::cast_text(self, document)?;
            }
        }
        let together = together_mode(std::iter::once(&operand).chain(&bounds), true);
        self.align_texts("between", &mut operand, &mut bounds)?;
        let [mut low, mut high] = bounds;
        let (low_mode, mut high_mode) = match together {
            Some(mode) => (mode, mode),
            None => (self.bound_mode(&mut operand, &mut low)?, self.bound_mode(&mut operand, &mut high)?),
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
        let (low_mode, high_mode) = (as_members(low_mode), as_members(high_mode));
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
        if is_numeric(low_mode) {
            for expr in [&mut operand, &mut low, &mut high] {
                let own = std::mem::replace(expr, Expr::null());
                *expr = self.as_number(own, ColumnType::double())?;
            }
        }
        let nullable = [&operand, &low, &high].iter().any(|expr| expr.ty.column.nullable);
        let kind = ExprKind::Between {
            negated,
            operand: Box::new(operand),
            low: Box::new(low),
            high: Box::new(high),
            mode: low_mode,
        };
        Ok(boolean(kind, nullable))
    }

    /// The mode for a bound of BETWEEN, where text that is no moment counts as the zero date.
    fn bound_mode(&self, operand: &mut Expr, bound: &mut Expr) -> Result<CompareMode, SqlError> {
        match self.compare_mode("between", operand, bound) {
            Err(error) if error.is(&error_code::ER_WRONG_VALUE) => Ok(CompareMode::DateTime),
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
            crate::functions::cast_text(self, expr)?;
        }
        let (collation, _) = self.aggregate_collations("like", &mut pair, Purpose::Comparison)?;
        let [operand, mut pattern] = pair;
        // The pattern carries the collation that won, whichever operand it came from.
        pattern.ty.column.collation = collation;
        pattern.ty.coercibility = Coercibility::Explicit;
        let nullable = operand.ty.column.nullable || pattern.ty.column.nullable;
        let backslash: &[u8] =
            if self.sql_mode.contains(datum::SqlMode::NO_BACKSLASH_ESCAPES) { b"" } else { b"\\" };
        let mut escape = escape.unwrap_or_else(|| self.text_literal(backslash));
        crate::functions::cast_text(self, &mut escape)?;
        let kind = ExprKind::Like {
            negated,
            operand: Box::new(operand),
            pattern: Box::new(pattern),
            escape: Box::new(escape),
        };
        Ok(boolean(kind, nullable))
    }

    /// A TIME column takes a text literal as a time; otherwise TIME and text are compared as text.
    fn is_timely(&self, left: &Expr, right: &Expr) -> bool {
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
    fn fold_number(&self, column: &Expr, constant: &mut Expr) {
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

/// The mode of all comparisons of a list or of bounds: where moments stand among texts alone, all of them are moments. Times
/// are, where `all_times` of them are asked for, only if there is no text.
fn together_mode<'e>(exprs: impl Iterator<Item = &'e Expr>, all_times: bool) -> Option<CompareMode> {
    let (mut has_date, mut has_time, mut has_text) = (false, false, false);
    for expr in exprs {
        match &expr.ty.column.kind {
            TypeKind::Null => {}
            kind if kind.has_date() => has_date = true,
            TypeKind::Time { .. } => has_time = true,
            kind if kind.is_string() || kind.has_members() => has_text = true,
            _ => return None,
        }
    }
    match () {
        () if !has_text => None,
        () if has_date => Some(CompareMode::DateTime),
        () if has_time && !all_times => Some(CompareMode::Time),
        () => None,
    }
}

/// Lists, bounds and the candidates of CASE are compared without regard to fixed digits.
pub(super) fn as_members(mode: CompareMode) -> CompareMode {
    if matches!(mode, CompareMode::FixedReal(_)) { CompareMode::Double } else { mode }
}

fn is_numeric(mode: CompareMode) -> bool {
    use CompareMode::{Decimal, Double, FixedReal, Integer};
    matches!(mode, Integer | Decimal | Double | FixedReal(_))
}
