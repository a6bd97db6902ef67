//! Functions whose result is one of their arguments: COALESCE, IFNULL, GREATEST, LEAST (which `extremes` evaluates).
use datum::{SqlError, TypeKind, Value, error_code};

use super::extremes::extreme;
use super::infer::digits_of;
use crate::build::{BindContext, Merging};
use crate::expr::{Expr, ExprType};
use crate::function::Volatility::Pure;
use crate::function::{Arguments, Function};

type Evaluate = fn(&Arguments<'_>) -> Result<Value, SqlError>;

const fn entry(name: &'static str, counts: (u8, u8), evaluate: Evaluate) -> Function {
    Function {
        name,
        arguments_min: counts.0,
        arguments_max: counts.1,
        volatility: Pure,
        infer: infer_common,
        evaluate,
    }
}

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "any_value",
        arguments_min: 1,
        arguments_max: 1,
        volatility: Pure,
        infer: |_, _, arguments| {
            let mut ty = ExprType { name: None, ..arguments[0].ty.clone() };
            // A number in hexadecimal is bytes, and nothing else, when it is a value of a group.
            if ty.column.is_hex_literal() {
                (ty.column.unsigned, ty.column.zerofill) = (false, false);
            }
            Ok(ty)
        },
        evaluate: |arguments| Ok(arguments.exprs[0].eval_ref(arguments.row, arguments.context)?.into_owned()),
    },
    entry("coalesce", (1, u8::MAX), first_known),
    entry("ifnull", (2, 2), first_known),
    entry("greatest", (2, u8::MAX), |arguments| extreme(arguments, true)),
    entry("least", (2, u8::MAX), |arguments| extreme(arguments, false)),
];

/// All arguments become one type. COALESCE is NULL only if all may be, the extremes if one may be.
fn infer_common(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let is_document = |argument: &Expr| argument.ty.column.kind == TypeKind::Json;
    if matches!(name, "greatest" | "least") && arguments.iter().any(is_document) {
        let what = "comparison of JSON in the LEAST and GREATEST operators";
        bind.warn(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
    }
    let is_timed = |argument: &Expr| {
        let kind = &argument.ty.column.kind;
        kind.is_temporal() && *kind != TypeKind::Date
    };
    let has_time = arguments.iter().any(is_timed);
    let moment = moment_width(bind, arguments);
    let mut ty = bind.unified_type(name, arguments, Merging::Value)?;
    // The greatest document is a text, whose number is none of a document's.
    if matches!(name, "greatest" | "least") && ty.column.kind == TypeKind::Json {
        arguments.iter_mut().try_for_each(|argument| super::infer::cast_text(bind, argument))?;
        let column = arguments[0].ty.column.clone();
        ty = ExprType::new(column, ty.coercibility);
    }
    let is_widened = has_time && ty.column.length < moment;
    if matches!(name, "greatest" | "least") && ty.column.kind == TypeKind::Char && is_widened {
        ty.column.kind = TypeKind::VarChar;
    }
    let is_short = matches!(ty.column.kind, TypeKind::VarChar | TypeKind::VarBinary | TypeKind::Char);
    if matches!(name, "greatest" | "least") && is_short {
        ty.column.length = ty.column.length.max(moment);
    }
    let mut nullable = arguments.iter().map(|argument| argument.ty.column.nullable);
    ty.column.nullable = match name {
        "coalesce" | "ifnull" => nullable.all(|nullable| nullable),
        _ => nullable.any(|nullable| nullable),
    };
    for argument in arguments.iter_mut() {
        let old = std::mem::replace(argument, Expr::null());
        *argument = bind.convert_to(bind.with_all_digits(old)?, &ty)?;
    }
    Ok(ty)
}

/// The characters of a moment among values that are none, with the digits after the point that any of them has.
fn moment_width(bind: &BindContext, arguments: &[Expr]) -> u32 {
    let columns = || arguments.iter().map(|argument| &argument.ty.column);
    let base = columns().filter_map(|column| match column.kind {
        TypeKind::DateTime { .. } | TypeKind::Timestamp { .. } => Some(19),
        TypeKind::Time { .. } => Some(10),
        _ => None,
    });
    let Some(base) = base.max() else { return 0 };
    let known = arguments.iter().filter(|argument| argument.ty.column.kind != TypeKind::Null);
    let digits = known.map(|argument| u32::from(digits_of(bind, argument, base == 10))).max();
    match (Some(base), digits) {
        (None, _) => 0,
        (Some(base), None | Some(0)) => base,
        (Some(base), Some(digits)) => base + 1 + digits,
    }
}

fn first_known(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    for index in 0..arguments.len() {
        let value = arguments.choice(index)?;
        if !value.is_null() {
            return Ok(value.into_owned());
        }
    }
    Ok(Value::Null)
}
