//! Waits for what a replica applies: WAIT_FOR_EXECUTED_GTID_SET, SOURCE_POS_WAIT and its old name MASTER_POS_WAIT.
//!
//! The session waits; here the arguments are checked.
use std::time::Duration;

use datum::{SqlError, Value, error_code};

use expression::BindContext;
use expression::SessionRequest;
use expression::Volatility::Volatile;
use expression::call::infer::{cast_double, cast_integer, cast_text, integer_type};
use expression::{Arguments, Function};
use expression::{Expr, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "wait_for_executed_gtid_set",
        arguments_min: 1,
        arguments_max: 2,
        volatility: Volatile,
        infer: infer_set,
        evaluate: wait_for_set,
    },
    Function {
        name: "source_pos_wait",
        arguments_min: 2,
        arguments_max: 4,
        volatility: Volatile,
        infer: infer_position,
        evaluate: wait_for_position,
    },
    Function {
        name: "master_pos_wait",
        arguments_min: 2,
        arguments_max: 4,
        volatility: Volatile,
        infer: infer_position,
        evaluate: wait_for_position,
    },
];

/// More seconds than a session lives.
const SECONDS_MAX: f64 = 1e9;

fn infer_set(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    arguments[1..].iter_mut().try_for_each(|timeout| cast_double(bind, timeout))?;
    Ok(integer_type())
}

fn infer_position(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    cast_integer(bind, &mut arguments[1])?;
    if let Some(timeout) = arguments.get_mut(2) {
        cast_double(bind, timeout)?;
    }
    if let Some(channel) = arguments.get_mut(3) {
        cast_text(bind, channel)?;
    }
    Ok(integer_type())
}

/// Seconds; without them, or with 0, the wait has no end. Error 1210 for NULL and less than 0.
fn timeout(arguments: &Arguments<'_>, place: usize, function: &str) -> Result<Option<Duration>, SqlError> {
    if arguments.exprs.len() <= place {
        return Ok(None);
    }
    match arguments.double(place)? {
        Some(seconds) if seconds > 0.0 => Ok(Some(Duration::from_secs_f64(seconds.min(SECONDS_MAX)))),
        Some(0.0) => Ok(None),
        _ => Err(error_code::ER_WRONG_ARGUMENTS.with(&[&format!("{function}.")])),
    }
}

fn text(arguments: &Arguments<'_>, place: usize) -> Result<Option<String>, SqlError> {
    Ok(arguments.text(place)?.map(|text| String::from_utf8_lossy(&text).into_owned()))
}

fn wait_for_set(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    if let Some(answer) = arguments.context.told(arguments) {
        return Ok(answer);
    }
    let Some(set) = text(arguments, 0)? else {
        return Err(error_code::ER_MALFORMED_GTID_SET_SPECIFICATION.with(&[&"NULL"]));
    };
    let timeout = timeout(arguments, 1, "WAIT_FOR_EXECUTED_GTID_SET")?;
    let request = SessionRequest::WaitForIdentifiers { set, timeout };
    arguments.context.ask(arguments, "wait_for_executed_gtid_set", request)
}

fn wait_for_position(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    if let Some(answer) = arguments.context.told(arguments) {
        return Ok(answer);
    }
    let timeout = timeout(arguments, 2, "SOURCE_POS_WAIT")?;
    let (Some(file), Some(position)) = (text(arguments, 0)?, arguments.integer(1)?) else {
        return Ok(Value::Null);
    };
    let Ok(position) = u64::try_from(position) else { return Ok(Value::Null) };
    let channel = if arguments.exprs.len() > 3 { text(arguments, 3)? } else { None };
    let request = SessionRequest::WaitForPosition { file, position, timeout, channel };
    arguments.context.ask(arguments, "source_pos_wait", request)
}
