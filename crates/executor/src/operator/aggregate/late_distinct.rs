//! Values of DISTINCT aggregates that memory has no room for.
//!
//! Once the groups take too much, a row whose value an aggregate has not seen yet is put aside for that aggregate; when the input has
//! ended, equal values meet part by part. Invariant: a value that was seen before is never put aside, so none counts twice.
use super::Group;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::retried;
use crate::divided::{Divided, Keys};
use crate::memory::Held;
use crate::operator::BATCH_ROWS;
use datum::{SqlError, Value};
use foldhash::{HashSet, HashSetExt};
use plan::Aggregate;

/// What a key costs beside its bytes.
const ENTRY_BYTES: usize = 48;
/// The number of the group, before the value's key.
const NUMBER_BYTES: usize = 8;

pub struct LateDistinct<'p> {
    plan: &'p Aggregate,
    /// For each aggregate with DISTINCT its place, and the rows that wait.
    columns: Vec<(usize, Divided)>,
    has_begun: bool,
    pace: Pace,
}

impl<'p> LateDistinct<'p> {
    pub fn new(plan: &'p Aggregate) -> LateDistinct<'p> {
        let places = plan.aggregates.iter().enumerate().filter(|(_, column)| column.call.distinct);
        LateDistinct {
            plan,
            columns: places.map(|(place, _)| (place, Divided::default())).collect(),
            has_begun: false,
            pace: Pace::default(),
        }
    }

    /// There are values that can be put aside, and none are yet.
    pub fn may_begin(&self) -> bool {
        !self.has_begun && !self.columns.is_empty()
    }

    /// Nothing is put aside: `Group::add` is all there is to do for a row.
    pub fn adds_at_once(&self) -> bool {
        !self.has_begun
    }

    /// From now on new values are put aside, when the groups hold more than the share or there is little memory left.
    pub async fn begin_if_needed(
        &mut self,
        held_bytes: usize,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let has_room = held_bytes <= context.settings.shares.rows_bytes && !context.memory.is_scarce();
        if has_room || !self.may_begin() {
            return Ok(());
        }
        self.has_begun = true;
        for (_, aside) in &mut self.columns {
            aside.begin(context).await?;
        }
        Ok(())
    }

    /// Adds a row to the group with this number.
    pub async fn add(
        &mut self,
        group: &mut Group,
        number: usize,
        row: &[Value],
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        if !self.has_begun {
            return group.add(self.plan, row, context).await;
        }
        for (accumulator, column) in group.accumulators.iter_mut().zip(&self.plan.aggregates) {
            if !column.call.distinct {
                retried(context, |eval| accumulator.add(&column.call, row, eval)).await?;
            }
        }
        for (place, aside) in &mut self.columns {
            let call = &self.plan.aggregates[*place].call;
            let accumulator = &mut group.accumulators[*place];
            let unseen = retried(context, |eval| accumulator.unseen_key(call, row, eval)).await?;
            if let Some(value) = unseen {
                let mut key = (number as u64).to_le_bytes().to_vec();
                key.extend_from_slice(&value);
                aside.put(&key, row).await?;
            }
        }
        Ok(())
    }

    /// The input has ended: brings in what was put aside.
    pub async fn finish(
        &mut self,
        groups: &mut [Group],
        held: &mut Held,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        if !std::mem::take(&mut self.has_begun) {
            return Ok(());
        }
        for group in &mut *groups {
            group.accumulators.iter_mut().for_each(expression::Accumulator::forget_seen);
        }
        for index in 0..self.columns.len() {
            while self.columns[index].1.next_part(context).await? {
                self.add_part(index, groups, held, context).await?;
            }
        }
        Ok(())
    }

    /// Adds the different values of a part; those that memory has no room for make further parts.
    async fn add_part(
        &mut self,
        index: usize,
        groups: &mut [Group],
        held: &mut Held,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let (place, aside) = &mut self.columns[index];
        let call = &self.plan.aggregates[*place].call;
        let mut seen: HashSet<Box<[u8]>> = HashSet::new();
        let mut held_seen = Held::default();
        let mut batch = RowBatch::new(self.plan.input.width);
        let mut keys = Keys::default();
        let mut more = true;
        while more {
            context.interrupt.check()?;
            batch.clear();
            keys.clear();
            more = aside.read(BATCH_ROWS, &mut batch, &mut keys).await?;
            self.pace.count(batch.len()).await;
            for row in 0..batch.len() {
                let key = keys.get(row);
                if seen.contains(key) {
                    continue;
                }
                if aside.is_dividing() {
                    aside.put(key, batch.row(row)).await?;
                    continue;
                }
                let number = key.first_chunk::<NUMBER_BYTES>().ok_or_else(rowstore::damaged)?;
                let group = groups.get_mut(u64::from_le_bytes(*number) as usize);
                let group = group.ok_or_else(rowstore::damaged)?;
                let accumulator = &mut group.accumulators[*place];
                retried(context, |eval| accumulator.add_unseen(call, batch.row(row), eval)).await?;
                group.count_memory(held, &mut context.memory)?;
                seen.insert(key.into());
                let share = context.settings.shares.rows_bytes;
                if held_seen.take_or_spill(key.len() + ENTRY_BYTES, share, &mut context.memory)? {
                    aside.begin(context).await?;
                }
            }
        }
        held_seen.release(&mut context.memory);
        Ok(())
    }
}
