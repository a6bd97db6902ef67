//! Joins through a hash table of the inner side, by equality or, where the table has no keys, of each row with all of it.
//!
//! An inner side that is too large is joined in turns: the table holds what fits, the inner rows behind that are put aside on disk
//! by the hash of their keys, and so is each outer row, once it has been joined with the table, where inner rows of its part
//! wait. Then the parts are joined in the same way. Rows come out in the order of the outer side where the plan needs it.
mod table;

use super::key_set::write_compare_key;
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::{Pace, Pauses};
use crate::deferred::{all_hold, retried};
use crate::divided::{split_record, write_record};
use crate::memory::Held;
use crate::sides::Sides;
use datum::{CompareMode, SqlError, Value};
use expression::{EvalContext, Expr};
use plan::{HashJoin, JoinKind};
use rowstore::{KeyOrder, Sorter, StreamReader, read_row, read_row_into, write_row};
use schema::LocalFuture;
use table::{JoinTable, Match};

/// The number of an outer row, before its record.
const NUMBER_BYTES: usize = 8;
/// Behind the number: whether the row has met a match.
const MATCHED_BYTES: usize = 1;

pub struct HashJoinRows<'p> {
    plan: &'p HashJoin,
    outer: Box<dyn Operator + 'p>,
    inner: Box<dyn Operator + 'p>,
    width: usize,
    outer_rows: RowBatch,
    next_outer: usize,
    outer_more: bool,
    /// Outer rows so far, and the number of the one that was joined last.
    outer_count: u64,
    number: u64,
    /// The outer row that is being joined.
    current: Option<Current>,
    /// Its key, and room for the next one's.
    outer_key: Vec<u8>,
    /// The inner rows' values at `inner_positions`.
    table: JoinTable,
    is_filled: bool,
    aside: Sides,
    /// The outer part that is joined now, in place of the outer side.
    outer_part: Option<StreamReader>,
    /// Rows that have to come out in the order of the outer side, by the number of their outer row.
    ordered: Option<Sorter>,
    is_sorted: bool,
    held: Held,
    held_order: Held,
    record: Vec<u8>,
    inner_row: Vec<Value>,
    pace: Pace,
    base: Vec<Value>,
}

struct Current {
    number: u64,
    /// Else it is equal to nothing.
    has_key: bool,
    next: Option<Match>,
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
            outer_count: 0,
            number: 0,
            current: None,
            outer_key: Vec::new(),
            table: JoinTable::new(),
            is_filled: false,
            aside: Sides::default(),
            outer_part: None,
            ordered: None,
            is_sorted: false,
            held: Held::default(),
            held_order: Held::default(),
            record: Vec::new(),
            inner_row: Vec::new(),
            pace: Pace::default(),
            base: Vec::new(),
        }
    }

    /// Whether the table is filled for the next run as well.
    fn serves_again(&self) -> bool {
        self.plan.keeps_table && self.is_filled && !self.aside.has_divided()
    }

    /// Brings the inner side into the table, and what does not fit to disk.
    async fn fill(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.inner.start(&self.base);
        self.held.release(&mut context.memory);
        self.held_order.release(&mut context.memory);
        let mut batch = RowBatch::new(self.width);
        let mut key = Vec::new();
        let mut more = true;
        while more {
            context.interrupt.check()?;
            batch.clear();
            more = self.inner.next_batch(context, BATCH_ROWS, &mut batch).await?;
            for row in batch.rows() {
                let (keys, modes) = (&self.plan.inner_keys, &self.plan.modes);
                if !retried(context, |eval| write_key(keys, modes, row, eval, &mut key)).await? {
                    continue;
                }
                let values = self.plan.inner_positions.iter().map(|&position| &row[position]);
                write_record(&key, values, &mut self.record);
                self.add_inner().await?;
            }
            self.count_table(context).await?;
        }
        self.end_fill(context);
        Ok(())
    }

    /// The same for a part of the inner side.
    async fn fill_from(
        &mut self,
        mut part: StreamReader,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        self.table.clear();
        self.held.release(&mut context.memory);
        let mut more = true;
        while more {
            context.interrupt.check()?;
            for _ in 0..BATCH_ROWS {
                more = part.advance().await?;
                if !more {
                    break;
                }
                self.record.clear();
                self.record.extend_from_slice(part.record());
                self.add_inner().await?;
            }
            self.pace.count(BATCH_ROWS).await;
            self.count_table(context).await?;
        }
        self.end_fill(context);
        Ok(())
    }

    /// Takes the inner row that is in `record`.
    async fn add_inner(&mut self) -> Result<(), SqlError> {
        let (key, row) = split_record(&self.record)?;
        // One row is as good as many.
        if self.plan.kind.only_tests() && self.plan.on.is_empty() && self.table.first(key).is_some() {
            return Ok(());
        }
        if self.aside.is_dividing() {
            return self.aside.put_inner(key, &self.record).await;
        }
        self.table.insert(key, row);
        Ok(())
    }

    async fn count_table(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        if self.aside.is_dividing() {
            return Ok(());
        }
        let bytes = self.table.memory_bytes();
        let has_no_room = self.held.set_or_spill(bytes, &mut context.memory)?;
        if has_no_room || bytes > context.settings.shares.join_bytes || self.table.is_full() {
            self.aside.begin(context).await?;
        }
        Ok(())
    }

    fn end_fill(&mut self, context: &mut ExecContext<'_>) {
        self.is_filled = true;
        if self.plan.keeps_order && self.aside.is_dividing() && self.ordered.is_none() {
            let share = context.settings.shares.join_bytes;
            self.ordered = Some(Sorter::new(context.temporary, KeyOrder::Bytes, share, usize::MAX));
        }
    }

    /// Reads more outer rows; false when there are none.
    async fn read_outer(&mut self, context: &mut ExecContext<'_>, wanted: usize) -> Result<bool, SqlError> {
        while self.next_outer == self.outer_rows.len() {
            if !self.outer_more {
                return Ok(false);
            }
            context.interrupt.check()?;
            self.outer_rows.clear();
            self.next_outer = 0;
            match &mut self.outer_part {
                Some(part) => {
                    self.outer_more = part.advance().await?;
                    if self.outer_more {
                        let frame = self.outer_rows.push_empty();
                        self.current = Some(read_outer_row(part.record(), frame, &mut self.outer_key)?);
                    }
                }
                None => {
                    let batch = wanted.min(BATCH_ROWS);
                    self.outer_more = self.outer.next_batch(context, batch, &mut self.outer_rows).await?;
                }
            }
        }
        Ok(true)
    }

    /// Goes on with the outer row, or takes the next one, and adds up to `left` of the `wanted` rows; false when there is none.
    async fn join_next(
        &mut self,
        context: &mut ExecContext<'_>,
        wanted: usize,
        left: usize,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        if self.current.is_none() && !self.read_outer(context, wanted).await? {
            return Ok(false);
        }
        let outer = self.outer_rows.row(self.next_outer);
        let current = match &mut self.current {
            Some(current) => current,
            None => {
                let (keys, modes, key) = (&self.plan.outer_keys, &self.plan.modes, &mut self.outer_key);
                let has_key = retried(context, |eval| write_key(keys, modes, outer, eval, key)).await?;
                self.outer_count += 1;
                let number = self.outer_count;
                self.current.insert(Current { number, has_key, next: None, has_match: false })
            }
        };
        self.number = current.number;
        if current.next.is_none() && current.has_key {
            current.next = self.table.first(&self.outer_key);
        }
        let tests = self.plan.kind.only_tests();
        let (mut tried, mut added) = (0, 0);
        // The last row of `out` is one that is no match: the next one takes its place.
        let mut is_open = false;
        while let Some(found) = current.next.filter(|_| tried < BATCH_ROWS && added < left) {
            tried += 1;
            self.inner_row.clear();
            read_row(self.table.row(found), &mut self.inner_row)?;
            if !is_open {
                out.push_copy(outer);
                is_open = true;
            }
            let last = out.len() - 1;
            let frame = out.row_mut(last);
            for (&position, value) in self.plan.inner_positions.iter().zip(self.inner_row.drain(..)) {
                frame[position] = value;
            }
            current.next = self.table.next(found);
            if all_hold(&self.plan.on, out.row(last), context).await? {
                current.has_match = true;
                // One match tells all that a test wants to know.
                if tests {
                    current.next = None;
                } else {
                    is_open = false;
                    added += 1;
                }
            }
        }
        if is_open {
            out.pop();
        }
        let is_unfinished = current.next.is_some();
        self.pace.count(tried + 1).await;
        context.interrupt.check()?;
        if !is_unfinished {
            self.end_outer(out).await?;
        }
        Ok(true)
    }

    /// The table has no more rows for the outer row: others may have been put aside.
    async fn end_outer(&mut self, out: &mut RowBatch) -> Result<(), SqlError> {
        let outer = self.outer_rows.row(self.next_outer);
        let Some(current) = self.current.take() else { return Ok(()) };
        self.next_outer += 1;
        if self.plan.kind.only_tests() && current.has_match {
            if self.plan.kind == JoinKind::Semi {
                out.push_copy(outer);
            }
            return Ok(());
        }
        let key = self.outer_key.as_slice();
        if current.has_key && self.aside.concerns(key) {
            self.record.clear();
            self.record.extend_from_slice(&current.number.to_be_bytes());
            self.record.push(u8::from(current.has_match));
            self.record.extend_from_slice(&(key.len() as u32).to_le_bytes());
            self.record.extend_from_slice(key);
            write_row(outer, &mut self.record);
            return self.aside.put_outer(key, &self.record).await;
        }
        if self.plan.kind == JoinKind::Anti {
            out.push_copy(outer);
        }
        if !current.has_match && self.plan.kind == JoinKind::Left {
            let frame = out.push_copy(outer);
            for &position in &self.plan.inner_positions {
                frame[position] = Value::Null;
            }
        }
        Ok(())
    }

    /// Goes to the next pair of parts that were put aside; false when there is none.
    async fn next_part(&mut self, context: &mut ExecContext<'_>) -> Result<bool, SqlError> {
        let Some((inner, outer)) = self.aside.next_pair(context).await? else {
            if !self.serves_again() {
                self.table.clear();
                self.held.release(&mut context.memory);
            }
            return Ok(false);
        };
        self.fill_from(inner, context).await?;
        self.outer_part = Some(outer);
        self.outer_rows.clear();
        self.next_outer = 0;
        self.outer_more = true;
        Ok(true)
    }

    /// Joins; false when all rows have come out.
    async fn join(
        &mut self,
        context: &mut ExecContext<'_>,
        wanted: usize,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        let first = out.len();
        while out.len() - first < wanted {
            let left = wanted - (out.len() - first);
            if !self.join_next(context, wanted, left, out).await? && !self.next_part(context).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Joins everything and sorts the rows by the outer side.
    async fn sort(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let Some(mut sorter) = self.ordered.take() else { return Ok(()) };
        let mut batch = RowBatch::new(self.width);
        let mut row = Vec::new();
        let mut more = true;
        while more {
            batch.clear();
            more = self.join_next(context, BATCH_ROWS, BATCH_ROWS, &mut batch).await?
                || self.next_part(context).await?;
            for frame in batch.rows() {
                row.clear();
                write_row(frame, &mut row);
                if sorter.push(&self.number.to_be_bytes(), &row) {
                    let mut pauses = Pauses { pace: &mut self.pace, interrupt: context.interrupt };
                    sorter.spill(&mut pauses).await?;
                }
            }
            if self.held_order.set_or_spill(sorter.memory_bytes(), &mut context.memory)? {
                let mut pauses = Pauses { pace: &mut self.pace, interrupt: context.interrupt };
                sorter.write_run(&mut pauses).await?;
            }
        }
        sorter.finish(&mut Pauses { pace: &mut self.pace, interrupt: context.interrupt }).await?;
        context.work.spilled_bytes += sorter.spilled_bytes();
        self.ordered = Some(sorter);
        self.is_sorted = true;
        Ok(())
    }
}

/// An outer row that was put aside, into its frame.
fn read_outer_row(record: &[u8], frame: &mut [Value], outer_key: &mut Vec<u8>) -> Result<Current, SqlError> {
    let (head, rest) = record.split_at_checked(NUMBER_BYTES + MATCHED_BYTES).ok_or_else(rowstore::damaged)?;
    let (key, row) = split_record(rest)?;
    read_row_into(row, frame)?;
    let number = head.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    outer_key.clear();
    outer_key.extend_from_slice(key);
    Ok(Current { number, has_key: true, next: None, has_match: head[NUMBER_BYTES] != 0 })
}

/// Replaces `key` by that of a row; false when a key value is NULL: nothing is equal to it.
fn write_key(
    exprs: &[Expr],
    modes: &[CompareMode],
    row: &[Value],
    context: &EvalContext,
    key: &mut Vec<u8>,
) -> Result<bool, SqlError> {
    key.clear();
    for (expr, &mode) in exprs.iter().zip(modes) {
        let value = expr.eval_ref(row, context)?;
        if !write_compare_key(mode, &value, &expr.ty.column, context, key) {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Operator for HashJoinRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.outer.start(base);
        self.base = base.to_vec();
        self.base.resize(self.width, Value::Null);
        self.outer_rows.clear();
        self.next_outer = 0;
        self.outer_more = true;
        self.outer_count = 0;
        self.current = None;
        if !self.serves_again() {
            self.table.clear();
            self.is_filled = false;
        }
        self.aside = Sides::default();
        self.outer_part = None;
        self.ordered = None;
        self.is_sorted = false;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            if !self.is_filled {
                // Without outer rows nothing is read of the inner side.
                if !self.read_outer(context, wanted).await? {
                    return Ok(false);
                }
                self.fill(context).await?;
            }
            if self.ordered.is_none() {
                return self.join(context, wanted, out).await;
            }
            if !self.is_sorted {
                self.sort(context).await?;
            }
            let Some(sorter) = &mut self.ordered else { return Ok(false) };
            for _ in 0..wanted.min(BATCH_ROWS) {
                if !sorter.next().await? {
                    return Ok(false);
                }
                read_row_into(sorter.row(), out.push_empty())?;
            }
            self.pace.count(BATCH_ROWS).await;
            Ok(true)
        })
    }
}
