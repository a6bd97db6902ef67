//! WEIGHT_STRING: the bytes by which a value is sorted, as MySQL makes them.
//!
//! AS CHAR(n) cuts and fills text to n characters, AS BINARY(n) bytes; binding has made the conversion, and the
//! count is a second argument. Of the form with four arguments the second is the bytes of the result, the third how many
//! characters are weighed, the fourth how it is filled. Made by `BindContext::weight_string` and its kin.
use collation::CollationId;
use datum::{ColumnType, Date, DateTime, SqlError, TypeKind, Value};

use super::infer::{binary_result, cast_text};
use super::width::own_bytes;
use crate::build::BindContext;
use crate::expr::{Expr, ExprKind, ExprType};
use crate::function::Volatility::Pure;
use crate::function::{Arguments, Function};

pub(super) static FUNCTIONS: &[Function] = &[Function {
    name: "weight_string",
    arguments_min: 1,
    arguments_max: 4,
    volatility: Pure,
    infer,
    evaluate: weight_string,
}];

/// A shorter result is no shorter column.
const RESULT_BYTES_MIN: u64 = 8;
/// The most bytes that a character's weights take.
const WEIGHT_BYTES: u64 = 16;
/// The bit of the fourth argument by which the result has all the bytes that the second says.
const FILL_TO_LENGTH: u64 = 0x80;
/// A longer result is NULL.
const RESULT_BYTES_MAX: u64 = 64 << 20;

fn infer(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    if matches!(arguments[0].ty.column.kind, TypeKind::Json) {
        cast_text(bind, &mut arguments[0])?;
    }
    let column = &arguments[0].ty.column;
    // Bytes and numbers weigh what they are, and so do the characters of character sets of one byte.
    let is_wide = column.is_text() && column.collation.charset().bytes_per_character_max() > 1;
    let bytes = match arguments[0].kind {
        ExprKind::Column(_) if column.kind.is_temporal() => 0,
        _ if is_wide || column.kind.has_members() => own_bytes(&arguments[0]).saturating_mul(WEIGHT_BYTES),
        _ => own_bytes(&arguments[0]),
    };
    Ok(binary_result(bytes.max(RESULT_BYTES_MIN)))
}

impl BindContext {
    /// `WEIGHT_STRING(operand [AS CHAR(n) | AS BINARY(n)])`; numbers are weighed as they are.
    pub fn weight_string(&self, operand: Expr, target: Option<ColumnType>) -> Result<Expr, SqlError> {
        let Some(target) = target.filter(|_| operand.ty.column.kind.is_string()) else {
            return self.call("weight_string", vec![operand]);
        };
        let is_binary = target.kind.is_string() && !target.is_text();
        let count = Expr::int(i64::from(target.length));
        let column = match is_binary {
            true => target,
            false => ColumnType { collation: operand.ty.collation(), ..target },
        };
        let cut = self.cast(operand, column)?;
        self.call("weight_string", vec![cut, count])
    }

    /// `WEIGHT_STRING(operand, length, weights, flags)`
    pub fn measured_weight_string(&self, operand: Expr, measure: [u64; 3]) -> Result<Expr, SqlError> {
        let mut arguments = vec![operand];
        arguments.extend(measure.map(|number| Expr::int(i64::try_from(number).unwrap_or(i64::MAX))));
        self.call("weight_string", arguments)
    }
}

/// The weights of the first characters, with spaces where the collation pads, cut or filled to a length.
fn measured(text: &[u8], collation: CollationId, [length, weights, flags]: [u64; 3]) -> Value {
    if length.max(weights) > RESULT_BYTES_MAX / WEIGHT_BYTES {
        return Value::Null;
    }
    let charset = collation.charset();
    let count = charset.character_count(text);
    let weighed = if weights == 0 { count } else { weights as usize };
    let mut characters = text[..charset.byte_offset(text, weighed)].to_vec();
    if collation.pads() {
        characters.extend(std::iter::repeat_n(b' ', weighed.saturating_sub(count)));
    }
    let mut result = Vec::new();
    collation.write_weights(&characters, &mut result);
    if length == 0 {
        return Value::Bytes(result);
    }
    let length = length as usize;
    result.truncate(length);
    if flags & FILL_TO_LENGTH != 0 {
        let mut filling = Vec::new();
        if collation.pads() {
            collation.write_weights(b" ", &mut filling);
        } else {
            filling.push(0);
        }
        let missing = length - result.len();
        result.extend(filling.iter().cycle().take(missing));
    }
    Value::Bytes(result)
}

fn weight_string(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let signed = |number: u64| Value::bytes((number ^ 1 << 63).to_be_bytes());
    Ok(match &*arguments.value(0)? {
        Value::Int(number) => signed(*number as u64),
        Value::UInt(number) => Value::bytes(number.to_be_bytes()),
        // Members weigh their numbers.
        Value::Enum(number) => signed(u64::from(*number)),
        Value::Set(members) => signed(*members),
        Value::Date(date) => signed(date_bits(*date)),
        Value::DateTime(moment) => signed(moment_bits(*moment)),
        Value::Bytes(text) => {
            let collation = arguments.collation(0);
            if arguments.len() > 2 {
                let number = |at: usize| Ok::<u64, SqlError>(arguments.integer(at)?.unwrap_or(0) as u64);
                return Ok(measured(text, collation, [number(1)?, number(2)?, number(3)?]));
            }
            let count = if arguments.len() > 1 { arguments.integer(1)?.unwrap_or(0) } else { 0 };
            let mut padded = text.clone();
            if collation.pads() {
                let missing = (count as usize).saturating_sub(collation.charset().character_count(text));
                padded.extend(std::iter::repeat_n(b' ', missing));
            }
            let mut weights = Vec::new();
            collation.write_weights(&padded, &mut weights);
            Value::Bytes(weights)
        }
        _ => Value::Null,
    })
}

fn date_bits(date: Date) -> u64 {
    (u64::from(date.year()) << 4 | u64::from(date.month())) << 5 | u64::from(date.day())
}

fn moment_bits(moment: DateTime) -> u64 {
    let date = moment.date();
    let day = (u64::from(date.year()) * 13 + u64::from(date.month())) << 5 | u64::from(date.day());
    let clock = u64::from(moment.hour()) << 12 | u64::from(moment.minute()) << 6 | u64::from(moment.second());
    (day << 17 | clock) << 24 | u64::from(moment.micros())
}
