//! What is known of how a table's values are spread: rows, and different values of each index's first parts.
//!
//! Statistics are of one moment and are replaced as a whole; changes since are counted, and after a tenth of the rows
//! new ones are due. The catalog keeps them in the dictionary; `survey` makes them.
use crate::histogram::Histogram;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    pub rows: u64,
    /// Microseconds since 1970 when they were made.
    pub made_at: i64,
    pub indexes: Vec<IndexStatistics>,
    /// What some rows tell of columns that no index begins with (`column_sample`).
    pub columns: Vec<Histogram>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexStatistics {
    /// The tree of the index: indexes come and go, trees are never taken for others.
    pub tree: u64,
    /// How many different values the first 1, 2, .. parts have.
    pub distinct: Vec<u64>,
    pub leaves: u64,
    /// Pages of values that are too long for a leaf.
    pub overflow_pages: u64,
    /// Leaves that were looked at; all of them when the numbers are exact.
    pub sampled: u64,
}

/// An inner page has about so many children.
const FANOUT: u64 = 100;

impl IndexStatistics {
    /// All pages of the index, with inner and overflow pages.
    pub fn pages(&self) -> u64 {
        self.leaves + self.leaves.div_ceil(FANOUT) + self.overflow_pages
    }
}

/// What a table takes in the store, in bytes, as of its statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBytes {
    /// Of the rows: the clustered index.
    pub data: u64,
    /// Of all other indexes.
    pub indexes: u64,
}

impl StoredBytes {
    pub fn total(self) -> u64 {
        self.data + self.indexes
    }

    /// Bytes of a row, if the table has so many; 0 if it has none.
    pub fn of_row(self, rows: u64) -> u64 {
        self.data.checked_div(rows).unwrap_or(0)
    }
}

/// Stands before statistics that tell of overflow pages, in the place of the rows of older ones.
const WITH_OVERFLOW: u64 = u64::MAX;
/// Fewer changes than this never make new statistics due.
const CHANGES_MIN: u64 = 200;
/// Statistics are renewed when one in so many rows has changed.
const RENEWED_SHARE: u64 = 10;

/// More than any table has rows.
const ALL_CHANGED: u64 = u64::MAX / 2;

/// A table's present statistics; lives on when its definition is replaced.
#[derive(Debug, Default)]
pub struct StatisticsCell {
    /// A leaf lock, held for the copy of a reference.
    present: RwLock<Option<Arc<Statistics>>>,
    /// Since they were made. Rolled back ones count too.
    changes: AtomicU64,
    /// Grows whenever plans made with the statistics before should be made anew.
    epoch: AtomicU64,
    /// Somebody is making new ones.
    is_renewing: AtomicBool,
    /// Of columns, made and dropped by ANALYZE TABLE. A leaf lock, held for the copy of a reference.
    histograms: RwLock<Arc<Vec<Histogram>>>,
}

impl StatisticsCell {
    /// Of a table of which nothing is known: they are due.
    pub fn unknown() -> StatisticsCell {
        StatisticsCell { changes: AtomicU64::new(ALL_CHANGED), ..StatisticsCell::default() }
    }

    /// As stored before the start. Half of what makes new ones due may have been changed since.
    pub fn stored(statistics: Statistics) -> StatisticsCell {
        let changes = AtomicU64::new(due_after(statistics.rows) / 2);
        StatisticsCell {
            present: RwLock::new(Some(Arc::new(statistics))),
            changes,
            ..StatisticsCell::default()
        }
    }

    pub fn histograms(&self) -> Arc<Vec<Histogram>> {
        self.histograms.read().clone()
    }

    /// Replaces all of them; plans made before are made anew.
    pub fn set_histograms(&self, histograms: Vec<Histogram>) {
        *self.histograms.write() = Arc::new(histograms);
        self.epoch.fetch_add(1, Relaxed);
    }

    pub fn present(&self) -> Option<Arc<Statistics>> {
        self.present.read().clone()
    }

    /// Statistics that lack one of these trees are due.
    pub fn expect_indexes(&self, mut trees: impl Iterator<Item = u64>) {
        let present = self.present();
        if trees.any(|tree| present.as_ref().is_none_or(|known| known.index(tree).is_none())) {
            self.changes.fetch_max(ALL_CHANGED, Relaxed);
        }
    }

    pub(crate) fn count_change(&self) {
        self.count_changes(1);
    }

    pub(crate) fn count_changes(&self, changes: u64) {
        self.changes.fetch_add(changes, Relaxed);
    }

    /// Whether so much has changed that new ones should be made. `rows` are those of the table, 0 if they are not known yet.
    pub fn is_due(&self, rows: u64) -> bool {
        let changes = self.changes.load(Relaxed);
        let is_much = |rows| changes > due_after(rows);
        is_much(rows)
            && !self.is_renewing.load(Relaxed)
            && is_much(self.present().map_or(0, |known| known.rows))
    }

    /// The right to make new ones, which nobody else has at the moment.
    pub fn begin_renewal(self: &Arc<Self>) -> Option<Renewal> {
        let is_first = !self.is_renewing.swap(true, Relaxed);
        is_first.then(|| Renewal { cell: self.clone(), changes: self.changes.load(Relaxed) })
    }

    /// Replaces them. Whether plans made with the old ones should be made anew.
    pub fn replace(&self, statistics: Arc<Statistics>) -> bool {
        let before = self.present.write().replace(statistics.clone());
        let outdates = before.is_none_or(|before| differ_much(&before, &statistics));
        self.epoch.fetch_add(u64::from(outdates), Relaxed);
        outdates
    }

    pub fn epoch(&self) -> u64 {
        self.epoch.load(Relaxed)
    }
}

/// Dropping it without an end leaves the changes counted, so another renewal follows.
pub struct Renewal {
    cell: Arc<StatisticsCell>,
    changes: u64,
}

impl Renewal {
    /// The statistics are made: changes before do not count any more. As for `StatisticsCell::replace`.
    pub fn finish(self, statistics: Arc<Statistics>) -> bool {
        debug_assert!(self.cell.changes.load(Relaxed) >= self.changes, "changes are only counted off once");
        self.cell.changes.fetch_sub(self.changes, Relaxed);
        self.cell.replace(statistics)
    }

    /// They cannot be made now: not again before as much has changed once more.
    pub fn give_up(self) {
        debug_assert!(self.cell.changes.load(Relaxed) >= self.changes, "changes are only counted off once");
        self.cell.changes.fetch_sub(self.changes, Relaxed);
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.cell.is_renewing.store(false, Relaxed);
    }
}

fn due_after(rows: u64) -> u64 {
    (rows / RENEWED_SHARE).max(CHANGES_MIN)
}

/// A number has doubled or halved.
fn differ_much(left: &Statistics, right: &Statistics) -> bool {
    let much = |left: u64, right: u64| left.max(right) > 2 * left.min(right).max(8);
    let many = |left: &IndexStatistics, right: &IndexStatistics| {
        left.tree != right.tree
            || left.distinct.iter().zip(&right.distinct).any(|(left, right)| much(*left, *right))
    };
    much(left.rows, right.rows)
        || left.indexes.len() != right.indexes.len()
        || left.indexes.iter().zip(&right.indexes).any(|(left, right)| many(left, right))
}

impl Statistics {
    pub fn index(&self, tree: u64) -> Option<&IndexStatistics> {
        self.indexes.iter().find(|index| index.tree == tree)
    }

    /// For the dictionary: numbers of eight bytes, least significant first, and then the columns.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut numbers = vec![WITH_OVERFLOW, self.rows, self.made_at as u64, self.indexes.len() as u64];
        for index in &self.indexes {
            numbers.extend([index.tree, index.leaves, index.overflow_pages, index.sampled]);
            numbers.push(index.distinct.len() as u64);
            numbers.extend(&index.distinct);
        }
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.extend(Histogram::to_bytes(&self.columns));
        bytes
    }

    /// `None` for bytes that are no statistics.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Statistics> {
        let mut number = || {
            let (number, rest) = bytes.split_first_chunk::<8>()?;
            bytes = rest;
            Some(u64::from_le_bytes(*number))
        };
        let first = number()?;
        let has_overflow = first == WITH_OVERFLOW;
        let rows = if has_overflow { number()? } else { first };
        let (made_at, count) = (number()? as i64, number()?);
        let mut statistics = Statistics { rows, made_at, ..Statistics::default() };
        for _ in 0..count {
            let (tree, leaves) = (number()?, number()?);
            let overflow_pages = if has_overflow { number()? } else { 0 };
            let (sampled, parts) = (number()?, number()?);
            let mut distinct = Vec::new();
            for _ in 0..parts {
                distinct.push(number()?);
            }
            statistics.indexes.push(IndexStatistics { tree, distinct, leaves, overflow_pages, sampled });
        }
        statistics.columns = Histogram::from_bytes(bytes)?;
        Some(statistics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::{HistogramOrder, ValueCounts};

    #[test]
    fn they_are_stored_and_read_back() {
        let index =
            |tree| IndexStatistics { tree, distinct: vec![3, 70], leaves: 9, overflow_pages: 4, sampled: 2 };
        let mut counts = ValueCounts::new(0, &datum::ColumnType::bigint());
        (0..50).for_each(|number| counts.add(&datum::Value::Int(number % 7)).expect("a number"));
        let order = HistogramOrder { buckets: 4, is_renewed: false, made_at: 0 };
        let columns = vec![counts.into_sample("c", order, 70)];
        let statistics = Statistics { rows: 70, made_at: -5, indexes: vec![index(4), index(9)], columns };
        let bytes = statistics.to_bytes();
        assert_eq!(Statistics::from_bytes(&bytes), Some(statistics));
        assert_eq!(Statistics::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Statistics::from_bytes(&bytes[..4]), None);
    }

    #[test]
    fn those_from_before_overflow_pages_are_read() {
        let numbers: [u64; 8] = [70, 5, 1, 4, 9, 2, 1, 3];
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.extend(Histogram::to_bytes(&[]));
        let index = IndexStatistics { tree: 4, distinct: vec![3], leaves: 9, overflow_pages: 0, sampled: 2 };
        let known = Statistics { rows: 70, made_at: 5, indexes: vec![index], columns: Vec::new() };
        assert_eq!(Statistics::from_bytes(&bytes), Some(known));
    }

    #[test]
    fn a_tenth_of_changes_makes_new_ones_due() {
        let cell = Arc::new(StatisticsCell::default());
        (0..CHANGES_MIN).for_each(|_| cell.count_change());
        assert!(!cell.is_due(0));
        cell.count_change();
        assert!(cell.is_due(0) && !cell.is_due(10_000));
        let renewal = cell.begin_renewal().expect("nobody else renews");
        assert!(cell.begin_renewal().is_none() && !cell.is_due(0));
        cell.count_change();
        assert!(renewal.finish(Arc::new(Statistics { rows: 100, ..Statistics::default() })));
        assert!(!cell.is_due(100));
        let stored = StatisticsCell::stored(Statistics { rows: 100_000, ..Statistics::default() });
        assert!(!stored.is_due(0), "a table that nobody has used since the start");
        let more = Arc::new(Statistics { rows: 150, ..Statistics::default() });
        assert!(!cell.replace(more), "half as many again change no plan");
    }
}
