//! UPPER and LOWER. A binary string has no letters, so it stays as it is.
use datum::{SqlError, Value};

use expression::BindContext;
use expression::call::infer::{cast_text, text_column};
use expression::call::text_or_null;
use expression::call::width::characters_max;
use expression::{Arguments, Function, Volatility::Pure};
use expression::{Expr, ExprType};

const fn entry(name: &'static str, evaluate: fn(&Arguments<'_>) -> Result<Value, SqlError>) -> Function {
    Function { name, arguments_min: 1, arguments_max: 1, volatility: Pure, infer: infer_same, evaluate }
}

pub(super) static FUNCTIONS: &[Function] =
    &[entry("upper", upper), entry("ucase", upper), entry("lower", lower), entry("lcase", lower)];

fn infer_same(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    let ty = &arguments[0].ty;
    let length = characters_max(&ty.column);
    Ok(ExprType::new(text_column(length, ty.collation()), ty.coercibility))
}

fn upper(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let charset = arguments.charset(0);
    Ok(text_or_null(arguments.text(0)?.map(|text| charset.to_upper(&text))))
}

fn lower(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let charset = arguments.charset(0);
    Ok(text_or_null(arguments.text(0)?.map(|text| charset.to_lower(&text))))
}
