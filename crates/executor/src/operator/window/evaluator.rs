//! One window function: its value for one row after the other of a partition.
use super::frame::Frames;
use super::partition::Partition;
use crate::context::ExecContext;
use crate::memory::Held;
use crate::operator::row_count;
use datum::{SqlError, Value, error_code};
use expression::{AggregateCall, EvalContext, Expr, SlidingAggregate};
use plan::{Window, WindowColumn, WindowFunction};
use std::ops::Range;

pub struct Evaluator<'p> {
    pub column: &'p WindowColumn,
    /// Where the values of its arguments stand in a row's `values`.
    arguments: Range<usize>,
    frames: Frames<'p>,
    /// The constant of NTILE, LAG, LEAD and NTH_VALUE.
    constant: u64,
    aggregate: Option<Sum>,
    /// FIRST_VALUE and NTH_VALUE of a frame that only grows.
    kept: Option<Value>,
    held: Held,
}

/// The state of an aggregate and the rows in it.
struct Sum {
    state: SlidingAggregate,
    rows: Range<u64>,
    counted_bytes: usize,
}

/// The expressions whose values a function needs of each row.
pub fn arguments_of(function: &WindowFunction) -> Vec<&Expr> {
    match function {
        WindowFunction::Neighbour { value, default, .. } => [value].into_iter().chain(default).collect(),
        WindowFunction::FirstValue(value)
        | WindowFunction::LastValue(value)
        | WindowFunction::NthValue { value, .. } => vec![value],
        WindowFunction::Aggregate(call) => call.arguments.iter().collect(),
        _ => Vec::new(),
    }
}

impl<'p> Evaluator<'p> {
    pub fn new(window: &'p Window, column: &'p WindowColumn, arguments: Range<usize>) -> Evaluator<'p> {
        Evaluator {
            column,
            arguments,
            frames: Frames::new(window, &column.frame),
            constant: 0,
            aggregate: None,
            kept: None,
            held: Held::default(),
        }
    }

    /// Before the first partition: constants are looked at.
    pub fn prepare(&mut self, context: &EvalContext) -> Result<(), SqlError> {
        let (name, expr, least) = match &self.column.function {
            WindowFunction::NthTile(tiles) => ("ntile", tiles, 1),
            WindowFunction::Neighbour { lead: true, distance, .. } => ("lead", distance, 0),
            WindowFunction::Neighbour { lead: false, distance, .. } => ("lag", distance, 0),
            WindowFunction::NthValue { number, .. } => ("nth_value", number, 1),
            _ => return self.frames.prepare(context),
        };
        let number = row_count(expr, context).ok().filter(|number| *number >= least);
        self.constant = number.ok_or_else(|| error_code::ER_WRONG_ARGUMENTS.with(&[&name]))?;
        self.frames.prepare(context)
    }

    /// Before each partition.
    pub fn reset(&mut self, context: &mut ExecContext<'_>) {
        self.frames.reset();
        self.kept = None;
        self.held.release(&mut context.memory);
        self.aggregate = match &self.column.function {
            WindowFunction::Aggregate(call) => Some(Sum {
                state: SlidingAggregate::new(call, !self.frames.only_grows()),
                rows: 0..0,
                counted_bytes: 0,
            }),
            _ => None,
        };
    }

    /// The value for row `current`, or `None` when more rows have to be read, or loaded, to tell. It is asked for again then.
    pub fn value(
        &mut self,
        partition: &Partition,
        current: u64,
        context: &mut ExecContext<'_>,
    ) -> Result<Option<Value>, SqlError> {
        let Some(row) = partition.row(current) else { return Ok(None) };
        let count = partition.count();
        Ok(match &self.column.function {
            WindowFunction::RowNumber => Some(Value::UInt(current + 1)),
            WindowFunction::Rank => Some(Value::UInt(row.peers_from + 1)),
            WindowFunction::DenseRank => Some(Value::UInt(row.peer_group + 1)),
            WindowFunction::PercentRank => partition.is_complete.then(|| {
                let others = count - 1;
                Value::Double(if others == 0 { 0.0 } else { row.peers_from as f64 / others as f64 })
            }),
            WindowFunction::CumulativeDistribution => {
                let end = self.frames.peers_end(partition, current);
                end.filter(|_| partition.is_complete).map(|end| Value::Double(end as f64 / count as f64))
            }
            WindowFunction::NthTile(_) => {
                partition.is_complete.then(|| Value::UInt(tile(self.constant, current, count)))
            }
            WindowFunction::Neighbour { lead, .. } => self.neighbour(*lead, partition, current),
            WindowFunction::FirstValue(_) => self.nth(0, partition, current, context.eval)?,
            WindowFunction::NthValue { .. } => {
                self.nth(self.constant - 1, partition, current, context.eval)?
            }
            WindowFunction::LastValue(_) => {
                let Some(rows) = self.rows(partition, current, context.eval)? else { return Ok(None) };
                if rows.is_empty() { Some(Value::Null) } else { self.argument(partition, rows.end - 1) }
            }
            WindowFunction::Aggregate(call) => self.aggregated(call, partition, current, context)?,
        })
    }

    fn argument(&self, partition: &Partition, row: u64) -> Option<Value> {
        Some(partition.row(row)?.values[self.arguments.start].clone())
    }

    fn rows(
        &mut self,
        partition: &Partition,
        current: u64,
        context: &EvalContext,
    ) -> Result<Option<Range<u64>>, SqlError> {
        let end = self.frames.end_of(partition, current, context)?;
        let start = self.frames.start_of(partition, current, context)?;
        Ok(start.zip(end).map(|(start, end)| start.min(end)..end))
    }

    fn neighbour(&self, lead: bool, partition: &Partition, current: u64) -> Option<Value> {
        let wanted = if lead {
            Some(current.saturating_add(self.constant))
        } else {
            current.checked_sub(self.constant)
        };
        match wanted {
            Some(row) if row < partition.count() => self.argument(partition, row),
            Some(_) if !partition.is_complete => None,
            _ if self.arguments.len() > 1 => {
                Some(partition.row(current)?.values[self.arguments.start + 1].clone())
            }
            _ => Some(Value::Null),
        }
    }

    /// The value of the frame's row with this number, from 0.
    fn nth(
        &mut self,
        number: u64,
        partition: &Partition,
        current: u64,
        context: &EvalContext,
    ) -> Result<Option<Value>, SqlError> {
        if let Some(kept) = &self.kept {
            return Ok(Some(kept.clone()));
        }
        // The first row of a frame with the current row is known without the frame's end.
        let rows = if number == 0 && self.frames.has_current() {
            self.frames.start_of(partition, current, context)?.map(|start| start..current + 1)
        } else {
            self.rows(partition, current, context)?
        };
        let Some(rows) = rows else { return Ok(None) };
        let found = rows.start.checked_add(number).filter(|row| *row < rows.end);
        let value = match found {
            Some(row) => match self.argument(partition, row) {
                Some(value) => value,
                None => return Ok(None),
            },
            None => Value::Null,
        };
        if found.is_some() && self.frames.only_grows() {
            self.kept = Some(value.clone());
        }
        Ok(Some(value))
    }

    fn aggregated(
        &mut self,
        call: &AggregateCall,
        partition: &Partition,
        current: u64,
        context: &mut ExecContext<'_>,
    ) -> Result<Option<Value>, SqlError> {
        let Some(rows) = self.rows(partition, current, context.eval)? else { return Ok(None) };
        let sum = self.aggregate.as_mut().expect("made for each partition");
        let entered = sum.rows.clone();
        let has_left = rows.start > entered.start && !entered.is_empty();
        if rows.start >= entered.end || has_left && sum.state.begins_anew(rows.end - rows.start) {
            if !entered.is_empty() {
                sum.state = SlidingAggregate::new(call, true);
            }
            sum.rows = rows.start..rows.start;
        } else {
            for number in entered.start..rows.start {
                sum.rows.start = number;
                let Some(row) = partition.row(number) else { return Ok(None) };
                sum.state.leave(call, number, &row.values[self.arguments.clone()])?;
            }
            sum.rows.start = rows.start;
        }
        for number in sum.rows.end..rows.end {
            sum.rows.end = number;
            let Some(row) = partition.row(number) else { return Ok(None) };
            let arguments = &row.values[self.arguments.clone()];
            sum.state.enter(call, number, arguments, &row.frame, context.eval)?;
        }
        sum.rows.end = sum.rows.end.max(rows.end);
        let bytes = sum.state.memory_bytes();
        if bytes > sum.counted_bytes {
            self.held.take(bytes - sum.counted_bytes, &mut context.memory)?;
            sum.counted_bytes = bytes;
        }
        Ok(Some(sum.state.value(call, context.eval)?))
    }

    /// Rows before this one are not looked at again when row `next` is the next one.
    pub fn needed_from(&self, next: u64) -> u64 {
        match &self.column.function {
            WindowFunction::Neighbour { lead: false, .. } => next.saturating_sub(self.constant),
            WindowFunction::FirstValue(_) | WindowFunction::NthValue { .. } => match self.kept {
                Some(_) => next,
                None => self.frames.needed_from().min(next),
            },
            WindowFunction::LastValue(_) => self.frames.needed_from().min(next),
            WindowFunction::Aggregate(_) => match &self.aggregate {
                Some(sum) if self.frames.only_grows() => sum.rows.end.min(next),
                Some(sum) => sum.rows.start.min(self.frames.needed_from()).min(next),
                None => next,
            },
            _ => next,
        }
    }
}

/// The first tiles have one row more where the rows cannot be divided evenly.
fn tile(tiles: u64, row: u64, rows: u64) -> u64 {
    let (each, longer) = (rows / tiles, rows % tiles);
    let in_longer = longer * (each + 1);
    if row < in_longer { row / (each + 1) + 1 } else { longer + (row - in_longer) / each.max(1) + 1 }
}
