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
use plan::{EstimateCheck, Plan, RangeCondition};
use planner::Leaves;
use schema::TableDef;

use crate::session::Session;

/// A tree of fewer leaves that nothing is known of counts as one in memory: reading it is soon done.
const LEAVES_MIN: u64 = 8;

/// Of so many ranges all are counted when a kept plan is asked whether it suits.
const COUNTED_MIN: usize = 3;
/// Of more, one in so many, and at least `COUNTED_MIN`.
const COUNTED_SHARE: usize = 8;
/// The ranges that were not counted may have so many times the rows of those that were, or so few, or all are counted.
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

/// Ranges of an index whose rows are counted in memory.
struct Counting<'a> {
    session: &'a Session,
    table: &'a TableDef,
    tree: TreeId,
    /// The table's.
    rows: f64,
    ranges: Vec<KeyRange>,
    notes_cold: bool,
}

impl Counting<'_> {
    fn count_of(&self, range: &KeyRange) -> Option<f64> {
        let engine = self.session.instance.engine();
        let count = engine.records_in_memory(self.tree, range, self.rows);
        if self.notes_cold && !count.is_exact && count.records.is_none_or(|records| records < FEW_ROWS) {
            self.session.note_cold(self.table, self.tree, range);
        }
        count.records
    }

    fn all(&self) -> Option<f64> {
        self.ranges.iter().map(|range| self.count_of(range)).sum()
    }

    /// Whether some of many ranges are enough to see that the check holds. It may be wrong where a value that was not counted has
    /// far more rows than those that were.
    fn seems_alike(&self, check: &EstimateCheck) -> bool {
        let counted = COUNTED_MIN.max(self.ranges.len().div_ceil(COUNTED_SHARE));
        if self.ranges.len() <= counted {
            return false;
        }
        // From the middle of each of as many equal parts.
        let place = |part: usize| (2 * part + 1) * self.ranges.len() / (2 * counted);
        let rows: Option<f64> = (0..counted).map(|part| self.count_of(&self.ranges[place(part)])).sum();
        rows.is_some_and(|rows| {
            let all = rows * self.ranges.len() as f64 / counted as f64;
            check.accepts(all * UNCOUNTED_FACTOR) && check.accepts(all / UNCOUNTED_FACTOR)
        })
    }
}

impl Session {
    /// Whether the plan is for values like these.
    pub(crate) fn suits(&self, plan: &Plan, parameters: &[Value]) -> bool {
        plan.checks.iter().all(|check| self.holds(check, parameters))
    }

    fn holds(&self, check: &EstimateCheck, parameters: &[Value]) -> bool {
        let Some(handle) = self.instance.catalog().table_by_id(check.table) else { return true };
        let notes = check.rows > FEW_ROWS;
        let table = handle.definition();
        let Some(counting) = self.counting(table, check.index, &check.ranges, parameters, notes) else {
            return true;
        };
        counting.seems_alike(check) || counting.all().is_none_or(|rows| check.accepts(rows))
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
        self.counting(table, index, ranges, parameters, notes_cold)?.all()
    }

    /// The ranges of an index that are to be counted; `None` where that cannot be.
    fn counting<'a>(
        &'a self,
        table: &'a TableDef,
        index: usize,
        ranges: &[RangeCondition],
        parameters: &[Value],
        notes_cold: bool,
    ) -> Option<Counting<'a>> {
        let ready = self.instance.catalog().table_by_id(table.id)?.if_ready()?;
        let layout = ready.layout().indexes.get(index)?;
        let context = self.estimating_context(parameters);
        let ranges = executor::key_ranges(table, &layout.parts, ranges, &context).ok()?;
        let rows = ready.estimated_rows() as f64;
        Some(Counting { session: self, table, tree: layout.tree, rows, ranges, notes_cold })
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
