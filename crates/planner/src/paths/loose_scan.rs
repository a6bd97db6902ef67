//! Reading one entry of an index for each group, and ranges behind parts that have no condition.
//!
//! Both walk over the different values of an index's first parts by seeking behind each (loose index scan, skip scan).
//! They are worth it where there are few of them, as statistics tell. Called by `access` for the only table of a block.
use crate::paths::access::Chooser;
use crate::paths::choice::{COST_RANGE, Candidate};
use crate::paths::range::RangeFinder;
use binder::Switch;
use binder::block::{Block, GroupWish, Position};
use binder::walk::{any, is_volatile, positions};
use expression::{AggregateCall, AggregateFunction, Expr, ExprKind};
use plan::{AccessPath, GroupWalk, RangeCondition};
use schema::IndexDef;

/// The only source of a block of which nothing else is read.
const SOURCE: usize = 0;

/// The wish of a grouped block; `groups` are its GROUP BY.
pub fn wish_of_groups(block: &Block, groups: &[Expr], aggregates: &[AggregateCall]) -> Option<GroupWish> {
    let mut wish = GroupWish { columns: Vec::new(), extreme: None, least: false, greatest: false };
    for group in groups {
        wish.columns.push(column_of(block, group)?);
    }
    for call in aggregates {
        let columns: Option<Vec<usize>> =
            call.arguments.iter().map(|argument| column_of(block, argument)).collect();
        let columns = columns.filter(|_| call.order_by.is_empty())?;
        match (call.function, columns.as_slice()) {
            (AggregateFunction::Min | AggregateFunction::Max, [column]) if !groups.is_empty() => {
                if wish.extreme.is_some_and(|known| known != *column) {
                    return None;
                }
                wish.extreme = Some(*column);
                wish.least |= call.function == AggregateFunction::Min;
                wish.greatest |= call.function == AggregateFunction::Max;
            }
            // COUNT(DISTINCT a, b): the groups are its values.
            (AggregateFunction::Count, columns)
                if groups.is_empty() && call.distinct && !columns.is_empty() =>
            {
                if wish.columns.is_empty() {
                    wish.columns = columns.to_vec();
                }
                let is_same = columns.iter().all(|column| wish.columns.contains(column))
                    && wish.columns.iter().all(|column| columns.contains(column));
                if !is_same {
                    return None;
                }
            }
            _ => return None,
        }
    }
    checked(block, wish)
}

/// The wish of SELECT DISTINCT.
pub fn wish_of_distinct<'e>(block: &Block, items: impl Iterator<Item = &'e Expr>) -> Option<GroupWish> {
    let columns: Option<Vec<usize>> = items.map(|item| column_of(block, item)).collect();
    checked(block, GroupWish { columns: columns?, extreme: None, least: false, greatest: false })
}

/// Only where nothing else is read of the rows, and nothing looks at them one by one.
fn checked(block: &Block, wish: GroupWish) -> Option<GroupWish> {
    let is_known = |position: &Position| match position {
        Position::Column { source, column } => {
            *source == SOURCE && (wish.columns.contains(column) || wish.extreme == Some(*column))
        }
        _ => false,
    };
    let is_alone = block.sources.len() == 1 && block.subqueries.is_empty() && block.on_applies.is_empty();
    (is_alone && !wish.columns.is_empty() && block.frame.iter().all(is_known)).then_some(wish)
}

fn column_of(block: &Block, expr: &Expr) -> Option<usize> {
    let ExprKind::Column(position) = expr.kind else { return None };
    match *block.frame.get(position)? {
        Position::Column { source: SOURCE, column } => Some(column),
        _ => None,
    }
}

impl Chooser<'_> {
    /// A loose index scan, if the index has the groups in its first parts.
    pub fn group_walk(
        &self,
        position: usize,
        finder: &RangeFinder<'_>,
        conditions: &[Expr],
    ) -> Option<Candidate> {
        let wish = self.block.group_wish.as_ref().filter(|_| self.block.sources.len() == 1)?;
        let index = &self.table.indexes[position];
        if self.locks || !self.hints.group.allows(position) || !self.hints.join.allows(position) {
            return None;
        }
        let clustered = self.table.clustered_by == Some(index.id);
        let covering = !clustered && self.covers(index);
        let found = finder.find(index, conditions);
        let parts = self.group_parts(index, wish, &found.ranges)?;
        let columns: Vec<usize> = index.parts[..parts].iter().map(|part| part.column).collect();
        let reads_groups_alone = |condition: &Expr| {
            let mut read = Vec::new();
            positions(condition, &mut read);
            let is_group = |position: &usize| match self.block.frame[*position] {
                Position::Column { column, .. } => columns.contains(&column),
                _ => false,
            };
            read.iter().all(is_group) && !any(condition, &is_volatile)
        };
        let needs_entry = wish.extreme.is_some() && !covering && !clustered;
        if needs_entry || !conditions.iter().all(reads_groups_alone) {
            return None;
        }
        let ranges: Vec<RangeCondition> = found
            .ranges
            .iter()
            .map(|range| RangeCondition { parts: range.parts.iter().take(parts).cloned().collect() })
            .collect();
        let rows = match ranges.is_empty() {
            true => self.rows,
            false => ranges.iter().map(|range| self.range_rows(position, index, range)).sum::<f64>(),
        };
        let groups = self.distinct(position, parts)? as f64 * (rows / self.rows).min(1.0);
        let seeks = groups.max(1.0) * if wish.greatest { 2.0 } else { 1.0 };
        let per_row = self.row_cost(index, clustered, covering);
        let walk = GroupWalk { parts, ranges, least: wish.least, greatest: wish.greatest };
        let choice = crate::paths::choice::Choice {
            path: AccessPath::Groups { index: position, walk },
            covering,
            reads_outer: found.reads_outer,
            cost: COST_RANGE + seeks * (COST_RANGE + per_row),
            rows_read: seeks.min(self.rows),
            ..self.scan_choice()
        };
        Some(Candidate { choice, index: Some(position), per_row, used: Vec::new() })
    }

    /// How many first parts of the index the groups are: their columns, and those that have one value.
    fn group_parts(&self, index: &IndexDef, wish: &GroupWish, ranges: &[RangeCondition]) -> Option<usize> {
        let single = crate::paths::choice::leading_single_values(ranges);
        let is_group = |(number, part): &(usize, &schema::IndexPart)| {
            part.prefix_length.is_none() && (wish.columns.contains(&part.column) || *number < single)
        };
        let parts = index.parts.iter().enumerate().take_while(is_group).count();
        let columns: Vec<usize> = index.parts[..parts].iter().map(|part| part.column).collect();
        if !wish.columns.iter().all(|column| columns.contains(column)) {
            return None;
        }
        match wish.extreme {
            None => (parts > 0).then_some(parts),
            Some(extreme) => {
                let next = index.parts.get(parts)?;
                let is_next = next.column == extreme && next.prefix_length.is_none() && !next.descending;
                is_next.then_some(parts)
            }
        }
    }

    /// A skip scan, if a part behind the first has a condition and those before it few values.
    pub fn skip_scan(
        &self,
        position: usize,
        finder: &RangeFinder<'_>,
        conditions: &[Expr],
    ) -> Option<Candidate> {
        let index = &self.table.indexes[position];
        let hinted = self.hints.skip_scan.as_ref();
        let is_named = |keys: &Vec<usize>| keys.is_empty() || keys.contains(&position);
        let is_allowed = match hinted {
            Some((on, keys)) => *on == is_named(keys) || !*on && !is_named(keys),
            None => self.planner.context.switches.has(Switch::SkipScan),
        };
        let clustered = self.table.clustered_by == Some(index.id);
        if !is_allowed || self.locks || clustered || self.block.sources.len() != 1 || !self.covers(index) {
            return None;
        }
        let (skipped, found) = (1..index.parts.len()).find_map(|skipped| {
            let behind = IndexDef { parts: index.parts[skipped..].to_vec(), ..index.clone() };
            let found = finder.find(&behind, conditions);
            matches!(found.ranges.as_slice(), [_]).then_some((skipped, found))
        })?;
        let values = self.distinct(position, skipped)? as f64;
        let share: f64 = found
            .used
            .iter()
            .map(|number| crate::paths::selectivity::of(self.block, &conditions[*number]))
            .product();
        let rows_read = (self.rows * share).max(1.0);
        let per_row = self.row_cost(index, clustered, true);
        let is_asked = matches!(hinted, Some((true, _)));
        let cost = if is_asked { 0.0 } else { values * 2.0 * COST_RANGE + rows_read * per_row };
        let range = found.ranges.into_iter().next()?;
        let choice = crate::paths::choice::Choice {
            path: AccessPath::Skip { index: position, skipped, range },
            covering: true,
            implied: found.implied.iter().map(|number| conditions[*number].clone()).collect(),
            cost,
            rows_read,
            ..self.scan_choice()
        };
        Some(Candidate { choice, index: Some(position), per_row, used: Vec::new() })
    }
}
