//! The key by which ORDER BY sorts documents: as they are compared, but arrays and objects by their numbers of elements, of
//! which MySQL tells with warning 1235.
//!
//! Windows, groups and comparisons know all of a document. Caller: the planner, for the keys of ORDER BY.
use datum::{Json, SqlError, TypeKind, Value, error_code, read_json};

use crate::expr::{Expr, ExprKind};
use crate::function::{Arguments, Function, Volatility};

/// The function's name, which no call can have and no text shows.
pub(crate) const NAME: &str = "order of documents";

static FUNCTION: Function = Function {
    name: NAME,
    arguments_min: 1,
    arguments_max: 1,
    volatility: Volatility::Pure,
    infer: |_, _, arguments| Ok(arguments[0].ty.clone()),
    evaluate: order_of,
};

/// What ORDER BY sorts by for the expression.
pub fn document_order(expr: Expr) -> Expr {
    if expr.ty.column.kind != TypeKind::Json {
        return expr;
    }
    let ty = expr.ty.clone();
    Expr { kind: ExprKind::Call(&FUNCTION, vec![expr]), ty }
}

/// A document in the place of the argument among scalars, which has the number of elements instead of them.
fn order_of(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let value = arguments.value(0)?;
    let Value::Json(text) = &*value else { return Ok(value.into_owned()) };
    if !text.starts_with(['[', '{']) {
        return Ok(value.into_owned());
    }
    let key = match read_json(text) {
        Json::Array(elements) => format!("[{}]", elements.len()),
        Json::Object(members) => format!("{{\"\": {}}}", members.len()),
        _ => return Ok(value.into_owned()),
    };
    arguments
        .context
        .tell_once(error_code::ER_NOT_SUPPORTED_YET.with(&[&"sorting of non-scalar JSON values"]));
    Ok(Value::Json(key.into_boxed_str()))
}
