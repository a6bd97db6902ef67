//! One group while its rows are added: the values that it is told apart by and its accumulators. Called by `aggregate`.
use super::TICKS_PER_VALUE;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::deferred::{all_evaluated, ask_and_retry};
use crate::memory::{Held, MemoryBudget};
use crate::seen_keys::SeenKeys;
use datum::{SqlError, Value};
use expression::{Accumulator, EvalContext};
use plan::Aggregate;
use schema::LocalFuture;

/// A group.
pub(super) struct Group {
    pub(super) values: Vec<Value>,
    pub(super) carried: Vec<Value>,
    pub(super) accumulators: Vec<Accumulator>,
    /// So many group expressions are not rolled up.
    pub(super) level: usize,
    /// Memory counted for the accumulators so far.
    pub(super) counted_bytes: usize,
    /// Sorted input: values of DISTINCT that the accumulators have no room for.
    pub(super) later: Option<Box<SeenKeys>>,
}

impl Group {
    pub(super) async fn new(
        plan: &Aggregate,
        row: &[Value],
        context: &mut ExecContext<'_>,
    ) -> Result<Group, SqlError> {
        env::tick((plan.groups.len() + plan.carried.len() + 1) * TICKS_PER_VALUE);
        let values = all_evaluated(&plan.groups, row, context).await?;
        let carried = all_evaluated(&plan.carried, row, context).await?;
        Ok(Group { values, carried, level: plan.groups.len(), ..Group::empty(plan) })
    }

    /// The group of no rows.
    pub(super) fn empty(plan: &Aggregate) -> Group {
        Group {
            values: vec![Value::Null; plan.groups.len()],
            carried: vec![Value::Null; plan.carried.len()],
            accumulators: plan.aggregates.iter().map(|column| column.call.accumulator()).collect(),
            level: 0,
            counted_bytes: 0,
            later: None,
        }
    }

    pub(super) async fn add(
        &mut self,
        plan: &Aggregate,
        row: &[Value],
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        match self.add_at_once(plan, row, context.eval, 0) {
            Ok(()) => Ok(()),
            Err(stopped) => self.add_after(stopped, plan, row, context).await,
        }
    }

    /// Adds a row to the accumulators from `first` on, up to one that could not evaluate its arguments: see `add_after`.
    pub(super) fn add_at_once(
        &mut self,
        plan: &Aggregate,
        row: &[Value],
        eval: &EvalContext,
        first: usize,
    ) -> Result<(), (usize, SqlError)> {
        env::tick((self.accumulators.len() + 1) * TICKS_PER_VALUE);
        let columns = self.accumulators.iter_mut().zip(&plan.aggregates).enumerate().skip(first);
        for (place, (accumulator, column)) in columns {
            let added = eval.deferred.attempt(|| accumulator.add(&column.call, row, eval));
            added.map_err(|error| (place, error))?;
        }
        Ok(())
    }

    /// Goes on with the accumulator that stopped, once what it asked for is known.
    #[cold]
    pub(super) fn add_after<'a>(
        &'a mut self,
        stopped: (usize, SqlError),
        plan: &'a Aggregate,
        row: &'a [Value],
        context: &'a mut ExecContext<'_>,
    ) -> LocalFuture<'a, Result<(), SqlError>> {
        Box::pin(async move {
            let mut stopped = Err(stopped);
            while let Err((place, error)) = stopped {
                let (accumulator, call) = (&mut self.accumulators[place], &plan.aggregates[place].call);
                ask_and_retry(error, context, |eval| accumulator.add(call, row, eval)).await?;
                stopped = self.add_at_once(plan, row, context.eval, place + 1);
            }
            Ok(())
        })
    }

    pub(super) fn finish(
        mut self,
        plan: &Aggregate,
        context: &EvalContext,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        env::tick(out.width() * TICKS_PER_VALUE);
        let frame = out.push_empty();
        let mut position = 0;
        for value in self.values {
            frame[position] = value;
            position += 1;
        }
        for (accumulator, column) in self.accumulators.iter_mut().zip(&plan.aggregates) {
            frame[position] = accumulator.finish(&column.call, context)?;
            position += 1;
        }
        if plan.rollup {
            frame[position] = Value::Int(self.level as i64);
            position += 1;
        }
        for value in self.carried {
            frame[position] = value;
            position += 1;
        }
        Ok(())
    }

    /// Accounts for what the accumulators grew by.
    pub(super) fn count_memory(
        &mut self,
        held: &mut Held,
        memory: &mut MemoryBudget,
    ) -> Result<(), SqlError> {
        let bytes: usize = self.accumulators.iter().map(Accumulator::memory_bytes).sum();
        let grown = bytes.saturating_sub(self.counted_bytes);
        self.counted_bytes += grown;
        held.take(grown, memory)
    }
}
