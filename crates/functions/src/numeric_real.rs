//! Functions of DOUBLEs: powers, logarithms, angles and RAND. Outside a function's domain the result is NULL.
use aws_lc_rs::rand as secure;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};

use expression::BindContext;
use expression::Volatility::{Pure, Volatile};
use expression::call::infer::{cast_double, cast_integer};
use expression::{Arguments, Function};
use expression::{Coercibility, Expr, ExprType};

type Evaluate = fn(&Arguments<'_>) -> Result<Value, SqlError>;

const fn entry(name: &'static str, counts: (u8, u8), evaluate: Evaluate) -> Function {
    Function {
        name,
        arguments_min: counts.0,
        arguments_max: counts.1,
        volatility: Pure,
        infer: infer_doubles,
        evaluate,
    }
}

pub(super) static FUNCTIONS: &[Function] = &[
    Function { infer: infer_pi, ..entry("pi", (0, 0), |_| Ok(Value::Double(std::f64::consts::PI))) },
    entry("pow", (2, 2), pow),
    entry("power", (2, 2), pow),
    entry("sqrt", (1, 1), |arguments| of_one(arguments, f64::sqrt)),
    entry("exp", (1, 1), |arguments| of_one(arguments, f64::exp)),
    entry("ln", (1, 1), |arguments| logarithm(arguments, 0, f64::ln)),
    entry("log", (1, 2), log),
    entry("log2", (1, 1), |arguments| logarithm(arguments, 0, f64::log2)),
    entry("log10", (1, 1), |arguments| logarithm(arguments, 0, f64::log10)),
    entry("sin", (1, 1), |arguments| of_one(arguments, f64::sin)),
    entry("cos", (1, 1), |arguments| of_one(arguments, f64::cos)),
    entry("tan", (1, 1), |arguments| of_one(arguments, f64::tan)),
    entry("cot", (1, 1), |arguments| of_one(arguments, |angle| 1.0 / angle.tan())),
    entry("asin", (1, 1), |arguments| of_one(arguments, f64::asin)),
    entry("acos", (1, 1), |arguments| of_one(arguments, f64::acos)),
    entry("atan", (1, 2), atan),
    entry("atan2", (1, 2), atan),
    entry("degrees", (1, 1), |arguments| of_one(arguments, f64::to_degrees)),
    entry("radians", (1, 1), |arguments| of_one(arguments, f64::to_radians)),
    Function {
        name: "rand",
        arguments_min: 0,
        arguments_max: 1,
        volatility: Volatile,
        infer: infer_rand,
        evaluate: rand,
    },
];

/// PI() shows six digits, but calculates with all.
fn infer_pi(_: &BindContext, _: &'static str, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    let column = ColumnType::new(TypeKind::Double { digits: Some((8, 6)) }).not_null();
    Ok(ExprType::new(column, Coercibility::Numeric))
}

fn infer_doubles(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    arguments.iter_mut().try_for_each(|argument| cast_double(bind, argument))?;
    Ok(ExprType::new(ColumnType::double(), Coercibility::Numeric))
}

fn infer_rand(bind: &BindContext, _name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    arguments.first_mut().map_or(Ok(()), |seed| cast_integer(bind, seed))?;
    Ok(ExprType::new(ColumnType::double().not_null(), Coercibility::Numeric))
}

/// NaN is outside the domain and gives NULL; infinity is error 1690, whose place `text::name_place` fills in.
fn result(number: f64) -> Result<Value, SqlError> {
    if number.is_nan() {
        return Ok(Value::Null);
    }
    if number.is_infinite() {
        return Err(error_code::ER_DATA_OUT_OF_RANGE.with(&[&"DOUBLE", &""]));
    }
    Ok(Value::Double(number))
}

fn of_one(arguments: &Arguments<'_>, function: fn(f64) -> f64) -> Result<Value, SqlError> {
    arguments.double(0)?.map_or(Ok(Value::Null), |number| result(function(number)))
}

fn pow(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    match (arguments.double(0)?, arguments.double(1)?) {
        (Some(base), Some(exponent)) => {
            let power = base.powf(exponent);
            // A negative base with a fractional exponent is an error in MySQL, not NULL.
            result(if power.is_nan() { f64::INFINITY } else { power })
        }
        _ => Ok(Value::Null),
    }
}

/// Numbers that are not positive have no logarithm: NULL with warning 3020.
fn logarithm(arguments: &Arguments<'_>, index: usize, function: fn(f64) -> f64) -> Result<Value, SqlError> {
    match arguments.double(index)? {
        None => Ok(Value::Null),
        Some(number) if number <= 0.0 => {
            arguments.context.warn(error_code::ER_INVALID_ARGUMENT_FOR_LOGARITHM.plain());
            Ok(Value::Null)
        }
        Some(number) => result(function(number)),
    }
}

/// LOG(x) is the natural logarithm, LOG(b, x) the one to base b.
fn log(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    if arguments.len() == 1 {
        return logarithm(arguments, 0, f64::ln);
    }
    let base = logarithm(arguments, 0, f64::ln)?;
    if base.is_null() {
        return Ok(base);
    }
    let number = logarithm(arguments, 1, f64::ln)?;
    match (base, number) {
        (Value::Double(base), Value::Double(number)) if base != 0.0 => result(number / base),
        (Value::Double(_), Value::Double(_)) => {
            arguments.context.warn(error_code::ER_INVALID_ARGUMENT_FOR_LOGARITHM.plain());
            Ok(Value::Null)
        }
        _ => Ok(Value::Null),
    }
}

fn atan(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    if arguments.len() == 1 {
        return of_one(arguments, f64::atan);
    }
    let Some(y) = arguments.double(0)? else { return Ok(Value::Null) };
    arguments.double(1)?.map_or(Ok(Value::Null), |x| result(y.atan2(x)))
}

/// The modulus of the generator that gives RAND(seed) its documented sequence.
const RANDOM_MAX: u64 = 0x3FFF_FFFF;

/// RAND() is fresh at every evaluation; RAND(seed) starts a sequence that is the same in every run.
fn rand(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    if arguments.is_empty() {
        let mut bytes = [0; 8];
        secure::fill(&mut bytes).map_err(|_| error_code::ER_INTERNAL_ERROR.with(&[&"no randomness"]))?;
        return Ok(Value::Double((u64::from_le_bytes(bytes) >> 11) as f64 / (1u64 << 53) as f64));
    }
    let seed = arguments.bits(0)?.unwrap_or(0) as u32;
    let node = arguments.exprs.as_ptr() as usize;
    let begin = || {
        let first = seed.wrapping_mul(0x10001).wrapping_add(55_555_555);
        let second = seed.wrapping_mul(0x1000_0001);
        ((u64::from(first) % RANDOM_MAX) as u32, (u64::from(second) % RANDOM_MAX) as u32)
    };
    let next = |state: (u32, u32)| {
        let first = (u64::from(state.0) * 3 + u64::from(state.1)) % RANDOM_MAX;
        let second = (first + u64::from(state.1) + 33) % RANDOM_MAX;
        (first as u32, second as u32)
    };
    let (number, _) = arguments.context.next_random(node, begin, next);
    Ok(Value::Double(f64::from(number) / RANDOM_MAX as f64))
}
