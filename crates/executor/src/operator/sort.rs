//! ORDER BY: reads everything, sorts, gives it out. Rows beyond the sort buffer go to disk as sorted runs, which are merged at the
//! end. With a LIMIT above it only the first rows are kept.
use super::limit::row_limit;
use super::sort_key::SortKeys;
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::{Pace, Pauses};
use crate::deferred::retried;
use crate::memory::Held;
use datum::{SqlError, Value};
use expression::Expr;
use plan::{Node, SortKey};
use rowstore::{Sorter, read_row_into, write_row};
use schema::LocalFuture;

pub struct SortRows<'p> {
    input: Box<dyn Operator + 'p>,
    batch: RowBatch,
    keys: SortKeys<'p>,
    limit: Option<&'p (Expr, Option<Expr>)>,
    /// Filled and sorted by the first call.
    sorter: Option<Sorter>,
    held: Held,
    pace: Pace,
}

impl<'p> SortRows<'p> {
    pub fn new(
        input: &'p Node,
        keys: &'p [SortKey],
        limit: Option<&'p (Expr, Option<Expr>)>,
    ) -> SortRows<'p> {
        SortRows {
            batch: RowBatch::new(input.width),
            input: build(input),
            keys: SortKeys::new(keys),
            limit,
            sorter: None,
            held: Held::default(),
            pace: Pace::default(),
        }
    }

    /// How many rows are wanted at most.
    fn keep(&self, context: &ExecContext<'_>) -> Result<usize, SqlError> {
        let Some((count, offset)) = self.limit else { return Ok(usize::MAX) };
        let offset = offset.as_ref().map(|offset| row_limit(offset, context.eval)).transpose()?;
        let total = row_limit(count, context.eval)?.saturating_add(offset.unwrap_or(0));
        Ok(usize::try_from(total).unwrap_or(usize::MAX))
    }

    async fn fill(&mut self, context: &mut ExecContext<'_>) -> Result<Sorter, SqlError> {
        let keep = self.keep(context)?;
        let shares = &context.settings.shares;
        // The first rows of many are kept in memory also where a whole sort of them would not be.
        let share =
            if keep == usize::MAX { shares.sort_bytes } else { shares.rows_bytes.max(shares.sort_bytes) };
        let mut sorter = Sorter::new(context.temporary, self.keys.order(), share, keep);
        let (mut key, mut row) = (Vec::new(), Vec::new());
        let mut rows = 0;
        let mut more = keep > 0;
        self.held.release(&mut context.memory);
        while more {
            context.interrupt.check()?;
            self.batch.clear();
            more = self.input.next_batch(context, BATCH_ROWS, &mut self.batch).await?;
            rows += self.batch.len();
            for index in 0..self.batch.len() {
                row.clear();
                let (keys, batch) = (&self.keys, &self.batch);
                retried(context, |eval| {
                    key.clear();
                    keys.write(batch.row(index), eval, &mut key)
                })
                .await?;
                write_row(self.batch.row(index), &mut row);
                if sorter.push(&key, &row) {
                    let mut pauses = Pauses { pace: &mut self.pace, interrupt: context.interrupt };
                    sorter.spill(&mut pauses).await?;
                }
            }
            if self.held.set_or_spill(sorter.memory_bytes(), &mut context.memory)? {
                let mut pauses = Pauses { pace: &mut self.pace, interrupt: context.interrupt };
                sorter.write_run(&mut pauses).await?;
            }
        }
        sorter.finish(&mut Pauses { pace: &mut self.pace, interrupt: context.interrupt }).await?;
        context.work.sorted_rows += rows.min(keep) as u64;
        context.work.merge_passes += sorter.merge_passes();
        context.work.spilled_bytes += sorter.spilled_bytes();
        Ok(sorter)
    }
}

impl Operator for SortRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
        self.sorter = None;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            if self.sorter.is_none() {
                self.sorter = Some(self.fill(context).await?);
            }
            let Some(sorter) = &mut self.sorter else { return Ok(false) };
            let wanted = wanted.min(BATCH_ROWS);
            for _ in 0..wanted {
                if !sorter.next().await? {
                    *sorter = Sorter::new(context.temporary, self.keys.order(), 0, 0);
                    self.held.release(&mut context.memory);
                    return Ok(false);
                }
                read_row_into(sorter.row(), out.push_empty())?;
            }
            self.pace.count(wanted).await;
            Ok(true)
        })
    }
}
