//! GET_FORMAT: the formats of countries for DATE_FORMAT and its kin.
use datum::{SqlError, Value};

use expression::BindContext;
use expression::Volatility::Pure;
use expression::call::infer::{cast_text, made_text};
use expression::{Arguments, Function};
use expression::{Expr, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[Function {
    name: "get_format",
    arguments_min: 2,
    arguments_max: 2,
    volatility: Pure,
    infer,
    evaluate: get_format,
}];

/// By name: of dates, of dates with times, of times.
const FORMATS: [(&str, [&str; 3]); 5] = [
    ("EUR", ["%d.%m.%Y", "%Y-%m-%d %H.%i.%s", "%H.%i.%s"]),
    ("USA", ["%m.%d.%Y", "%Y-%m-%d %H.%i.%s", "%h:%i:%s %p"]),
    ("JIS", ["%Y-%m-%d", "%Y-%m-%d %H:%i:%s", "%H:%i:%s"]),
    ("ISO", ["%Y-%m-%d", "%Y-%m-%d %H:%i:%s", "%H:%i:%s"]),
    ("INTERNAL", ["%Y%m%d", "%Y%m%d%H%i%s", "%H%i%s"]),
];

fn infer(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[1])?;
    Ok(made_text(bind, 17))
}

/// The first argument is the word DATE, DATETIME or TIME.
fn get_format(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(of), Some(name)) = (arguments.text(0)?, arguments.text(1)?) else { return Ok(Value::Null) };
    let place = match of.to_ascii_uppercase().as_slice() {
        b"DATE" => 0,
        b"TIME" => 2,
        _ => 1,
    };
    let found = FORMATS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
    Ok(found.map_or(Value::Null, |(_, formats)| Value::bytes(formats[place])))
}
