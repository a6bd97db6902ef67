//! How many rows a path reads and how many pass: by what indexes and histograms tell of the values, else by guesses.
//!
//! Called by `access` for each candidate.
use crate::paths::access::Chooser;
use crate::paths::choice::Candidate;
use crate::paths::range::RangeFinder;
use binder::block::Position;
use expression::{Expr, ExprKind};
use plan::{KeyCondition, RangeCondition};
use schema::{IndexDef, IndexKind};

/// As much of a column is as good as all of it.
const WHOLE_SHARE: f64 = 0.9;

impl Chooser<'_> {
    /// How many rows all conditions leave. Who has asked an index about one knows better than a guess, and what several
    /// conditions leave together is what an index knows of as many of them as any.
    pub fn rows_passing(&self, conditions: &[Expr], candidates: &[Candidate]) -> f64 {
        let mut shares: Vec<f64> =
            conditions.iter().map(|condition| crate::paths::selectivity::of(self.block, condition)).collect();
        for (share, condition) in shares.iter_mut().zip(conditions) {
            *share = self.share_by_histogram(condition).unwrap_or(*share);
        }
        for candidate in candidates {
            if let [number] = candidate.used.as_slice() {
                shares[*number] = (candidate.choice.rows_read / self.rows).min(1.0);
            }
        }
        let passing = |candidate: &Candidate| {
            let others = shares.iter().enumerate().filter(|(number, _)| !candidate.used.contains(number));
            candidate.choice.rows_read * others.map(|(_, share)| share).product::<f64>()
        };
        // Values of several columns seldom have nothing to do with each other: an index over them knows.
        let told = candidates.iter().map(|candidate| candidate.used.len()).max().filter(|told| *told > 1);
        match told {
            Some(told) => {
                let best = candidates.iter().filter(|candidate| candidate.used.len() == told).map(passing);
                best.fold(f64::INFINITY, f64::min)
            }
            None => self.rows * shares.iter().product::<f64>(),
        }
    }

    /// What a histogram tells of a condition on its column alone.
    fn share_by_histogram(&self, condition: &Expr) -> Option<f64> {
        let column = self.lone_column(condition)?;
        let finder = RangeFinder { block: self.block, table: self.table, source: self.source, placed: 0 };
        self.statistics.histograms.binary_search(&column).ok()?;
        let index = IndexDef {
            id: schema::IndexId(0),
            name: String::new(),
            kind: IndexKind::Plain,
            parts: vec![schema::IndexPart::column(column)],
            tree: 0,
            invisible: false,
            generated: false,
            comment: String::new(),
        };
        let found = finder.find(&index, std::slice::from_ref(condition));
        let share = self.planner.share_in_histogram(self.table, column, &found.ranges)?;
        // A pattern that begins with anything has all values for its range, which tells nothing.
        let is_pattern = matches!(condition.kind, ExprKind::Like { .. });
        (share < WHOLE_SHARE || !is_pattern).then_some(share)
    }

    /// The column, if the condition reads only this one.
    fn lone_column(&self, condition: &Expr) -> Option<usize> {
        let mut read = Vec::new();
        binder::walk::positions(condition, &mut read);
        let own = |position: &usize| match self.block.frame[*position] {
            Position::Column { source, column } if source == self.source => Some(column),
            _ => None,
        };
        let column = own(read.first()?)?;
        read.iter().all(|position| own(position) == Some(column)).then_some(column)
    }

    /// The rows of a range of which no index was asked, in the units of `rows`.
    pub fn range_rows(&self, position: usize, index: &IndexDef, range: &RangeCondition) -> f64 {
        let mut rows = self.rows;
        let mut values = 1.0;
        let mut equal_parts = 0;
        for part in &range.parts {
            match part {
                KeyCondition::OneOf(list) => {
                    values *= list.len() as f64;
                    equal_parts += 1;
                }
                KeyCondition::SameAs(_) | KeyCondition::IsNull => equal_parts += 1,
                KeyCondition::Between(interval) => {
                    rows = self.equal_rows(position, index, equal_parts);
                    let both = interval.lower.is_some() && interval.upper.is_some();
                    let either = interval.lower.is_some() || interval.upper.is_some();
                    let share = if both {
                        0.02
                    } else if either {
                        0.3
                    } else {
                        0.9
                    };
                    return (rows * share * values).max(1.0);
                }
                KeyCondition::NoneOf(_) => {
                    return (self.equal_rows(position, index, equal_parts) * 0.9 * values).max(1.0);
                }
                KeyCondition::Like { .. } => {
                    rows = self.equal_rows(position, index, equal_parts);
                    return (rows * 0.05 * values).max(1.0);
                }
            }
        }
        if equal_parts > 0 {
            rows = self.equal_rows(position, index, equal_parts);
        }
        rows * values
    }

    /// Rows that share the values of the first `parts` parts.
    fn equal_rows(&self, position: usize, index: &IndexDef, parts: usize) -> f64 {
        if parts == 0 {
            return self.rows;
        }
        if index.kind != IndexKind::Plain && parts == index.parts.len() {
            return 1.0;
        }
        match self.distinct(position, parts) {
            Some(distinct) => (self.rows / distinct as f64).max(1.0),
            None => (self.rows / 200f64.powi(parts as i32)).max(1.5),
        }
    }

    /// How many different values the first `parts` parts have, if that is known.
    pub fn distinct(&self, position: usize, parts: usize) -> Option<u64> {
        let known = self.statistics.indexes.get(position)?.distinct_prefixes.get(parts.checked_sub(1)?);
        known.copied().filter(|distinct| *distinct > 0)
    }
}
