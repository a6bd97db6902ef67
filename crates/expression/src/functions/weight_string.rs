//! WEIGHT_STRING: the bytes by which a value is sorted, as MySQL makes them.
//!
//! AS CHAR(n) cuts and fills text to n characters, AS BINARY(n) bytes; binding has made the conversion, and the
//! count is a second argument. Made by `BindContext::weight_string`.
use datum::{ColumnType, Date, DateTime, SqlError, TypeKind, Value};

use super::infer::{binary_result, cast_text};
use super::width::characters_max;
use crate::build::BindContext;
use crate::expr::{Expr, ExprType};
use crate::function::Volatility::Pure;
use crate::function::{Arguments, Function};

pub(super) static FUNCTIONS: &[Function] = &[Function {
    name: "weight_string",
    arguments_min: 1,
    arguments_max: 2,
    volatility: Pure,
    infer,
    evaluate: weight_string,
}];

/// The most bytes that a character's weights take.
const WEIGHT_BYTES: u64 = 16;

fn infer(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let column = &arguments[0].ty.column;
    if matches!(column.kind, TypeKind::Enum(_) | TypeKind::Set(_) | TypeKind::Json) {
        cast_text(bind, &mut arguments[0])?;
    }
    Ok(binary_result(characters_max(&arguments[0].ty.column) * WEIGHT_BYTES))
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
}

fn weight_string(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let signed = |number: u64| Value::bytes((number ^ 1 << 63).to_be_bytes());
    Ok(match &*arguments.value(0)? {
        Value::Int(number) => signed(*number as u64),
        Value::UInt(number) => Value::bytes(number.to_be_bytes()),
        Value::Date(date) => signed(date_bits(*date)),
        Value::DateTime(moment) => signed(moment_bits(*moment)),
        Value::Bytes(text) => {
            let collation = arguments.collation(0);
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
