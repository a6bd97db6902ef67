//! Comparison operators, IN, BETWEEN and LIKE.
use std::borrow::Cow;
use std::cmp::Ordering;

use collation::LikePattern;
use datum::{
    ColumnType, CompareMode, Date, DateTime, MomentContext, Operand, SqlError, Time, TypeKind, Value,
    error_code, is_forbidden,
};

use crate::constant_set::ListId;
use crate::context::EvalContext;
use crate::expr::{Expr, ExprKind, RowList};
use crate::operator::ComparisonOperator;

/// What conversions to moments need; `today` is looked up only where a TIME may have to become a date.
pub fn moment_context<'c>(context: &'c EvalContext, needs_today: bool) -> MomentContext<'c> {
    let settings = &context.settings;
    let today = if needs_today {
        settings.time_zone.to_local(settings.now_utc_micros).map_or(Date::ZERO, |local| local.date())
    } else {
        Date::ZERO
    };
    MomentContext { zone: &settings.time_zone, mode: settings.sql_mode, today }
}

#[inline]
fn order(
    mode: CompareMode,
    left: (&Value, &Expr),
    right: (&Value, &Expr),
    context: &EvalContext,
) -> Option<Ordering> {
    if let (CompareMode::Integer, Value::Int(left), Value::Int(right)) = (mode, left.0, right.0) {
        return Some(left.cmp(right));
    }
    if let (CompareMode::Text(collation), Value::Bytes(left), Value::Bytes(right)) = (mode, left.0, right.0) {
        return Some(collation.compare(left, right));
    }
    if mode == CompareMode::DateTime
        && let (Some(left), Some(right)) = (plain_moment(left, context), plain_moment(right, context))
    {
        return Some(left.cmp(&right));
    }
    let moments = moment_context(context, mode == CompareMode::DateTime);
    datum::compare(
        mode,
        Operand { value: left.0, column: &left.1.ty.column },
        Operand { value: right.0, column: &right.1.ty.column },
        &moments,
        &mut |warning| match converted_once(mode, left.1, right.1) {
            Some(constant) => context.warn_of_constant(Some(constant), warning),
            None => context.warn(warning),
        },
    )
}

/// The constant text that meets numbers, whose warnings those of the comparison are. A CASE asks for each of its conditions.
fn converted_once<'e>(mode: CompareMode, left: &'e Expr, right: &'e Expr) -> Option<&'e Expr> {
    let is_constant = |expr: &Expr| expr.is_given_constant() && expr.ty.column.kind.is_string();
    let is_number =
        |expr: &Expr| expr.ty.column.kind.is_numeric() && !matches!(expr.kind, ExprKind::CaseOperand);
    if !matches!(mode, CompareMode::Integer | CompareMode::Decimal | CompareMode::Double) {
        return None;
    }
    match (is_constant(left), is_constant(right)) {
        (true, _) if is_number(right) => Some(left),
        (_, true) if is_number(left) => Some(right),
        _ => None,
    }
}

/// A text that meets a number is read as one before the other side is evaluated, whose functions may ask what it has told.
fn read_first<'v>(
    mode: CompareMode,
    (value, left): (Cow<'v, Value>, &Expr),
    right: &Expr,
    context: &EvalContext,
) -> Cow<'v, Value> {
    if mode != CompareMode::Double || !matches!(*value, Value::Bytes(_)) {
        return value;
    }
    let constant = converted_once(mode, left, right);
    let number = value.to_f64(&left.ty.column, &mut |warning| match constant {
        Some(constant) => context.warn_of_constant(Some(constant), warning),
        None => context.warn(warning),
    });
    Cow::Owned(number.map_or(Value::Null, Value::Double))
}

/// The moment that a value is without a word: a date or time of a date, or a parameter's text that is nothing but one.
#[inline]
fn plain_moment((value, expr): (&Value, &Expr), context: &EvalContext) -> Option<DateTime> {
    match value {
        Value::DateTime(moment) => Some(*moment),
        Value::Date(date) => Some(date.at_midnight()),
        Value::Timestamp(timestamp) => Some(timestamp.in_zone(&context.settings.time_zone)),
        Value::Bytes(_) => {
            let ExprKind::Parameter(index) = expr.kind else { return None };
            context.parameter_moments.get(index, || {
                let moments = moment_context(context, false);
                let parsed = value.to_datetime(&expr.ty.column, &moments).ok()?;
                let is_told = parsed.delimiter.is_some() || is_forbidden(value, parsed.value, &moments);
                (!is_told).then_some(parsed.value)
            })
        }
        _ => None,
    }
}

/// Warns of a text that meets NULL as it would be warned of beside a value.
fn tell_alone(mode: CompareMode, (value, expr): (&Value, &Expr), context: &EvalContext) {
    let is_moment = matches!(mode, CompareMode::DateTime | CompareMode::Date | CompareMode::Time);
    let is_text = match value {
        Value::Bytes(_) => !matches!(mode, CompareMode::Text(_) | CompareMode::Json),
        Value::Enum(_) | Value::Set(_) => is_moment,
        _ => false,
    };
    if !is_text {
        return;
    }
    let (other, kind) = match mode {
        CompareMode::DateTime | CompareMode::Date => {
            (Value::DateTime(DateTime::ZERO), TypeKind::DateTime { fsp: 0 })
        }
        CompareMode::Time => (Value::Time(Time::ZERO), TypeKind::Time { fsp: 0 }),
        _ => (Value::Int(0), TypeKind::LongLong),
    };
    datum::compare(
        mode,
        Operand { value, column: &expr.ty.column },
        Operand { value: &other, column: &ColumnType::new(kind) },
        &moment_context(context, false),
        &mut |warning| context.warn(warning),
    );
}

pub(super) fn compare(
    operator: ComparisonOperator,
    mode: CompareMode,
    left: &Expr,
    right: &Expr,
    row: &[Value],
    context: &EvalContext,
) -> Result<Option<bool>, SqlError> {
    if mode == CompareMode::Integer
        && let (Some(Value::Int(left)), Some(Value::Int(right))) =
            (left.direct(row, context), right.direct(row, context))
    {
        return Ok(Some(operator.accepts(left.cmp(right))));
    }
    let mut left_value = left.eval_ref(row, context)?;
    if left_value.is_null() && operator != ComparisonOperator::NullSafeEqual {
        return Ok(None);
    }
    if right.direct(row, context).is_none() {
        left_value = read_first(mode, (left_value, left), right, context);
    }
    let right_value = right.eval_ref(row, context)?;
    if left_value.is_null() || right_value.is_null() {
        tell_alone(mode, (&left_value, left), context);
        if operator != ComparisonOperator::NullSafeEqual {
            return Ok(None);
        }
        tell_alone(mode, (&right_value, right), context);
        return Ok(Some(left_value.is_null() && right_value.is_null()));
    }
    let ordering = order(mode, (&left_value, left), (&right_value, right), context);
    Ok(ordering.map(|ordering| operator.accepts(ordering)))
}

/// Members of a list beside NULL that are told of.
const TOLD_MAX: usize = 8;

/// NULL in the list makes an answer of "not found" unknown.
pub(super) fn in_list(
    negated: bool,
    operand: &Expr,
    (list, id): (&[(CompareMode, Expr)], ListId),
    row: &[Value],
    context: &EvalContext,
) -> Result<Option<bool>, SqlError> {
    let value = operand.eval_ref(row, context)?;
    if value.is_null() {
        // What the members are is told all the same.
        for (mode, member) in list.iter().take(TOLD_MAX) {
            tell_alone(*mode, (&*member.eval_ref(row, context)?, member), context);
        }
        return Ok(None);
    }
    if let Some(set) = context.constant_set(id, list.iter().map(std::slice::from_ref))? {
        return Ok(set.contains(&[(operand, &value)], context)?.map(|found| found != negated));
    }
    let value = match list {
        [(mode, first), ..]
            if list.iter().all(|(one, _)| one == mode)
                && list.iter().any(|(_, member)| member.direct(row, context).is_none()) =>
        {
            read_first(*mode, (value, operand), first, context)
        }
        _ => value,
    };
    let mut unknown = false;
    for (mode, member) in list {
        let candidate = member.eval_ref(row, context)?;
        match order(*mode, (&value, operand), (&candidate, member), context) {
            Some(Ordering::Equal) => return Ok(Some(!negated)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok((!unknown).then_some(negated))
}

/// Whether a row of the list equals the operands.
pub(super) fn in_rows(
    list: &RowList,
    row: &[Value],
    context: &EvalContext,
) -> Result<Option<bool>, SqlError> {
    let values = list.operands.iter().map(|operand| operand.eval_ref(row, context));
    let values: Vec<_> = values.collect::<Result<_, _>>()?;
    let set = context.constant_set(list.id, list.rows.iter().map(Vec::as_slice))?;
    let set = set.expect("made for long lists of constants alone");
    let operands = list.operands.iter().zip(&values).map(|(operand, value)| (operand, &**value));
    set.contains(&operands.collect::<Vec<(&Expr, &Value)>>(), context)
}

/// `operands` are the value, the lower and the upper bound.
pub(super) fn between(
    negated: bool,
    mode: CompareMode,
    operands: [&Expr; 3],
    row: &[Value],
    context: &EvalContext,
) -> Result<Option<bool>, SqlError> {
    let [operand, low, high] = operands;
    if mode == CompareMode::Integer
        && let (Some(Value::Int(value)), Some(Value::Int(low)), Some(Value::Int(high))) =
            (operand.direct(row, context), low.direct(row, context), high.direct(row, context))
    {
        return Ok(Some((low..=high).contains(&value) != negated));
    }
    let mut value = operand.eval_ref(row, context)?;
    if value.is_null() {
        return Ok(None);
    }
    // A text is read as a number once, and both bounds are read whatever the first one says.
    if mode == CompareMode::Double && matches!(&*value, Value::Bytes(_)) {
        let number = value.to_f64(&operand.ty.column, &mut |warning| context.warn(warning));
        value = Cow::Owned(number.map_or(Value::Null, Value::Double));
    }
    let low_value = low.eval_ref(row, context)?;
    let above = order(mode, (&value, operand), (&low_value, low), context).map(Ordering::is_ge);
    let high_value = high.eval_ref(row, context)?;
    let below = order(mode, (&value, operand), (&high_value, high), context).map(Ordering::is_le);
    Ok(match (above, below) {
        (Some(false), _) | (_, Some(false)) => Some(negated),
        (Some(true), Some(true)) => Some(!negated),
        _ => None,
    })
}

/// `operands` are the text, the pattern and the escape character.
pub(super) fn like(
    negated: bool,
    operands: [&Expr; 3],
    row: &[Value],
    context: &EvalContext,
) -> Result<Option<bool>, SqlError> {
    let [operand, pattern, escape] = operands;
    let text = operand.eval_ref(row, context)?;
    if text.is_null() {
        return Ok(None);
    }
    let pattern_text = pattern.eval_ref(row, context)?;
    let (Value::Bytes(text), Value::Bytes(pattern_text)) = (&*text, &*pattern_text) else { return Ok(None) };
    let escape = match &*escape.eval_ref(row, context)? {
        Value::Bytes(character) if character.is_empty() => None,
        Value::Bytes(character) => {
            let charset = operands[2].ty.collation().charset();
            let (code_point, length) = charset.decode_first(character);
            if length != character.len() {
                return Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"ESCAPE"]));
            }
            Some(code_point)
        }
        _ => Some(u32::from(b'\\')),
    };
    let collation = winner(operand, pattern);
    let matches = LikePattern::new(collation, pattern_text, escape).matches(text);
    Ok(Some(matches != negated))
}

/// The collation of the operand that binds more strongly; binding has made sure that there is one.
fn winner(operand: &Expr, pattern: &Expr) -> collation::CollationId {
    if pattern.ty.coercibility < operand.ty.coercibility {
        pattern.ty.collation()
    } else {
        operand.ty.collation()
    }
}
