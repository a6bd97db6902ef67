//! EXCEPT and INTERSECT.
use super::key_set::write_group_keys;
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::memory::Held;
use datum::{SqlError, Value};
use expression::Expr;
use plan::Node;
use schema::LocalFuture;
use std::collections::HashMap;

pub struct SetDifferenceRows<'p> {
    left: Box<dyn Operator + 'p>,
    right: Box<dyn Operator + 'p>,
    width: usize,
    intersect: bool,
    all: bool,
    left_keys: &'p [Expr],
    right_keys: &'p [Expr],
    /// How often each row of the right side can still be matched; set operations use each distinct row once.
    counts: HashMap<Vec<u8>, u64>,
    /// Rows of the left side that came out already (without ALL).
    seen: HashMap<Vec<u8>, ()>,
    is_filled: bool,
    held: Held,
}

impl<'p> SetDifferenceRows<'p> {
    pub fn new(
        left: &'p Node,
        right: &'p Node,
        intersect: bool,
        all: bool,
        left_keys: &'p [Expr],
        right_keys: &'p [Expr],
    ) -> SetDifferenceRows<'p> {
        SetDifferenceRows {
            left: build(left),
            right: build(right),
            width: right.width,
            intersect,
            all,
            left_keys,
            right_keys,
            counts: HashMap::new(),
            seen: HashMap::new(),
            is_filled: false,
            held: Held::default(),
        }
    }

    async fn fill(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.held.release(&mut context.memory);
        let mut rows = RowBatch::new(self.width);
        let mut more = true;
        while more {
            context.interrupt.check()?;
            rows.clear();
            more = self.right.next_batch(context, BATCH_ROWS, &mut rows).await?;
            for row in rows.rows() {
                let mut key = Vec::new();
                write_group_keys(self.right_keys, row, context.eval, &mut key)?;
                self.held.take(key.len() + 48, &mut context.memory)?;
                *self.counts.entry(key).or_default() += 1;
            }
        }
        self.is_filled = true;
        Ok(())
    }

    fn keeps(&mut self, key: Vec<u8>) -> bool {
        if self.all {
            let matched = match self.counts.get_mut(&key) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    true
                }
                _ => false,
            };
            return matched == self.intersect;
        }
        self.counts.contains_key(&key) == self.intersect && self.seen.insert(key, ()).is_none()
    }
}

impl Operator for SetDifferenceRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.left.start(base);
        self.right.start(base);
        self.counts.clear();
        self.seen.clear();
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
            context.interrupt.check()?;
            let first = out.len();
            let more = self.left.next_batch(context, wanted, out).await?;
            let left_keys = self.left_keys;
            out.retain_from(first, |row| {
                let mut key = Vec::new();
                write_group_keys(left_keys, row, context.eval, &mut key)?;
                self.held.take(key.len() + 48, &mut context.memory)?;
                Ok::<bool, SqlError>(self.keeps(key))
            })?;
            Ok(more)
        })
    }
}
