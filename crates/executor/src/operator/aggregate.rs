//! GROUP BY and aggregate functions: by a hash table, group by group on ordered input, or over all rows.
//!
//! Once the groups of the hash table take too much memory, rows of other groups are put aside on disk; when the groups at hand have
//! come out, those rows are grouped part by part.
mod group;
mod late_distinct;
mod sorted_distinct;

use super::key_set::write_group_keys;
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::retried;
use crate::divided::{Divided, Keys};
use crate::memory::{Held, row_bytes};
use datum::{SqlError, Value};
use expression::{Accumulator, AggregateFunction, Expr};
use foldhash::{HashMap, HashMapExt};
use group::Group;
use late_distinct::LateDistinct;
use plan::{Aggregate, AggregateColumn};
use schema::LocalFuture;

/// What a group costs beside its values.
const GROUP_BYTES: usize = 128;
/// What it costs to make or to add a value.
const TICKS_PER_VALUE: usize = 32;

pub struct AggregateRows<'p> {
    plan: &'p Aggregate,
    width: usize,
    input: Box<dyn Operator + 'p>,
    batch: RowBatch,
    input_more: bool,
    groups: Vec<Group>,
    by_key: HashMap<Box<[u8]>, usize>,
    /// Rows that wait for another turn, and the keys of the present ones.
    aside: Divided,
    row_keys: Keys,
    /// Values of DISTINCT aggregates that memory has no room for.
    late: LateDistinct<'p>,
    /// Ordered input: the group that is being gathered and its key.
    current: Option<(Vec<u8>, Group)>,
    /// ROLLUP: the groups of each shorter prefix, longest first.
    rollups: Vec<Option<(Vec<u8>, Group)>>,
    /// Ordered input: there was a row.
    has_groups: bool,
    next_group: usize,
    is_filled: bool,
    held: Held,
    /// What the groups of a run that was given up hold beside that.
    left_bytes: usize,
    base: Vec<Value>,
    /// The columns that the input is grouped by, if it is by nothing else.
    group_columns: Option<Vec<usize>>,
    /// Accumulators may come to hold more than they begin with.
    grows: bool,
    pace: Pace,
}

impl<'p> AggregateRows<'p> {
    pub fn new(plan: &'p Aggregate, width: usize) -> AggregateRows<'p> {
        AggregateRows {
            plan,
            width,
            input: build(&plan.input),
            batch: RowBatch::new(plan.input.width),
            input_more: true,
            groups: Vec::new(),
            by_key: HashMap::new(),
            aside: Divided::default(),
            row_keys: Keys::default(),
            late: LateDistinct::new(plan),
            current: None,
            rollups: Vec::new(),
            has_groups: false,
            next_group: 0,
            is_filled: false,
            held: Held::default(),
            left_bytes: 0,
            base: Vec::new(),
            group_columns: plan.groups.iter().map(Expr::as_column).collect(),
            grows: plan.aggregates.iter().any(|column| column.call.grows()),
            pace: Pace::default(),
        }
    }

    /// No GROUP BY: reads all input.
    async fn fill_single(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.held.release(&mut context.memory);
        let mut group = Group::empty(self.plan);
        if counts_rows_alone(self.plan)
            && let Some(count) = self.input.count_rows(context).await?
        {
            group.accumulators.iter_mut().for_each(|accumulator| accumulator.add_rows(count));
            self.groups.push(group);
            return Ok(());
        }
        let mut is_first = true;
        while self.input_more {
            self.read_batch(context).await?;
            for index in 0..self.batch.len() {
                let row = self.batch.row(index);
                if std::mem::take(&mut is_first) {
                    group = Group::new(self.plan, row, context).await?;
                }
                if self.late.adds_at_once() {
                    if let Err(stopped) = group.add_at_once(self.plan, row, context.eval, 0) {
                        group.add_after(stopped, self.plan, row, context).await?;
                    }
                } else {
                    self.late.add(&mut group, 0, row, context).await?;
                }
                if self.late.may_begin() {
                    group.count_memory(&mut self.held, &mut context.memory)?;
                    self.late.begin_if_needed(self.held.bytes(), context).await?;
                }
            }
            group.count_memory(&mut self.held, &mut context.memory)?;
        }
        self.groups.push(group);
        self.late.finish(&mut self.groups, &mut self.held, context).await
    }

    /// Hash: reads all input, or all of a part that was put aside.
    async fn fill_groups(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.held.release(&mut context.memory);
        let mut more = true;
        while more {
            more = self.read_keyed(context).await?;
            // The group of the row before.
            let mut last = None;
            for index in 0..self.batch.len() {
                let key = self.row_keys.get(index);
                let row = self.batch.row(index);
                let is_same = index > 0 && *key == *self.row_keys.get(index - 1);
                let known = last.filter(|_| is_same).or_else(|| self.by_key.get(key).copied());
                last = known;
                let number = match known {
                    Some(number) => number,
                    None if self.aside.is_dividing() => {
                        self.aside.put(key, row).await?;
                        continue;
                    }
                    None => {
                        let group = Group::new(self.plan, row, context).await?;
                        self.by_key.insert(key.into(), self.groups.len());
                        self.groups.push(group);
                        self.count_group(index, context).await?;
                        self.groups.len() - 1
                    }
                };
                let (group, row) = (&mut self.groups[number], self.batch.row(index));
                if self.late.adds_at_once() {
                    if let Err(stopped) = group.add_at_once(self.plan, row, context.eval, 0) {
                        group.add_after(stopped, self.plan, row, context).await?;
                    }
                } else {
                    self.late.add(group, number, row, context).await?;
                }
                if self.grows {
                    group.count_memory(&mut self.held, &mut context.memory)?;
                }
                if self.late.may_begin() {
                    self.late.begin_if_needed(self.held.bytes(), context).await?;
                }
            }
        }
        self.late.finish(&mut self.groups, &mut self.held, context).await
    }

    /// Counts the memory of the group that was just made for row `index`.
    async fn count_group(&mut self, index: usize, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let group = &self.groups[self.groups.len() - 1];
        let accumulators = group.accumulators.len() * size_of::<Accumulator>();
        let values = row_bytes(&group.values) + row_bytes(&group.carried);
        let bytes = GROUP_BYTES + values + accumulators + self.row_keys.get(index).len();
        let share = context.settings.shares.rows_bytes;
        if self.held.take_or_spill(bytes, share, &mut context.memory)? {
            self.aside.begin(context).await?;
        }
        Ok(())
    }

    /// Reads a batch of the input, or of a part that was put aside, with the keys of its rows; false at the end of either.
    async fn read_keyed(&mut self, context: &mut ExecContext<'_>) -> Result<bool, SqlError> {
        self.row_keys.clear();
        if self.aside.has_part() {
            context.interrupt.check()?;
            self.batch.clear();
            self.pace.count(BATCH_ROWS).await;
            return self.aside.read(BATCH_ROWS, &mut self.batch, &mut self.row_keys).await;
        }
        self.read_batch(context).await?;
        for index in 0..self.batch.len() {
            let row = self.batch.row(index);
            if let Some(columns) = &self.group_columns
                && index > 0
                && columns.iter().all(|column| row[*column] == self.batch.row(index - 1)[*column])
            {
                self.row_keys.repeat();
                continue;
            }
            let (keys, groups) = (&mut self.row_keys, &self.plan.groups);
            retried(context, |eval| keys.push(|key| write_group_keys(groups, row, eval, key))).await?;
        }
        Ok(self.input_more)
    }

    async fn read_batch(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        context.interrupt.check()?;
        self.batch.clear();
        // With ROLLUP a row may end as many groups as there are expressions.
        let rows = if self.plan.rollup { BATCH_ROWS / (1 + self.plan.groups.len()) } else { BATCH_ROWS };
        self.input_more = self.input.next_batch(context, rows.max(1), &mut self.batch).await?;
        if self.plan.rollup {
            self.pace.count(self.batch.len() * (1 + self.plan.groups.len())).await;
        }
        Ok(())
    }

    /// Ordered input: reads a batch and gives out the groups that ended in it.
    async fn step(&mut self, context: &mut ExecContext<'_>, out: &mut RowBatch) -> Result<(), SqlError> {
        if !self.has_groups {
            // What a run before has left, which may have been given up in its midst.
            self.held.release(&mut context.memory);
            context.memory.give_back(std::mem::take(&mut self.left_bytes));
        }
        self.read_batch(context).await?;
        let is_plain = !self.plan.aggregates.iter().any(|column| column.call.distinct);
        let mut key = Vec::new();
        for index in 0..self.batch.len() {
            let row = self.batch.row(index);
            if !self.goes_on(row) {
                key.clear();
                retried(context, |eval| {
                    key.clear();
                    write_group_keys(&self.plan.groups, row, eval, &mut key)
                })
                .await?;
                if self.current.as_ref().is_none_or(|(current, _)| *current != key) {
                    self.begin_group(index, &key, context, out).await?;
                }
            }
            let row = self.batch.row(index);
            for (_, group) in self.current.iter_mut().chain(self.rollups.iter_mut().flatten()) {
                if !is_plain {
                    group.add_sorted(self.plan, row, &mut self.held, context).await?;
                } else if let Err(stopped) = group.add_at_once(self.plan, row, context.eval, 0) {
                    group.add_after(stopped, self.plan, row, context).await?;
                }
            }
        }
        for (_, group) in self.current.iter_mut().chain(self.rollups.iter_mut().flatten()) {
            group.count_memory(&mut self.held, &mut context.memory)?;
        }
        if !self.input_more {
            if self.plan.rollup && !self.has_groups {
                // The total of no rows.
                Group::empty(self.plan).finish(self.plan, context.eval, out)?;
            }
            let rollups = std::mem::take(&mut self.rollups);
            for (_, group) in self.current.take().into_iter().chain(rollups.into_iter().flatten()) {
                self.end_group(group, context, out)?;
            }
        }
        Ok(())
    }

    /// Whether the row has the very values of the group at hand, so that it is of that without a look at keys.
    fn goes_on(&self, row: &[Value]) -> bool {
        let (Some(columns), Some((_, group))) = (&self.group_columns, &self.current) else { return false };
        columns.iter().zip(&group.values).all(|(column, value)| row[*column] == *value)
    }

    /// Ends the group at hand, and begins another one with row `index`.
    async fn begin_group(
        &mut self,
        index: usize,
        key: &[u8],
        context: &mut ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        if let Some((_, group)) = self.current.take() {
            self.end_group(group, context, out)?;
        }
        if self.plan.rollup {
            self.roll_up(index, context, out).await?;
        }
        self.has_groups = true;
        let group = Group::new(self.plan, self.batch.row(index), context).await?;
        self.current = Some((key.to_vec(), group));
        Ok(())
    }

    /// A new group begins at row `index`: super-groups whose prefix changed end, and new ones begin.
    async fn roll_up(
        &mut self,
        index: usize,
        context: &mut ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        let count = self.plan.groups.len();
        if self.rollups.is_empty() {
            self.rollups.resize_with(count, || None);
        }
        // Place p holds the super-group of the first `count - 1 - p` expressions.
        for place in 0..count {
            let length = count - 1 - place;
            let mut key = Vec::new();
            env::tick((length + 1) * TICKS_PER_VALUE);
            let row = self.batch.row(index);
            retried(context, |eval| {
                key.clear();
                write_group_keys(&self.plan.groups[..length], row, eval, &mut key)
            })
            .await?;
            if self.rollups[place].as_ref().is_some_and(|(known, _)| *known == key) {
                continue;
            }
            if let Some((_, group)) = self.rollups[place].take() {
                self.end_group(group, context, out)?;
            }
            let mut group = Group::new(self.plan, self.batch.row(index), context).await?;
            group.values[length..].fill(Value::Null);
            group.level = length;
            self.rollups[place] = Some((key, group));
        }
        Ok(())
    }
}

/// COUNT(*), and nothing of any row.
fn counts_rows_alone(plan: &Aggregate) -> bool {
    let counts = |column: &AggregateColumn| {
        column.call.function == AggregateFunction::Count && column.call.arguments.is_empty()
    };
    plan.groups.is_empty() && plan.carried.is_empty() && plan.aggregates.iter().all(counts)
}

impl Operator for AggregateRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
        self.base = base.to_vec();
        self.batch.clear();
        self.input_more = true;
        self.groups.clear();
        self.by_key.clear();
        self.aside = Divided::default();
        self.late = LateDistinct::new(self.plan);
        let left = self.current.take().into_iter().chain(self.rollups.drain(..).flatten());
        self.left_bytes +=
            left.filter_map(|(_, group)| group.later).map(|later| later.held_bytes()).sum::<usize>();
        self.has_groups = false;
        self.next_group = 0;
        self.is_filled = false;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            debug_assert_eq!(out.width(), self.width);
            if self.plan.ordered || self.plan.rollup {
                self.step(context, out).await?;
                return Ok(self.input_more);
            }
            if !self.is_filled {
                match self.plan.single {
                    true => self.fill_single(context).await?,
                    false => self.fill_groups(context).await?,
                }
                self.by_key.clear();
                self.groups.reverse();
                self.is_filled = true;
            }
            for _ in 0..wanted {
                let Some(group) = self.groups.pop() else { break };
                group.finish(self.plan, context.eval, out)?;
            }
            if !self.groups.is_empty() {
                return Ok(true);
            }
            self.is_filled = !self.aside.next_part(context).await?;
            Ok(!self.is_filled)
        })
    }
}
