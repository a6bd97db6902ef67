//! What a path reads of the device because it is not in memory (decision 0051), priced in the units of `access`.
//!
//! Called by `access` for the candidates once their rows are known.
use crate::estimates::{KnownLeaves, Leaves};
use crate::paths::access::Chooser;
use crate::paths::choice::{Candidate, Choice, ROWS_IN_ORDER_MIN, starts};
use crate::planner::Planner;
use binder::Switch;
use plan::{AccessPath, Reads, sorted_passes};
use schema::TableDef;

/// A leaf that one row is looked up in.
const COST_LEAF_ALONE: f64 = 160.0;
/// A leaf of many that lie near one another: they come several in one read, ahead of the rows.
const COST_LEAF_IN_ORDER: f64 = 60.0;

impl Planner<'_> {
    /// Asked once for each tree of a plan.
    fn leaves(&self, table: &TableDef, index: Option<usize>) -> Option<Leaves> {
        let mut all = self.leaves.borrow_mut();
        if let Some(known) = all.iter().find(|known| known.table == table.id && known.index == index) {
            return known.leaves;
        }
        let leaves = self.catalog.leaves(table, index).filter(|leaves| leaves.absent > 0.0);
        all.push(KnownLeaves { table: table.id, index, leaves });
        leaves
    }
}

impl Chooser<'_> {
    /// Adds what each candidate reads to its price, where there are others, or several ways to join it.
    pub fn price_reads(&self, candidates: &mut [Candidate]) {
        if candidates.len() > 1 || self.block.sources.len() > 1 {
            for Candidate { choice, .. } in candidates {
                choice.reads = self.reads(choice);
                choice.cost += choice.reads.run;
            }
        }
    }

    /// What one run of the path reads, whose rows are known.
    fn reads(&self, choice: &Choice) -> Reads {
        // Of small tables it does not matter, and of unknown ones nothing is known.
        if self.scale > 1.0 {
            return Reads::default();
        }
        let rows = choice.rows_read;
        match &choice.path {
            AccessPath::Nothing => Reads::default(),
            AccessPath::FullScan | AccessPath::Keys { .. } => self.in_order(None, 1.0, self.rows),
            AccessPath::IndexScan { index } => {
                self.in_order(Some(*index), 1.0, self.rows) + self.behind(choice, *index, rows)
            }
            AccessPath::Point { index, .. } => {
                self.in_order(Some(*index), 1.0, 1.0) + self.behind(choice, *index, 1.0)
            }
            AccessPath::Ranges { index, ranges } => {
                let starts = ranges.iter().map(starts).sum();
                self.in_order(Some(*index), starts, rows) + self.behind(choice, *index, rows)
            }
            AccessPath::Groups { index, .. } | AccessPath::Skip { index, .. } => {
                self.in_order(Some(*index), rows, rows) + self.behind(choice, *index, rows)
            }
            AccessPath::Merge(merge) => {
                let of_part = |index| self.in_order(Some(index), 1.0, rows);
                let entries = merge.parts.iter().map(|part| of_part(part.index));
                entries.fold(self.scattered(rows, true), |all, part| all + part)
            }
        }
    }

    /// So many rows of an index, or of the rows themselves, from so many places on.
    fn in_order(&self, index: Option<usize>, starts: f64, rows: f64) -> Reads {
        let Some(leaves) = self.planner.leaves(self.table, index) else { return Reads::default() };
        let starts = starts.min(leaves.count);
        let others = (leaves.count * rows / self.rows - starts).max(0.0);
        priced(leaves, starts * COST_LEAF_ALONE + others * COST_LEAF_IN_ORDER)
    }

    /// The rows behind so many entries of an index, if they are read at all.
    fn behind(&self, choice: &Choice, index: usize, rows: f64) -> Reads {
        let is_clustering = self.table.clustered_by == Some(self.table.indexes[index].id);
        if is_clustering || choice.covering {
            return Reads::default();
        }
        let sorts = self.planner.context.switches.has(Switch::MultiRangeRead) && !self.locks;
        self.scattered(rows, sorts && rows >= ROWS_IN_ORDER_MIN)
    }

    /// Rows here and there. Where they are sorted, leaves near one another come together.
    fn scattered(&self, rows: f64, is_sorted: bool) -> Reads {
        let Some(leaves) = self.planner.leaves(self.table, None) else { return Reads::default() };
        // So many different ones are met by chance.
        let met = |rows: f64| leaves.count * (1.0 - (-rows / leaves.count).exp());
        if !is_sorted {
            return priced(leaves, met(rows) * COST_LEAF_ALONE);
        }
        let passes = sorted_passes(rows);
        let alone = met(rows / passes) * COST_LEAF_ALONE;
        let reads = priced(leaves, passes * alone.min(leaves.count * COST_LEAF_IN_ORDER));
        // What fits is read in the first pass alone.
        Reads { run: reads.run.min(reads.all), ..reads }
    }
}

/// The price as far as the leaves are absent.
fn priced(leaves: Leaves, price: f64) -> Reads {
    let all = match leaves.fits {
        true => leaves.count * leaves.absent * COST_LEAF_ALONE,
        false => f64::INFINITY,
    };
    Reads { run: price * leaves.absent, all }
}
