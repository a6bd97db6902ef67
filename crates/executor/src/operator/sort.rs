//! ORDER BY: reads everything, sorts, gives it out. A few rows are sorted as values. Of more, those beyond the sort buffer go to disk as
//! sorted runs, which are merged at the end. With a LIMIT above it only the first rows are kept.
use super::first_rows::{FIRST_BYTES, FirstRows};
use super::limit::row_limit;
use super::sort_key::SortKeys;
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::{Pace, Pauses};
use crate::memory::Held;
use datum::{SqlError, Value};
use expression::Expr;
use plan::{Node, SortKey};
use rowstore::{Sorter, read_row_into, write_row};
use schema::LocalFuture;

pub struct SortRows<'p> {
    input: Box<dyn Operator + 'p>,
    keys: SortKeys<'p>,
    limit: Option<&'p (Expr, Option<Expr>)>,
    /// The first rows, or all if they are few; else the batch at hand.
    first: FirstRows,
    /// Where the rows are if they are many.
    sorter: Option<Sorter>,
    /// The first call fills and sorts.
    is_sorted: bool,
    held: Held,
    pace: Pace,
}

impl<'p> SortRows<'p> {
    pub fn new(
        input: &'p Node,
        keys: &'p [SortKey],
        limit: Option<&'p (Expr, Option<Expr>)>,
    ) -> SortRows<'p> {
        let keys = SortKeys::new(keys);
        SortRows {
            first: FirstRows::new(input.width, &keys),
            input: build(input),
            keys,
            limit,
            sorter: None,
            is_sorted: false,
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

    async fn fill(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let keep = self.keep(context)?;
        let mut more = keep > 0;
        let mut is_short = false;
        self.held.release(&mut context.memory);
        self.first.clear();
        let few = FIRST_BYTES.min(context.settings.shares.sort_bytes);
        while more && !is_short && self.first.bytes() <= few {
            more = self.read(context).await?;
            is_short = self.held.set_or_spill(self.first.bytes(), &mut context.memory)?;
        }
        let are_few = !more && !is_short && self.first.bytes() <= few;
        if are_few && self.first.sort(&self.keys, keep) {
            context.work.sorted_rows += self.first.len().min(keep) as u64;
        } else {
            self.sorter = Some(self.fill_sorter(more, keep, context).await?);
        }
        self.is_sorted = true;
        Ok(())
    }

    /// Reads a batch behind the first rows, with its keys.
    async fn read(&mut self, context: &mut ExecContext<'_>) -> Result<bool, SqlError> {
        context.interrupt.check()?;
        let more = self.input.next_batch(context, BATCH_ROWS, self.first.batch()).await?;
        self.first.compute(&self.keys, context).await?;
        Ok(more)
    }

    /// Sorts the first rows and all that follow them.
    async fn fill_sorter(
        &mut self,
        mut more: bool,
        keep: usize,
        context: &mut ExecContext<'_>,
    ) -> Result<Sorter, SqlError> {
        let shares = &context.settings.shares;
        // The first rows of many are kept in memory also where a whole sort of them would not be.
        let share =
            if keep == usize::MAX { shares.sort_bytes } else { shares.rows_bytes.max(shares.sort_bytes) };
        let mut sorter = Sorter::new(context.temporary, self.keys.order(), share, keep);
        let (mut key, mut record) = (Vec::new(), Vec::new());
        let mut rows = 0;
        loop {
            rows += self.first.len();
            for index in 0..self.first.len() {
                let row = self.first.row(index);
                key.clear();
                self.keys.write(row, &mut key);
                if !sorter.wants(&key) {
                    continue;
                }
                record.clear();
                write_row(row.0, &mut record);
                if sorter.push(&key, &record) {
                    let mut pauses = Pauses { pace: &mut self.pace, interrupt: context.interrupt };
                    sorter.spill(&mut pauses).await?;
                }
            }
            self.first.clear();
            if self.held.set_or_spill(sorter.memory_bytes(), &mut context.memory)? {
                let mut pauses = Pauses { pace: &mut self.pace, interrupt: context.interrupt };
                sorter.write_run(&mut pauses).await?;
            }
            if !more {
                break;
            }
            more = self.read(context).await?;
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
        self.is_sorted = false;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            if !self.is_sorted {
                self.fill(context).await?;
            }
            let wanted = wanted.min(BATCH_ROWS);
            let Some(sorter) = &mut self.sorter else {
                let more = self.first.take(wanted, out);
                if !more {
                    self.first.clear();
                    self.held.release(&mut context.memory);
                }
                return Ok(more);
            };
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
