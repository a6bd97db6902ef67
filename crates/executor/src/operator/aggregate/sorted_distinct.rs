//! DISTINCT aggregates over sorted input, where the groups at hand hold more values than memory has room for.
//!
//! Invariant: once a group has `later` keys, its accumulators remember no more values, so a value is known to the one or the
//! other. Such a group ends with all rows in: nothing waits for another turn.
use super::{AggregateRows, Group};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::deferred::retried;
use crate::memory::Held;
use crate::seen_keys::SeenKeys;
use datum::{SqlError, Value};
use plan::Aggregate;

impl Group {
    /// Takes a row; `held` is what the accumulators of all groups at hand hold.
    pub(super) async fn add_sorted(
        &mut self,
        plan: &Aggregate,
        row: &[Value],
        held: &mut Held,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        if !plan.aggregates.iter().any(|column| column.call.distinct) {
            return self.add(plan, row, context).await;
        }
        let is_full = held.bytes() > context.settings.shares.rows_bytes || context.memory.is_scarce();
        if self.later.is_none() && !is_full {
            self.add(plan, row, context).await?;
            return self.count_memory(held, &mut context.memory);
        }
        let later = self.later.get_or_insert_with(|| Box::new(SeenKeys::new()));
        for (place, (accumulator, column)) in self.accumulators.iter_mut().zip(&plan.aggregates).enumerate() {
            let call = &column.call;
            if !call.distinct {
                retried(context, |eval| accumulator.add(call, row, eval)).await?;
                continue;
            }
            let unseen = retried(context, |eval| accumulator.unseen_key(call, row, eval)).await?;
            let Some(value) = unseen else { continue };
            let mut key = (place as u64).to_le_bytes().to_vec();
            key.extend_from_slice(&value);
            if later.insert(&key, context).await? {
                retried(context, |eval| accumulator.add_unseen(call, row, eval)).await?;
            }
        }
        Ok(())
    }
}

impl AggregateRows<'_> {
    /// Gives the group out.
    pub(super) fn end_group(
        &mut self,
        mut group: Group,
        context: &mut ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        self.held.give_back(group.counted_bytes, &mut context.memory);
        if let Some(mut later) = group.later.take() {
            later.clear(&mut context.memory);
        }
        group.finish(self.plan, context.eval, out)
    }
}
