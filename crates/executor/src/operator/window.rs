//! Window functions over input that is sorted by partition and order.
//!
//! Rows come out in the order in which they came in. A row waits only as long as one of its functions has to see rows behind it,
//! and is kept only as long as a frame may still hold it.
mod evaluator;
mod frame;
mod partition;

use super::key_set::write_group_keys;
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::{evaluated, retried};
use datum::{SqlError, Value, compare_in_type};
use evaluator::{Evaluator, arguments_of};
use partition::{Partition, PartitionRow};
use plan::Window;
use schema::LocalFuture;

pub struct WindowRows<'p> {
    plan: &'p Window,
    input: Box<dyn Operator + 'p>,
    batch: RowBatch,
    /// The row of the batch that is read next.
    next_input: usize,
    input_more: bool,
    partition: Partition,
    /// The partition's key, and room for that of the next row.
    key: Vec<u8>,
    next_key: Vec<u8>,
    /// How many values of each row the order and the functions need.
    value_count: usize,
    evaluators: Vec<Evaluator<'p>>,
    /// The row of the partition that comes out next, and its values so far.
    next: u64,
    values: Vec<Value>,
    is_prepared: bool,
    pace: Pace,
}

impl<'p> WindowRows<'p> {
    pub fn new(plan: &'p Window) -> WindowRows<'p> {
        let mut place = plan.order_by.len();
        let evaluators = plan.columns.iter().map(|column| {
            let arguments = place..place + arguments_of(&column.function).len();
            place = arguments.end;
            Evaluator::new(plan, column, arguments)
        });
        WindowRows {
            plan,
            evaluators: evaluators.collect(),
            value_count: place,
            next_key: Vec::new(),
            batch: RowBatch::new(plan.input.width),
            input: build(&plan.input),
            next_input: 0,
            input_more: true,
            partition: Partition::default(),
            key: Vec::new(),
            next: 0,
            values: Vec::new(),
            is_prepared: false,
            pace: Pace::default(),
        }
    }

    fn begin_partition(&mut self, context: &mut ExecContext<'_>) {
        self.partition.clear(context);
        self.evaluators.iter_mut().for_each(|evaluator| evaluator.reset(context));
        self.next = 0;
        self.values.clear();
    }

    /// Finds the values of the next row; false when more rows have to be read, or loaded, before.
    fn evaluate(&mut self, context: &mut ExecContext<'_>) -> Result<bool, SqlError> {
        while self.values.len() < self.evaluators.len() {
            let evaluator = &mut self.evaluators[self.values.len()];
            let Some(value) = evaluator.value(&self.partition, self.next, context)? else {
                return Ok(false);
            };
            self.values.push(value);
        }
        Ok(true)
    }

    /// False when the row has to be loaded before.
    fn give_out(&mut self, context: &mut ExecContext<'_>, out: &mut RowBatch) -> bool {
        let next = self.next + 1;
        let needed = self.evaluators.iter().map(|evaluator| evaluator.needed_from(next)).min();
        let needed = needed.unwrap_or(next);
        // A row that nobody looks at again is moved out.
        if needed >= next {
            let Some(row) = self.partition.row_mut(self.next) else { return false };
            out.push_moved(&mut row.frame);
        } else {
            let Some(row) = self.partition.row(self.next) else { return false };
            out.push_copy(&row.frame);
        }
        let frame = out.row_mut(out.len() - 1);
        for (evaluator, value) in self.evaluators.iter().zip(self.values.drain(..)) {
            frame[evaluator.column.position] = value;
        }
        self.next = next;
        // The last row stays: the next one is compared with it.
        let last = self.partition.count() - 1;
        self.partition.forget_before(needed.min(last), context);
        true
    }

    /// Reads one more row of the partition, or finds its end.
    async fn read(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        while self.next_input == self.batch.len() {
            if !self.input_more {
                self.partition.is_complete = true;
                return Ok(());
            }
            context.interrupt.check()?;
            self.batch.clear();
            self.next_input = 0;
            self.input_more = self.input.next_batch(context, BATCH_ROWS, &mut self.batch).await?;
        }
        let row = self.batch.row(self.next_input);
        let key = &mut self.next_key;
        retried(context, |eval| {
            key.clear();
            write_group_keys(&self.plan.partition_by, row, eval, key)
        })
        .await?;
        if self.partition.last().is_some() && self.next_key != self.key {
            self.partition.is_complete = true;
            return Ok(());
        }
        std::mem::swap(&mut self.key, &mut self.next_key);
        let mut values = Vec::with_capacity(self.value_count);
        for key in &self.plan.order_by {
            values.push(evaluated(&key.expr, row, context).await?);
        }
        for column in &self.plan.columns {
            for argument in arguments_of(&column.function) {
                values.push(evaluated(argument, row, context).await?);
            }
        }
        let number = self.partition.count();
        let (peers_from, peer_group) = match self.partition.last() {
            Some(last) if self.are_peers(&last.values, &values) => (last.peers_from, last.peer_group),
            Some(last) => (number, last.peer_group + 1),
            None => (0, 0),
        };
        let frame = self.batch.take_row(self.next_input);
        self.next_input += 1;
        self.partition.push(PartitionRow { frame, values, peers_from, peer_group }, context).await
    }

    fn are_peers(&self, left: &[Value], right: &[Value]) -> bool {
        let mut keys = self.plan.order_by.iter().zip(left.iter().zip(right));
        keys.all(|(key, (left, right))| compare_in_type(left, right, &key.expr.ty.column).is_eq())
    }
}

impl Operator for WindowRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
        self.batch.clear();
        self.next_input = 0;
        self.input_more = true;
        self.is_prepared = false;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            if !self.is_prepared {
                for evaluator in &mut self.evaluators {
                    evaluator.prepare(context.eval)?;
                }
                self.begin_partition(context);
                self.is_prepared = true;
            }
            let first = out.len();
            while out.len() - first < wanted {
                if self.next < self.partition.count() {
                    if self.evaluate(context)? && self.give_out(context, out) {
                        self.pace.count(1).await;
                        continue;
                    }
                    if self.partition.load_missing(context).await? {
                        context.interrupt.check()?;
                        self.pace.count(1).await;
                        continue;
                    }
                }
                if self.partition.is_complete {
                    if self.next_input == self.batch.len() && !self.input_more {
                        self.partition.clear(context);
                        self.next = 0;
                        self.partition.is_complete = true;
                        return Ok(false);
                    }
                    self.begin_partition(context);
                }
                self.read(context).await?;
                self.pace.count(1).await;
            }
            Ok(true)
        })
    }
}
