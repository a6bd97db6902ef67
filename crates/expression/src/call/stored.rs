//! Calls of stored functions: the session runs them.
//!
//! Invariant: the first argument is the number by which the session knows the function, the others are its own. No text
//! names this function; binding makes such calls.
use datum::{ColumnType, SqlError, Value, error_code};

use crate::deferred::SessionRequest;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};
use crate::function::{Arguments, Function, Volatility};

static STORED: Function = Function {
    name: "stored function",
    arguments_min: 1,
    arguments_max: u8::MAX,
    volatility: Volatility::Volatile,
    infer: |_, _, _| Err(error_code::ER_INTERNAL_ERROR.with(&[&"a stored function without its type"])),
    evaluate: call,
};

/// What errors call the result, where an expression is such a call: its name as a selected column.
pub fn name_stored_call(expr: &mut Expr, name: &str) {
    if let ExprKind::Call(function, exprs) = &mut expr.kind
        && std::ptr::eq(*function, &STORED)
        && let Some(number) = exprs.first_mut()
    {
        number.ty.name = Some(name.into());
    }
}

/// A call of the stored function with this number.
pub fn stored_call(id: u64, arguments: Vec<Expr>, returns: ColumnType) -> Expr {
    let mut exprs = Vec::with_capacity(arguments.len() + 1);
    exprs.push(Expr::literal(Value::UInt(id), ColumnType::bigint_unsigned()));
    exprs.extend(arguments);
    Expr { kind: ExprKind::Call(&STORED, exprs), ty: ExprType::new(returns, Coercibility::Implicit) }
}

fn call(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    if let Some(answer) = arguments.context.told(arguments) {
        return Ok(answer);
    }
    let mut values = Vec::with_capacity(arguments.exprs.len());
    for position in 0..arguments.exprs.len() {
        values.push(arguments.value(position)?.into_owned());
    }
    // An argument that a strict statement refuses is not passed.
    arguments.context.check_refusal()?;
    let id = match values.remove(0) {
        Value::UInt(id) => id,
        _ => 0,
    };
    let name = arguments.exprs.first().and_then(|number| number.ty.name.clone());
    let request = SessionRequest::Function { id, name, arguments: values };
    Err(arguments.context.defer(arguments, "a stored function", request))
}
