//! Which rows of its partition a row's frame holds.
//!
//! Invariant: from one row to the next neither end of a frame moves back, so all frames of a partition cost one walk for each end.
use super::partition::Partition;
use crate::operator::row_count;
use datum::{CompareMode, Operand, SqlError, Value, error_code, no_warning};
use expression::{EvalContext, Expr, moment_context};
use plan::{Distance, Frame, FrameBound, Window};
use std::cmp::Ordering;

/// The frames of one function.
pub struct Frames<'p> {
    frame: &'p Frame,
    order: Option<&'p plan::SortKey>,
    start_rows: u64,
    end_rows: u64,
    /// How far the walks for either end have come.
    start: u64,
    end: u64,
    peers_end: u64,
}

/// ROWS bounds: a distance is a constant, which is known once the statement runs.
fn constant_rows(bound: &FrameBound, context: &EvalContext) -> Result<u64, SqlError> {
    match bound {
        FrameBound::Preceding(Distance::Rows(rows)) | FrameBound::Following(Distance::Rows(rows)) => {
            row_count(rows, context).map_err(|_| illegal())
        }
        FrameBound::Preceding(Distance::Value { amount, .. })
        | FrameBound::Following(Distance::Value { amount, .. }) => {
            let value = amount.eval(&[], context)?;
            let number = value.to_f64(&amount.ty.column, &mut no_warning);
            // An interval of several units is a text that begins with the sign.
            let is_negative = match &value {
                Value::Bytes(text) => text.trim_ascii_start().starts_with(b"-"),
                _ => number.is_some_and(|number| number < 0.0),
            };
            if value.is_null() || is_negative { Err(illegal()) } else { Ok(0) }
        }
        _ => Ok(0),
    }
}

/// A bound given as a parameter that is no distance.
fn illegal() -> SqlError {
    error_code::ER_WINDOW_FRAME_ILLEGAL.with(&[&plan::UNNAMED_WINDOW])
}

impl<'p> Frames<'p> {
    pub fn new(window: &'p Window, frame: &'p Frame) -> Frames<'p> {
        Frames {
            frame,
            order: window.order_by.first(),
            start_rows: 0,
            end_rows: 0,
            start: 0,
            end: 0,
            peers_end: 0,
        }
    }

    /// Before the first partition.
    pub fn prepare(&mut self, context: &EvalContext) -> Result<(), SqlError> {
        self.start_rows = constant_rows(&self.frame.start, context)?;
        self.end_rows = constant_rows(&self.frame.end, context)?;
        Ok(())
    }

    /// Before each partition.
    pub fn reset(&mut self) {
        (self.start, self.end, self.peers_end) = (0, 0, 0);
    }

    /// Rows never leave the frame.
    pub fn only_grows(&self) -> bool {
        matches!(self.frame.start, FrameBound::UnboundedPreceding)
    }

    /// The current row is always in its frame.
    pub fn has_current(&self) -> bool {
        use FrameBound::{Following, Preceding};
        !matches!(self.frame.start, Following(_)) && !matches!(self.frame.end, Preceding(_))
    }

    /// The first row of the frame of row `current`, or `None` when more rows have to be read, or loaded, to tell. It may lie behind the
    /// frame's end: the frame is empty then.
    pub fn start_of(
        &mut self,
        partition: &Partition,
        current: u64,
        context: &EvalContext,
    ) -> Result<Option<u64>, SqlError> {
        let start = match &self.frame.start {
            FrameBound::UnboundedPreceding => 0,
            FrameBound::CurrentRow if self.frame.counts_rows => current,
            FrameBound::CurrentRow => {
                let Some(row) = partition.row(current) else { return Ok(None) };
                row.peers_from
            }
            FrameBound::Preceding(Distance::Rows(_)) => current.saturating_sub(self.start_rows),
            FrameBound::Following(Distance::Rows(_)) => current.saturating_add(self.start_rows),
            FrameBound::Preceding(Distance::Value { bound, mode, .. })
            | FrameBound::Following(Distance::Value { bound, mode, .. }) => {
                let Some(row) = partition.row(current) else { return Ok(None) };
                if row.values[0].is_null() {
                    row.peers_from
                } else {
                    let value = bound.eval(&row.frame, context)?;
                    let reached = |ordering: Ordering| ordering.is_lt();
                    match self.walk(partition, self.start, (&value, bound, *mode), &reached, context) {
                        Walk::Found(start) => start,
                        Walk::Missing(start) => {
                            self.start = start;
                            return Ok(None);
                        }
                        Walk::Open => return Ok(None),
                    }
                }
            }
            FrameBound::UnboundedFollowing => partition.count(),
        };
        self.start = self.start.max(start);
        Ok(Some(start))
    }

    /// The row behind the last one of the frame.
    pub fn end_of(
        &mut self,
        partition: &Partition,
        current: u64,
        context: &EvalContext,
    ) -> Result<Option<u64>, SqlError> {
        let known = |end: u64| match partition.is_complete {
            true => Some(end.min(partition.count())),
            false => (end <= partition.count()).then_some(end),
        };
        let end = match &self.frame.end {
            FrameBound::UnboundedFollowing => known(u64::MAX),
            FrameBound::CurrentRow if self.frame.counts_rows => Some(current + 1),
            FrameBound::CurrentRow => self.peers_end(partition, current),
            FrameBound::Preceding(Distance::Rows(_)) => Some((current + 1).saturating_sub(self.end_rows)),
            FrameBound::Following(Distance::Rows(_)) => known((current + 1).saturating_add(self.end_rows)),
            FrameBound::Preceding(Distance::Value { bound, mode, .. })
            | FrameBound::Following(Distance::Value { bound, mode, .. }) => {
                let Some(row) = partition.row(current) else { return Ok(None) };
                if row.values[0].is_null() {
                    self.peers_end(partition, current)
                } else {
                    let value = bound.eval(&row.frame, context)?;
                    let reached = |ordering: Ordering| ordering.is_le();
                    match self.walk(partition, self.end, (&value, bound, *mode), &reached, context) {
                        Walk::Found(end) => Some(end),
                        Walk::Missing(end) => {
                            self.end = end;
                            return Ok(None);
                        }
                        Walk::Open => None,
                    }
                }
            }
            FrameBound::UnboundedPreceding => Some(0),
        };
        self.end = self.end.max(end.unwrap_or(0));
        Ok(end)
    }

    /// The row behind the last peer of the current row.
    pub fn peers_end(&mut self, partition: &Partition, current: u64) -> Option<u64> {
        let group = partition.row(current)?.peer_group;
        let mut end = self.peers_end.max(current + 1);
        while end < partition.count() {
            let Some(row) = partition.row(end) else {
                self.peers_end = end;
                return None;
            };
            if row.peer_group != group {
                break;
            }
            end += 1;
        }
        self.peers_end = end;
        (end < partition.count() || partition.is_complete).then_some(end)
    }

    /// From row `from` on, the first one whose value does not compare with the bound in a way that `passes`.
    fn walk(
        &self,
        partition: &Partition,
        from: u64,
        (bound, expr, mode): (&Value, &Expr, CompareMode),
        passes: &dyn Fn(Ordering) -> bool,
        context: &EvalContext,
    ) -> Walk {
        let key = self.order.expect("a distance in values has an order");
        let moments = moment_context(context, false);
        let bound = Operand { value: bound, column: &expr.ty.column };
        let mut number = from;
        while number < partition.count() {
            let Some(row) = partition.row(number) else { return Walk::Missing(number) };
            let value = &row.values[0];
            let ordering = match value.is_null() {
                true => Ordering::Less,
                false => {
                    let value = Operand { value, column: &key.expr.ty.column };
                    datum::compare(mode, value, bound, &moments, &mut no_warning).unwrap_or(Ordering::Greater)
                }
            };
            if !passes(if key.descending { ordering.reverse() } else { ordering }) {
                return Walk::Found(number);
            }
            number += 1;
        }
        if partition.is_complete { Walk::Found(number) } else { Walk::Open }
    }

    /// Rows before this one are in no frame any more.
    pub fn needed_from(&self) -> u64 {
        self.start.min(self.end)
    }
}

/// Where a walk along the rows has come.
enum Walk {
    Found(u64),
    /// All rows before this one have passed; it is not in memory.
    Missing(u64),
    /// All rows read so far have passed.
    Open,
}
