//! The ways to read one table: ranges of an index, an index from end to end, all rows; what each costs before sorting.
//!
//! Called by `access`; index merges and walks over groups are made elsewhere.
use crate::joins::join_parts::projection_of;
use crate::paths::access::Chooser;
use crate::paths::array_index::may_repeat_rows;
use crate::paths::choice::{
    COST_LOOKUP, COST_RANGE, Candidate, Choice, WantedOrder, leading_single_values, point_key, starts,
};
use crate::paths::range::IndexRanges;
use expression::Expr;
use plan::{AccessPath, IndexMerge, MergeKind, MergePart, Reads};
use schema::IndexDef;

/// An entry of an index that has all that is needed, compared with a whole row: at least this, and more for wide keys.
const COST_COVERED: f64 = 0.4;
const COST_COVERED_BYTE: f64 = 0.01;
const COST_COVERED_MAX: f64 = 0.9;
/// A kept plan of a table with so few rows serves all values (`EstimateCheck`), so it is made without asking for them.
const DIVE_ROWS_MIN: f64 = 100.0;

impl Chooser<'_> {
    /// Ranges of the index, counted in it where that may decide something.
    pub fn ranges(
        &self,
        position: usize,
        found: IndexRanges,
        conditions: &[Expr],
        decides: bool,
    ) -> Candidate {
        let index = &self.table.indexes[position];
        let clustered = self.table.clustered_by == Some(index.id);
        let covering = !clustered && self.covers(index);
        let point = point_key(index, &found.ranges);
        // A range of rows is never worse than all of them; one of an index may be.
        let decides = decides || !(clustered || covering);
        let counted = match point {
            Some(_) => None,
            None if self.rows / self.scale <= DIVE_ROWS_MIN => None,
            None => self.planner.dive(self.table, position, &found.ranges, decides),
        };
        let judged = || found.ranges.iter().map(|range| self.range_rows(position, index, range)).sum::<f64>();
        let rows_read = counted.map_or_else(judged, |rows| rows * self.scale).min(self.rows).max(0.1);
        let starts: f64 = found.ranges.iter().map(starts).sum();
        let per_row = match clustered || covering {
            true => self.row_cost(index, clustered, covering),
            // Rows whose entries fail are not fetched.
            false => {
                let told = crate::paths::entry_filter::share_told(
                    self.block,
                    self.source,
                    index,
                    self.table,
                    |number| {
                        let is_left = !found.used.contains(&number);
                        is_left && !self.hints.no_condition.contains(&position)
                    },
                    conditions,
                );
                self.row_cost(index, clustered, covering) - COST_LOOKUP * (1.0 - told)
            }
        };
        let equal = leading_single_values(&found.ranges);
        let is_guess = counted.is_none()
            && self.distinct(position, equal).is_none()
            && equal > 0
            && found.ranges[0].parts.len() == equal;
        let path = match point {
            Some(key) => AccessPath::Point { index: position, key },
            None if may_repeat_rows(self.table, index, &found.ranges) => {
                let part = MergePart { index: position, ranges: found.ranges };
                AccessPath::Merge(Box::new(IndexMerge { kind: MergeKind::Elements, parts: vec![part] }))
            }
            None => AccessPath::Ranges { index: position, ranges: found.ranges },
        };
        let choice = Choice {
            path,
            backward: false,
            covering,
            possible: Vec::new(),
            implied: found.implied.iter().map(|&number| conditions[number].clone()).collect(),
            reads_outer: found.reads_outer,
            cost: starts * COST_RANGE + rows_read * per_row,
            rows_read,
            rows_out: rows_read,
            ordered: false,
            reads: Reads::default(),
            guessed_equal_parts: is_guess.then_some(equal),
        };
        // Rows that are put together come in their own order.
        let index = Some(position).filter(|_| !matches!(choice.path, AccessPath::Merge(_)));
        Candidate { choice, index, per_row, used: found.used }
    }

    /// The index from end to end: for its order, or because it is smaller than the rows.
    pub fn whole_index(&self, position: usize, wanted: Option<&WantedOrder>) -> Option<Candidate> {
        let index = &self.table.indexes[position];
        let clustered = self.table.clustered_by == Some(index.id);
        let covering = !clustered && self.covers(index);
        let orders = wanted.is_some_and(|wanted| {
            self.scope_of(wanted).allows(position) && self.order_of(Some(index), &[], wanted).is_some()
        });
        let covers = covering && self.hints.join.allows(position);
        if clustered || !(covers || orders) {
            return None;
        }
        let per_row = self.row_cost(index, clustered, covering);
        let choice = Choice {
            path: AccessPath::IndexScan { index: position },
            cost: COST_RANGE + self.rows * per_row,
            covering,
            ..self.scan_choice()
        };
        Some(Candidate { choice, index: Some(position), per_row, used: Vec::new() })
    }

    /// All rows in the order of their keys.
    pub fn full_scan(&self) -> Candidate {
        let clustering = self.table.clustered_by;
        let index = self.table.indexes.iter().position(|index| clustering == Some(index.id));
        Candidate { choice: self.scan_choice(), index, per_row: 1.0, used: Vec::new() }
    }

    /// What paths that read all rows, or some of all, have in common.
    pub fn scan_choice(&self) -> Choice {
        Choice {
            path: AccessPath::FullScan,
            backward: false,
            covering: false,
            possible: Vec::new(),
            implied: Vec::new(),
            reads_outer: false,
            cost: COST_RANGE + self.rows,
            rows_read: self.rows,
            rows_out: self.rows,
            ordered: false,
            reads: Reads::default(),
            guessed_equal_parts: None,
        }
    }

    /// Every column the block reads of this table can be had from the index entry.
    pub fn covers(&self, index: &IndexDef) -> bool {
        if self.locks_row {
            return false;
        }
        let available = crate::paths::entry_filter::columns_of_entry(self.table, index);
        projection_of(self.block, self.source).iter().all(|(column, _)| available.contains(column))
    }

    /// A row by an index: its entry, and the row behind it if that is needed.
    pub fn row_cost(&self, index: &IndexDef, clustered: bool, covering: bool) -> f64 {
        if clustered {
            return 1.0;
        }
        let width: u32 = index
            .parts
            .iter()
            .map(|part| plan::key_length(self.table.columns[part.column].key_type(), part.prefix_length))
            .sum();
        let entry = (COST_COVERED + f64::from(width) * COST_COVERED_BYTE).min(COST_COVERED_MAX);
        if covering { entry } else { entry + COST_LOOKUP }
    }
}
