//! Functions that cut text: SUBSTRING, LEFT, RIGHT, SUBSTRING_INDEX and the TRIM family.
use std::borrow::Cow;

use datum::{SqlError, Value};
use env::LONG_PIECE;

use expression::BindContext;
use expression::call::infer::{cast_integer, counted_text, text_column, text_of_first, text_result};
use expression::call::width::{characters_max, text_width, written_number};
use expression::{Arguments, Function};
use expression::{Expr, ExprKind, ExprType, Reading};

/// `trim_leading` and `trim_trailing` are the binder's names for TRIM(LEADING x FROM y) and its twin; all of
/// the family take the text first and what to remove second.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::pure("substring", (2, 3), infer_cut, substring),
    Function::pure("substr", (2, 3), infer_cut, substring),
    Function::pure("mid", (2, 3), infer_cut, substring),
    Function::pure("left", (2, 2), infer_cut, left),
    Function::pure("right", (2, 2), infer_cut, right),
    Function::pure("substring_index", (3, 3), infer_substring_index, substring_index),
    Function::pure("trim", (1, 2), infer_trim, trim_both),
    Function::pure("trim_leading", (1, 2), infer_trim, trim_leading),
    Function::pure("trim_trailing", (1, 2), infer_trim, trim_trailing),
    Function::pure("ltrim", (1, 1), infer_trim, trim_leading),
    Function::pure("rtrim", (1, 1), infer_trim, trim_trailing),
];

fn infer_cut(bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let (text, numbers) = arguments.split_at_mut(1);
    let whole = text_width(&text[0]);
    if let Some(left) = written_length(name, whole, numbers) {
        let ty = text_result(bind, name, text, left);
        numbers.iter_mut().try_for_each(|number| cast_integer(bind, number))?;
        return ty;
    }
    let mut ty = text_result(bind, name, text, whole)?;
    // Only long texts get another type from what is left of them.
    let wanted = if matches!(name, "left" | "right") { numbers.first() } else { numbers.get(1) };
    if ty.column.kind.is_large_object()
        && let Some(wanted) = wanted
        && is_negative(bind, wanted)
    {
        ty.column = text_column(0, ty.collation());
    } else if ty.column.kind.is_large_object()
        && let Some(wanted) = wanted
        && bind.peek(wanted).is_some()
    {
        let cut = counted_text(bind, wanted, 1, ty.collation());
        ty.column = if characters_max(&cut) < whole { cut } else { ty.column };
    }
    for number in numbers {
        cast_integer(bind, number)?;
    }
    Ok(ty)
}

/// The characters that are left of a text by the numbers that are written in the statement.
fn written_length(name: &str, whole: u64, numbers: &[Expr]) -> Option<u64> {
    let at_most = |number: i64| u64::try_from(number).unwrap_or(0).min(whole);
    if matches!(name, "left" | "right") {
        return match numbers[0].kind {
            ExprKind::Literal(Value::Null) => Some(whole),
            _ => written_number(&numbers[0]).map(at_most),
        };
    }
    let start = match written_number(&numbers[0]) {
        _ if matches!(numbers[0].kind, ExprKind::Literal(Value::Null)) => None,
        start => start,
    };
    let wanted = match numbers.get(1) {
        Some(Expr { kind: ExprKind::Literal(Value::Null), .. }) | None => None,
        Some(wanted) => written_number(wanted),
    };
    let from_start = start.map(|start| match start {
        0 => 0,
        1.. => whole.saturating_sub(start.unsigned_abs() - 1),
        _ => whole.min(start.unsigned_abs()),
    });
    match (from_start, wanted) {
        (None, None) => None,
        (Some(left), None) => Some(left),
        (left, Some(wanted)) => Some(left.unwrap_or(whole).min(at_most(wanted))),
    }
}

/// Whether a constant is a number below zero.
fn is_negative(bind: &BindContext, expr: &Expr) -> bool {
    match (&expr.kind, bind.peek(expr)) {
        (ExprKind::Negate(inner), _) => match bind.peek(inner) {
            Some(Value::Int(_)) => bind.relies_on(inner, Reading::Count { low: 1, high: i64::MAX }),
            _ => false,
        },
        (_, Some(Value::Int(number))) => number < 0,
        _ => false,
    }
}

fn infer_substring_index(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let (texts, count) = arguments.split_at_mut(2);
    cast_integer(bind, &mut count[0])?;
    let length = text_width(&texts[0]);
    text_of_first(bind, texts, length)
}

fn infer_trim(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let length = text_width(&arguments[0]);
    text_of_first(bind, arguments, length)
}

/// SUBSTRING counts from 1, or from the end when negative; position 0 gives nothing.
fn substring(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let Some(position) = arguments.integer(1)? else { return Ok(Value::Null) };
    let wanted = if arguments.len() == 3 {
        match arguments.integer(2)? {
            None => return Ok(Value::Null),
            Some(wanted) => usize::try_from(wanted).unwrap_or(0),
        }
    } else {
        usize::MAX
    };
    let charset = arguments.charset(0);
    let total = charset.character_count(&text) as i64;
    let start = match position {
        0 => return Ok(Value::Bytes(Vec::new())),
        1.. => position - 1,
        _ => total + position,
    };
    if start < 0 || start >= total {
        return Ok(Value::Bytes(Vec::new()));
    }
    let rest = &text[charset.byte_offset(&text, start as usize)..];
    Ok(Value::bytes(&rest[..charset.byte_offset(rest, wanted)]))
}

/// No text: a count that is a constant is read nevertheless, and what is wrong with it told.
fn without_text(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    if let ExprKind::Cast(count) = &arguments.exprs[1].kind
        && matches!(count.kind, ExprKind::Literal(_))
    {
        arguments.context.prepared(|_| arguments.integer(1))?;
    }
    Ok(Value::Null)
}

fn left(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return without_text(arguments) };
    let Some(wanted) = arguments.integer(1)? else { return Ok(Value::Null) };
    let wanted = usize::try_from(wanted).unwrap_or(0);
    Ok(Value::bytes(&text[..arguments.charset(0).byte_offset(&text, wanted)]))
}

fn right(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return without_text(arguments) };
    let Some(wanted) = arguments.integer(1)? else { return Ok(Value::Null) };
    let charset = arguments.charset(0);
    let skipped = charset.character_count(&text).saturating_sub(usize::try_from(wanted).unwrap_or(0));
    Ok(Value::bytes(&text[charset.byte_offset(&text, skipped)..]))
}

/// The delimiter is matched byte by byte: SUBSTRING_INDEX is case-sensitive whatever the collation.
fn substring_index(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(text), Some(delimiter), Some(count)) =
        (arguments.text(0)?, arguments.text(1)?, arguments.integer(2)?)
    else {
        return Ok(Value::Null);
    };
    if text.is_empty() || delimiter.is_empty() || count == 0 {
        return Ok(Value::Bytes(Vec::new()));
    }
    let nth = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let kept = if count > 0 {
        occurrences(&text, &delimiter).nth(nth - 1).map_or(&text[..], |at| &text[..at])
    } else {
        let from_end = occurrences_from_end(&text, &delimiter).nth(nth - 1);
        from_end.map_or(&text[..], |at| &text[at + delimiter.len()..])
    };
    Ok(Value::bytes(kept))
}

/// Offsets of occurrences that do not overlap, from the start.
pub(super) fn occurrences<'t>(text: &'t [u8], wanted: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    let mut from = 0;
    std::iter::from_fn(move || {
        let found = first_place(text, wanted, from)?;
        from = found + wanted.len();
        Some(found)
    })
}

/// Where `wanted`, which is not empty, stands next from `from` on.
fn first_place(text: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let last = text.len().checked_sub(wanted.len())?;
    (from..last + 1).step_by(LONG_PIECE).find_map(|start| {
        let places = start..(start + LONG_PIECE).min(last + 1);
        env::tick(places.len() + 16);
        places.into_iter().find(|at| text[*at..].starts_with(wanted))
    })
}

fn occurrences_from_end<'t>(text: &'t [u8], wanted: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    let mut until = text.len();
    std::iter::from_fn(move || {
        let found = (0..until.checked_sub(wanted.len())? + 1).rev().find(|at| {
            if at % LONG_PIECE == 0 {
                env::tick(LONG_PIECE);
            }
            text[*at..until].starts_with(wanted)
        })?;
        until = found;
        Some(found)
    })
}

fn trim_leading(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    trim(arguments, true, false)
}

fn trim_trailing(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    trim(arguments, false, true)
}

fn trim_both(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    trim(arguments, true, true)
}

fn trim(arguments: &Arguments<'_>, leading: bool, trailing: bool) -> Result<Value, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(Value::Null) };
    let removed = if arguments.len() == 2 {
        match arguments.text(1)? {
            None => return Ok(Value::Null),
            Some(removed) => removed,
        }
    } else {
        Cow::Borrowed(&b" "[..])
    };
    let mut kept = &text[..];
    if !removed.is_empty() {
        while leading && let Some(rest) = kept.strip_prefix(&removed[..]) {
            env::tick(4);
            kept = rest;
        }
        while trailing && let Some(rest) = kept.strip_suffix(&removed[..]) {
            env::tick(4);
            kept = rest;
        }
    }
    Ok(Value::bytes(kept))
}
