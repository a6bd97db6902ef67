//! Joins by running the inner side once for each outer row, which is its base frame.
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::deferred::all_hold;
use datum::{SqlError, Value};
use plan::{JoinKind, NestedLoop};
use schema::LocalFuture;

/// Of so few rows the partners are not asked for together.
const FEW: usize = 3;

pub struct NestedLoopRows<'p> {
    plan: &'p NestedLoop,
    outer: Box<dyn Operator + 'p>,
    inner: Box<dyn Operator + 'p>,
    outer_rows: RowBatch,
    next_outer: usize,
    outer_more: bool,
    /// An outer row is being joined: whether it has found a match.
    current: Option<bool>,
}

impl<'p> NestedLoopRows<'p> {
    pub fn new(plan: &'p NestedLoop, width: usize) -> NestedLoopRows<'p> {
        NestedLoopRows {
            plan,
            outer: build(&plan.outer),
            inner: build(&plan.inner),
            outer_rows: RowBatch::new(width),
            next_outer: 0,
            outer_more: true,
            current: None,
        }
    }

    /// Starts the inner side for the next outer row; false when there is none.
    async fn advance(&mut self, context: &mut ExecContext<'_>, wanted: usize) -> Result<bool, SqlError> {
        while self.next_outer == self.outer_rows.len() {
            if !self.outer_more {
                return Ok(false);
            }
            self.outer_rows.clear();
            self.next_outer = 0;
            let batch = wanted.min(BATCH_ROWS);
            self.outer_more = self.outer.next_batch(context, batch, &mut self.outer_rows).await?;
            if self.outer_rows.len() > FEW && self.inner.has_expectations() {
                self.inner.expect(context, &self.outer_rows).await?;
            }
        }
        self.inner.start(self.outer_rows.row(self.next_outer));
        self.current = Some(false);
        Ok(true)
    }
}

impl Operator for NestedLoopRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.outer.start(base);
        self.outer_rows.clear();
        self.next_outer = 0;
        self.outer_more = true;
        self.current = None;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            let first = out.len();
            while out.len() - first < wanted {
                let matched = match self.current {
                    Some(matched) => matched,
                    None => {
                        if !self.advance(context, wanted).await? {
                            return Ok(false);
                        }
                        false
                    }
                };
                let before = out.len();
                let tests = self.plan.kind.only_tests();
                let left = if tests { 1 } else { wanted - (before - first) };
                let more = self.inner.next_batch(context, left, out).await?;
                if !self.plan.on.is_empty() {
                    let mut kept = before;
                    for index in before..out.len() {
                        if all_hold(&self.plan.on, out.row(index), context).await? {
                            out.move_row(index, kept);
                            kept += 1;
                        }
                    }
                    out.truncate(kept);
                }
                let matched = matched || out.len() > before;
                if tests {
                    out.truncate(before);
                    if more && !matched {
                        continue;
                    }
                    if matched == (self.plan.kind == JoinKind::Semi) {
                        out.push_copy(self.outer_rows.row(self.next_outer));
                    }
                    self.current = None;
                    self.next_outer += 1;
                    continue;
                }
                if more {
                    self.current = Some(matched);
                    continue;
                }
                if !matched && self.plan.kind == JoinKind::Left {
                    let frame = out.push_copy(self.outer_rows.row(self.next_outer));
                    for &position in &self.plan.inner_positions {
                        frame[position] = Value::Null;
                    }
                }
                self.current = None;
                self.next_outer += 1;
            }
            Ok(true)
        })
    }
}
