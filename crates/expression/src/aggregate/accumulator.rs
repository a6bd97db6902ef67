//! The state of one aggregate over one group.
//!
//! Invariant: NULLs never change a state (COUNT(*) has no argument to be NULL). Callers: the executor's
//! aggregation operators, one accumulator per call and group.
use std::cmp::Ordering;

use datum::{Decimal, SqlError, TypeKind, Value, error_code};

use super::distinct::Seen;
use super::document::Document;
use super::{AggregateCall, AggregateFunction};
use crate::context::EvalContext;
use crate::expr::ExprType;

#[derive(Clone, Debug)]
pub struct Accumulator {
    state: State,
    seen: Option<Seen>,
}

#[derive(Clone, Debug)]
enum State {
    Count(i64),
    /// Sum and number of values; integers are added as i128 and become DECIMAL at the end.
    Integers {
        sum: i128,
        count: u64,
    },
    Decimals {
        sum: Decimal,
        count: u64,
    },
    Doubles {
        sum: f64,
        count: u64,
    },
    /// The smallest or largest value so far.
    Extreme(Option<Value>),
    Bits(u64),
    /// Of binary strings, which all have one length.
    BitString(Option<Vec<u8>>),
    /// Running mean and sum of squared differences (Welford), which does not lose digits as sums of squares do.
    Variance {
        count: u64,
        mean: f64,
        squares: f64,
    },
    Concat {
        pieces: Vec<Piece>,
        bytes: usize,
        rows: u64,
    },
    Document(Document),
}

/// One row of GROUP_CONCAT with the values it is sorted by.
#[derive(Clone, Debug)]
struct Piece {
    keys: Vec<Value>,
    text: Vec<u8>,
}

impl Accumulator {
    pub(super) fn new(call: &AggregateCall) -> Accumulator {
        use AggregateFunction::{
            AddedCounts, Avg, BitAnd, BitOr, BitXor, Count, GroupConcat, JsonArray, JsonObject, Max, Min,
            StddevPop, StddevSamp, Sum, VarPop, VarSamp,
        };
        let state = match call.function {
            Count | AddedCounts => State::Count(0),
            Sum | Avg => match (&call.ty.column.kind, &call.arguments[0].ty.column.kind) {
                (TypeKind::Double { .. }, _) => State::Doubles { sum: 0.0, count: 0 },
                (_, TypeKind::Decimal { .. }) => State::Decimals { sum: Decimal::ZERO, count: 0 },
                _ => State::Integers { sum: 0, count: 0 },
            },
            Min | Max => State::Extreme(None),
            BitAnd | BitOr | BitXor if call.ty.column.kind.is_string() => State::BitString(None),
            BitAnd => State::Bits(u64::MAX),
            BitOr | BitXor => State::Bits(0),
            StddevPop | StddevSamp | VarPop | VarSamp => {
                State::Variance { count: 0, mean: 0.0, squares: 0.0 }
            }
            JsonArray => State::Document(Document::Array(String::new())),
            JsonObject => State::Document(Document::Object { members: Vec::new(), bytes: 0 }),
            GroupConcat => State::Concat { pieces: Vec::new(), bytes: 0, rows: 0 },
        };
        Accumulator { state, seen: call.distinct.then(Seen::default) }
    }

    /// DISTINCT: the key of the row's values if they have not been seen; `None` as well where one is NULL.
    pub fn unseen_key(
        &self,
        call: &AggregateCall,
        row: &[Value],
        context: &EvalContext,
    ) -> Result<Option<Vec<u8>>, SqlError> {
        let mut values = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            let value = argument.eval_ref(row, context)?;
            if value.is_null() {
                return Ok(None);
            }
            values.push((value, &argument.ty));
        }
        let seen = self.seen.as_ref().expect("only DISTINCT sees values");
        Ok(seen.unseen_key(values.iter().map(|(value, ty)| (&**value, *ty))))
    }

    /// DISTINCT: no row comes any more whose values were seen.
    pub fn forget_seen(&mut self) {
        if let Some(seen) = &mut self.seen {
            *seen = Seen::default();
        }
    }

    /// COUNT(*) takes so many rows.
    pub fn add_rows(&mut self, rows: u64) {
        debug_assert!(matches!(self.state, State::Count(_)), "only COUNT(*) needs no row");
        if let State::Count(count) = &mut self.state {
            *count = count.saturating_add_unsigned(rows);
        }
    }

    /// Takes one row of the group.
    pub fn add(
        &mut self,
        call: &AggregateCall,
        row: &[Value],
        context: &EvalContext,
    ) -> Result<(), SqlError> {
        self.add_row(call, row, context, true)
    }

    /// DISTINCT: takes a row whose values the caller knows to be new; they are not remembered.
    pub fn add_unseen(
        &mut self,
        call: &AggregateCall,
        row: &[Value],
        context: &EvalContext,
    ) -> Result<(), SqlError> {
        self.add_row(call, row, context, false)
    }

    fn add_row(
        &mut self,
        call: &AggregateCall,
        row: &[Value],
        context: &EvalContext,
        looks_at_seen: bool,
    ) -> Result<(), SqlError> {
        if let State::Document(document) = &mut self.state {
            return document.add(&call.arguments, row, context);
        }
        if let [argument] = call.arguments.as_slice()
            && self.seen.is_none()
            && !matches!(self.state, State::Concat { .. })
        {
            let value = argument.eval_ref(row, context)?;
            return if value.is_null() { Ok(()) } else { self.take(call, &value) };
        }
        let mut values = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            values.push(argument.eval_ref(row, context)?);
        }
        if values.iter().any(|value| value.is_null()) {
            return Ok(());
        }
        if let Some(seen) = self.seen.as_mut().filter(|_| looks_at_seen) {
            let typed = values.iter().zip(&call.arguments).map(|(value, argument)| (&**value, &argument.ty));
            if !seen.is_new(typed) {
                return Ok(());
            }
        }
        if matches!(self.state, State::Concat { .. }) {
            let texts = values.iter().filter_map(|value| match &**value {
                Value::Bytes(text) => Some(text.as_slice()),
                _ => None,
            });
            let text = texts.collect::<Vec<_>>().concat();
            return self.take_text(call, text, row, context);
        }
        match values.first() {
            Some(value) => self.take(call, value),
            None => self.take(call, &Value::Null), // COUNT(*)
        }
    }

    fn take(&mut self, call: &AggregateCall, value: &Value) -> Result<(), SqlError> {
        match &mut self.state {
            State::Count(count) if call.function == AggregateFunction::AddedCounts => {
                *count = count.saturating_add(integer(value)? as i64);
            }
            State::Count(count) => *count += 1,
            State::Integers { sum, count } => {
                *sum += integer(value)?;
                *count += 1;
            }
            State::Decimals { sum, count } => {
                let Value::Decimal(number) = value else { return Err(mistyped(value)) };
                *sum = sum.add(number).map_err(|_| overflow(call))?;
                *count += 1;
            }
            State::Doubles { sum, count } => {
                *sum += double(value)?;
                *count += 1;
            }
            State::Extreme(best) => {
                let replaces = match (&best, call.function) {
                    (None, _) => true,
                    (Some(best), AggregateFunction::Min) => order(value, best, &call.ty).is_lt(),
                    (Some(best), _) => order(value, best, &call.ty).is_gt(),
                };
                if replaces {
                    *best = Some(value.clone());
                }
            }
            State::Bits(bits) => {
                let operand = integer(value)? as u64;
                match call.function {
                    AggregateFunction::BitAnd => *bits &= operand,
                    AggregateFunction::BitOr => *bits |= operand,
                    _ => *bits ^= operand,
                }
            }
            State::BitString(bits) => {
                let Value::Bytes(text) = value else { return Err(mistyped(value)) };
                match bits {
                    None => *bits = Some(text.clone()),
                    Some(bits) => combine_bits(call.function, bits, text)?,
                }
            }
            State::Variance { count, mean, squares } => {
                let number = double(value)?;
                *count += 1;
                let before = number - *mean;
                *mean += before / *count as f64;
                *squares += before * (number - *mean);
            }
            State::Concat { .. } | State::Document(_) => return Err(mistyped(value)),
        }
        Ok(())
    }

    /// Without ORDER BY nothing past the result's limit needs to be kept.
    fn take_text(
        &mut self,
        call: &AggregateCall,
        text: Vec<u8>,
        row: &[Value],
        context: &EvalContext,
    ) -> Result<(), SqlError> {
        let State::Concat { pieces, bytes, rows } = &mut self.state else {
            return Err(mistyped(&Value::Bytes(text)));
        };
        *rows += 1;
        let limit = usize::try_from(context.settings.group_concat_max_len).unwrap_or(usize::MAX);
        if call.order_by.is_empty() && *bytes > limit {
            return Ok(());
        }
        let mut keys = Vec::with_capacity(call.order_by.len());
        for item in &call.order_by {
            keys.push(item.expr.eval(row, context)?);
        }
        *bytes += text.len() + call.separator.len() + keys.len() * size_of::<Value>();
        pieces.push(Piece { keys, text });
        Ok(())
    }

    /// The result for the group; a group without rows gives COUNT 0, BIT_AND all ones, others NULL.
    pub fn finish(&mut self, call: &AggregateCall, context: &EvalContext) -> Result<Value, SqlError> {
        let average = call.function == AggregateFunction::Avg;
        Ok(match &mut self.state {
            State::Count(count) => Value::Int(*count),
            State::Integers { count: 0, .. }
            | State::Decimals { count: 0, .. }
            | State::Doubles { count: 0, .. } => Value::Null,
            State::Integers { sum, count } => {
                let sum = Decimal::new(*sum, 0);
                if average { quotient(&sum, *count, call, context)? } else { Value::Decimal(sum) }
            }
            State::Decimals { sum, count } => {
                if average {
                    quotient(sum, *count, call, context)?
                } else {
                    summed(sum, call)
                }
            }
            State::Doubles { sum, count } => Value::Double(if average { *sum / *count as f64 } else { *sum }),
            State::Extreme(best) => best.take().unwrap_or(Value::Null),
            State::Bits(bits) => Value::UInt(*bits),
            State::BitString(bits) => Value::Bytes(bits.take().unwrap_or_else(|| {
                let all = if call.function == AggregateFunction::BitAnd { 0xFF } else { 0 };
                vec![all; call.ty.column.length as usize]
            })),
            State::Variance { count, squares, .. } => spread(call.function, *count, *squares),
            State::Document(document) => document.finish()?,
            State::Concat { pieces, rows, .. } => concatenated(call, std::mem::take(pieces), *rows, context),
        })
    }

    /// Bytes held beyond the accumulator itself, for the memory limit of grouping.
    pub fn memory_bytes(&self) -> usize {
        let held = match &self.state {
            State::Concat { bytes, .. } => *bytes,
            State::Document(document) => document.memory_bytes(),
            State::Extreme(Some(Value::Bytes(text))) => text.len(),
            State::Extreme(Some(Value::Json(text))) => text.len(),
            _ => 0,
        };
        held + self.seen.as_ref().map_or(0, Seen::memory_bytes)
    }
}

fn combine_bits(function: AggregateFunction, bits: &mut [u8], text: &[u8]) -> Result<(), SqlError> {
    if bits.len() != text.len() {
        return Err(error_code::ER_INVALID_BITWISE_OPERANDS_SIZE.plain());
    }
    for (bits, byte) in bits.iter_mut().zip(text) {
        match function {
            AggregateFunction::BitAnd => *bits &= byte,
            AggregateFunction::BitOr => *bits |= byte,
            _ => *bits ^= byte,
        }
    }
    Ok(())
}

pub(super) fn integer(value: &Value) -> Result<i128, SqlError> {
    match value {
        Value::Int(number) => Ok(i128::from(*number)),
        Value::UInt(number) => Ok(i128::from(*number)),
        wrong => Err(mistyped(wrong)),
    }
}

pub fn double(value: &Value) -> Result<f64, SqlError> {
    match value {
        Value::Double(number) => Ok(*number),
        wrong => Err(mistyped(wrong)),
    }
}

/// Binding gave the argument another type than the accumulator was made for: a defect that is told.
pub(super) fn mistyped(value: &Value) -> SqlError {
    error_code::ER_INTERNAL_ERROR.with(&[&format!("an aggregate cannot take {value:?}")])
}

pub(super) fn overflow(call: &AggregateCall) -> SqlError {
    error_code::ER_DATA_OUT_OF_RANGE.with(&[&"DECIMAL", &format!("{:?}", call.function).to_lowercase()])
}

/// Orders two values of the aggregate's type that are not NULL.
pub(super) fn order(left: &Value, right: &Value, ty: &ExprType) -> Ordering {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::UInt(left), Value::UInt(right)) => left.cmp(right),
        (Value::Int(left), Value::UInt(right)) => i128::from(*left).cmp(&i128::from(*right)),
        (Value::UInt(left), Value::Int(right)) => i128::from(*left).cmp(&i128::from(*right)),
        // 0 and -0 are one number.
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right).unwrap_or(Ordering::Equal),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right).unwrap_or(Ordering::Equal),
        (Value::Decimal(left), Value::Decimal(right)) => left.compare(right),
        (Value::Bytes(left), Value::Bytes(right)) => ty.collation().compare(left, right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Time(left), Value::Time(right)) => left.cmp(right),
        (Value::DateTime(left), Value::DateTime(right)) => left.cmp(right),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        (Value::Year(left), Value::Year(right)) => left.cmp(right),
        (Value::Bit(left), Value::Bit(right)) => left.cmp(right),
        (Value::Enum(left), Value::Enum(right)) => left.cmp(right),
        (Value::Set(left), Value::Set(right)) => left.cmp(right),
        (Value::Json(_), Value::Json(_)) => datum::compare_in_type(left, right, &ty.column),
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

/// A sum with the digits after the point that its type has.
pub(super) fn summed(sum: &Decimal, call: &AggregateCall) -> Value {
    let padded = match call.ty.column.kind {
        TypeKind::Decimal { scale, .. } if sum.scale() < scale => sum.rescale(scale).ok(),
        _ => None,
    };
    Value::Decimal(padded.unwrap_or_else(|| sum.clone()))
}

/// An average, of which so many digits are computed as of any quotient: what lies behind groups of nine is cut, not rounded.
pub(super) fn quotient(
    sum: &Decimal,
    count: u64,
    call: &AggregateCall,
    context: &EvalContext,
) -> Result<Value, SqlError> {
    let TypeKind::Decimal { scale, .. } = call.ty.column.kind else { return Err(mistyped(&Value::Null)) };
    let increment = context.settings.division_precision_increment;
    let divided = sum.divide(&Decimal::from_u64(count), increment).map_err(|_| overflow(call))?;
    let divided = divided.ok_or_else(|| overflow(call))?;
    Ok(Value::Decimal(divided.rescale(scale).map_err(|_| overflow(call))?))
}

pub(super) fn spread(function: AggregateFunction, count: u64, squares: f64) -> Value {
    let sample = matches!(function, AggregateFunction::StddevSamp | AggregateFunction::VarSamp);
    let divisor = if sample { count.saturating_sub(1) } else { count };
    if divisor == 0 {
        return Value::Null;
    }
    let variance = squares / divisor as f64;
    let root = matches!(function, AggregateFunction::StddevPop | AggregateFunction::StddevSamp);
    Value::Double(if root { variance.sqrt() } else { variance })
}

fn concatenated(call: &AggregateCall, mut pieces: Vec<Piece>, rows: u64, context: &EvalContext) -> Value {
    if rows == 0 {
        return Value::Null;
    }
    pieces.sort_by(|left, right| {
        let by_item = call.order_by.iter().enumerate().map(|(index, item)| {
            let ordering = order(&left.keys[index], &right.keys[index], &item.expr.ty);
            if item.descending { ordering.reverse() } else { ordering }
        });
        by_item.fold(Ordering::Equal, Ordering::then)
    });
    let limit = usize::try_from(context.settings.group_concat_max_len).unwrap_or(usize::MAX);
    let mut joined = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 {
            joined.extend_from_slice(&call.separator);
        }
        joined.extend_from_slice(&piece.text);
        if joined.len() > limit {
            let charset = call.ty.collation().charset();
            joined.truncate(limit);
            joined.truncate(charset.valid_prefix_length(&joined));
            context.warn(error_code::ER_CUT_VALUE_GROUP_CONCAT.with(&[&(index + 1)]));
            break;
        }
    }
    Value::Bytes(joined)
}
