//! DISTINCT: keeps the first of rows with equal keys.
//!
//! Once the keys take too much memory, rows with new ones are put aside on disk and looked at when the input has ended.
use super::key_set::write_group_keys;
use super::{BATCH_ROWS, Operator};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::retried;
use crate::divided::{Divided, Keys};
use crate::memory::Held;
use datum::{SqlError, Value};
use expression::Expr;
use foldhash::{HashSet, HashSetExt};
use schema::LocalFuture;

/// What a key costs beside its bytes.
const ENTRY_BYTES: usize = 48;

pub struct DistinctRows<'p> {
    input: Box<dyn Operator + 'p>,
    keys: &'p [Expr],
    seen: HashSet<Box<[u8]>>,
    held: Held,
    /// Rows that wait, and the present rows' keys.
    aside: Divided,
    row_keys: Keys,
    pace: Pace,
}

impl<'p> DistinctRows<'p> {
    pub fn new(input: Box<dyn Operator + 'p>, keys: &'p [Expr]) -> DistinctRows<'p> {
        DistinctRows {
            input,
            keys,
            seen: HashSet::new(),
            held: Held::default(),
            aside: Divided::default(),
            row_keys: Keys::default(),
            pace: Pace::default(),
        }
    }

    /// Reads rows of the input, or of what was put aside, and finds their keys; false at the end of either.
    async fn read(
        &mut self,
        context: &mut ExecContext<'_>,
        wanted: usize,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        self.row_keys.clear();
        if self.aside.has_part() {
            self.pace.count(wanted).await;
            return self.aside.read(wanted, out, &mut self.row_keys).await;
        }
        let first = out.len();
        let more = self.input.next_batch(context, wanted, out).await?;
        for index in first..out.len() {
            let row = out.row(index);
            let (keys, exprs) = (&mut self.row_keys, self.keys);
            retried(context, |eval| keys.push(|key| write_group_keys(exprs, row, eval, key))).await?;
        }
        Ok(more)
    }

    /// Keeps the rows from `first` on that are new.
    async fn keep_new(
        &mut self,
        context: &mut ExecContext<'_>,
        first: usize,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        let mut kept = first;
        for index in first..out.len() {
            let key = self.row_keys.get(index - first);
            if self.seen.contains(key) {
                continue;
            }
            if self.aside.is_dividing() {
                self.aside.put(key, out.row(index)).await?;
                continue;
            }
            self.seen.insert(key.into());
            out.move_row(index, kept);
            kept += 1;
            let share = context.settings.shares.rows_bytes;
            if self.held.take_or_spill(key.len() + ENTRY_BYTES, share, &mut context.memory)? {
                self.aside.begin(context).await?;
            }
        }
        out.truncate(kept);
        Ok(())
    }
}

impl Operator for DistinctRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
        self.seen.clear();
        self.aside = Divided::default();
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            if self.seen.is_empty() {
                self.held.release(&mut context.memory);
            }
            let first = out.len();
            let more = self.read(context, wanted.min(BATCH_ROWS), out).await?;
            self.keep_new(context, first, out).await?;
            if more {
                return Ok(true);
            }
            self.seen.clear();
            self.aside.next_part(context).await
        })
    }
}
