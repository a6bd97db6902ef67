//! The order that a path's rows come in: what it saves where it is the wanted one, and what sorting costs where it is not.
//!
//! Called by `access` for each candidate once its rows are known.
use crate::paths::access::Chooser;
use crate::paths::choice::{Candidate, Choice, WantedOrder, is_single_value};
use binder::hints::ScopedIndexes;
use plan::AccessPath;
use schema::IndexDef;

/// For each row and doubling of the number of rows.
const COST_SORT: f64 = 0.3;
/// For each row that goes through a hash table of groups.
const COST_GROUP: f64 = 0.4;
/// What a hint asks not to be done, unless there is nothing else.
const COST_REFUSED: f64 = 1e12;

impl Chooser<'_> {
    /// The indexes that may give rows in this order.
    pub fn scope_of(&self, wanted: &WantedOrder) -> &ScopedIndexes {
        if wanted.for_groups { &self.hints.group } else { &self.hints.order }
    }

    /// Whether an index other than this one gives the wanted order to all rows.
    pub fn another_orders(&self, position: usize, wanted: &WantedOrder) -> bool {
        let scope = self.scope_of(wanted);
        let mut others =
            (0..self.table.indexes.len()).filter(|other| *other != position && scope.allows(*other));
        others.any(|other| self.order_of(Some(&self.table.indexes[other]), &[], wanted).is_some())
    }

    /// Adds the price of sorting, or takes the rows off that a LIMIT spares when the index gives the order.
    pub fn with_order(&self, candidate: Candidate, rows_out: f64, wanted: Option<&WantedOrder>) -> Choice {
        let Candidate { mut choice, index, per_row, .. } = candidate;
        choice.rows_out = rows_out.min(choice.rows_read);
        let Some(wanted) = wanted else { return choice };
        let scope = self.scope_of(wanted);
        let index = index.filter(|position| scope.allows(*position));
        let index = index.map(|position| &self.table.indexes[position]);
        let single = single_values(&choice.path);
        match self.order_of(index, &single, wanted) {
            Some(backward) => {
                choice.ordered = true;
                choice.backward = backward;
                if let Some(limit) = wanted.limit {
                    let passing = (choice.rows_out / choice.rows_read.max(1e-9)).clamp(1e-6, 1.0);
                    let needed = (limit / passing).min(choice.rows_read);
                    let spared = choice.reads.run * (1.0 - needed / choice.rows_read.max(1e-9));
                    choice.reads.run -= spared;
                    choice.cost -= (choice.rows_read - needed) * per_row + spared;
                }
            }
            None => {
                let rows = choice.rows_out.max(1.0);
                choice.cost += match wanted.for_groups {
                    true => rows * COST_GROUP,
                    false => rows * rows.max(2.0).log2() * COST_SORT,
                };
                if scope.force {
                    choice.cost += COST_REFUSED;
                }
            }
        }
        choice
    }

    /// Whether the index delivers the wanted order, and if so whether it is read backward. `single` are parts that
    /// have one value in all rows read.
    pub fn order_of(&self, index: Option<&IndexDef>, single: &[bool], wanted: &WantedOrder) -> Option<bool> {
        let index = index?;
        let mut parts: Vec<(usize, bool, bool)> = Vec::new();
        for (number, part) in index.parts.iter().enumerate() {
            let fixed = single.get(number).copied().unwrap_or(false);
            if part.prefix_length.is_some() && !fixed {
                // Behind a truncated part nothing is ordered.
                parts.push((usize::MAX, false, false));
                break;
            }
            parts.push((part.column, part.descending, fixed));
        }
        let is_clustering = self.table.clustered_by == Some(index.id);
        if let (false, Some(clustering)) = (is_clustering, self.table.clustering_index())
            && parts.last().is_none_or(|(column, ..)| *column != usize::MAX)
        {
            parts.extend(clustering.parts.iter().map(|part| (part.column, part.descending, false)));
        }
        let mut direction = None;
        let mut next = 0;
        for &(column, descending) in &wanted.columns {
            if parts.iter().any(|&(known, _, fixed)| known == column && fixed) {
                continue;
            }
            while parts.get(next).is_some_and(|&(known, _, fixed)| fixed && known != column) {
                next += 1;
            }
            match parts.get(next) {
                Some(&(known, part_descending, _)) if known == column => {
                    let backward = descending != part_descending;
                    if *direction.get_or_insert(backward) != backward {
                        return None;
                    }
                    next += 1;
                }
                // All parts of a unique row key are used up: at most one row is left to order. A hidden one is not among them.
                None if self.table.clustering_index().is_some() => break,
                _ => return None,
            }
        }
        Some(direction.unwrap_or(false))
    }
}

/// Which leading parts have one value in all rows of the path.
fn single_values(path: &AccessPath) -> Vec<bool> {
    match path {
        AccessPath::Point { key, .. } => vec![true; key.len()],
        AccessPath::Ranges { ranges, .. } => match ranges.as_slice() {
            [range] => range.parts.iter().map(is_single_value).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
