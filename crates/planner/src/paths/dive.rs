//! Counting rows in the ranges of an index, for the values at hand.
//!
//! A block asks for the same ranges again and again while its join order is found, so answers are kept. Those that were
//! made with parameters and may have decided something become the plan's checks.
use crate::estimates::Dive;
use crate::planner::Planner;
use binder::walk::any;
use datum::Value;
use expression::{Expr, ExprKind};
use plan::{EstimateCheck, KeyCondition, RangeCondition};
use schema::TableDef;

/// More ranges are judged by statistics, whatever they are.
const RANGES_MAX: usize = 1000;

impl Planner<'_> {
    /// The rows in the ranges, if their bounds are known and the index tells. `decides` as in `Dive`.
    pub fn dive(
        &self,
        table: &TableDef,
        index: usize,
        ranges: &[RangeCondition],
        decides: bool,
    ) -> Option<f64> {
        let equalities: usize = ranges.iter().map(equalities).sum();
        let limit = self.catalog.equality_dives_max();
        let is_judged = equalities > 1 && limit != 0 && equalities >= limit;
        if is_judged || equalities > RANGES_MAX || ranges.len() > RANGES_MAX || reads_rows(ranges) {
            return None;
        }
        let mut dives = self.dives.borrow_mut();
        let is_known = |dive: &&mut Dive| {
            dive.check.table == table.id && dive.check.index == index && dive.check.ranges == ranges
        };
        if let Some(known) = dives.iter_mut().find(is_known) {
            known.decides |= decides;
            return known.rows;
        }
        let rows = self.catalog.rows_in(table, index, ranges, &self.known_values());
        let check =
            EstimateCheck { table: table.id, index, ranges: ranges.to_vec(), rows: rows.unwrap_or(0.0) };
        dives.push(Dive { check, rows, decides });
        rows
    }

    /// What a histogram of the column tells of ranges whose bounds are known.
    pub fn share_in_histogram(
        &self,
        table: &TableDef,
        column: usize,
        ranges: &[RangeCondition],
    ) -> Option<f64> {
        if ranges.is_empty() || ranges.len() > RANGES_MAX || reads_rows(ranges) {
            return None;
        }
        self.catalog.share_in_histogram(table, column, ranges, &self.known_values())
    }

    /// The values by which rows are estimated.
    fn known_values(&self) -> Vec<Value> {
        let known = self.context.bind.known.all();
        if known.is_empty() { self.values.to_vec() } else { known }
    }

    /// What the plan relies on.
    pub fn checks(&self) -> Vec<EstimateCheck> {
        let dives = self.dives.take();
        let relied_on = dives
            .into_iter()
            .filter(|dive| dive.decides && dive.rows.is_some() && reads(&dive.check.ranges, &is_parameter));
        relied_on.map(|dive| dive.check).collect()
    }
}

/// How many separate values the condition's equalities ask for.
fn equalities(range: &RangeCondition) -> usize {
    let values = range.parts.iter().map(|part| match part {
        KeyCondition::OneOf(values) | KeyCondition::NoneOf(values) => values.len(),
        _ => 1,
    });
    values.product()
}

/// A bound is known only when the plan runs.
fn reads_rows(ranges: &[RangeCondition]) -> bool {
    reads(ranges, &|expr| {
        matches!(expr.kind, ExprKind::Column(_) | ExprKind::Slot(_)) || binder::walk::is_volatile(expr)
    })
}

fn is_parameter(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Parameter(_))
}

fn reads(ranges: &[RangeCondition], test: &dyn Fn(&Expr) -> bool) -> bool {
    let parts = ranges.iter().flat_map(|range| &range.parts);
    let mut bounds = parts.flat_map(|part| match part {
        KeyCondition::OneOf(values) | KeyCondition::NoneOf(values) => values.iter().collect(),
        KeyCondition::SameAs(value) | KeyCondition::Like { pattern: value, .. } => vec![value],
        KeyCondition::IsNull => Vec::new(),
        KeyCondition::Between(interval) => {
            let bounds = [&interval.lower, &interval.upper];
            bounds.into_iter().flatten().map(|(value, _)| value).collect()
        }
    });
    bounds.any(|bound| any(bound, test))
}
