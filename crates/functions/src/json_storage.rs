//! JSON_STORAGE_SIZE and JSON_STORAGE_FREE: the bytes that a document takes in MySQL's binary format.
//!
//! Documents are stored as text here, so nothing is ever free within one, and the size is computed.
use datum::{Decimal, Json, SqlError, Value};

use expression::BindContext;
use expression::Volatility::Pure;
use expression::call::infer::integer_type;
use expression::{Arguments, Function};
use expression::{Expr, ExprType};

type Evaluate = fn(&Arguments<'_>) -> Result<Value, SqlError>;

const fn entry(name: &'static str, evaluate: Evaluate) -> Function {
    Function { name, arguments_min: 1, arguments_max: 1, volatility: Pure, infer, evaluate }
}

pub(super) static FUNCTIONS: &[Function] =
    &[entry("json_storage_size", json_storage_size), entry("json_storage_free", json_storage_free)];

fn infer(_: &BindContext, _: &'static str, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(integer_type())
}

fn json_storage_size(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let document = arguments.document("json_storage_size", 0)?;
    // One byte tells the type of the whole.
    Ok(document.map_or(Value::Null, |document| Value::Int(1 + size(&document) as i64)))
}

fn json_storage_free(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(arguments.document("json_storage_free", 0)?.map_or(Value::Null, |_| Value::Int(0)))
}

/// The bytes of a length: seven bits in each.
fn length_bytes(length: usize) -> usize {
    (usize::BITS - length.leading_zeros()).max(1).div_ceil(7) as usize
}

fn decimal_bytes(number: &Decimal) -> usize {
    const LEFT_OVER: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
    let scale = usize::from(number.scale());
    let integer = (number.integer_digit_count() as usize).max(usize::from(scale == 0));
    let bytes = |digits: usize| digits / 9 * 4 + LEFT_OVER[digits % 9];
    // Precision and scale stand before the digits.
    2 + bytes(integer) + bytes(scale)
}

/// The bytes of a value without the one for its type.
fn size(document: &Json) -> usize {
    let opaque = |length: usize| 1 + length_bytes(length) + length;
    match document {
        Json::Null | Json::Bool(_) => 1,
        Json::Int(number) if i16::try_from(*number).is_ok() => 2,
        Json::UInt(number) if u16::try_from(*number).is_ok() => 2,
        Json::Int(number) if i32::try_from(*number).is_ok() => 4,
        Json::UInt(number) if u32::try_from(*number).is_ok() => 4,
        Json::Int(_) | Json::UInt(_) | Json::Double(_) => 8,
        Json::String(text) => length_bytes(text.len()) + text.len(),
        Json::Decimal(number) => opaque(decimal_bytes(number)),
        Json::Date(_) | Json::Time(_) | Json::DateTime(_) => opaque(8),
        Json::Opaque(_, bytes) => opaque(bytes.len()),
        Json::Array(_) | Json::Object(_) => match container(document, 2) {
            small if small <= usize::from(u16::MAX) => small,
            _ => container(document, 4),
        },
    }
}

/// The bytes of an array or object whose offsets take `width` bytes.
fn container(document: &Json, width: usize) -> usize {
    // Small values stand in the place of their offset.
    let value = |value: &Json| {
        let bytes = size(value);
        let is_inlined = !matches!(value, Json::Double(_)) && is_scalar_number(value) && bytes <= width;
        1 + width + if is_inlined { 0 } else { bytes }
    };
    2 * width
        + match document {
            Json::Array(elements) => elements.iter().map(value).sum::<usize>(),
            Json::Object(members) => {
                members.iter().map(|(key, member)| width + 2 + key.len() + value(member)).sum::<usize>()
            }
            _ => 0,
        }
}

fn is_scalar_number(value: &Json) -> bool {
    matches!(value, Json::Null | Json::Bool(_) | Json::Int(_) | Json::UInt(_))
}
