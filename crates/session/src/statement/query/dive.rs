//! Counting rows in ranges of an index for the planner, and whether a kept plan's counts are still right.
//!
//! Counting waits for nothing, warns of nothing and changes nothing: an index of which too little is in memory tells nothing, and then
//! the plan stays what it is. What was not there for want of a leaf is noted, and who plans may read it and plan once more: a plan
//! that avoids a range because nobody knows how few rows it has would never bring the leaf into memory that tells.
use std::sync::Arc;

use catalog::{LockMode, LockName};
use datum::{ColumnType, Condition, Value};
use engine::{KeyRange, TreeId};
use expression::{EvalContext, SessionServices};
use parking_lot::Mutex;
use plan::{EstimateCheck, KeyCondition, Plan, RangeCondition};
use planner::Leaves;
use schema::TableDef;

use crate::session::Session;

/// A tree of fewer leaves that nothing is known of counts as one in memory: reading it is soon done.
const LEAVES_MIN: u64 = 8;

/// Of the values of an IN so many are counted when a kept plan is asked whether it suits,
const COUNTED_MIN: usize = 3;
/// and at least one in so many.
const COUNTED_SHARE: usize = 8;
/// Those that were not counted may have so many times the rows of the others, or so few, or all are counted.
const UNCOUNTED_FACTOR: f64 = 2.0;

/// Ranges whose ends are read for one plan.
const COLD_RANGES_MAX: usize = 8;
/// A range that seems to have more rows is known well enough by the nodes above its leaves. A kept plan for fewer rows likely reads
/// the range itself.
const FEW_ROWS: f64 = 1000.0;

/// Ranges of which a leaf was missed since they were read last.
#[derive(Default)]
pub(crate) struct ColdRanges(Mutex<Vec<ColdRange>>);

struct ColdRange {
    table: LockName,
    tree: TreeId,
    range: KeyRange,
}

/// The session as the bounds of ranges see it while they are only estimated.
struct Unseen;

impl SessionServices for Unseen {
    fn warn(&self, _: Condition) {}

    fn user_variable(&self, _: &str) -> Option<(Value, ColumnType)> {
        None
    }

    fn set_user_variable(&self, _: &str, _: Value, _: ColumnType) -> Result<(), datum::SqlError> {
        Ok(())
    }

    fn last_insert_id(&self) -> u64 {
        0
    }

    fn set_last_insert_id(&self, _: u64) {}

    fn row_count(&self) -> i64 {
        0
    }

    fn found_rows(&self) -> u64 {
        0
    }
}

/// Some of the values of an IN, where there are many, and which share of all they are. A plan that suits them is kept, also where a value
/// that was not counted has far more rows than they have.
fn some_of(ranges: &[RangeCondition]) -> Option<(RangeCondition, f64)> {
    let [range] = ranges else { return None };
    let (place, values) = range.parts.iter().enumerate().find_map(|(place, part)| match part {
        KeyCondition::OneOf(values) if values.len() > COUNTED_MIN => Some((place, values)),
        _ => None,
    })?;
    let counted = COUNTED_MIN.max(values.len().div_ceil(COUNTED_SHARE));
    // From the middle of each of as many equal parts.
    let chosen = (0..counted).map(|part| values[(2 * part + 1) * values.len() / (2 * counted)].clone());
    let mut chosen = Some(KeyCondition::OneOf(chosen.collect()));
    let parts = range.parts.iter().enumerate();
    let parts = parts.filter_map(|(at, part)| if at == place { chosen.take() } else { Some(part.clone()) });
    Some((RangeCondition { parts: parts.collect() }, counted as f64 / values.len() as f64))
}

impl Session {
    /// Whether the plan is for values like these.
    pub(crate) fn suits(&self, plan: &Plan, parameters: &[Value]) -> bool {
        plan.checks.iter().all(|check| self.holds(check, parameters))
    }

    fn holds(&self, check: &EstimateCheck, parameters: &[Value]) -> bool {
        let Some(handle) = self.instance.catalog().table_by_id(check.table) else { return true };
        let notes = check.rows > FEW_ROWS;
        let rows_in = |ranges: &[RangeCondition]| {
            self.count_in(handle.definition(), check.index, ranges, parameters, notes)
        };
        if let Some((some, share)) = some_of(&check.ranges)
            && let Some(rows) = rows_in(std::slice::from_ref(&some))
            && check.accepts(rows / share * UNCOUNTED_FACTOR)
            && check.accepts(rows / share / UNCOUNTED_FACTOR)
        {
            return true;
        }
        rows_in(&check.ranges).is_none_or(|rows| check.accepts(rows))
    }

    /// Reads the ends of the ranges that could not be counted; true when there were any, so that counting again makes sense.
    pub(crate) async fn read_cold_ranges(&mut self) -> bool {
        let ranges = std::mem::take(self.cold_ranges.0.get_mut());
        !ranges.is_empty() && Box::pin(self.read_ends(ranges)).await
    }

    async fn read_ends(&mut self, ranges: Vec<ColdRange>) -> bool {
        let mut has_read = false;
        for ColdRange { table, tree, range } in ranges {
            // Plans are made without locks, but a tree that is read has to be there.
            let lock = Box::pin(self.lock_for_change(vec![(table, LockMode::Shared)])).await;
            // What fails here fails again for whoever needs it.
            if lock.is_ok() {
                has_read |= self.instance.engine().estimate_range(tree, &range).await.is_ok();
            }
        }
        has_read
    }

    fn note_cold(&self, table: &TableDef, tree: TreeId, range: &KeyRange) {
        let mut ranges = self.cold_ranges.0.lock();
        if ranges.len() < COLD_RANGES_MAX && !table.temporary {
            let name = LockName::Table(table.database.as_str().into(), table.name.as_str().into());
            ranges.push(ColdRange { table: name, tree, range: range.clone() });
        }
    }

    pub(in crate::statement) fn count_in(
        &self,
        table: &TableDef,
        index: usize,
        ranges: &[RangeCondition],
        parameters: &[Value],
        notes_cold: bool,
    ) -> Option<f64> {
        let ready = self.instance.catalog().table_by_id(table.id)?.if_ready()?;
        let layout = ready.layout().indexes.get(index)?;
        let context = self.estimating_context(parameters);
        let ranges = executor::key_ranges(table, &layout.parts, ranges, &context).ok()?;
        let rows = ready.estimated_rows() as f64;
        let engine = self.instance.engine();
        let count_of = |range: &KeyRange| {
            let count = engine.records_in_memory(layout.tree, range, rows);
            if notes_cold && !count.is_exact && count.records.is_none_or(|records| records < FEW_ROWS) {
                self.note_cold(table, layout.tree, range);
            }
            count.records
        };
        ranges.iter().map(count_of).sum()
    }

    /// As `CatalogView::leaves`.
    pub(super) fn leaves_of(&self, table: &TableDef, index: Option<usize>) -> Option<Leaves> {
        let ready = self.instance.catalog().table_by_id(table.id)?.if_ready()?;
        let layout = ready.layout();
        let tree = match index {
            Some(index) => layout.indexes.get(index)?.tree,
            None => layout.tree,
        };
        let engine = self.instance.engine();
        let (count, absent) = match engine.leaves(tree) {
            Some(leaves) => (leaves.count, leaves.absent),
            None if engine.has_room_for_all() => return None,
            // No node of it is in memory, as after a start: nor are its leaves then, of which there were so many.
            None => {
                let handle = self.instance.catalog().table_by_id(table.id)?;
                let count = handle.statistics().present()?.index(tree.0)?.leaves;
                (count >= LEAVES_MIN).then_some((count as f64, 1.0))?
            }
        };
        Some(Leaves { count, absent, fits: engine.has_room_for(count) })
    }

    /// As `CatalogView::share_in_histogram`.
    pub(in crate::statement) fn share_of_column(
        &self,
        table: &TableDef,
        column: usize,
        ranges: &[RangeCondition],
        parameters: &[Value],
    ) -> Option<f64> {
        let definition = &table.columns[column];
        let handle = self.instance.catalog().table_by_id(table.id)?;
        let (histograms, known) = (handle.statistics().histograms(), handle.statistics().present());
        let is_it = |known: &&table::Histogram| known.column == definition.name;
        let made = histograms.iter().find(is_it);
        let sampled = || known.as_ref().and_then(|known| known.columns.iter().find(is_it));
        let histogram = made.or_else(sampled)?;
        let part = [table::histogram_part(column, &definition.column_type)];
        let context = self.estimating_context(parameters);
        let ranges = executor::key_ranges(table, &part, ranges, &context).ok()?;
        Some(match made.is_some() || ranges.is_empty() {
            true => histogram.share(&ranges),
            false => histogram.share_at_least(&ranges),
        })
    }

    /// What bounds are evaluated with. The clock of the last statement will do.
    fn estimating_context(&self, parameters: &[Value]) -> EvalContext {
        let settings =
            self.statement_settings.clone().unwrap_or_else(|| Arc::new(self.expression_settings()));
        EvalContext::new(settings, Arc::new(Unseen)).with_parameters(parameters.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expression::{Coercibility, Expr, ExprKind, ExprType};

    fn literal(value: i64) -> Expr {
        let ty = ExprType::new(ColumnType::bigint(), Coercibility::Numeric);
        Expr { kind: ExprKind::Literal(Value::Int(value)), ty }
    }

    fn one_of(count: i64) -> KeyCondition {
        KeyCondition::OneOf((0..count).map(literal).collect())
    }

    #[test]
    fn some_of_many_values_are_counted() {
        let range = |parts: Vec<KeyCondition>| [RangeCondition { parts }];
        assert_eq!(some_of(&range(vec![one_of(3)])), None);
        let (some, share) = some_of(&range(vec![one_of(1), one_of(10)])).expect("ten are many");
        let chosen = [1, 5, 8].map(literal);
        assert_eq!(some.parts, [one_of(1), KeyCondition::OneOf(chosen.into())]);
        assert_eq!(share, 0.3);
        let (some, _) = some_of(&range(vec![one_of(100), KeyCondition::IsNull])).expect("so are a hundred");
        assert!(
            matches!(&some.parts[..], [KeyCondition::OneOf(values), KeyCondition::IsNull] if values.len() == 13)
        );
    }
}
