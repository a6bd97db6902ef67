//! Several indexes of one table together: the rows of any of them for an OR, the rows in all of them for an AND.
//!
//! The keys of the rows are gathered from the indexes, put together in order and looked up. All conditions are tested on
//! the rows again. Plain reads only. Called by `access`.
use crate::paths::access::Chooser;
use crate::paths::choice::{COST_LOOKUP, COST_RANGE, Candidate, Choice, leading_single_values, starts};
use crate::paths::range::{IndexRanges, RangeFinder};
use binder::Switch;
use binder::walk::split_conjuncts;
use expression::{Expr, ExprKind};
use plan::{AccessPath, IndexMerge, MergeKind, MergePart};

/// More operands of an OR are not looked at.
const OPERANDS_MAX: usize = 64;
/// The keys of more rows are not gathered.
const ROWS_MAX: f64 = 2_000_000.0;
/// A row that is looked up among many in their order.
const ORDERED_LOOKUP: f64 = 0.8;

/// A way to find the rows of one condition.
struct Part {
    part: MergePart,
    rows: f64,
    cost: f64,
    /// One value for each part of the index: its rows come in their own order.
    is_equality: bool,
}

impl Chooser<'_> {
    /// The best merge, if there is any.
    pub fn index_merge(&self, finder: &RangeFinder<'_>, conditions: &[Expr]) -> Option<Candidate> {
        let is_on = match &self.hints.merge {
            Some((on, keys)) => *on || !keys.is_empty() && keys.len() < self.table.indexes.len(),
            None => self.planner.context.switches.has(Switch::IndexMerge),
        };
        if !is_on || self.locks || self.block.sources[self.source].lock.is_some() {
            return None;
        }
        let unions = conditions.iter().filter_map(|condition| self.union(finder, condition));
        let found = unions.chain(self.intersection(finder, conditions));
        let (merge, rows, mut cost) = found.min_by(|left, right| left.2.total_cmp(&right.2))?;
        if matches!(self.hints.merge, Some((true, _))) {
            cost = 0.0;
        }
        let choice = Choice {
            path: AccessPath::Merge(Box::new(merge)),
            cost,
            rows_read: rows.max(1.0),
            ..self.scan_choice()
        };
        (rows <= ROWS_MAX).then_some(Candidate {
            choice,
            index: None,
            per_row: COST_LOOKUP,
            used: Vec::new(),
        })
    }

    fn may_merge(&self, position: usize) -> bool {
        let index = &self.table.indexes[position];
        let is_hinted = match &self.hints.merge {
            Some((on, keys)) => keys.is_empty() || *on == keys.contains(&position),
            None => true,
        };
        is_hinted && (!index.invisible || self.hints.uses_invisible) && self.hints.join.allows(position)
    }

    /// Each operand of an OR by the index that is best for it.
    fn union(&self, finder: &RangeFinder<'_>, condition: &Expr) -> Option<(IndexMerge, f64, f64)> {
        let ExprKind::Or(operands) = &condition.kind else { return None };
        if operands.len() > OPERANDS_MAX {
            return None;
        }
        let mut ways_of = Vec::with_capacity(operands.len());
        for operand in operands {
            let own = split_conjuncts(operand.clone());
            let ways: Vec<MergePart> = self.parts(finder, &own).collect();
            ways_of.push(ways);
            if ways_of.last().is_some_and(Vec::is_empty) {
                return None;
            }
        }
        // One index alone reads the ranges of all operands without a merge.
        let first = ways_of.first()?.first()?.index;
        if ways_of.iter().flatten().all(|way| way.index == first) {
            return None;
        }
        let mut parts: Vec<Part> = Vec::new();
        for ways in ways_of {
            let ways = ways.into_iter().map(|way| self.priced(way));
            let best = ways.min_by(|left, right| left.cost.total_cmp(&right.cost))?;
            match parts.iter_mut().find(|known| known.part.index == best.part.index) {
                Some(known) => {
                    known.part.ranges.extend(best.part.ranges);
                    known.rows += best.rows;
                    known.cost += best.cost;
                    known.is_equality = false;
                }
                None => parts.push(best),
            }
        }
        let kind = match parts.iter().all(|part| part.is_equality) {
            true => MergeKind::Union,
            false => MergeKind::SortUnion,
        };
        let switch =
            if kind == MergeKind::Union { Switch::IndexMergeUnion } else { Switch::IndexMergeSortUnion };
        if parts.len() < 2 || !self.planner.context.switches.has(switch) {
            return None;
        }
        let rows = parts.iter().map(|part| part.rows).sum::<f64>().min(self.rows);
        let cost = parts.iter().map(|part| part.cost).sum::<f64>() + rows * COST_LOOKUP * ORDERED_LOOKUP;
        Some((IndexMerge { kind, parts: parts.into_iter().map(|part| part.part).collect() }, rows, cost))
    }

    /// Indexes whose parts all have one value, those with the fewest rows first, as long as each is worth it.
    fn intersection(&self, finder: &RangeFinder<'_>, conditions: &[Expr]) -> Option<(IndexMerge, f64, f64)> {
        if !self.planner.context.switches.has(Switch::IndexMergeIntersection) {
            return None;
        }
        let ways = self.parts(finder, conditions);
        let ways: Vec<MergePart> =
            ways.filter(|way| !self.is_clustering(way.index) && self.is_equality(way)).collect();
        if ways.len() < 2 {
            return None;
        }
        let mut ways: Vec<Part> = ways.into_iter().map(|way| self.priced(way)).collect();
        ways.sort_by(|left, right| left.rows.total_cmp(&right.rows));
        let is_asked = matches!(self.hints.merge, Some((true, _)));
        let mut ways = ways.into_iter();
        let first = ways.next()?;
        let (mut rows, mut entries) = (first.rows, first.cost);
        let mut columns: Vec<usize> = self.columns_of(first.part.index);
        let mut parts = vec![first.part];
        for way in ways {
            // What the same columns tell twice leaves no fewer rows.
            let own = self.columns_of(way.part.index);
            if own.iter().all(|column| columns.contains(column)) {
                continue;
            }
            let left = rows * (way.rows / self.rows).min(1.0);
            let saved = (rows - left) * COST_LOOKUP;
            if way.cost < saved || is_asked {
                rows = left;
                entries += way.cost;
                columns.extend(own);
                parts.push(way.part);
            }
        }
        let cost = entries + rows * COST_LOOKUP * ORDERED_LOOKUP;
        let merge = IndexMerge { kind: MergeKind::Intersection, parts };
        (merge.parts.len() > 1).then_some((merge, rows, cost))
    }

    fn columns_of(&self, position: usize) -> Vec<usize> {
        self.table.indexes[position].parts.iter().map(|part| part.column).collect()
    }

    /// Each index that has ranges for these conditions, none of which reads another table.
    fn parts(&self, finder: &RangeFinder<'_>, conditions: &[Expr]) -> impl Iterator<Item = MergePart> {
        let positions = (0..self.table.indexes.len()).filter(|position| self.may_merge(*position));
        positions.filter_map(move |index| {
            let definition = &self.table.indexes[index];
            let IndexRanges { ranges, reads_outer, .. } = finder.find(definition, conditions);
            let is_short = !crate::paths::array_index::bound_array(self.table, definition, &ranges);
            (!ranges.is_empty() && !reads_outer && !is_short).then_some(MergePart { index, ranges })
        })
    }

    fn is_clustering(&self, position: usize) -> bool {
        self.table.clustered_by == Some(self.table.indexes[position].id)
    }

    fn is_equality(&self, part: &MergePart) -> bool {
        leading_single_values(&part.ranges) == self.table.indexes[part.index].parts.len()
    }

    fn priced(&self, part: MergePart) -> Part {
        let MergePart { index: position, ranges } = &part;
        let index = &self.table.indexes[*position];
        let counted = self.planner.dive(self.table, *position, ranges, true).map(|rows| rows * self.scale);
        let judged = || ranges.iter().map(|range| self.range_rows(*position, index, range)).sum::<f64>();
        let rows = counted.unwrap_or_else(judged).min(self.rows).max(0.1);
        let seeks: f64 = ranges.iter().map(starts).sum();
        let cost = seeks * COST_RANGE + rows * self.row_cost(index, self.is_clustering(*position), true);
        Part { rows, cost, is_equality: self.is_equality(&part), part }
    }
}
