//! GREATEST and LEAST.
//!
//! Moments with a date beside texts or numbers are compared as moments, with MySQL's own notion of what is none: beside
//! dates it is beyond all of them and shown as `16383-15-31`, beside moments with a time it is the zero moment, and where
//! that wins the texts are compared instead.
use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;

use datum::{
    Date, DateTime, SqlError, TypeKind, Value, compare_in_type, error_code,
    fraction_digits as digits_of_type, shown,
};

use crate::build::fraction_digits;
use crate::constant_set::is_constant;
use crate::evaluate::moment_context;
use crate::expr::{Expr, ExprKind, ExprType};
use crate::function::{Arguments, Volatility};

/// What no date is shown as, and its number.
const NO_DATE: (&[u8], i64) = (b"16383-15-31", 163_831_531);

/// An argument before it became text.
fn own(argument: &Expr) -> &Expr {
    match &argument.kind {
        ExprKind::Branch(own) => own,
        ExprKind::Cast(inner) | ExprKind::Relabel(inner) => match &inner.kind {
            ExprKind::Branch(own) => own,
            _ => argument,
        },
        _ => argument,
    }
}

/// The kind of moments in which arguments that become text are compared; `None` where they are texts.
pub(crate) fn is_choice_of_moments(arguments: &[Expr]) -> Option<TypeKind> {
    let kinds = || arguments.iter().map(own).map(|argument| &argument.ty.column.kind);
    // Where all are moments they do not become text.
    let is_mixed = arguments.iter().any(|argument| !std::ptr::eq(own(argument), argument));
    if !is_mixed || !kinds().any(TypeKind::has_date) {
        return None;
    }
    let is_timed = kinds().any(|kind| matches!(kind, TypeKind::DateTime { .. } | TypeKind::Timestamp { .. }));
    Some(if is_timed { TypeKind::DateTime { fsp: 6 } } else { TypeKind::Date })
}

pub(super) fn extreme(arguments: &Arguments<'_>, largest: bool) -> Result<Value, SqlError> {
    let is_typed = arguments.ty.column.kind.is_string()
        || arguments.exprs.iter().any(|expr| expr.ty.column.kind.is_string());
    match is_choice_of_moments(arguments.exprs).filter(|_| is_typed) {
        Some(TypeKind::Date) => extreme_date(arguments, largest),
        Some(_) => extreme_moment(arguments, largest),
        None => extreme_value(arguments, largest),
    }
}

/// The truth of what is compared as moments; `None` for other calls.
pub(crate) fn extreme_truth(name: &str, arguments: &Arguments<'_>) -> Option<Result<Option<bool>, SqlError>> {
    if arguments.ty.column.kind == TypeKind::Char {
        return None;
    }
    let Some(kind) = is_choice_of_moments(arguments.exprs) else {
        let is_time = |argument: &Expr| matches!(own(argument).ty.column.kind, TypeKind::Time { .. });
        let has_time = arguments.ty.column.kind.is_string() && arguments.exprs.iter().any(is_time);
        return has_time
            .then(|| extreme_number(arguments, name == "greatest"))
            .map(|number| number.map(|number| number.map(|number| number != 0.0)));
    };
    let column = match kind {
        TypeKind::Date => datum::ColumnType::bigint(),
        kind => datum::ColumnType::new(kind),
    };
    let ty = ExprType::new(column, crate::expr::Coercibility::Numeric);
    let value =
        extreme(&Arguments { ty: &ty, overflowed: Cell::new(false), ..*arguments }, name == "greatest");
    Some(value.map(|value| value.to_truth(&ty.column, &mut datum::no_warning)))
}

/// The greatest or least of the numbers that the arguments are, as which times are compared where a number is wanted.
fn extreme_number(arguments: &Arguments<'_>, largest: bool) -> Result<Option<f64>, SqlError> {
    let mut best: Option<f64> = None;
    for argument in arguments.exprs.iter().map(own) {
        let value = argument.eval_ref(arguments.row, arguments.context)?;
        let mut warn = |warning| arguments.context.warn(warning);
        let Some(number) = value.to_f64(&argument.ty.column, &mut warn) else { return Ok(None) };
        best = Some(best.map_or(number, |best| if largest { best.max(number) } else { best.min(number) }));
    }
    Ok(best)
}

/// Of equal values the greatest is the last, the least the first.
fn wins(ordering: Ordering, largest: bool) -> bool {
    if largest { ordering.is_ge() } else { ordering.is_lt() }
}

fn extreme_value(arguments: &Arguments<'_>, largest: bool) -> Result<Value, SqlError> {
    let mut best: Option<Value> = None;
    for index in 0..arguments.len() {
        let value = arguments.choice(index)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        let replaces = best
            .as_ref()
            .is_none_or(|best| wins(compare_in_type(&value, best, &arguments.ty.column), largest));
        if replaces {
            best = Some(value.into_owned());
        }
    }
    Ok(best.unwrap_or(Value::Null))
}

/// A value with the expression that it is of.
type OwnValue<'a> = (Cow<'a, Value>, &'a Expr);

/// The values of the arguments before they became text; `None` when one is NULL, after what stands before it has been
/// told of.
fn own_values<'a>(arguments: &Arguments<'a>, is_date: bool) -> Result<Option<Vec<OwnValue<'a>>>, SqlError> {
    let mut values: Vec<OwnValue<'a>> = Vec::with_capacity(arguments.len());
    for argument in arguments.exprs {
        let argument = own(argument);
        let value = argument.eval_ref(arguments.row, arguments.context)?;
        if value.is_null() {
            for (value, argument) in &values {
                moment_of(value, argument, is_date, arguments);
            }
            return Ok(None);
        }
        values.push((value, argument));
    }
    Ok(Some(values))
}

/// A value as a moment; `None`, with a warning, for what is none.
fn moment_of(value: &Value, argument: &Expr, is_date: bool, arguments: &Arguments<'_>) -> Option<DateTime> {
    let context = arguments.context;
    let column = &argument.ty.column;
    let moments = moment_context(context, matches!(value, Value::Time(_)));
    if matches!(value, Value::Json(_)) {
        // Beside dates a document is what CAST makes of it, beside moments with a time what its text says.
        if !is_date {
            let text = Value::Bytes(value.to_text(column).into_owned());
            return moment_of(&text, argument, is_date, arguments);
        }
        let moment = value.to_datetime(column, &moments).map(|parsed| parsed.value);
        return Some(moment.unwrap_or_else(|_| {
            context.warn(error_code::ER_INVALID_JSON_VALUE_FOR_CAST.with(&[&"DATE", &"", &1]));
            DateTime::ZERO
        }));
    }
    let number = match value {
        // A year is its first day.
        Value::Year(year) => return Date::new(*year, 1, 1).map(Date::at_midnight),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_) => {
            let number = value.to_decimal(column, &mut datum::no_warning).map(|number| number.truncate(0));
            let whole = number.as_ref().and_then(datum::Decimal::to_i64);
            if whole.is_none()
                && is_date
                && let (Value::Decimal(_), Some(number)) = (value, &number)
            {
                // A DECIMAL beyond BIGINT is no date, and before all of them.
                context.warn(datum::truncated("DECIMAL", number.to_string().as_bytes()));
                let text = value.to_text(column);
                context.warn(error_code::ER_TRUNCATED_WRONG_VALUE.with(&[&"date", &shown(&text)]));
                return Some(DateTime::ZERO);
            }
            Some(whole.unwrap_or(-1))
        }
        _ => None,
    };
    let moment = match number {
        // Dates take a number without a year for one of the year 2000.
        Some(number @ 0..=100) if is_date => {
            Date::new_lenient(2000, (number / 100) as u8, (number % 100) as u8).map(Date::at_midnight)
        }
        Some(0) => return Some(DateTime::ZERO),
        _ => plain_moment(value, column, &moments).and_then(|parsed| {
            let is_text = value_is_text(value);
            let date = parsed.value.date();
            let has_zeros =
                !is_date && date.has_zero_part() && moments.mode.contains(datum::SqlMode::NO_ZERO_IN_DATE);
            let is_refused = is_text && (parsed.truncated || date.is_zero() || has_zeros);
            if let Some(delimiter) = parsed.delimiter.filter(|_| !is_refused && !context.is_marker(argument))
            {
                context.warn(delimiter.warning(&value.to_text(column)));
            }
            (!is_refused).then_some(parsed.value)
        }),
    };
    if moment.is_none() {
        let text = value.to_text(column);
        context.warn(match is_date {
            true => error_code::ER_TRUNCATED_WRONG_VALUE.with(&[&"date", &shown(&text)]),
            false => error_code::ER_INCORRECT_VALUE.with(&[&"datetime", &shown(&text)]),
        });
    }
    moment
}

/// The moment of a value; an offset behind a text's is left out.
fn plain_moment(
    value: &Value,
    column: &datum::ColumnType,
    moments: &datum::MomentContext<'_>,
) -> Option<datum::Parsed<DateTime>> {
    if !value_is_text(value) {
        return value.to_datetime(column, moments).ok();
    }
    let is_lenient = moments.mode.contains(datum::SqlMode::ALLOW_INVALID_DATES);
    DateTime::parse(&value.to_text(column), is_lenient)
}

fn value_is_text(value: &Value) -> bool {
    matches!(value, Value::Bytes(_) | Value::Enum(_) | Value::Set(_))
}

/// Whether a number is chosen by IF, CASE or NULLIF: what is no moment is NULL then.
fn is_chosen_number(argument: &Expr) -> bool {
    matches!(argument.kind, ExprKind::Case { .. }) && argument.ty.column.kind.is_numeric()
}

fn extreme_date(arguments: &Arguments<'_>, largest: bool) -> Result<Value, SqlError> {
    let Some(values) = own_values(arguments, true)? else { return Ok(Value::Null) };
    let mut dates = Vec::with_capacity(values.len());
    for (value, argument) in &values {
        match moment_of(value, argument, true, arguments) {
            None if is_chosen_number(argument) => return Ok(Value::Null),
            moment => dates.push(moment.map_or(u32::MAX, |moment| moment.date().to_packed())),
        }
    }
    let dates = dates.into_iter();
    let best = if largest { dates.max() } else { dates.min() };
    let date = best.and_then(Date::from_packed);
    if !arguments.ty.column.kind.is_string() {
        return Ok(Value::Int(date.map_or(NO_DATE.1, Date::to_number)));
    }
    let mut text = Vec::new();
    match date {
        Some(date) => date.write_text(&mut text),
        None => text.extend_from_slice(NO_DATE.0),
    }
    Ok(Value::Bytes(text))
}

fn extreme_moment(arguments: &Arguments<'_>, largest: bool) -> Result<Value, SqlError> {
    let Some(values) = own_values(arguments, false)? else { return Ok(Value::Null) };
    let mut moments = Vec::with_capacity(values.len());
    for (value, argument) in &values {
        match moment_of(value, argument, false, arguments) {
            None if is_chosen_number(argument) => return Ok(Value::Null),
            moment => moments.push(moment.unwrap_or(DateTime::ZERO)),
        }
    }
    let moments = moments.into_iter();
    let best = if largest { moments.max() } else { moments.min() }.unwrap_or(DateTime::ZERO);
    if !arguments.ty.column.kind.is_string() {
        return Ok(Value::DateTime(best));
    }
    if best == DateTime::ZERO {
        return extreme_value(arguments, largest);
    }
    let digits = values.iter().map(|(value, argument)| digits(value, argument)).max().unwrap_or(0);
    let mut text = Vec::new();
    best.write_text(digits, &mut text);
    Ok(Value::Bytes(text))
}

/// Whether the value is the same for all rows.
fn is_computed_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(function, arguments) => {
            function.volatility == Volatility::Pure && arguments.iter().all(is_computed_constant)
        }
        ExprKind::Cast(operand) | ExprKind::Branch(operand) | ExprKind::Relabel(operand) => {
            is_computed_constant(operand)
        }
        _ => is_constant(expr),
    }
}

/// The fractional digits that an argument has as a moment: a text that is no constant has all of them.
fn digits(value: &Value, argument: &Expr) -> u8 {
    const ALL: u8 = 6;
    let column = &argument.ty.column;
    match value {
        Value::Json(_) => ALL,
        Value::Bytes(_) if column.is_hex_literal() => 0,
        Value::Bytes(text) if is_computed_constant(argument) => fraction_digits(text, false),
        Value::Bit(_) => 0,
        _ => digits_of_type(column),
    }
}
