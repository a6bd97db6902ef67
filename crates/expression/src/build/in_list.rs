//! IN with a list of values: in which domain the operand meets each member.
//!
//! Invariant: one member is compared as with `=`; among several a member that cannot be compared equals none. Which domain
//! several share depends on their kinds alone. Callers: the binder and `alternatives`.
use datum::{ColumnType, CompareMode, SqlError, TypeKind, Value, error_code};

use super::comparison::{IN, as_members, is_numeric};
use super::reading::Reading;
use super::{BindContext, boolean, is_mixed};
use crate::collations::illegal_mix;
use crate::constant_set::{ListId, is_constant};
use crate::expr::{Expr, ExprKind};
use crate::operator::ComparisonOperator;

impl BindContext {
    pub fn in_list(&self, negated: bool, mut operand: Expr, mut list: Vec<Expr>) -> Result<Expr, SqlError> {
        self.derive_beside_first(&mut operand, &mut list);
        let mut members = Vec::with_capacity(list.len());
        let mut nullable = operand.ty.column.nullable;
        let is_mixed = list.len() > 1;
        let together = match is_mixed {
            true if are_documents(&operand, &list) => Some(CompareMode::Json),
            true => together_mode(std::iter::once(&operand).chain(&list), false),
            false => None,
        };
        match list.as_mut_slice() {
            [member] => {
                self.fold_stored(&operand, member)?;
                self.fold_stored(member, &mut operand)?;
            }
            _ if together.is_none() => {
                self.become_dates(&operand, &mut list);
                self.check_numbers(&operand, &list);
                self.become_comparable(&operand, &mut list)?;
            }
            _ => {}
        }
        if is_mixed && is_time(&operand) && !is_constant(&operand) && list.iter().all(is_constant) {
            list.iter_mut().for_each(|member| self.become_zero_time(member));
        }
        if let Some(mode @ (CompareMode::DateTime | CompareMode::Time)) = together
            && is_text(&operand)
            && list.iter().all(is_constant)
        {
            list.retain(|member| self.is_moment(mode, member));
        }
        if together == Some(CompareMode::DateTime) {
            list.iter().for_each(|member| self.tell_cut_moment(&operand, member));
        }
        let keeps_numbers = is_mixed && is_moment(&operand) && !list.iter().all(is_number_or_null);
        if is_mixed && is_moment(&operand) && !keeps_numbers {
            list.iter_mut().for_each(|member| _ = self.become_date(&operand, member));
        }
        let all = match list.as_slice() {
            [first, second] => vec![operand.clone(), first.clone(), second.clone()],
            _ => Vec::new(),
        };
        let chosen = if is_mixed { self.own_number(&operand)? } else { None };
        self.align_texts(IN, &mut operand, &mut list)?;
        for mut member in list {
            // A member that is no moment simply equals none, when it stands among others.
            let operation = if is_mixed { IN } else { "=" };
            let is_timely = is_mixed && together.is_none() && is_time(&operand) && is_text(&member);
            let together = if is_timely { Some(CompareMode::Time) } else { together };
            let mode = match together
                .map_or_else(|| self.member_mode(operation, &mut operand, &mut member, keeps_numbers), Ok)
            {
                Err(error) if error.is(&error_code::ER_WRONG_VALUE) && is_mixed => CompareMode::DateTime,
                // The message tells of all operands.
                Err(error) if error.is(&error_code::ER_CANT_AGGREGATE_2COLLATIONS) && is_mixed => {
                    let count = error_code::ER_CANT_AGGREGATE_NCOLLATIONS.with(&[&operation]);
                    return Err(if all.is_empty() { count } else { illegal_mix(operation, &all) });
                }
                mode => mode?,
            };
            // A choice of several kinds is the number of what is chosen.
            if is_numeric(mode) {
                member = self.as_number(member, ColumnType::double())?;
            }
            nullable |= member.ty.column.nullable;
            members.push((if is_mixed { as_members(mode) } else { mode }, member));
        }
        let is_of_numbers =
            |members: &[(CompareMode, Expr)]| members.iter().all(|(mode, _)| is_numeric(*mode));
        if is_of_numbers(&members) {
            operand = self.as_number(operand, ColumnType::double())?;
        }
        let list_of = |operand: Expr, list: Vec<(CompareMode, Expr)>| {
            let id = ListId::of(list.len(), 1, list.iter());
            boolean(ExprKind::In { negated, operand: Box::new(operand), list, id }, nullable)
        };
        let (numbers, others): (Vec<_>, Vec<_>) = match &chosen {
            Some(_) => members.into_iter().partition(|(mode, _)| is_numeric(*mode)),
            None => (Vec::new(), members),
        };
        match chosen {
            Some(number) if !numbers.is_empty() && !others.is_empty() => {
                let lists = vec![list_of(number, numbers), list_of(operand, others)];
                if negated { self.and(lists) } else { self.or(lists) }
            }
            _ => Ok(list_of(operand, numbers.into_iter().chain(others).collect())),
        }
    }

    /// The number that an operand is beside numbers of a list, where its text among the texts of the list says another one.
    fn own_number(&self, operand: &Expr) -> Result<Option<Expr>, SqlError> {
        let is_choice = is_text(operand) && is_mixed(operand);
        let is_number = operand.ty.column.is_hex_literal() || operand.ty.column.kind.has_members();
        if !is_choice && !is_number {
            return Ok(None);
        }
        self.as_number(operand.clone(), ColumnType::double()).map(Some)
    }

    /// A part of a row beside that of a member of a list of rows.
    pub fn row_member(&self, left: Expr, mut right: Expr, is_alone: bool) -> Result<Expr, SqlError> {
        if is_alone {
            return self.compare_for(IN, ComparisonOperator::Equal, left, right);
        }
        if is_time(&left) {
            self.become_time(&mut right)?;
        }
        self.equals_one(IN, left, right)
    }

    /// Numbers alone beside a DATE column are the dates that it would store.
    fn become_dates(&self, operand: &Expr, list: &mut [Expr]) {
        let is_number = |member: &Expr| member.ty.column.kind.is_numeric() && is_constant(member);
        let is_date = operand.ty.column.kind == TypeKind::Date;
        if is_date && list.iter().all(|member| is_number(member) || member.ty.column.kind == TypeKind::Null) {
            list.iter_mut().for_each(|member| _ = self.become_date(operand, member));
        }
    }

    /// Warns of numbers that are no moments, where nothing but numbers stands beside one.
    fn check_numbers(&self, operand: &Expr, list: &[Expr]) {
        let is_number = |member: &Expr| member.ty.column.kind.is_numeric() && is_constant(member);
        // A DATE column has looked at them already.
        let is_date_column =
            operand.ty.column.kind == TypeKind::Date && matches!(operand.kind, ExprKind::Column(_));
        if !operand.ty.column.kind.has_date() || is_date_column || !list.iter().all(is_number) {
            return;
        }
        let lenient = self.sql_mode.contains(datum::SqlMode::ALLOW_INVALID_DATES);
        for member in list {
            if self.relies_on(member, Reading::NumberedMoment { lenient, is_date: false }) {
                continue;
            }
            let Some(value) = self.constant_value(member) else { continue };
            let number = value.to_decimal(&member.ty.column, &mut datum::no_warning);
            let whole = number.as_ref().and_then(|number| number.truncate(0).to_i64());
            if whole.is_none_or(|whole| datum::DateTime::from_number(whole, lenient).is_none()) {
                // Numbers beyond BIGINT are shown by their bits.
                let shown = match value {
                    Value::UInt(number) => (number as i64).to_string().into_bytes(),
                    value => value.to_text(&member.ty.column).into_owned(),
                };
                self.warn(error_code::ER_INCORRECT_VALUE.with(&[&"datetime", &datum::shown(&shown)]));
            }
        }
    }

    /// Where numbers stand in the list as well, moments are texts beside a text operand, and documents what it is.
    fn become_comparable(&self, operand: &Expr, list: &mut [Expr]) -> Result<(), SqlError> {
        let kind = &operand.ty.column.kind;
        if *kind == TypeKind::Json {
            return Ok(());
        }
        let is_text = is_text(operand);
        let is_time = is_time(operand) && list.iter().any(|member| member.ty.column.kind.is_numeric());
        for member in list {
            if is_time {
                self.become_time(member)?;
            }
            match &member.ty.column.kind {
                TypeKind::Json if kind.is_numeric() => {
                    let document = std::mem::replace(member, Expr::null());
                    *member = self.convert(document, ColumnType::double())?;
                }
                TypeKind::Json => crate::call::infer::cast_text(self, member)?,
                kind if kind.is_temporal() && is_text => crate::call::infer::cast_text(self, member)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a constant beside moments is one. A text that is none equals no text of a list that has constants alone.
    fn is_moment(&self, mode: CompareMode, member: &Expr) -> bool {
        let Some(Value::Bytes(text)) = self.peek(member).filter(|_| is_text(member)) else { return true };
        let is_time = mode == CompareMode::Time;
        let lenient = self.sql_mode.contains(datum::SqlMode::ALLOW_INVALID_DATES);
        let is_plain = match is_time {
            true => self.relies_on(member, Reading::TimeText),
            false => self.relies_on(member, Reading::Moment { lenient }),
        };
        let is_moment = is_plain
            || if is_time {
                datum::Time::parse(&text).is_some()
            } else {
                datum::DateTime::parse(&text, lenient).is_some()
            };
        if !is_moment {
            let kind = if is_time { "time" } else { "date" };
            self.warn(error_code::ER_TRUNCATED_WRONG_VALUE.with(&[&kind, &datum::shown(&text)]));
        }
        is_moment
    }

    /// Among constants alone a text that is no time is the zero time.
    fn become_zero_time(&self, member: &mut Expr) {
        let Some(Value::Bytes(text)) = self.peek(member) else { return };
        if !self.relies_on(member, Reading::TimeText) && datum::Time::parse(&text).is_none() {
            self.warn(error_code::ER_TRUNCATED_WRONG_VALUE.with(&[&"time", &datum::shown(&text)]));
            let column = ColumnType::new(TypeKind::Time { fsp: 0 }).not_null();
            *member = Expr::literal(Value::Time(datum::Time::ZERO), column);
        }
    }

    /// Beside a time a moment is its time, and a date the time that its text is read as, as MySQL has it.
    pub(super) fn become_time(&self, member: &mut Expr) -> Result<(), SqlError> {
        match member.ty.column.kind {
            TypeKind::Date => crate::call::infer::cast_text(self, member),
            TypeKind::DateTime { .. } | TypeKind::Timestamp { .. } => {
                let moment = std::mem::replace(member, Expr::null());
                *member = self.convert(moment, ColumnType::new(TypeKind::Time { fsp: 6 }))?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A marker that is compared with several expressions has the type of the first one that is none, and so have the
    /// markers among them.
    pub(super) fn derive_beside_first(&self, operand: &mut Expr, others: &mut [Expr]) {
        if self.marker(operand).is_none() {
            return;
        }
        let Some(first) = others.iter().find(|other| self.marker(other).is_none()).cloned() else { return };
        self.derive_beside(operand, &first);
        others.iter_mut().for_each(|other| self.derive_beside(other, &first));
    }
}

/// Whether the expression is a moment that has a time.
fn is_moment(expr: &Expr) -> bool {
    matches!(expr.ty.column.kind, TypeKind::DateTime { .. } | TypeKind::Timestamp { .. })
}

fn is_number_or_null(member: &Expr) -> bool {
    let kind = &member.ty.column.kind;
    is_constant(member) && (kind.is_numeric() || *kind == TypeKind::Null)
}

pub(super) fn is_time(expr: &Expr) -> bool {
    matches!(expr.ty.column.kind, TypeKind::Time { .. })
}

pub(super) fn is_text(expr: &Expr) -> bool {
    expr.ty.column.kind.is_string() || expr.ty.column.kind.has_members()
}

/// Whether all are compared as documents: the operand, or the first of the members that is no constant, is one.
fn are_documents(operand: &Expr, list: &[Expr]) -> bool {
    let is_document = |expr: &Expr| expr.ty.column.kind == TypeKind::Json;
    !is_document(operand)
        && list.iter().find(|member| is_document(member) || !is_constant(member)).is_some_and(is_document)
}

/// The mode of all comparisons of a list or of bounds: where moments stand among texts alone, all of them are moments. Times
/// are, where `all_times` of them are asked for, only if there is no text.
pub(super) fn together_mode<'e>(
    exprs: impl Iterator<Item = &'e Expr>,
    all_times: bool,
) -> Option<CompareMode> {
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
