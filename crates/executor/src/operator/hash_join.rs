//! Joins by equality through a hash table of the inner side.
use super::key_set::write_compare_key;
use super::{BATCH_ROWS, Operator, all_true, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::memory::{Held, row_bytes};
use datum::{CompareMode, SqlError, Value};
use expression::{EvalContext, Expr};
use plan::{HashJoin, JoinKind};
use schema::LocalFuture;
use std::collections::HashMap;

pub struct HashJoinRows<'p> {
    plan: &'p HashJoin,
    outer: Box<dyn Operator + 'p>,
    inner: Box<dyn Operator + 'p>,
    width: usize,
    outer_rows: RowBatch,
    next_outer: usize,
    outer_more: bool,
    /// The outer row that is being joined.
    current: Option<Current>,
    /// The inner rows' values at `inner_positions`, and the numbers of the rows with each key.
    inner_rows: Vec<Vec<Value>>,
    table: HashMap<Vec<u8>, Vec<usize>>,
    is_filled: bool,
    held: Held,
    pace: Pace,
    base: Vec<Value>,
}

struct Current {
    /// `None`: it is equal to nothing.
    key: Option<Vec<u8>>,
    /// Of the inner rows with this key.
    next: usize,
    has_match: bool,
}

impl<'p> HashJoinRows<'p> {
    pub fn new(plan: &'p HashJoin, width: usize) -> HashJoinRows<'p> {
        HashJoinRows {
            plan,
            outer: build(&plan.outer),
            inner: build(&plan.inner),
            width,
            outer_rows: RowBatch::new(width),
            next_outer: 0,
            outer_more: true,
            current: None,
            pace: Pace::default(),
            inner_rows: Vec::new(),
            table: HashMap::new(),
            is_filled: false,
            held: Held::default(),
            base: Vec::new(),
        }
    }

    async fn fill(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.inner.start(&self.base);
        self.held.release(&mut context.memory);
        let mut batch = RowBatch::new(self.width);
        let mut more = true;
        while more {
            context.interrupt.check()?;
            batch.clear();
            more = self.inner.next_batch(context, BATCH_ROWS, &mut batch).await?;
            for row in batch.rows() {
                let Some(key) = key_of(&self.plan.inner_keys, &self.plan.modes, row, context.eval)? else {
                    continue;
                };
                // One row is as good as many.
                if self.plan.kind.only_tests() && self.plan.on.is_empty() && self.table.contains_key(&key) {
                    continue;
                }
                let kept: Vec<Value> =
                    self.plan.inner_positions.iter().map(|&position| row[position].clone()).collect();
                self.held.take(row_bytes(&kept) + key.len() + 64, &mut context.memory)?;
                self.table.entry(key).or_default().push(self.inner_rows.len());
                self.inner_rows.push(kept);
            }
        }
        self.is_filled = true;
        Ok(())
    }

    /// Goes on with the outer row, or takes the next one, and adds up to `left` of the `wanted` rows; false when there is none.
    async fn join_next(
        &mut self,
        context: &mut ExecContext<'_>,
        wanted: usize,
        left: usize,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        while self.next_outer == self.outer_rows.len() {
            if !self.outer_more {
                return Ok(false);
            }
            self.outer_rows.clear();
            self.next_outer = 0;
            let batch = wanted.min(BATCH_ROWS);
            self.outer_more = self.outer.next_batch(context, batch, &mut self.outer_rows).await?;
        }
        let outer = self.outer_rows.row(self.next_outer);
        let current = match &mut self.current {
            Some(current) => current,
            None => {
                let key = key_of(&self.plan.outer_keys, &self.plan.modes, outer, context.eval)?;
                self.current.insert(Current { key, next: 0, has_match: false })
            }
        };
        let matches = current.key.as_ref().and_then(|key| self.table.get(key)).map_or(&[][..], Vec::as_slice);
        // One match tells all that a test wants to know.
        let tests = self.plan.kind.only_tests();
        let left = if tests { usize::from(!current.has_match) * matches.len() } else { left };
        let some = matches[current.next..].iter().take(left);
        self.pace.count(some.len() + 1).await;
        context.interrupt.check()?;
        for &number in some {
            let frame = out.push_copy(outer);
            for (&position, value) in self.plan.inner_positions.iter().zip(&self.inner_rows[number]) {
                frame[position] = value.clone();
            }
            current.next += 1;
            if all_true(&self.plan.on, out.row(out.len() - 1), context.eval)? {
                current.has_match = true;
                if tests {
                    out.pop();
                    break;
                }
            } else {
                out.pop();
            }
        }
        if !tests && current.next < matches.len() {
            return Ok(true);
        }
        if tests && current.has_match == (self.plan.kind == JoinKind::Semi) {
            out.push_copy(outer);
        }
        if !current.has_match && self.plan.kind == JoinKind::Left {
            let frame = out.push_copy(outer);
            for &position in &self.plan.inner_positions {
                frame[position] = Value::Null;
            }
        }
        self.current = None;
        self.next_outer += 1;
        Ok(true)
    }
}

/// `None` when a key value is NULL: nothing is equal to it.
fn key_of(
    exprs: &[Expr],
    modes: &[CompareMode],
    row: &[Value],
    context: &EvalContext,
) -> Result<Option<Vec<u8>>, SqlError> {
    let mut key = Vec::with_capacity(24);
    for (expr, &mode) in exprs.iter().zip(modes) {
        let value = expr.eval_ref(row, context)?;
        if !write_compare_key(mode, &value, &expr.ty.column, context, &mut key) {
            return Ok(None);
        }
    }
    Ok(Some(key))
}

impl Operator for HashJoinRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.outer.start(base);
        self.base = base.to_vec();
        self.base.resize(self.width, Value::Null);
        self.outer_rows.clear();
        self.next_outer = 0;
        self.outer_more = true;
        self.current = None;
        self.inner_rows.clear();
        self.table.clear();
        self.is_filled = false;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            if !self.is_filled {
                self.fill(context).await?;
            }
            let first = out.len();
            while out.len() - first < wanted {
                let left = wanted - (out.len() - first);
                if !self.join_next(context, wanted, left, out).await? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}
