//! The state of one aggregate over a frame of rows that moves: rows enter at its end and leave at its start.
//!
//! Invariant: after any sequence of `enter` and `leave` the value is that of the rows which entered and have not left. Rows leave in
//! the order in which they entered. Called by the executor's window operator.
use std::collections::VecDeque;

use datum::{Decimal, SqlError, TypeKind, Value};

use super::accumulator::{double, integer, order, overflow, quotient, spread, summed};
use super::{Accumulator, AggregateCall, AggregateFunction};
use crate::context::EvalContext;

#[derive(Debug)]
pub struct SlidingAggregate {
    state: State,
}

#[derive(Debug)]
enum State {
    Count(i64),
    Integers {
        sum: i128,
        count: u64,
    },
    Decimals {
        sum: Decimal,
        count: u64,
    },
    Doubles {
        sum: TwoDoubles,
        count: u64,
    },
    /// Candidates in the order of their rows, none worse than those behind it. One is enough where rows do not leave.
    Extreme {
        candidates: VecDeque<(u64, Value)>,
        moves: bool,
    },
    /// How often each bit is set among so many rows.
    Bits {
        set: Box<[u64; 64]>,
        count: u64,
    },
    Variance {
        count: u64,
        mean: f64,
        squares: f64,
    },
    /// What knows no way back.
    Growing(Box<Accumulator>),
}

/// A sum with twice the digits of a double, so that what leaves takes away what it brought. As long as nothing has left it is
/// rounded row by row, as that of a group.
#[derive(Clone, Copy, Debug, Default)]
struct TwoDoubles {
    high: f64,
    low: f64,
    plain: f64,
    has_lost: bool,
}

impl TwoDoubles {
    fn add(&mut self, number: f64) {
        self.plain += number;
        let sum = self.high + number;
        if !sum.is_finite() {
            (self.high, self.low) = (sum, 0.0);
            return;
        }
        let part = sum - self.high;
        self.low += (self.high - (sum - part)) + (number - part);
        self.high = sum;
    }

    fn take_away(&mut self, number: f64) {
        self.has_lost = true;
        self.add(-number);
    }

    fn value(self) -> f64 {
        if self.has_lost { self.high + self.low } else { self.plain }
    }
}

/// Up to so many rows a sum of doubles is made anew, from the first row to the last, when rows have left: it then has the
/// same rounding as that of a group.
const ROWS_SUMMED_ANEW: u64 = 128;

impl SlidingAggregate {
    /// The state of no rows. `moves`: rows will leave.
    pub fn new(call: &AggregateCall, moves: bool) -> SlidingAggregate {
        use AggregateFunction::{
            Avg, BitAnd, BitOr, BitXor, Count, Max, Min, StddevPop, StddevSamp, Sum, VarPop, VarSamp,
        };
        let state = match call.function {
            Count => State::Count(0),
            Sum | Avg => match (&call.ty.column.kind, &call.arguments[0].ty.column.kind) {
                (TypeKind::Double { .. }, _) => State::Doubles { sum: TwoDoubles::default(), count: 0 },
                (_, TypeKind::Decimal { .. }) => State::Decimals { sum: Decimal::ZERO, count: 0 },
                _ => State::Integers { sum: 0, count: 0 },
            },
            Min | Max => State::Extreme { candidates: VecDeque::new(), moves },
            BitAnd | BitOr | BitXor => State::Bits { set: Box::new([0; 64]), count: 0 },
            StddevPop | StddevSamp | VarPop | VarSamp => {
                State::Variance { count: 0, mean: 0.0, squares: 0.0 }
            }
            _ => State::Growing(Box::new(call.accumulator())),
        };
        SlidingAggregate { state }
    }

    /// Whether a frame of `rows` rows, of which some have just left, is to be entered anew into an empty state.
    pub fn begins_anew(&self, rows: u64) -> bool {
        match &self.state {
            State::Growing(_) => true,
            State::Doubles { .. } | State::Variance { .. } => rows <= ROWS_SUMMED_ANEW,
            _ => false,
        }
    }

    /// Takes a row of the partition by its number; `arguments` are the values of the call's arguments on it.
    pub fn enter(
        &mut self,
        call: &AggregateCall,
        number: u64,
        arguments: &[Value],
        row: &[Value],
        context: &EvalContext,
    ) -> Result<(), SqlError> {
        if let State::Growing(accumulator) = &mut self.state {
            return accumulator.add(call, row, context);
        }
        if arguments.iter().any(Value::is_null) {
            return Ok(());
        }
        match (&mut self.state, arguments.first()) {
            (State::Count(count), _) => *count += 1,
            (State::Integers { sum, count }, Some(value)) => {
                *sum += integer(value)?;
                *count += 1;
            }
            (State::Decimals { sum, count }, Some(Value::Decimal(value))) => {
                *sum = sum.add(value).map_err(|_| overflow(call))?;
                *count += 1;
            }
            (State::Doubles { sum, count }, Some(value)) => {
                sum.add(double(value)?);
                *count += 1;
            }
            (State::Extreme { candidates, moves }, Some(value)) => {
                let is_min = call.function == AggregateFunction::Min;
                while let Some((_, last)) = candidates.back() {
                    let ordering = order(value, last, &call.ty);
                    // The first of equal values is shown as long as it is there, as in a group.
                    if !(if is_min { ordering.is_lt() } else { ordering.is_gt() }) {
                        break;
                    }
                    candidates.pop_back();
                }
                if *moves || candidates.is_empty() {
                    candidates.push_back((number, value.clone()));
                }
            }
            (State::Bits { set, count }, Some(value)) => {
                let bits = integer(value)? as u64;
                set.iter_mut().enumerate().for_each(|(bit, times)| *times += bits >> bit & 1);
                *count += 1;
            }
            (State::Variance { count, mean, squares }, Some(value)) => {
                let number = double(value)?;
                *count += 1;
                let before = number - *mean;
                *mean += before / *count as f64;
                *squares += before * (number - *mean);
            }
            (_, value) => return Err(super::accumulator::mistyped(value.unwrap_or(&Value::Null))),
        }
        Ok(())
    }

    /// Gives back the row that entered first of those in the frame.
    pub fn leave(&mut self, call: &AggregateCall, row: u64, arguments: &[Value]) -> Result<(), SqlError> {
        if arguments.iter().any(Value::is_null) {
            return Ok(());
        }
        match (&mut self.state, arguments.first()) {
            (State::Count(count), _) => *count -= 1,
            (State::Integers { sum, count }, Some(value)) => {
                *sum -= integer(value)?;
                *count -= 1;
            }
            (State::Decimals { sum, count }, Some(Value::Decimal(value))) => {
                *sum = sum.subtract(value).map_err(|_| overflow(call))?;
                *count -= 1;
            }
            (State::Doubles { sum, count }, Some(value)) => {
                sum.take_away(double(value)?);
                *count -= 1;
            }
            (State::Extreme { candidates, .. }, Some(_)) => {
                if candidates.front().is_some_and(|(number, _)| *number == row) {
                    candidates.pop_front();
                }
            }
            (State::Bits { set, count }, Some(value)) => {
                let bits = integer(value)? as u64;
                set.iter_mut().enumerate().for_each(|(bit, times)| *times -= bits >> bit & 1);
                *count -= 1;
            }
            (State::Variance { count, mean, squares }, Some(value)) => {
                let number = double(value)?;
                *count -= 1;
                if *count == 0 {
                    (*mean, *squares) = (0.0, 0.0);
                } else {
                    let after = number - *mean;
                    *mean -= after / *count as f64;
                    *squares = (*squares - after * (number - *mean)).max(0.0);
                }
            }
            (_, value) => return Err(super::accumulator::mistyped(value.unwrap_or(&Value::Null))),
        }
        Ok(())
    }

    /// The value of the rows in the frame.
    pub fn value(&self, call: &AggregateCall, context: &EvalContext) -> Result<Value, SqlError> {
        let average = call.function == AggregateFunction::Avg;
        Ok(match &self.state {
            State::Count(count) => Value::Int(*count),
            State::Integers { count: 0, .. }
            | State::Decimals { count: 0, .. }
            | State::Doubles { count: 0, .. } => Value::Null,
            State::Integers { sum, count } => {
                let sum = Decimal::new(*sum, 0);
                if average { quotient(&sum, *count, call, context)? } else { Value::Decimal(sum) }
            }
            State::Decimals { sum, count } if average => quotient(sum, *count, call, context)?,
            State::Decimals { sum, .. } => summed(sum, call),
            State::Doubles { sum, count } => {
                Value::Double(if average { sum.value() / *count as f64 } else { sum.value() })
            }
            State::Extreme { candidates, .. } => {
                candidates.front().map_or(Value::Null, |(_, value)| value.clone())
            }
            State::Bits { set, count } => {
                let is_set = |times: u64| match call.function {
                    AggregateFunction::BitAnd => times == *count,
                    AggregateFunction::BitOr => times > 0,
                    _ => times % 2 == 1,
                };
                let bits = set.iter().enumerate().map(|(bit, times)| u64::from(is_set(*times)) << bit);
                Value::UInt(bits.fold(0, |all, bit| all | bit))
            }
            State::Variance { count, squares, .. } => spread(call.function, *count, *squares),
            State::Growing(accumulator) => accumulator.as_ref().clone().finish(call, context)?,
        })
    }

    /// Bytes held beyond the state itself.
    pub fn memory_bytes(&self) -> usize {
        match &self.state {
            State::Extreme { candidates, .. } => candidates.len() * size_of::<(u64, Value)>(),
            State::Growing(accumulator) => accumulator.memory_bytes(),
            _ => 0,
        }
    }
}
